"""The authors' own heights by the line of claim 7, and the names of bins."""

from attn_book.jain import heights as jain_heights
from attn_book.jain import tables as jain_tables


def test_the_authors_own_figures_by_the_line_of_claim_7():
    found = jain_heights.authors_easy(0.7)
    assert found["below"] == "babi_1, snli" and found["split"] == "none"
    assert found["told"] == ["babi_1 0.59 (April), 0.58 (final)", "snli 0.52 (April), 0.62 (final)"]
    assert "diabetes diabetes" in found["classes"] and "diabetes no diabetes" not in found["classes"]
    assert found["final"]["diabetes"] and not found["final"]["snli"]
    assert jain_heights.authors_easy(0.75)["split"] == "adr", "the line moves, and so do the sets"


def test_the_last_bin_is_closed_for_readers():
    assert jain_tables.closed("Figure 6 [0.75,1.00)") == "Figure 6 [0.75,1.00]"
    assert jain_tables.closed("[0.50,0.75)") == "[0.50,0.75)" and jain_tables.BINS[-1].endswith("]")
