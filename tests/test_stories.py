"""Generated stories of the bAbI kind, against a reader and a rule of asking that know the text alone."""

import os
from itertools import pairwise

import numpy as np
import pandas
import pytest

from attn_lab.data import stories
from attn_lab.data.arrays import vocabulary


def askable(statements: list[str], task: int) -> dict[str, str]:
    """Question -> answer of all that may be asked after these statements by the rule of the original, read from the
    text alone."""
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
            assert carried[thing]["who"] == who  # nobody drops what another carries
            carried[thing] |= {"who": None, "line": line}
    last = len(statements) - 5
    if task == 1:
        return {f"Where is {who}?": place_of[who] for who, line in moved.items() if line >= last}
    found = {}
    for thing, carry in ((thing, carry) for thing, carry in carried.items() if carry["line"] >= last):
        if task == 3:
            pairs = pairwise(carry["stays"])  # of two equal questions the later answer counts
            found |= {f"Where was the {thing} before the {place}?": before for before, place in pairs}
        elif carry["stays"] or (carry["who"] is None and carry["from"]):
            found[f"Where is the {thing}?"] = [carry["from"], *carry["stays"]][-1]
    return found


def moments(table, task: int) -> tuple[int, int]:
    """Questions that the rule allows and whose answer the text tells; pairs of statements after which a question could
    be asked and was not."""
    right = unasked = 0
    for _, story in table.groupby("story"):
        asked = zip(story["question"], story["answer"], strict=True)
        told = dict(zip(story["passage"].str.count("\n") + 1, asked, strict=True))
        assert all(count % 2 == 0 for count in told)
        statements = story["passage"].iloc[-1].split("\n")
        for count in range(2, len(statements) + 1, 2):
            may = askable(statements[:count], task)
            right += count in told and told[count] in may.items()
            unasked += count not in told and bool(may)
    return right, unasked


@pytest.mark.parametrize(
    ("task", "mean", "slack", "words"), [(1, 36.2, 0.5, 24), (2, 94.1, 5, 38), (3, 307.0, 25, 39)]
)
def test_stories_resemble_the_original(monkeypatch, task, mean, slack, words):
    monkeypatch.setitem(stories.SIZES, "train", 3000)
    table = stories.babi(task, "train")
    assert table.columns.tolist() == ["passage", "question", "answer", "story", "source"]
    assert len(table) == 3000
    lists = [passage.replace(".\n", " . ").rstrip(".").split() for passage in table["passage"]]
    assert abs(np.mean([len(tokens) for tokens in lists]) - mean) < slack
    lists += [question.rstrip("?").split() for question in table["question"]]
    assert len(vocabulary(lists)) == words
    shares = table["answer"].value_counts(normalize=True)
    assert set(shares.index) == set(stories.PLACES)
    assert shares.min() > 0.1


@pytest.mark.parametrize("task", [1, 2, 3])
def test_questions_are_asked_whenever_the_rule_allows_and_the_text_answers_them(monkeypatch, task):
    table, short, test = (
        monkeypatch.setitem(stories.SIZES, split, n) or stories.babi(task, split)
        for split, n in (("train", 1500), ("train", 50), ("test", 50))
    )
    assert moments(table, task) == (1500, 0)
    assert table[:50].equals(short)
    assert not table[:50].equals(test)


@pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_original_follows_the_same_rules(task):
    table = pandas.read_parquet(os.path.join(os.environ["ATTN_DATA"], f"babi_{task}", "test.parquet"))
    right, unasked = moments(table, task)
    assert right == len(table)
    assert unasked <= 0.01 * right
