"""How dense the code is to read: tokens a line, branches, names. How much there is, is measured elsewhere."""

import ast
import io
import tokenize
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT

PACKAGES = ("attn_core", "attn_lab", "book/attn_book", "book/attn_build", "benchmarks")

DENSITY = 11
"""Tokens a line that a package has on average, at most."""

DENSITY_OF_TESTS = 11.5
COMPOUND = 0.1
"""Of the asserts of tests, the share that may hold more than one claim."""

DENSEST_FILE = 14
BRANCHES = 12
PACKED = 40
VAGUE = 60
"""Lines, of all packages together, that bind or take one of VAGUE_NAMES."""

VAGUE_NAMES = {
    "found",
    "part",
    "parts",
    "own",
    "known",
    "told",
    "made",
    "held",
    "put",
    "place",
    "rest",
    "one",
    "two",
    "few",
    "some",
    "other",
    "others",
    "thing",
    "given",
}
LAYOUT = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
BRANCHING = (
    ast.If,
    ast.For,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.Assert,
    ast.comprehension,
    ast.BoolOp,
    ast.match_case,
)


def code_tokens(text: str) -> list[tokenize.TokenInfo]:
    """Tokens without comments, docstrings and layout. An f-string is one token, as Python 3.11 has it."""
    documented = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            documented.update(range(node.lineno, node.end_lineno + 1))
    tokens = []
    inside = 0  # f-strings, which hold f-strings
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if not inside and name not in LAYOUT and token.start[0] not in documented:
            tokens.append(token)
        inside += (name == "FSTRING_START") - (name == "FSTRING_END")
    return tokens


def branches(function: ast.FunctionDef) -> int:
    return 1 + sum(isinstance(node, BRANCHING) for node in ast.walk(function))


def vague_names(node: ast.AST) -> int:
    """1 for an assignment to a name that says nothing, the number of such parameters for a function."""
    if isinstance(node, ast.Assign):
        names = [
            leaf.id for target in node.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
        ]
        return int(not VAGUE_NAMES.isdisjoint(names))
    if isinstance(node, ast.FunctionDef):
        return sum(argument.arg in VAGUE_NAMES for argument in node.args.args)
    return 0


def measures(folder: Path) -> dict:
    """Tokens of a package and what in it is too dense, by name."""
    count = lines = packed = vague = 0
    dense = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        tokens = code_tokens(text)
        file_lines = len({token.start[0] for token in tokens})
        count += len(tokens)
        lines += file_lines
        if len(tokens) / max(1, file_lines) > DENSEST_FILE + 0.05:
            dense.append(f"{path.relative_to(folder)}: {len(tokens) / file_lines:.1f} tokens a line")
        for node in ast.walk(ast.parse(text)):
            vague += vague_names(node)
            if isinstance(node, ast.FunctionDef) and branches(node) > BRANCHES:
                dense.append(f"{path.relative_to(folder)}: {branches(node)} branches in {node.name}")
            if isinstance(node, ast.Assign):
                packed += isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
                if isinstance(node.value, ast.Lambda):
                    dense.append(f"{path.relative_to(folder)}:{node.lineno}: a lambda with a name")
    return {
        "tokens": count,
        "density": round(count / max(1, lines), 1),
        "packed": packed,
        "vague": vague,
        "dense": dense,
    }


def test_the_measure_counts_what_a_reader_meets(tmp_path):
    """The docstrings and the comment are free."""
    (tmp_path / "module.py").write_text(
        '"""A docstring: it\'s free."""\n'
        "name = f\"{1 + 1} {f'{2}'}\"  # one string\n"
        "a, b = 1, 2\n"
        "double = lambda x: x\n"
        "\n"
        "def choose(given):\n"
        '    """Free, too."""\n'
        "    return [y for y in given if y] or given\n"
    )
    tokens = code_tokens((tmp_path / "module.py").read_text())
    assert [token.string for token in tokens[:2]] == ["name", "="]
    assert tokens[3].string == "a"
    measured = measures(tmp_path)
    assert measured["tokens"] == 3 + 7 + 6 + 6 + 12
    assert (measured["packed"], measured["vague"]) == (1, 1)
    assert measured["density"] == 6.8
    assert measured["dense"] == ["module.py:4: a lambda with a name"]
    assert branches(ast.parse((tmp_path / "module.py").read_text()).body[-1]) == 3


@pytest.fixture(scope="module")
def packages() -> pd.DataFrame:
    """The measures of each package."""
    measured = pd.DataFrame({folder: measures(ROOT / folder) for folder in PACKAGES}).T
    assert measured["tokens"].all(), "no code"
    return measured


def test_no_file_is_too_dense_and_no_function_branches_too_often(packages):
    assert not packages["dense"].sum()


def test_names_are_bound_one_by_one_and_say_something(packages):
    assert packages["packed"].sum() <= PACKED
    assert packages["vague"].sum() <= VAGUE


def test_packages_are_not_dense(packages):
    assert packages["density"].max() <= DENSITY


def test_tests_are_no_denser():
    assert measures(ROOT / "tests")["density"] <= DENSITY_OF_TESTS


def test_an_assert_holds_one_claim():
    modules = [ast.parse(path.read_text()) for path in (ROOT / "tests").rglob("*.py")]
    asserts = [node.test for module in modules for node in ast.walk(module) if isinstance(node, ast.Assert)]
    compound = [test for test in asserts if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)]
    assert len(compound) <= COMPOUND * len(asserts)
