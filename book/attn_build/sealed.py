"""Answers in a students' notebook, sealed: who enters one, right or wrong, opens what is said of it; nobody reads it.

A record holds no answer: a slow hash of label and answer tells it again, and deciphers the text behind it. A number is
hashed as the interval of the tolerance that it lies in. That keeps eyes off, not programs: of two digits there are a
hundred, and a program tries them in a second. Grades come from keys outside the students' copy, see `course`.
"""

import base64
import json
import zlib
from functools import partial
from hashlib import pbkdf2_hmac, shake_256
from math import floor

from attn_book.exercises import items_of, slips

ROUNDS = 2_000
"""Of the hash: about a millisecond an answer."""

LEAST = 0.001
"""Tolerance of answers that are to be exact: no platform compares floats as they are."""

RIGHT = "Right."


def seal(answers: dict[str, dict], general: dict) -> str:
    """Entries of `answers.yml`, and what holds of any, as one word of text for `checker`."""
    entries = {label: sealed(label, entry, general) for label, entry in answers.items()}
    text = json.dumps({"count": general["count"], "other": general["other"], **entries})
    return base64.b64encode(zlib.compress(text.encode())).decode()


def sealed(label: str, entry: dict, general: dict) -> dict:
    """One entry: what is asked for, records of the right answer and of its slips, and one of its parts in order."""
    within = tolerance(entry)
    right = items_of(entry["is"])
    said = [(right, RIGHT), *slips(entry, general)]
    records = [record(label, items, within, text) for items, text in said]
    in_order = record(label, sorted(right, key=str), within, general["order"])
    return {"give": entry["give"], "within": within, "records": records, "sorted": in_order}


def tolerance(entry: dict) -> float:
    """By how much an answer may differ from the entry's."""
    return max(entry.get("within", 0), LEAST)


def record(label: str, items: list, within: float, text: str) -> dict:
    """What stands for an answer: where its intervals begin (None for a word), a mark of its key, the text behind it."""
    width = 2 * within
    begins = [None if isinstance(item, str) else round((item - within) % width, 9) for item in items]
    key = key_of(label, items, begins, within)
    return {
        "begins": begins,
        "mark": shake_256(key).hexdigest(8),
        "text": ciphered(text.encode(), key).hex(),
    }


def key_of(label: str, items: list, begins: list, within: float) -> bytes:
    cells = []
    for item, begin in zip(items, begins, strict=True):
        is_word = begin is None or isinstance(item, str)
        cells.append(item if is_word else floor((item - begin) / (2 * within)))
    return pbkdf2_hmac("sha256", repr(cells).encode(), label.encode(), ROUNDS)


def ciphered(text: bytes, key: bytes) -> bytes:
    """A text under a key, or back."""
    stream = shake_256(key + b"text").digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))


# ---- in the notebook -------------------------------------------------------------------------------------------------


def checker(text: str) -> partial:
    """The function `check(label, *answer)` of a notebook that holds this word of `seal`."""
    return partial(check, json.loads(zlib.decompress(base64.b64decode(text))))


def check(entries: dict, label: str, *answer: object) -> bool:
    """Whether an answer is right; prints what it looks like, as `attn_book.check` does, which alone tells *near*."""
    entry = entries[label]
    said = "nothing is entered"
    if not any(value is ... for value in answer):
        items = [item for value in answer for item in items_of(value)]
        tries = [(stored, items) for stored in entry["records"]]
        tries.append((entry["sorted"], sorted(items, key=str)))
        opened = (text_of(label, stored, tried, entry["within"]) for stored, tried in tries)
        as_many = len(items) == len(entry["sorted"]["begins"])
        said = next(filter(None, opened), entries["other" if as_many else "count"])
    print(said if said == RIGHT else f"Not yet: {said}. Asked for: {entry['give']}.")
    return said == RIGHT


def text_of(label: str, stored: dict, items: list, within: float) -> str:
    """The text behind a record if the answer is its own, else nothing."""
    if len(items) != len(stored["begins"]):
        return ""
    key = key_of(label, items, stored["begins"], within)
    if shake_256(key).hexdigest(8) != stored["mark"]:
        return ""
    return ciphered(bytes.fromhex(stored["text"]), key).decode()
