"""Parameters of pages, conversion, and the execution of one page."""

import re
from pathlib import Path

import golden
import nbformat
import numpy as np
import pytest
from conftest import refused
from hypothesis import given
from hypothesis import strategies as st

from attn_book import page, words
from attn_book.page import guard
from attn_book.parameters import Declaration, declared
from attn_build import running, sources
from attn_build.plain import html_of, outputs_of, values_of

JUPYTEXT = "jupytext: {text_representation: {extension: .md, format_name: myst}}"
HEAD = f"---\n{JUPYTEXT}\nattn: {{smoke: {{n: 2}}, takes: {{n: 1}}}}\n---\n\n# A page\n\n"
CELL = "```{{code-cell}} ipython3\n:tags: [{tags}]\n\n{code}\n```\n\n"
PARAMETERS = 'n = 3  # count\nepsilon = 0.05\ncorpus = "sst"\nbins = (0.0, 0.5)\nfast = True\nnames = ["a"]'
DEFAULTS = {"n": 3, "epsilon": 0.05, "corpus": "sst", "bins": (0.0, 0.5), "fast": True, "names": ["a"]}


def write_page(root, name="tiny", parameters=PARAMETERS, *cells):
    """A page in root/notebooks with a parameters cell and further cells."""
    path = root / "notebooks" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    body = CELL.format(tags="parameters", code=parameters)
    path.write_text(HEAD + body + "".join(CELL.format(tags="", code=code) for code in cells))
    return path


def outputs(path):
    """The HTML of an executed notebook."""
    return list(filter(None, map(html_of, outputs_of(nbformat.read(path, 4)))))


def texts(path):
    """Its cells of text."""
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("import os", "found: import os"),
        ("n = 1 + 1", "found: n = 1 + 1"),
        ("n = [[1]]", "found: n = [[1]]"),
        ("x = 1\nn = (", "its line 2 is no Python"),
    ],
)
def test_declared_refuses(cell, expected):
    with refused(f"^page p: .*{re.escape(expected)}"):
        declared(cell, "p")


@pytest.mark.parametrize(
    ("name", "given_value", "expected"),
    [
        ("n", np.int64(7), 7),
        ("epsilon", "1", 1.0),
        ("bins", "[0, 1, 2]", (0.0, 1.0, 2.0)),
        ("bins", "1", (1.0,)),
        ("fast", "true", True),
        ("names", "a, b", ["a", "b"]),
    ],
)
def test_check_reads(name, given_value, expected):
    found = Declaration("p", DEFAULTS).check({name: given_value})[name]
    assert found == expected
    assert type(found) is type(expected)


TAKES = {
    "n": 1,
    "epsilon": [0.01, 0.05],
    "corpus": ["sst", "imdb"],
    "bins": 0,
    "names": ["a", "b", None],
}


@pytest.mark.parametrize(
    ("name", "value", "takes", "reason"),
    [
        ("n", "x", {}, "parameter n: Input should be a valid integer, got 'x'"),
        ("epsilon", float("nan"), {}, "parameter epsilon: Input should be a finite number"),
        ("corpus", 3, {}, "parameter corpus: Input should be a valid string, got 3"),
        ("epsilom", "1", {}, "has no parameter 'epsilom'; did you mean 'epsilon'?"),
        ("n", "0", TAKES, "parameter n: Input should be greater than or equal to 1, got '0'"),
        ("epsilon", "0.02", TAKES, "parameter epsilon: Input should be 0.01 or 0.05, got '0.02'"),
        ("corpus", "snli", TAKES, "parameter corpus: Input should be 'sst' or 'imdb', got 'snli'"),
        ("bins", "", TAKES, "parameter bins: Tuple should have at least 1 item"),
        ("names", "b", {"names": "default"}, "parameter names: Input should be 'a', got 'b'"),
    ],
)
def test_check_refuses_what_a_page_does_not_take(name, value, takes, reason):
    """In one line with the known ones."""
    known = re.escape(
        "Known: n (int, 3), epsilon (float, 0.05), corpus (str, 'sst'), bins (tuple, (0.0, 0.5))"
    )
    with refused(rf"^page p:? {re.escape(reason)}.*{known}"):
        Declaration("p", DEFAULTS, takes).check({name: value})


