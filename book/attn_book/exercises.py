"""Exercises: whether an answer is right. What is right stands in `book/answers.yml`, in the clear: hashes would hide
no answer of two digits, and know no "near"."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from attn_book.parameters import nearest
from attn_core.errors import AttnError


def read_yaml(path: Path) -> dict:
    """What a file holds, nothing where it is not."""
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def answers_of(book: Path) -> dict[str, dict]:
    """Label -> the entry of `answers.yml` there, whose head says what it holds; "any": what may be told of any."""
    return read_yaml(book / "answers.yml") or {"any": {}}


def check(label: str, *answer: object) -> bool:
    """Whether an answer (a number, a word, or several) to the exercise `label` is right; prints what it looks like.

    AttnError for a label without answer, and where no answers.yml is found.
    """
    answers = answers_of(answers_folder())
    general = answers.pop("any")
    if label not in answers:
        raise AttnError(f"no answer is stored for the exercise {label!r}{nearest(label, answers)}")
    entry = answers[label]
    wrong = "nothing is entered"
    if not any(value is ... for value in answer):
        wrong = mistake(entry, [item for value in answer for item in items_of(value)], general)
    print(f"Not yet: {wrong}. Asked for: {entry['give']}." if wrong else "Right.")
    return not wrong


def answers_folder() -> Path:
    """Where `answers.yml` lies: in the clone that this package or this folder is of, else in this folder or above."""
    for folder in (Path(__file__).parents[1], *(Path.cwd() / "here").parents):
        for place in (folder, folder / "book"):
            if (place / "answers.yml").is_file():
                return place
    raise AttnError("answers.yml is not found: put it beside the notebook or above it; the course has it")


def items_of(answer: Any) -> list:
    """Numbers and words of an answer; case does not count. A list within a list is one word, so is NaN or infinity."""
    try:
        flat = np.ravel(sorted(answer) if isinstance(answer, set) else answer).tolist()
    except ValueError:
        flat = [answer]
    return [
        item if isinstance(item, int | float) and abs(item) < 1e300 else str(item).strip().casefold() for item in flat
    ]


def slips(entry: dict, general: dict) -> list[tuple[list, str]]:
    """Wrong answers that tell what went wrong: the entry's own, of numbers the `general` ones too."""
    right = items_of(entry["is"])
    wrong = [(items_of(slip["is"]), slip["why"]) for slip in entry.get("slips", ())]
    if not any(isinstance(item, str) for item in right):
        wrong += [([slip["times"] * item for item in right], slip["why"]) for slip in general["slips"]]
    return wrong


def mistake(entry: dict, answer: list, general: dict) -> str:
    """What is wrong with an answer, or nothing: one of `slips`, else how it differs."""
    right = items_of(entry["is"])
    within = entry.get("within", 1e-9)
    if same(answer, right, within):
        return ""
    for wrong, why in slips(entry, general):
        if same(answer, wrong, within):
            return why
    if len(answer) != len(right):
        return general["count"]
    if same(sorted(answer, key=str), sorted(right, key=str), within):
        return general["order"]
    largest = max([abs(item) for item in right if not isinstance(item, str)], default=0)
    return general["near" if same(answer, right, max(3 * within, 0.05 * largest)) else "other"]


def same(first: list, second: list, within: float) -> bool:
    """Whether the items are equal, numbers up to `within`."""
    if len(first) != len(second):
        return False
    if any(isinstance(item, str) for item in first + second):
        return first == second
    return np.allclose(first, second, rtol=0, atol=within)
