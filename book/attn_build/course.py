"""The course in a box, by the plans of the page on teaching: `make course` writes _build/course, _build/course-kit.zip.

    students/session-N/      a notebook without solutions, its tests for otter, slides without findings
    instructors/             the same with solutions; a PDF a session; otter and nbgrader; a quiz; reports of projects

A session's notebook holds the ten lines of its pages, with what they need (see `slicing`), and their exercises. Answers
that a program can check are code cells; their keys lie in the students' copy only sealed, see `sealed`.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from attn_book.exercises import answers_of
from attn_build import PARTS, TEMPLATES, quiz, write
from attn_build.pdf import link_from, printed
from attn_build.plain import glued, plain, readable
from attn_build.rendering import address
from attn_build.sealed import seal
from attn_build.slicing import needed, statements_of
from attn_build.slides import FOLDER as SLIDES
from attn_build.slides import PLAN, notes_of
from attn_build.sources import convert, executed, numbers_of, pages, read_notebook, repository
from attn_core.errors import AttnError

CELL = "\0"
"""Begins each cell of a page as one text, before its number."""

LINES = re.MULTILINE | re.DOTALL
EXERCISE = re.compile(r"^```\{exercise\} ?([^\n]*)\n:label: ([\w-]+)\n(.*?)^```$", LINES)
SOLUTIONS = (
    r"^```\{{solution\}} {label}\n:class: dropdown\n(.*?)^```$",
    r"^```\{{solution-start\}} {label}\n:class: dropdown\n```$(.*?)^```\{{solution-end\}}$",
)
ROW = re.compile(r"^\| (\d+) \| (.*?) \|(?: \{doc\}`.*? </(.*?)>`)? \|$", re.MULTILINE)
PAGES_CHECK = "from attn_book import check\n"
LINKS = PARTS.kit(SLIDES)
COLLAPSED = {"jupyter": {"source_hidden": True}, "cellView": "form"}


@dataclass
class Exercise:
    """An exercise of a page; solution: cells, (is it code, text). entry: of answers.yml, None for an open question."""

    label: str
    title: str
    text: str
    solution: list[tuple[bool, str]]
    entry: dict | None

    @property
    def variable(self) -> str:
        return self.label.replace("-", "_")

    @property
    def points(self) -> int:
        """Two for an answer of several parts."""
        return 2 if isinstance((self.entry or {}).get("is"), list) else 1


@dataclass
class Lesson:
    """What a session takes of a page: its question, the cells of its ten lines, its exercises."""

    question: str
    ten_lines: list[str]
    exercises: list[Exercise]


@dataclass
class Session:
    """A plan: rows are (minutes, what, page); notes of `sessions.yml`, one a row; homework: labels."""

    number: int
    title: str
    rows: list[tuple[str, str, str]]
    notes: list[dict]
    lessons: list[Lesson]
    homework: list[Lesson] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"session-{self.number}"

    @property
    def checked(self) -> list[Exercise]:
        """Exercises that a program can check, homework too."""
        every = [exercise for lesson in (*self.lessons, *self.homework) for exercise in lesson.exercises]
        return [exercise for exercise in every if exercise.entry]


# ---- what a session holds --------------------------------------------------------------------------------------------


def sessions(root: Path) -> list[Session]:
    """The five plans with all that they name."""
    answers = answers_of(root / "book")
    notes = notes_of(root)
    text = pages(root)[PLAN].read_text(encoding="utf-8")
    plans = []
    for number, title, plan in re.findall(r"^## (\d) · (.*?)\n(.*?)(?=^## |^\*Before)", text, LINES):
        rows = ROW.findall(plan)
        names = dict.fromkeys(page for _, _, page in rows if page)
        own = notes[int(number)]
        if len(own["rows"]) != len(rows):
            raise AttnError(f"book/sessions.yml has {len(own['rows'])} rows for session {number}, its plan {len(rows)}")
        lessons = [lesson(root, name, answers) for name in names]
        homework = [lesson(root, name, answers) for name in own["also"]]
        plans.append(Session(int(number), title, rows, own["rows"], lessons, homework))
    return plans


def lesson(root: Path, name: str, answers: dict) -> Lesson:
    """A page's question, ten lines and exercises; numbers of the text as the book prints them, where it is built."""
    notebook = convert(name, root)
    values = numbers_of(name, root)
    readable(notebook, root, root, lambda page: None, values)
    cells = notebook.cells
    whole = "".join(f"{CELL}{i}\n{cell.metadata.get('myst', '')}\n" for i, cell in enumerate(cells))
    exercises = []
    for title, label, text in EXERCISE.findall(whole):
        body = next(filter(None, (re.search(form.format(label=label), whole, LINES) for form in SOLUTIONS)))[1]
        exercises.append(Exercise(label, title, text.strip(), solution(body, cells), answers.get(label)))
    question = re.search(r"^# (.*)$", whole, re.MULTILINE)
    return Lesson(question[1] if question else name, ten_lines(cells), exercises)


