"""The closing page's answers: numbers are flipped, and the words follow."""

import numpy as np
import pandas as pd

from attn_book.debate import diabetes, verdict

LOW = [0.2, 0.21, 0.19, 0.2, 0.2]


def gaps(mean, low, high, seeds, corpus="sst") -> pd.DataFrame:
    from attn_book.wiegreffe.tables import answer

    return pd.DataFrame(
        [
            {
                "corpus": corpus,
                "chosen": "dev",
                "gap": mean,
                "low": low,
                "high": high,
                "n_seeds": seeds,
                "answer": answer(low, high, seeds),
            }
        ]
    )


def test_which_tasks_need_attention():
    needed, not_needed = (verdict.tasks(gaps(*row, 8), {}) for row in ((0.05, 0.04, 0.06), (0.001, -0.002, 0.004)))
    assert needed.state == verdict.DECIDED and needed.items[0][0].startswith("sst: attention is needed, gap 0.05")
    assert not_needed.state == verdict.DECIDED and "sst: attention is not needed, gap" in not_needed.items[0][0]
    part = verdict.tasks(gaps(0.05, 0.04, 0.06, 8), {"sst": "subset"})
    assert part.state == verdict.UNDECIDED, "a part decides nothing"
    assert part.items[0][0].startswith("sst (subset): attention is needed, gap")
    both = pd.concat([gaps(0.05, 0.04, 0.06, 8), gaps(0.0, -0.01, 0.005, 8).assign(chosen="test")])
    beside = verdict.tasks(both, {})
    assert beside.state == verdict.DECIDED and len(beside.items) == 1, "the test set's choice stands beside"
    assert beside.items[0][1].startswith("*on the test set:* attention is not needed, gap ")
    assert verdict.tasks(gaps(0.01, 0.0, 0.02, 8), {}).state == verdict.UNDECIDED
    assert verdict.tasks(gaps(0.05, 0.04, 0.06, 4), {}).state == verdict.WAITING


def test_whether_transferred_weights_carry_information():
    from attn_book.wiegreffe import leakage
    from attn_core.experiments import guides

    def differences(own, permuted, alone):
        rows = [
            {"corpus": "sst", "source": source, "seed": seed, "f1": value + 0.001 * seed}
            for source, value in {
                "own": own, "uniform": 0.6, "trained": 0.6, "permuted": permuted,
                "own, position": alone, "uniform, position": 0.5, "own, rank": 0.5,
            }.items()
            for seed in range(5)
        ]  # fmt: skip
        rows = [
            row | {"f1": row["f1"] + 0.002 * np.random.default_rng([row["seed"], len(row["source"])]).normal()}
            for row in rows
        ]
        rows = [row | {"auc": row["f1"]} for row in rows]
        return guides.differences(pd.DataFrame(rows))

    tokens = verdict.transfer(differences(0.9, 0.5, 0.5), ["sst"], {})
    assert leakage.VERDICTS["tokens"] in tokens.items[0][0] and tokens.state == verdict.DECIDED
    assert [line.split(" +")[0] for line in tokens.items[0][1:3]] == ["own − uniform", "own − permuted"]
    assert len(tokens.items[0]) == 1 + len(leakage.NEEDED), "the numbers stand below"
    part = verdict.transfer(differences(0.9, 0.5, 0.5), ["sst"], {"sst": "subset"})
    assert part.state == verdict.UNDECIDED and part.items[0][0].startswith("sst (subset): a gain")
    both = verdict.transfer(differences(0.9, 0.5, 0.8), ["sst"], {}).items[0][0]
    assert leakage.VERDICTS["tokens"] in both and leakage.LEAKS["above"] in both
    assert leakage.LEAKS["above"] not in tokens.items[0][0]
    not_shown = verdict.transfer(differences(0.6, 0.6, 0.5), ["sst"], {})
    assert leakage.VERDICTS["undecided"] in not_shown.items[0][0] and not_shown.state == verdict.UNDECIDED
    assert leakage.VERDICTS["no gain"] in verdict.transfer(differences(0.5, 0.5, 0.5), ["sst"], {}).items[0][0]
    assert verdict.transfer(differences(0.9, 0.5, 0.5).iloc[:0], ["sst"], {}).state == verdict.WAITING
    areas = differences(0.9, 0.5, 0.5).assign(score="auc")
    beside = verdict.transfer(differences(0.6, 0.6, 0.5), ["sst"], {"sst": "subset"}, areas)
    assert beside.state == verdict.UNDECIDED and "above uniform ones on sst (subset)" in beside.words, (
        "AUC is told alone"
    )
    assert "own − uniform AUC +0.299 (" in beside.items[0][1 + len(leakage.NEEDED)]