def test_check_takes_what_a_page_takes():
    values = {"n": 1, "epsilon": 0.01, "corpus": "imdb", "bins": (0.0,), "fast": False, "names": []}
    assert Declaration("p", DEFAULTS, TAKES).check(values) == values
    assert Declaration("p", DEFAULTS, {"names": "default"}).check({"names": ["a"]}) == {"names": ["a"]}
    names = {"n": 0, "In": []}
    with refused("greater than or equal to 1, got 0"):
        guard(names, "p", {"n": 1}, n=3)


scalars = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.one_of(scalars, st.lists(st.integers(), min_size=1), st.text()))
def test_a_value_survives_the_command_line(value):
    """Whatever a page may declare can be typed: the text of a value is read back as that value."""
    assert Declaration("p", {"x": value}).check({"x": str(value)}) == {"x": value}


def test_guard_writes_back_the_declared_type():
    names = {"n": 4, "epsilon": 1, "bins": [0, 1], "In": ["", "n = 3", "# Parameters\nn = 4\n"]}
    guard(names, "p", n=3, epsilon=0.5, bins=(0.0,))
    assert repr(names["epsilon"]) == "1.0"
    assert names["bins"] == (0.0, 1.0)


def test_a_readers_own_variable_is_no_parameter():
    """An injected one is refused, as papermill shows below."""
    guard({"n": 3, "m": 4, "In": ["", "n = 3", "m = 4"]}, "p", n=3)


@pytest.mark.parametrize("tags", [["", ""], ["parameters", "parameters"]], ids=["none", "two"])
def test_a_page_has_one_parameters_cell(tmp_path, tags):
    write_page(tmp_path).write_text(HEAD + "".join(CELL.format(tags=tag, code="n = 1") for tag in tags))
    with refused("page tiny: one code cell must be tagged `parameters`"):
        sources.convert("tiny", tmp_path)


def test_what_runs_before_the_parameters_finds_the_packages(tmp_path):
    path = write_page(tmp_path, "tiny", "n = 1")
    path.write_text(path.read_text().replace(HEAD, HEAD + CELL.format(tags="", code="m = 2")))
    assert sources.declaration("tiny", tmp_path) == Declaration("tiny", {"n": 1}, {"n": 1}, smoke={"n": 2})
    cells = sources.codes(sources.convert("tiny", tmp_path).cells)
    guards = ["guard", "remove-cell"]
    assert [cell.metadata.tags for cell in cells] == [guards, [], ["parameters"], guards]
    assert cells[3].source.startswith(cells[0].source)
    assert "guard(globals()" in cells[3].source
    assert "guard(globals()" not in cells[0].source


# ---- sentences that the numbers bear out -----------------------------------------------------------------------------


@pytest.fixture
def shown(monkeypatch, displayed):
    """What a page displays; CHANGED is as `guard` leaves it on a page without changes."""
    monkeypatch.setattr(page, "CHANGED", {})
    return displayed


def test_a_sentence_that_its_numbers_do_not_bear_out_fails_the_page(shown):
    guard({"n": 3}, "p", n=3)
    page.expect(np.bool_(True), "a numpy truth")
    for false in (np.bool_(False), 0, None):
        with pytest.raises(AssertionError, match="most of <them>"):
            page.expect(false, "most of <them>")
    assert not shown


def test_an_alternative_text_lists_the_books_runs_alone():
    values = {"SST": 0.5, f"SST\n{page.YOURS}": 0.75, "IMDB": -0.25}
    assert words.listed(values) == words.listed({"SST": 0.5, "IMDB": -0.25}) == "SST 0.50, IMDB −0.25"


def test_with_other_parameters_a_note_says_so(shown):
    guard({"n": 4}, "p", n=3)
    page.expect(True, "nothing to say")
    page.expect(False, "most of <b>", "nearly all")
    said = [re.search('data-says="(.*?)"', note.data)[1] for note in shown]
    assert said == ["most of &lt;b&gt;", "nearly all"]
    guard({"n": 3}, "p", n=3)
    with pytest.raises(AssertionError):
        page.expect(False, "the next run of the page starts anew")


