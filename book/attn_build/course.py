"""The course in a box, by the plans of the page on teaching: `make course` writes _build/course, _build/course-kit.zip.

    students/                a notebook a session with lines to fill in, tests for otter, answers, slides; no findings
    instructors/             the same with solutions; a PDF a session; a quiz for Moodle; reports of projects

A session's notebook holds the ten lines of its pages, with the imports they need, and their exercises.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attn_book.exercises import answers_of
from attn_build import PARTS, quiz, render, write
from attn_build.pdf import link_from, printed
from attn_build.plain import glued, plain, readable, walk
from attn_build.rendering import address
from attn_build.slides import FOLDER as SLIDES
from attn_build.slides import PLAN, notes_of, plans
from attn_build.sources import KERNEL, codes, convert, executed, numbers_of, pages, read_notebook, repository
from attn_core.errors import AttnError

FOR_STUDENTS = (
    "Fill in the lines with `...`; the cell below each says whether the answer is right, or what kind of mistake it "
    "looks like. Headings are pages of the book: the toys and figures that an exercise speaks of are there, and on the "
    "slides."
)
FOR_INSTRUCTORS = "For instructors, with answers and solutions; plan, board and usual mistakes are in the PDF."


@dataclass
class Exercise:
    """An exercise of a page; entry: of answers.yml, None for an open question."""

    label: str
    title: str
    text: str
    entry: dict | None
    solution: list[NotebookNode] = field(default_factory=list)

    @property
    def variable(self) -> str:
        return self.label.replace("-", "_")

    @property
    def points(self) -> int:
        """Two for an answer of several parts."""
        return 2 if isinstance((self.entry or {}).get("is"), list) else 1


@dataclass
class Lesson:
    """What a session takes of a page: its question, the cells of its ten lines, exercises, and code of all of it."""

    question: str
    ten_lines: list[NotebookNode]
    exercises: list[Exercise]
    code: str


@dataclass
class Session:
    """A plan: rows are (minutes, what, page); notes of `sessions.yml`, one a row."""

    number: int
    title: str
    rows: list[tuple[str, str, str]]
    notes: list[dict]
    lessons: list[Lesson]
    homework: list[Lesson]

    @property
    def name(self) -> str:
        return f"session-{self.number}"

    @property
    def checked(self) -> list[Exercise]:
        """Exercises that a program can check, homework too."""
        lessons = [*self.lessons, *self.homework]
        return [exercise for lesson in lessons for exercise in lesson.exercises if exercise.entry]


# ---- what a session holds --------------------------------------------------------------------------------------------


def sessions(root: Path) -> list[Session]:
    """The five plans with all that they name; a note of `sessions.yml` for each row of a plan."""
    notes = notes_of(root)
    every = []
    for number, title, rows in plans(root):
        own = notes[number]
        if len(own["rows"]) != len(rows):
            raise AttnError(f"book/sessions.yml has {len(own['rows'])} rows for session {number}, its plan {len(rows)}")
        lessons = [lesson(root, name) for name in dict.fromkeys(page for _, _, page in rows if page)]
        homework = [lesson(root, name) for name in own["also"]]
        every.append(Session(number, title, rows, own["rows"], lessons, homework))
    return every


def lesson(root: Path, name: str) -> Lesson:
    """A page's question, ten lines and exercises; numbers of the text as the book prints them, where it is built."""
    notebook = convert(name, root)
    taken = ten_lines(notebook.cells)
    readable(notebook, root, root, lambda page: None, numbers_of(name, root))
    for cell in notebook.cells:
        cell.source = cell.metadata.get("myst", cell.source)
    (title,) = re.findall(r"^# (.*)$", notebook.cells[0].source, re.MULTILINE)
    return Lesson(title, taken, *exercises_of(notebook.cells, answers_of(root / "book")))


def exercises_of(cells: list[NotebookNode], answers: dict) -> tuple[list[Exercise], str]:
    """The exercises of a page with their solutions, and the page's code outside of these."""
    found: dict[str, Exercise] = {}
    code = []
    for cell, piece, within in walk(cells):
        if piece.name == "exercise":
            found[piece.label] = Exercise(piece.label, piece.argument, plain(piece.body), answers.get(piece.label))
        elif cell.cell_type == "code" and within:
            found[within].solution.append(new_code_cell(piece.text))
        elif cell.cell_type == "code":
            code.append(piece.text)
        elif (within or piece.name == "solution") and (text := plain(piece.body or piece.text).strip()):
            found[within or piece.argument].solution.append(new_markdown_cell(text))
    return list(found.values()), "\n".join(code)


