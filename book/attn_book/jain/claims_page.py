"""The claims of section 6 as its page has them: what each asks, tallies and lists for the prose, and two tables.

All take rows of `claims.claims`. Lists are of texts, one item each, for a bulleted list.
"""

from collections.abc import Iterable

import pandas as pd

from attn_book import words as wording
from attn_book.jain import claims
from attn_book.scorecard import digits_beside
from attn_book.words import in_words

LIES = {
    "clears": "shown",
    "contains": "the interval contains the threshold",
    "opposite": "wholly on the other side",
}
"""Where the interval of a claim asked anew lies, in words; in the order of the list."""


def asked(row) -> str:
    """What a claim asks of its number: '> 0.4'."""
    return f"{'>' if row.side > 0 else '<'} {row.reported:g}"


def asked_by_name(rows: pd.DataFrame) -> dict[str, str]:
    """What each claim asks, keys 'asked_1' to 'asked_7', 'asked_6b', 'asked_7b'; patterns ask too unlike things."""
    first = rows[rows["name"] != "also"].drop_duplicates("name")
    return {f"asked_{row.name}": asked(row) for row in first.itertuples()}


def tallies(rows: pd.DataFrame, hardly_used: Iterable[str]) -> dict[str, int]:
    """The counts that the prose quotes: `claims.counted` of the general claims, and these.

    patterns_*, later_*: the same of the other kinds. shown_used, judged_used: without the data sets of hardly_used,
    whose model hardly uses the text that it attends over. late, late_shown: general claims judged under a rule added
    after the runs, and of them those shown. first_shown, first_holm: of claim 1, by its interval and corrected.
    """
    late = (rows["late"] == "yes") & (rows["lies"] != "") & claims.of_kind(rows, "general")
    shown, first = rows["lies"] == "clears", rows["number"].eq(1)
    used = claims.counted(rows[~rows["corpus"].isin(list(hardly_used))])
    return {
        **claims.counted(rows),
        **{f"{name}_used": used[name] for name in ("shown", "judged")},
        **{f"{kind}_{name}": count for kind in claims.KINDS[1:] for name, count in claims.counted(rows, kind).items()},
        "late": int(late.sum()),
        "late_shown": int((late & shown).sum()),
        "first_shown": int((first & shown).sum()),
        "first_holm": int((first & (rows["holm"] < claims.LEVEL)).sum()),
    }


def told(part: pd.DataFrame) -> list[str]:
    """One claim an item: data set, class, claim, number; 'none' for no row.

    Patterns on two differences of τ share a name, so they are told with their measure.
    """
    return [
        f"{r.corpus}{'' if r.group == 'all' else ' ' + r.group}, "
        f"{r.claim}{f' ({in_words(r.measure)})' if not r.place and r.measure.startswith('tau(') else ''}: "
        f"{claims.told(r)}"
        for r in part.itertuples()
    ] or ["none"]


def told_anew(part: pd.DataFrame, few: str) -> list[str]:
    """A claim asked anew, one data set an item: its number and where the interval lies; few: of those not judged."""
    decided = [
        f"{r.corpus} {claims.told(r)}: {word}"
        for lies, word in LIES.items()
        for r in part[part["lies"] == lies].itertuples()
    ]
    undecided = part[(part["lies"] == "") & part["ours"].notna()]
    return decided + [f"{r.corpus}: {few}" for r in undecided.itertuples()] or ["no run"]


def told_names(part: pd.DataFrame, words: dict[str, str]) -> list[str]:
    """The data sets alone by where the interval lies, in the order of `words` (lies -> words)."""
    return wording.spoken({word: wording.listed(part[part["lies"] == lies]["corpus"]) for lies, word in words.items()})


def lists(rows: pd.DataFrame) -> dict[str, str | list[str]]:
    """The lists that the prose quotes.

    contained, against: general claims whose interval contains the threshold, or lies wholly opposite; seven_not: data
    sets on which claim 7 is judged and not shown; patterns_not: judged patterns that are not shown. anew_6b, anew_7b:
    the claims asked anew with their numbers; names_6b, names_7b: by side, names alone.
    """
    general, later, patterns = (rows[claims.of_kind(rows, kind)] for kind in claims.KINDS)
    six, seven = (later[later["name"] == name] for name in ("6b", "7b"))
    seven_not = general[(general["name"] == "7") & ~general["lies"].isin(["", "clears"])]
    return {
        "contained": told(general[general["lies"] == "contains"]),
        "against": told(general[general["lies"] == "opposite"]),
        "seven_not": wording.listed(seven_not["corpus"]),
        "patterns_not": told(patterns[patterns["lies"].isin(["contains", "opposite"])]),
        "anew_6b": told_anew(six, "too few documents or seeds"),
        "anew_7b": told_anew(seven, "too few seeds"),
        "names_6b": told_names(
            six, {"opposite": "at least 0.1 on", "clears": "below 0.1 on", "contains": "undecided on"}
        ),
        "names_7b": told_names(seven, {"clears": "shown on", "contains": "undecided on", "opposite": "refuted on"}),
    }


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Every claim with what it asks, our number with its interval, seeds, verdict and p. †: rule added after runs."""
    late = (rows["late"] == "yes") & (rows["lies"] != "")
    return pd.DataFrame(
        [
            {
                "claim": f"{r.name}  {r.claim}",
                "data": r.corpus + ("" if r.group == "all" else f" {r.group}"),
                "asked": asked(r),
                "ours": wording.told(r.ours, r.low, r.high, f".{digits_beside(r.reported, r.low, r.high, r.ours)}f"),
                "seeds": r.n_seeds,
                "rule": claims.WORDS[r.lies] + (" †" if late[r.Index] else ""),
                "p": claims.told_p(r.p),
                "p, Holm": claims.told_p(r.holm),
            }
            for r in rows.itertuples()
        ]
    )


def lost_table(rows: pd.DataFrame) -> pd.DataFrame:
    """General claims that their interval clears and Holm's correction does not leave standing; one row 'none'."""
    general = rows[claims.of_kind(rows, "general")]
    lost = general[(general["lies"] == "clears") & ~(general["holm"] < claims.LEVEL)]
    return pd.DataFrame(
        [{"claim": f"{r.name}  {r.claim}", "data": r.corpus, "ours": claims.told(r)} for r in lost.itertuples()]
        or [{"claim": "none"}]
    )