TEXT = """Texts of {glue:text}`n` words or more. **In n most texts are long.** Does `it` hold?

<p class="box">All < n are {ref}`long <here>`. None is.</p>

| said | found |
| --- | --- |
| A long row | Held. So far |
| Another | Held |"""


def test_a_sentence_whose_guard_fails_is_struck_where_it_stands(tmp_path):
    """In the text, with roles in it, in titles and captions; elsewhere its note stays. Others are as they were."""
    code = """from attn_book import figures, page
page.glue(n=n)
figures.show("", "f", "Long & long", "A caption. Another one.", "most texts")
page.expect(n == 3, "most texts are", "< n are", "Long & long", "Another one", "A long row")
page.expect(n == 3, "words of no sentence")"""
    source = write_page(tmp_path, "tiny", "n = 3", code)
    source.write_text(source.read_text() + TEXT)
    running.execute("tiny", {}, tmp_path / "book.ipynb", tmp_path)
    path = running.execute("tiny", {"n": 4}, tmp_path / "done.ipynb", tmp_path)
    assert "<strong>" in texts(path)[0]
    struck = '<s class="attn-struck">{}</s> <small>(does not hold here)</small>'.format
    text = "\n".join(texts(path))
    assert f"Texts of 4 words or more. {struck('**In n most texts are long.**')} Does `it` hold?" in text
    assert struck("All < n are long.") + " None is.</p>" in text
    assert f"| {struck('A long row')} | {struck('Held.')} " in text
    assert text.count("<s ") == 4
    figure, note = outputs(path)
    assert struck("Long &amp; long") in figure
    assert "A caption. " + struck("Another one.") in figure
    assert "words of no sentence" in note
    assert "<s " not in (tmp_path / "book.ipynb").read_text()


def test_execute_with_other_parameters(tmp_path):
    code = "from attn_book.page import glue\nglue(n=n, eps=epsilon, bins=bins, m='-1 x-2 = -3, 4-5')"
    code += "\nimport pandas\npandas.DataFrame({'gap': ['10% (-0.2% to 0.3%) *', '<code>-1</code>']})"
    write_page(tmp_path, "tiny", PARAMETERS, code)
    path = running.execute("tiny", {"n": "5", "bins": "0,1"}, tmp_path / "done.ipynb", tmp_path)
    done = nbformat.read(path, 4)
    glued = {"n": 5, "eps": 0.05, "bins": (0.0, 1.0), "m": "−1 x-2 = −3, 4-5"}
    assert glued.items() <= values_of(done).items()
    (table,) = outputs(path)
    assert ">10% (−0.2% to 0.3%) *</td>" in table
    assert done.metadata["attn"]["parameters"] == {**DEFAULTS, "n": 5, "bins": [0.0, 1.0]}
    assert str(tmp_path) not in path.read_text(), "no path of this machine in a published notebook"


ENTRY = """@article{one, author = {Serrano, Sofia and Smith, Noah A.}, title = {T}, year = {2019}}
@article{many, author = {van der Berg, Ada and Ek, Bo and Ort, Cy}, title = {T}, year = {2020}}
"""


EXERCISE = """```{exercise} Add
:label: ex-add

What is 1 + 1?
```

```{solution-start} ex-add
:class: dropdown
```

Two.

```{solution-end}
```

:::{div} attn-take
Take it.
:::"""


def test_an_executed_page_reads_without_sphinx(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "references.bib").write_text(ENTRY)
    told = "(here)=\n{glue:text}`share:.0%` of {glue:text}`who`, {glue:text}`none`; {ref}`x <y>`, {cite:t}`one`, "
    told += "{cite:p}`many`"
    source = write_page(
        tmp_path, "tiny", "n = 3", "from attn_book.page import glue\nglue(share=0.5, who='-3 words')"
    )
    source.write_text(source.read_text() + f"\n{told}\n\n{EXERCISE}\n")
    run = lambda **more: texts(running.execute("tiny", {"n": 4}, tmp_path / "x.ipynb", tmp_path, **more))[-1]
    alone = run()
    assert "50% of −3 words, `none`; x, Serrano & Smith (2019), (van der Berg et al., 2020)" in alone
    assert "**Exercise: Add**\n\nWhat" in alone
    assert "{" not in alone
    assert told in run(stamp="of the book"), "for which Sphinx does the same"