def ten_lines(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Parameters, the imports and functions before, and *In ten lines* up to its first visible cell that prints; or
    nothing."""
    head = next((i for i, cell in enumerate(cells) if "## In ten lines" in cell.source), None)
    if head is None:
        return []
    at = cells.index(*codes(cells, "parameters"))
    parsed = [statement for cell in codes(cells[:head]) for statement in ast.parse(cell.source).body]
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    imports = [ast.unparse(statement) for statement in parsed if isinstance(statement, kinds)]
    guard = cells[at + 1].source
    taken = [new_code_cell(cells[at].source), folded("\n".join([guard, *imports]))]
    for cell in codes(cells[max(head, at + 1) + 1 :]):
        hidden = {"hide-input", "remove-input", "remove-cell"} & set(cell.metadata["tags"])
        taken.append(folded(cell.source) if hidden else new_code_cell(cell.source))
        if not hidden and re.search(r"^\s*print\(", cell.source, re.MULTILINE):
            break
    return taken


def folded(source: str, **options) -> NotebookNode:
    """A cell whose code is hidden until it is asked for, in JupyterLab and in Colab."""
    return new_code_cell(source, metadata={"jupyter": {"source_hidden": True}, "cellView": "form"}, **options)


# ---- notebooks -------------------------------------------------------------------------------------------------------


def notebook_of(session: Session, root: Path, solved: bool = False) -> NotebookNode:
    """A session's notebook, with lines to fill in or solved."""
    title = f"# Session {session.number} · {session.title}\n\n{FOR_INSTRUCTORS if solved else FOR_STUDENTS}"
    cells = [
        new_markdown_cell(title),
        folded(f"{setup_of(root)}\nfrom attn_book import check"),
    ]
    for part in session.lessons:
        cells += cells_of(part, solved)
    cells.append(new_markdown_cell("# Homework"))
    for part in session.homework:
        cells += cells_of(part, solved)
    numbered = [NotebookNode({**cell, "id": f"cell-{number}"}) for number, cell in enumerate(cells)]
    return new_notebook(cells=numbered, metadata={"kernelspec": KERNEL})


def setup_of(root: Path) -> str:
    """Code that finds or installs what a notebook needs."""
    return render("setup.jinja", address=address(root) or "")


def cells_of(lesson: Lesson, solved: bool) -> Iterator[NotebookNode]:
    """A page's part of a session's notebook. Solutions may need any code of their page: it runs before them, unseen."""
    yield new_markdown_cell(f"## {lesson.question}")
    if lesson.ten_lines:
        yield new_markdown_cell("The method on stored texts. Run it, then change a parameter.")
        yield from lesson.ten_lines
    if solved and codes([cell for exercise in lesson.exercises for cell in exercise.solution]):
        yield folded(f"%%capture\n{lesson.code}")
    for exercise in lesson.exercises:
        yield new_markdown_cell(f"### Exercise: {exercise.title}\n\n{exercise.text}")
        if exercise.entry:
            answer = repr(exercise.entry["is"]) if solved else "..."
            yield new_code_cell(f"{exercise.variable} = {answer}  # {exercise.entry['give']}")
            yield new_code_cell(f'check("{exercise.label}", {exercise.variable})')
        elif not solved:
            yield new_markdown_cell("*Your answer:*")
        if solved:
            yield new_markdown_cell(f"**Solution** · `{exercise.label}`")
            yield from exercise.solution


# ---- the archive of all ----------------------------------------------------------------------------------------------


def write_course(root: Path) -> Path:
    """Write _build/course and zip it; slides come from the built book. Returns the archive."""
    target = root / "_build" / "course"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "book" / "kit", target)
    students = target / "students"
    instructors = target / "instructors"
    if not numbers_of(PLAN, root):
        raise AttnError("there is no built book to make the course from; type: make course")
    every = sessions(root)
    for session in every:
        write_session(session, root, students / session.name, instructors)
    quiz.write_quiz(root, every, notes_of(root), instructors / "moodle.xml")
    copy_slides(root, students, instructors)
    shutil.copy(root / "book" / "answers.yml", students)
    projects = root / "book" / "projects"
    shutil.copytree(projects, students / "projects", ignore=shutil.ignore_patterns("*-report.*"))
    reports = instructors / "projects"
    shutil.copytree(projects, reports, ignore=lambda _, names: [name for name in names if "-report." not in name])
    shutil.rmtree(root / "build", ignore_errors=True)  # of an earlier wheel: what was removed since would go in
    wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(students)]
    subprocess.run([sys.executable, *wheel, str(root)], check=True, capture_output=True)
    shutil.make_archive(str(root / "_build" / "course-students"), "zip", students)
    return Path(shutil.make_archive(str(root / "_build" / "course-kit"), "zip", target))


