"""Every test of the three papers on a reader's own texts: one page and its numbers, or one line of refusal."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from attn_build import sources
from attn_cli import app
from attn_core.errors import AttnError

NAMES = {}
PAGE = sources.read_source(sources.locate("_study")[1])
exec(next(cell.source for cell in PAGE.cells if "def load(" in cell.source), NAMES)
load = NAMES["load"]


def films(n: int = 200) -> pd.DataFrame:
    """Made-up reviews of which one word tells the label."""
    rng, label = np.random.default_rng(0), np.arange(n) % 2
    words = (("dull", "weak", "cold"), ("superb", "warm", "funny"))
    told = [
        f"the {rng.choice(['film', 'play', 'story'])} was {rng.choice(words[l])} with "
        f"{' '.join(rng.choice(['cast', 'music', 'light', 'end', 'sound', 'plot'], 6))}"
        for l in label
    ]
    return pd.DataFrame({"text": told, "label": np.array(["bad", "good"])[label]}).drop_duplicates("text")


@pytest.mark.slow
def test_a_table_of_sentences_becomes_one_page_with_its_numbers(tmp_path):
    films(220).head(200).to_csv(tmp_path / "films.csv", index=False)
    done = CliRunner().invoke(app, ["study", str(tmp_path / "films.csv"), "--output", str(tmp_path), "--seeds", "2"])
    assert done.exit_code == 0, done.output + str(done.exception)
    page = (tmp_path / "films.html").read_text(encoding="utf-8")
    for heading in (
        "Heat maps",
        "one word already know",
        "as gradients do",
        "shuffling",
        "same answer",
        "top words",
        "How few words",
        "needed at all",
        "another training",
        "guide another",
    ):
        assert re.search(rf"<h2>[^<]*{heading}", page), heading
    assert page.count("attn-strip") == 6
    numbers = pd.read_csv(tmp_path / "films-numbers.csv").set_index("test")["mean"]
    assert numbers["accuracy"] > 0.8 and len(numbers) == 23 and numbers.notna().all()
    assert numbers["search"] <= numbers["farthest"] <= numbers["ceiling"]
    assert numbers["removed by optimum"] <= numbers["removed by random"]


def broken(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    made = {
        "column": lambda: rows.rename(columns={"text": "review"}),
        "class": lambda: rows.assign(label="good"),
        "empty": lambda: rows.assign(text=rows["text"].where(rows.index != 3, " ")),
        "few": lambda: rows.head(40),
        "same": lambda: pd.concat([rows, rows.head(30)]),
        "split": lambda: rows.assign(split="train"),
    }
    return made[name]().reset_index(drop=True)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("column", "lacks the column 'text'; it holds review, label"),
        ("class", "has 1 classes"),
        ("empty", "row 4 has no text"),
        ("few", "holds 40 texts; at least 50"),
        ("same", "the same text in two splits"),
        ("split", "must hold train, dev and test; found train"),
    ],
)
def test_what_will_not_do_is_refused_in_a_line(tmp_path, name, told):
    broken(films(), name).to_csv(tmp_path / "texts.csv", index=False)
    with pytest.raises(AttnError) as error:
        load(tmp_path / "texts.csv")
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_refusal_ends_the_command_with_nothing_written(tmp_path):
    broken(films(), "few").to_csv(tmp_path / "texts.csv", index=False)
    done = CliRunner().invoke(app, ["study", str(tmp_path / "texts.csv"), "--output", str(tmp_path / "out")])
    assert isinstance(done.exception, AttnError) and "holds 40 texts; at least 50" in str(done.exception)
    assert "\n" not in str(done.exception) and not (tmp_path / "out").exists()


def test_four_formats_hold_the_same_texts_and_a_split_is_drawn_by_class(tmp_path):
    rows = films()
    rows.to_csv(tmp_path / "a.csv", index=False)
    rows.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    rows.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    rows.to_parquet(tmp_path / "a.parquet")
    read = [load(tmp_path / f"a.{kind}") for kind in ("csv", "tsv", "jsonl", "parquet")]
    assert all(other.reset_index(drop=True).equals(read[0]) for other in read[1:])
    sizes = read[0].groupby(["split", "label"]).size().unstack()
    assert (sizes.loc["train"] > 2.5 * sizes.loc["test"]).all() and (sizes.loc["dev"] > 10).all()
    assert not load(tmp_path / "a.csv", seed=1)["split"].equals(read[0]["split"])
    for wrong in ("none.csv", "a.txt"):
        with pytest.raises(AttnError, match="no such file, or not one of .csv"):
            load(tmp_path / wrong)
