"""Generated stories of the bAbI kind, against a reader and a rule of asking that know the text alone."""

import os

import numpy as np
import pandas
import pytest

from attn_core.corpora import stories
from attn_core.corpora.text import vocabulary


def solve(passage: str, question: str) -> str:
    """The answer, read from the text alone (independent of the generator)."""
    person_at, carried, stays = {}, {}, {}

    def note(thing, place):
        trail = stays.setdefault(thing, [])
        trail.extend([place] if trail[-1:] != [place] else [])

    for sentence in passage.split("\n"):
        words = sentence.rstrip(".").split()
        thing = next((w for w in words if w in ("apple", "football", "milk")), None)
        if thing is None:
            person_at[words[0]] = words[-1]
            for other in (other for other, holder in carried.items() if holder == words[0]):
                note(other, words[-1])
            continue
        if set(words) & {"got", "grabbed", "took", "picked"}:
            carried[thing] = words[0]
        else:
            assert carried.pop(thing, words[0]) == words[0]  # nobody drops what another carries
        if words[0] in person_at:
            note(thing, person_at[words[0]])
    asked = question.rstrip("?").split()
    if asked[:2] == ["Where", "is"]:
        return person_at[asked[2]] if asked[2] != "the" else stays[asked[3]][-1]
    trail = stays[asked[3]]
    return trail[max(i for i, place in enumerate(trail) if place == asked[-1]) - 1]


def askable(statements: list[str], task: int) -> set[str]:
    """Questions that may follow these statements by the rule of the original, read from the text alone."""
    place_of, moved, carried = {}, {}, {}
    for line, sentence in enumerate(statements):
        who, *rest = sentence.rstrip(".").split()
        thing = next((w for w in rest if w in ("apple", "football", "milk")), None)
        if thing is None:
            place_of[who], moved[who] = rest[-1], line
            for carry in carried.values():
                if carry["who"] == who:
                    carry["stays"].append(rest[-1])
        elif set(rest) & {"got", "grabbed", "took", "picked"}:
            carried[thing] = {"who": who, "line": line, "from": place_of.get(who), "stays": []}
        else:
            carried[thing] |= {"who": None, "line": line}
    last = len(statements) - 5
    if task == 1:
        return {f"Where is {who}?" for who, line in moved.items() if line >= last}
    asked = set()
    for thing, carry in carried.items():
        stays = carry["stays"]
        if carry["line"] < last:
            continue
        if task == 2 and (stays or (carry["who"] is None and carry["from"])):
            asked.add(f"Where is the {thing}?")
        if task == 3:
            asked |= {f"Where was the {thing} before the {place}?" for place in stays[1:]}
    return asked


def moments(table, task: int) -> tuple[int, int, int]:
    """Pairs of statements after which a question could be asked and was, could and was not, could not and was."""
    both = unasked = strange = 0
    for _, story in table.groupby("story"):
        statements = story["passage"].iloc[-1].split("\n")
        questions = dict(zip(story["passage"].str.count("\n") + 1, story["question"], strict=True))
        assert all(count % 2 == 0 for count in questions)
        for count in range(2, len(statements) + 1, 2):
            may, asked = askable(statements[:count], task), questions.get(count)
            both += asked in may
            unasked += asked is None and bool(may)
            strange += asked is not None and asked not in may
    return both, unasked, strange


def wrong(table) -> int:
    return sum(solve(p, q) != a for p, q, a in zip(table["passage"], table["question"], table["answer"], strict=True))


def tokens(passage: str) -> list[str]:
    return passage.replace(".\n", " . ").rstrip(".").split()


@pytest.mark.parametrize(("task", "mean", "slack", "words"), [(1, 36.2, 0.5, 24), (2, 94.1, 5, 38), (3, 307.0, 25, 39)])
def test_stories_answer_themselves_and_resemble_the_original(task, mean, slack, words):
    tables = stories.babi(task, n_train=3000, n_test=100)
    assert len(tables["train"]) == 3000 and len(tables["test"]) == 100
    for table in tables.values():
        assert wrong(table) == 0
        assert table.columns.tolist() == ["passage", "question", "answer", "story", "source"]
    lists = [tokens(p) for p in tables["train"]["passage"]]
    assert abs(np.mean([len(t) for t in lists]) - mean) < slack
    lists += [q.rstrip("?").split() for q in tables["train"]["question"]]
    assert len(vocabulary(lists)) == words
    shares = tables["train"]["answer"].value_counts(normalize=True)
    assert set(shares.index) == set(stories.PLACES) and shares.min() > 0.1


@pytest.mark.parametrize("task", [1, 2, 3])
def test_questions_are_asked_whenever_the_rule_allows(task):
    assert moments(stories.babi(task, 400, 1)["train"], task) == (400, 0, 0)


def test_stories_repeat_with_the_seed():
    one, same, other = (stories.babi(2, 50, 20, seed=s)["train"] for s in (0, 0, 1))
    assert one.equals(same) and not one.equals(other)
    assert stories.babi(2, 90, 20)["test"].equals(stories.babi(2, 50, 20)["test"])


@pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_original_follows_the_same_rules(task):
    table = pandas.read_parquet(os.path.join(os.environ["ATTN_DATA"], f"babi_{task}", "test.parquet"))
    assert wrong(table) == 0
    asked, unasked, strange = moments(table, task)
    assert asked == len(table) and strange == 0 and unasked <= 0.01 * asked
