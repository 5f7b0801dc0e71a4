"""The closing page's answers: numbers are flipped, and the words follow."""

import numpy as np
import pandas as pd

from attn_core import diabetes, verdict

LOW = [0.2, 0.21, 0.19, 0.2, 0.2]


def gaps(mean, low, high, seeds, corpus="sst") -> pd.DataFrame:
    from attn_core.wiegreffe_tables import answer

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
    assert needed.state == verdict.DECIDED and "is needed on sst" in needed.words
    assert not_needed.state == verdict.DECIDED and "not needed on sst" in not_needed.words
    part = verdict.tasks(gaps(0.05, 0.04, 0.06, 8), {"sst": "subset"})
    assert part.state == verdict.UNDECIDED and "is needed on sst (subset) (gap" in part.words, "a part decides nothing"
    assert verdict.tasks(gaps(0.01, 0.0, 0.02, 8), {}).state == verdict.UNDECIDED
    assert verdict.tasks(gaps(0.05, 0.04, 0.06, 4), {}).state == verdict.WAITING


def test_whether_transferred_weights_carry_information():
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
    assert guides.VERDICTS["tokens"] in tokens.words and tokens.state == verdict.DECIDED
    part = verdict.transfer(differences(0.9, 0.5, 0.5), ["sst"], {"sst": "subset"})
    assert part.state == verdict.UNDECIDED and part.words.startswith("\n\n- sst (subset): a gain")
    both = verdict.transfer(differences(0.9, 0.5, 0.8), ["sst"], {}).words
    assert (
        guides.VERDICTS["tokens"] in both
        and guides.LEAKS["above"] in both
        and guides.LEAKS["above"] not in tokens.words
    )
    not_shown = verdict.transfer(differences(0.6, 0.6, 0.5), ["sst"], {})
    assert guides.VERDICTS["undecided"] in not_shown.words and not_shown.state == verdict.UNDECIDED
    assert guides.VERDICTS["no gain"] in verdict.transfer(differences(0.5, 0.5, 0.5), ["sst"], {}).words
    assert verdict.transfer(differences(0.9, 0.5, 0.5).iloc[:0], ["sst"], {}).state == verdict.WAITING


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
