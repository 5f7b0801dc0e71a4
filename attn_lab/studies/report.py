"""The table of a study or a check, as people read it."""

import pandas as pd

SIDES = {1: "above", -1: "below", 0: "undecided"}


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """A table of numbers as people read it: an interval in one column, a dash for what there is not, and on which side
    of chance the interval lies."""
    table = table.rename_axis(None)
    rows = table[["value", "low", "high", "chance"]].map("{:.3f}".format).replace("nan", "–")
    verdict = table["side"].map(SIDES).where(table["chance"].notna(), "")
    return pd.DataFrame(
        {
            "value": rows["value"],
            "95 %": rows["low"] + " to " + rows["high"],
            "chance": rows["chance"],
            "verdict": verdict,
            "texts": table["texts"],
        }
    )
