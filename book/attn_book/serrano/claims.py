"""The claims of Serrano & Smith on their pages: scored rows as tables and in words."""

from collections.abc import Iterable
from itertools import combinations

import pandas as pd

from attn_book import words as wording
from attn_book.reported import reported
from attn_book.serrano.pages import model_name

DIFFERENCES = ("1b", "3b", "4a", "4b", "4c", "6", "7", "8")
"""Statements whose numbers lie between -1 and 1 (6 and 8: of two models); all others are shares."""


def number_of(item: str) -> str:
    """'4a' of 'claim: 4a random order ...'; 'share' of the repository's shares."""
    return item.removeprefix("claim: ").split(" ")[0] if item.startswith("claim") else "share"


def claim_rows(scored: pd.DataFrame, numbers: str, corpora: Iterable[str]) -> pd.DataFrame:
    """Scored rows of claims ('1 2', 'share'), in the order of the rules, with column number; of `corpora` alone."""
    number = scored["item"].map(number_of)
    wanted = tuple(numbers.split())
    chosen = number.map(lambda name: name in wanted or name[0] in wanted) & scored["corpus"].isin(list(corpora))
    return scored[chosen].assign(number=number[chosen])


def verdicts(rows: pd.DataFrame, wanted: pd.DataFrame | None = None) -> pd.DataFrame:
    """Claims as a table to show: a row per data set and model, a column per claim; rows with a verdict first.

    A cell holds our number, its interval and the verdict. Where no claim of a row is judged for one and the same reason
    ('few seeds'), that stands in column state instead. wanted: rows whose statements all have a column (default:
    `rows`); one without any number of ours says 'no run', one that is not asked of a row has a dash there.
    """
    wanted = rows if wanted is None else wanted
    titles = {
        item: f"{claim_name(item).removeprefix('Statement ')}: {asked(next(part.itertuples()))}"
        for item, part in wanted.groupby("item", sort=False)
    }
    lines = []
    for (corpus, encoder), part in rows[rows["ours"].notna()].groupby(["corpus", "encoder"], sort=False):
        found = [verdict(row) for row in part.itertuples()]
        same = len(set(found)) == 1 and found[0].startswith("no verdict: ")
        cells = {
            titles[row.item]: wording.told(row.ours, row.low, row.high, ".3f", possible(row.item))
            + ("" if same else f"; {what}")
            for row, what in zip(part.itertuples(), found, strict=True)
        }
        state = found[0].removeprefix("no verdict: ") if same else "judged"
        place = {"data set": corpus, "model": model_name(encoder), "seeds": part["n_seeds"].min(), "state": state}
        lines.append(place | cells)
    lines = lines or [{"data set": "–", "model": "–", "seeds": 0, "state": "no run"}]
    made = pd.DataFrame(lines, columns=["data set", "model", "seeds", "state", *titles.values()], dtype=object)
    for title in titles.values():
        made[title] = made[title].fillna("–" if made[title].notna().any() else "no run")
    return made.sort_values("state", key=lambda state: state != "judged", kind="stable")


def possible(item: str) -> tuple[float, float]:
    """The values that a statement's number can have: an interval is cut there."""
    return (-1, 1) if number_of(item) in DIFFERENCES else (0, 1)


def asked(row) -> str:
    """'above 0.5', or the reported value with its tolerance."""
    if row.item.startswith("claim"):
        return f"{row.side} {row.reported:g}"
    return f"{row.reported:.3f} ± {row.tolerance:g}"


def verdict(row) -> str:
    """The verdict in words, or why there is none; a claim whose interval contains the threshold is 'not decided'."""
    if row.verdict == "not rerun":
        return f"no verdict: {row.unjudged}"
    if row.item.startswith("claim"):
        contains = row.low <= row.reported <= row.high
        return "holds" if row.verdict == "reproduced" else "not decided" if contains else "does not hold"
    return "within" if row.verdict == "reproduced" else "outside"