def solution(body: str, cells: list[NotebookNode]) -> list[tuple[bool, str]]:
    """(is it code, text) of a solution's cells; code has what it needs of the page before it."""
    texts = re.split(rf"{CELL}(\d+)\n", body)
    taken = [(False, plain(texts[0]).strip())]
    for number, text in zip(map(int, texts[1::2]), texts[2::2], strict=True):
        if cells[number].cell_type == "code":
            source = cells[number].source.replace(PAGES_CHECK, "")  # the notebook has its own
            before = needed(source, codes(cells[:number]))
            taken.append((True, f"{before}\n\n\n{source}".strip()))
        taken.append((False, plain(text).strip()))
    return [(is_code, text) for is_code, text in taken if text]


def codes(cells: list[NotebookNode]) -> list[str]:
    """Code of a page without its generated cells."""
    return [cell.source for cell in cells if cell.cell_type == "code" and "guard" not in cell.metadata["tags"]]


def ten_lines(cells: list[NotebookNode]) -> list[str]:
    """Parameters, what is needed, and the visible cells of *In ten lines* up to the first that prints; or none."""
    tagged = [i for i, cell in enumerate(cells) if "parameters" in cell.metadata["tags"]]
    heads = [i for i, cell in enumerate(cells) if "## In ten lines" in cell.source]
    if not heads or not tagged:
        return []
    page = codes(cells)
    shown: list[str] = []
    below = method(cells[max(heads[0], tagged[0]) + 1 :])
    for source, visible in reversed(below):  # of a folded cell only what those below it need
        text = source if visible else needed("\n".join(shown), [source], page)
        shown = [text, *shown] if text else shown
    guard = cells[tagged[0] + 1].source
    checks = [text for text in statements_of(guard) if text.startswith("page.guard(")]
    before = needed("\n".join(shown), codes(cells[: heads[0]]), page)
    return [cells[tagged[0]].source, "\n".join(["from attn_book import page", *checks, before]), *shown]


def method(cells: list[NotebookNode]) -> list[tuple[str, bool]]:
    """(source, is it visible) of code cells up to the first visible one that prints."""
    inside = []
    for cell in cells:
        hidden = [tag for tag in cell.metadata["tags"] if tag.startswith(("guard", "hide", "remove"))]
        if cell.cell_type == "code" and "guard" not in hidden:
            inside.append((cell.source, not hidden))
            if not hidden and re.search(r"^\s*print\(", cell.source, re.MULTILINE):
                break
    return inside


# ---- notebooks -------------------------------------------------------------------------------------------------------


def notebook_of(session: Session, root: Path, edition: str = "students") -> NotebookNode:
    """A session's notebook for students, for instructors, or as a source of nbgrader."""
    answers = answers_of(root / "book")
    general = answers["any"]
    own = {exercise.label: answers[exercise.label] for exercise in session.checked}
    setup = TEMPLATES.get_template("setup.jinja").render(address=address(root) or "", sealed=seal(own, general))
    values = {"session": session, "edition": edition, "setup": setup.strip(), "general": general}
    notebook = jupytext.reads(TEMPLATES.get_template("session.jinja").render(values), fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


# ---- the archive of all ----------------------------------------------------------------------------------------------


def write_course(root: str | Path | None = None) -> Path:
    """Write _build/course and zip it; slides come from the built book. Returns the archive."""
    root = repository(root)
    target = root / "_build" / "course"
    shutil.rmtree(target, ignore_errors=True)
    students = target / "students"
    instructors = target / "instructors"
    if not numbers_of(PLAN, root):
        raise AttnError("there is no built book to make the course from; type: make course")
    every = sessions(root)
    for session in every:
        write_session(session, root, students / session.name, instructors)
    quiz.write_quiz(root, every, notes_of(root), instructors / "quiz")
    copy_slides(root, students, instructors)
    for path in sorted((root / "book" / "projects").glob("*.*")):
        folder = instructors if path.stem.endswith("-report") else students
        shutil.copy(path, made(folder / "projects" / path.name))
    shutil.rmtree(root / "build", ignore_errors=True)  # of an earlier wheel: what was removed since would go in
    wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(students)]
    subprocess.run([sys.executable, *wheel, str(root)], check=True, capture_output=True)
    for folder in (target, students):
        write(folder / "README.md", "course.jinja", students=folder == students, sessions=every)
    shutil.make_archive(str(root / "_build" / "course-students"), "zip", students)
    return Path(shutil.make_archive(str(root / "_build" / "course-kit"), "zip", target))