def test_what_encoders_do_to_attention(monkeypatch):
    """Each data set has an item with its side of zero; one with a model that does its task badly is left out."""
    rows = {("sst", "average"): 0.9, ("sst", "lstm"): 0.2, ("imdb", "average"): 0.2, ("imdb", "lstm"): 0.9,
            ("babi_1", "average"): 0.9, ("babi_1", "lstm"): 0.2}  # fmt: skip
    models = {"sst": {}, "imdb": {}, "babi_1": {"average": [0.5], "lstm": [1.0]}}
    monkeypatch.setattr(verdict, "accuracies", lambda results: models)
    monkeypatch.setattr(
        verdict, "statistic_by_seed", lambda results, corpus, encoder, *_: rows[corpus, encoder] + pd.Series(LOW)
    )
    found = verdict.encoders([], {"imdb": "subset"})
    assert found.state == verdict.DECIDED and [text for (text,) in found.items] == [
        "sst: above zero, +0.70 (+0.70 to +0.70)", "imdb (subset): below zero, -0.70 (-0.70 to -0.70)",
        "babi_1: left out, a model does its task badly (Average)",
    ]  # fmt: skip
    assert verdict.encoders([], {"sst": "subset", "imdb": "subset"}).state == verdict.UNDECIDED
    models.clear()
    assert verdict.encoders([], {}).state == verdict.WAITING


def test_an_answer_is_a_line_and_a_list():
    items = (("sst: a", "number 1", "number 2"), ("imdb: b",))
    text = verdict.shown("tasks", verdict.Answer(verdict.DECIDED, "In words:", items))
    assert text.splitlines() == [
        f"**{verdict.QUESTIONS['tasks']}** {verdict.STATES[verdict.DECIDED]} In words:", "",
        "- sst: a", "    - number 1", "    - number 2", "- imdb: b",
    ]  # fmt: skip
    alone = verdict.shown("capacity", verdict.Answer(verdict.WAITING, ""))
    assert alone == f"**{verdict.QUESTIONS['capacity']}** {verdict.STATES[verdict.WAITING]}"


def test_sides_of_paired_differences():
    assert verdict.side(pd.Series(LOW)) == "above" and verdict.side(-pd.Series(LOW)) == "below"
    assert verdict.side(pd.Series([-1.0, 1.0, -1.0, 1.0, 0.0])) == "contains" and verdict.side(pd.Series(LOW[:4])) == ""


def pattern(*lies) -> pd.DataFrame:
    names = ["median change under permutation", "searched ε-max JSD (ε 0.05)", "median JSD between seeds"]
    return pd.DataFrame({"statistic": names, "lies": lies, "expected": ["above", "below", "below"]})


def test_the_explanation_of_diabetes_in_words():
    met = diabetes.explanation_sentence(pattern("above", "below", "below"))
    assert "lets us expect: " in met and "median JSD between seeds" in met and "other way" not in met
    mixed = diabetes.explanation_sentence(pattern("below", "contains", ""))
    assert "expect: " not in mixed and "the other way round: " in mixed and "in no way that is shown: " in mixed
    assert "Too few seeds: median JSD between seeds" in mixed
    assert diabetes.explanation_sentence(pattern("", "", "")).startswith("The generated documents do not decide it")


def test_what_was_reported_of_diabetes_shows_the_pattern():
    """The pattern that the generated documents are held against: reported, so it must be in the files."""
    reported_of = diabetes.as_reported()
    positive, negative = reported_of["median change under permutation"]
    assert positive > negative
    positive, negative = reported_of["median JSD between seeds"]
    assert positive < 0.15 < negative
    positive, negative = reported_of["searched ε-max JSD (ε 0.05)"]
    assert positive < negative