def write_session(session: Session, root: Path, students: Path, instructors: Path) -> None:
    """A session's notebooks, tests and PDF."""
    for folder in (students, instructors):
        notebook = notebook_of(session, root, solved=folder == instructors)
        write(folder / f"{session.name}.ipynb", nbformat.writes(notebook) + "\n")
    general = answers_of(root / "book")["any"]
    for exercise in session.checked:
        write(students / "tests" / f"{exercise.variable}.py", otter_test(exercise, general))
    sheet = instructors / f"{session.name}.html"
    text = render("instructor.html", guesses=guess_answers(root), html_of=quiz.html_of, session=session)
    write(sheet, text)
    printed(sheet, sheet.with_suffix(".pdf"))


def otter_test(exercise: Exercise, general: dict) -> str:
    """A file of otter's that checks an exercise; general: what may be told of any answer."""
    told = f"mistake({exercise.entry}, items_of({exercise.variable}), {general}) or 'Right.'"
    code = f">>> from attn_book.exercises import items_of, mistake\n>>> print({told})\nRight."
    suite = {"cases": [{"code": code, "hidden": False}], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
    test = {"name": exercise.variable, "points": exercise.points, "suites": [suite]}
    return f"OK_FORMAT = True\n\ntest = {test!r}\n"


def guess_answers(root: Path) -> dict[str, str]:
    """Number of a guess -> its answer, from the page on teaching."""
    text = glued(pages(root)[PLAN].read_text(encoding="utf-8"), numbers_of(PLAN, root))
    key = text.partition("{admonition} The answers\n")[2].partition("\n:::")[0]
    return dict(re.findall(r"\*\*(\d)\*\* (.*?)(?= \*\*\d\*\* |$)", key))


def copy_slides(root: Path, students: Path, instructors: Path) -> None:
    """Slides and handouts of the built book, with the style sheets that they name."""
    built = root / "_build" / "html"
    link = r"\2"  # the box holds no pages
    if on_github := address(root):
        owner, name = on_github.split("/")
        link = rf'<a href="https://{owner}.github.io/{name}/\1">\2</a>'
    for folder in (students, instructors):
        shutil.copytree(built / "_static", folder / "_static", ignore=shutil.ignore_patterns("*.js", "sst*", "*.png"))
        for path in (built / SLIDES).glob("*.html"):
            if path.stem == "handouts" or path.stem.endswith("-students") == (folder == students):
                text = re.sub(r'<a href="\.\./([^"]*)">(.*?)</a>', link, path.read_text(encoding="utf-8"))
                write(folder / SLIDES / path.name.replace("-students", ""), text)


# ---- with the book ---------------------------------------------------------------------------------------------------


def publish(root: Path, kit: Path) -> None:
    """The two archives beside the built book's slides, linked from the page on the course; and _build/published: every
    page as an executed notebook that finds or installs what it needs, for a branch of its own."""
    front = root / "_build" / "html" / "course.html"
    for archive in (kit, kit.with_name("course-students.zip")):
        shutil.copy(archive, front.parent / SLIDES)
    link_from(front, PARTS.kit(SLIDES))
    targets = {name: root / "_build" / "published" / f"{name}.ipynb" for name in pages(root)}
    for name, path in targets.items():
        notebook = readable(read_notebook(executed(root, name)), root, path, targets.get)
        notebook.cells.insert(0, folded(setup_of(root), id="setup"))
        write(path, nbformat.writes(notebook) + "\n")


def main() -> None:
    """Write the kit, and put it with the book."""
    root = repository()
    try:
        kit = write_course(root)
    except AttnError as error:
        sys.exit(f"attn_core: {error}")
    publish(root, kit)
    print(kit)


if __name__ == "__main__":
    main()