def test_no_notebook_of_the_book_keeps_a_raw_role(tmp_path):
    for path in sources.convert_all(tmp_path, golden.ROOT):
        assert not re.findall(r"\{[a-z:]+\}`|^[:`]{3,}\{.*", "\n".join(texts(path)), re.MULTILINE), path.name


def test_execute_refuses_before_anything_runs(tmp_path):
    write_page(tmp_path, "tiny", PARAMETERS, "open('ran', 'w')")
    before = sorted(tmp_path.rglob("*"))
    for wrong in ({"m": "1"}, {"n": "many"}, {"n": "0"}):
        with refused():
            running.execute("tiny", wrong, tmp_path / "done.ipynb", tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_execute_replaces_its_own_notebooks_alone_and_says_so_before_the_page_runs(tmp_path):
    page = write_page(tmp_path, "tiny", PARAMETERS, "print(n)")
    done = running.execute("tiny", {}, tmp_path / "done.ipynb", tmp_path)
    page.write_text(page.read_text().replace("print(n)", "open('ran', 'w')"))
    notes = tmp_path / "notes.txt"
    notes.write_text("notes")
    edit(done)
    files = lambda: {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    before = files()
    for place in (done, notes, notes / "x.ipynb", tmp_path, Path("/proc/x.ipynb")):
        with refused(f"{place} .*--output|cannot write {place}; .*--output"):
            running.execute("tiny", {}, place, tmp_path)
    assert files() == before
    assert running.execute("tiny", {}, done, tmp_path, force=True) == done
    assert "mine" not in done.read_text()


def edit(path):
    """As Jupyter does: a cell changed, everything saved."""
    notebook = nbformat.read(path, 4)
    notebook.cells[-1].source += "\n# mine"
    nbformat.write(notebook, path)


def test_an_edited_notebook_survives_notebooks_and_clean(tmp_path, monkeypatch, called):
    """Outputs alone are no work: the same command makes them again."""
    for name in ("a/one", "a/two"):
        write_page(tmp_path, name, PARAMETERS, "print(n)")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    one, two = (tmp_path / "notebooks" / "a" / f"{name}.ipynb" for name in ("one", "two"))
    assert called("notebooks")[1].split() == [str(one), str(two)]
    edit(one)
    mine = one.read_bytes()
    run = nbformat.read(two, 4)
    run.cells[-1].outputs = [nbformat.v4.new_output("stream", text="3")]
    nbformat.write(run, two)
    status, out, (line,) = called("notebooks")
    assert (status, out.split()) == (0, [str(two)])
    assert f"{one} was edited" in line
    assert one.read_bytes() == mine
    assert not outputs_of(nbformat.read(two, 4))
    done = running.execute("a/two")
    edit(done)
    broken = one.with_name("broken.ipynb")
    broken.write_text("{")
    out = called("clean")[1].splitlines()
    assert sorted(out) == sorted(f"{path} was edited and stays" for path in (done, broken, one))
    assert [path.exists() for path in (done, broken, one, two)] == [True, True, True, False]


def test_papermill_itself_is_refused_too(tmp_path, monkeypatch):
    """On the notebook of `make notebooks` papermill would only log an unknown name and take any type."""
    import papermill

    write_page(tmp_path, "tiny", PARAMETERS, "open('ran', 'w')")
    (written,) = sources.convert_all(root=tmp_path)
    for name, value in running.kernel_environment(str(tmp_path)).items():
        monkeypatch.setenv(name, value)
    told = "has no parameter 'm'.*Known: n .int, 3."
    with pytest.raises(papermill.PapermillExecutionError, match=told) as error:
        papermill.execute_notebook(
            written, tmp_path / "out.ipynb", {"m": 1}, cwd=tmp_path, progress_bar=False
        )
    assert "Traceback" not in str(error.value)
    assert not (tmp_path / "ran").exists()