def write_session(session: Session, root: Path, students: Path, instructors: Path) -> None:
    """A session's notebooks, tests and PDF."""
    name = f"{session.name}.ipynb"
    places = {
        "students": students / name,
        "instructors": instructors / name,
        "nbgrader": instructors / "nbgrader" / "source" / session.name / name,
    }
    for edition, path in places.items():
        nbformat.write(notebook_of(session, root, edition), made(path))
    general = answers_of(root / "book")["any"]
    for exercise in session.checked:
        file = f"tests/{exercise.variable}.py"
        write(students / file, "otter.jinja", exercise=exercise)
        write(instructors / "otter" / session.name / file, "otter.jinja", exercise=exercise, general=general)
    sheet = instructors / f"{session.name}.html"
    write(sheet, "instructor.html", guesses=guess_answers(root), html_of=quiz.html_of, session=session)
    printed(sheet, sheet.with_suffix(".pdf"))


def guess_answers(root: Path) -> dict[str, str]:
    """Number of a guess -> its answer, from the page on teaching."""
    text = glued(pages(root)[PLAN].read_text(encoding="utf-8"), numbers_of(PLAN, root))
    [key] = re.findall(r"^:::\{admonition\} The answers\n.*?\n(.*?)^:::$", text, LINES)
    return dict(re.findall(r"\*\*(\d)\*\* (.*?)(?= \*\*\d\*\* |$)", key.strip()))


def copy_slides(root: Path, students: Path, instructors: Path) -> None:
    """Slides and handouts of the built book, with the style sheets that they name."""
    built = root / "_build" / "html"
    for folder in (students, instructors):
        shutil.copytree(built / "_static", folder / "_static", ignore=shutil.ignore_patterns("*.js", "sst*", "*.png"))
        made(folder / SLIDES / "handouts.html")
    book = "https://{}.github.io/{}/".format(*str(address(root)).split("/")) if address(root) else ""
    for path in (built / SLIDES).glob("*.html"):
        link = rf'<a href="{book}\1">\2</a>' if book else r"\2"  # the box holds no pages
        text = re.sub(r'<a href="\.\./([^"]*)">(.*?)</a>', link, path.read_text(encoding="utf-8"))
        for_students = path.stem.endswith("-students")
        if for_students or path.stem == "handouts":
            (students / SLIDES / path.name.replace("-students", "")).write_text(text, encoding="utf-8")
        if not for_students:
            (instructors / SLIDES / path.name).write_text(text, encoding="utf-8")


def made(path: Path) -> Path:
    """The path, its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


# ---- with the book ---------------------------------------------------------------------------------------------------


def publish(root: Path, kit: Path) -> None:
    """The two archives beside the built book's slides, linked from the page on the course; and _build/published: every
    page as an executed notebook that finds or installs what it needs, for a branch of its own."""
    front = root / "_build" / "html" / "course.html"
    if front.is_file():
        for archive in (kit, kit.with_name("course-students.zip")):
            shutil.copy(archive, front.parent / SLIDES)
        link_from(front, LINKS)
    setup = TEMPLATES.get_template("setup.jinja").render(address=address(root) or "")
    targets = {name: root / "_build" / "published" / f"{name}.ipynb" for name in pages(root)}
    for name, path in targets.items():
        notebook = readable(read_notebook(executed(root, name)), root, path, targets.get)
        notebook.cells.insert(0, new_code_cell(setup, id="setup", metadata=COLLAPSED))
        nbformat.write(notebook, made(path))


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
