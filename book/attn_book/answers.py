"""Whether an answer to an exercise is right and, if not, what kind of mistake it looks like.

`book/answers.yml` holds what is right, in the clear, and solutions assert it. The students' edition leaves it out; to
run pages students have a clone, solutions and all. Hashes would hide no answer of two digits, and know no "near".
"""

from pathlib import Path

import numpy as np
import yaml

from attn_core.errors import AttnError


def known(root: Path) -> dict[str, dict]:
    """Label -> the entry of `book/answers.yml`, whose head says what it holds; "any": what may be told of any."""
    path = root / "book" / "answers.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {"any": {}}


def check(label: str, *answer: object) -> bool:
    """Whether an answer (a number, a word, or several) to the exercise `label` is right; prints what it looks like."""
    from attn_book.build import repository
    from attn_book.page import nearest

    answers = known(repository())
    general, given = answers.pop("any"), [part for item in answer for part in parts(item)]
    if label not in answers:
        raise AttnError(f"no answer is stored for the exercise {label!r}{nearest(label, answers)}")
    told = mistake(answers[label], given, general)
    print(f"Not yet: {told}. Asked for: {answers[label]['give']}." if told else "Right.")
    return not told


def parts(answer: object) -> list:
    """Numbers and words of an answer; case does not count."""
    flat = np.ravel(sorted(answer) if isinstance(answer, set) else answer).tolist()
    return [part.strip().casefold() if isinstance(part, str) else part for part in flat]


def mistake(entry: dict, given: list, general: dict) -> str:
    """What is wrong with an answer, or nothing: a slip of the entry or a `general` one, else how it differs."""
    right, within = parts(entry["is"]), entry.get("within", 1e-9)
    words = any(isinstance(part, str) for part in right + given)

    def same(one: list, other: list, within: float = within) -> bool:
        alike = [a == b if isinstance(a, str) or isinstance(b, str) else abs(a - b) <= within
                 for a, b in zip(one, other, strict=False)]  # fmt: skip
        return len(one) == len(other) and all(alike)

    if same(given, right):
        return ""
    for slip in [*entry.get("slips", ()), *(() if words else general["slips"])]:
        if same(given, parts(slip["is"]) if "is" in slip else [slip["times"] * part for part in right]):
            return slip["why"]
    if len(given) != len(right):
        return general["count"]
    if same(sorted(given, key=str), sorted(right, key=str)):
        return general["order"]
    near = not words and same(given, right, max(3 * within, 0.05 * max(map(abs, right))))
    return general["near" if near else "other"]
