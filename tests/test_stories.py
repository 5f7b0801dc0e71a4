"""Generated stories of the bAbI kind, against a reader that knows the text alone."""

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


def test_stories_repeat_with_the_seed():
    one, same, other = (stories.babi(2, 50, 20, seed=s)["train"] for s in (0, 0, 1))
    assert one.equals(same) and not one.equals(other)
    assert stories.babi(2, 90, 20)["test"].equals(stories.babi(2, 50, 20)["test"])


@pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_original_follows_the_same_rules(task):
    table = pandas.read_parquet(os.path.join(os.environ["ATTN_DATA"], f"babi_{task}", "test.parquet"))
    assert wrong(table) == 0