def told_claims(rows: pd.DataFrame) -> list[str]:
    """What became of the claims, for a list: data sets where each holds, is not decided, does not hold, or waits.

    Claims of the same outcome share an item; where an outcome has several parts, they are a list under it.
    """
    if rows["ours"].isna().all():
        return ["No run of this paper's models is stored for these data sets, so nothing is decided."]
    groups: dict[str, list[str]] = {}
    for item, part in rows[rows["ours"].notna()].groupby("item", sort=False):
        parts = outcome(part)
        told = f" {parts[0]}" if len(parts) == 1 else "".join(f"\n  - {text}" for text in parts)
        groups.setdefault(told, []).append(claim_name(item).removeprefix("Statement "))
    return [f"Statement{'s' * (len(items) > 1)} {'; '.join(items)}:{told}" for told, items in groups.items()]


def outcome(part: pd.DataFrame) -> list[str]:
    """What became of one claim, judged data sets first: ['holds on amazon (HANrnn)', 'no verdict (few seeds) on yelp'].

    Data sets of the same models share a bracket.
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for row in part.itertuples():
        groups.setdefault(verdict(row), {}).setdefault(row.corpus, []).append(model_name(row.encoder))
    several, told = part["encoder"].nunique() > 1, []
    for what, sets in sorted(groups.items(), key=lambda group: group[0].startswith("no verdict")):
        alone = {name for name in sets if sum(name in others for others in groups.values()) == 1}
        bare = set(sets) if not several else alone if what.startswith("no verdict: few seeds") else set()
        together: dict[str, list[str]] = {}
        for name, models in sorted(sets.items(), key=lambda of_set: of_set[0] in bare):
            together.setdefault("" if name in bare else ", ".join(models), []).append(name)
        names = ", ".join(bracketed(of_sets, models) for models, of_sets in together.items())
        kind, _, why = what.partition(": ")
        told.append(f"{kind} ({why}) on {names}" if why else f"{kind} on {names}")
    return told


def bracketed(corpora: list[str], models: str) -> str:
    """'yelp (HANrnn)'; 'amazon, yelp and yahoo (each: HANrnn, FLANrnn)'; without models the names alone."""
    if not models:
        return ", ".join(corpora)
    *others, last = corpora
    return f"{', '.join(others)} and {last} (each: {models})" if others else f"{last} ({models})"


def told_decided(rows: pd.DataFrame) -> str:
    """How many rules are decided, how many intervals hold the threshold, and how many rules have no number of ours,
    which stand in no line of `verdicts`."""
    found = [verdict(row) for row in rows.itertuples()]
    judged, open_ = sum(not what.startswith("no verdict") for what in found), found.count("not decided")
    decided, without = judged - open_, int(rows["ours"].isna().sum())
    told = f"{decided} of {len(rows)} rows {'is' if decided == 1 else 'are'} decided"
    told += f"; of {open_} more the interval contains the threshold" * bool(open_)
    asks = "asks for a model of which no run is stored and has no line of its own"
    ask = "ask for a model of which no run is stored and have no line of their own"
    return told + f"; {without} {asks if without == 1 else ask}" * bool(without)


def claim_name(item: str) -> str:
    """'Statement 4a, random order needs more removals than attention'."""
    number, _, words = item.removeprefix("claim: ").replace(" x ", " × ").partition(" ")
    return f"Statement {number}, {words}"


def pairs_within(tolerance: float) -> tuple[int, int]:
    """Of the authors' shares: pairs of different data sets of one model that lie within the tolerance, and all pairs.

    The base rate of "within the tolerance": how often the share of another data set would do as well.
    """
    theirs = reported("serrano_gradient_beats_attention", statistic="fraction").groupby("model")["value"]
    gaps = [abs(a - b) for _, values in theirs for a, b in combinations(values, 2)]
    return sum(gap <= tolerance for gap in gaps), len(gaps)


def races(scored: pd.DataFrame, corpora: Iterable[str]) -> pd.DataFrame:
    """The authors' 16 shares beside ours, for `figures.dots`: column target; sets without theirs below."""
    rows = claim_rows(scored, "share", corpora)
    return rows.rename(columns={"ours": "mean", "reported": "target"})
