"""One set of numbers: what the front page says stands on a page that it links to; pages that tell one thing agree."""

import re
from functools import cache

import pytest
from conftest import ROOT

from attn_build.sources import executed, numbers_of

FRONT = (ROOT / "notebooks" / "index.md").read_text()
FINDINGS = re.findall(r"^\d+\. .*$", FRONT, re.MULTILINE)
TOLD_OFTEN = {
    "single-state agreement, SST": """
        index agreement, one-word agreement_sst, summary agreement, teaching agreement""",
    "single-state agreement, SST, without context": """
        teaching agreement_average, one-word-controls start_sst""",
    "single-state agreement, SST, untrained": "one-word untrained, one-word-controls untrained",
    "single-state agreement, SST, another training's states": "one-word others, one-word-controls trained_other",
    "single-state agreement, SST, as a table has it": "one-word-controls reads_own, transformer reads_own",
    "permuting changes SST by less than 0.1": """
        index little_sst, teaching little_sst, jain/04-2-1-permutation sst,
        robustness little_sst""",
    "permuting changes IMDB by less than 0.1": """
        index little_imdb, teaching little_imdb, jain/04-2-1-permutation imdb, one-word-controls imdb_lstm""",
    "own weights change more than permuted ones, SST": "index wins_sst, verdict wins_sst, jain/04-2-1-permutation auc",
    "own weights change more than permuted ones, AG News": "verdict wins_agnews, jain/04-2-1-permutation auc_agnews",
    "the most attended word is deletion's, AG News": "index names_agnews, verdict names_agnews",
    "the most attended word is deletion's, SST's CNN": "compared cnn_own, verdict names_cnn",
    "a word list's is deletion's, AG News": "index bayes_agnews, verdict bayes_agnews",
    "a word list's is deletion's, SST's CNN": "compared cnn_bayes, verdict bayes_cnn",
    "the most attended word is against the decision, at least": "compared lstm_against_low, verdict against_low",
    "the most attended word is against the decision, at most": "compared lstm_against_high, verdict against_high",
    "tau of attention and gradients, SST": "jain/04-1-correlation sst_lstm, robustness tau_sst, summary tau",
    "minimal sets by attention, Amazon": """
        index attention, summary attention, teaching attention, serrano/05-sets-of-weights attention""",
    "minimal sets by gradients, Amazon": """
        index gradient, summary gradient, teaching gradient, serrano/05-sets-of-weights gradient""",
    "minimal sets at random, Amazon": "index random, teaching random, serrano/05-sets-of-weights random",
    "F1 lost under uniform weights, IMDB": "wiegreffe/03-2-uniform imdb_gap, wiegreffe/06-conclusion imdb_gain",
}
"""What several pages print -> each page and the name under which it is glued there."""
MEASURED = {
    "the most attended word is deletion's, SST": "verdict names_sst, compared top_lstm",
}
"""The same where one page reads a table of five digits."""

pytestmark = pytest.mark.skipif(
    not executed(ROOT, "index").is_file(), reason="no built book; `make book` writes it"
)


@cache
def glued(page: str) -> dict:
    """What a page glues, by name."""
    return numbers_of(page, ROOT)


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_number_of_the_front_page_stands_on_the_page_that_it_links_to(finding):
    linked = [
        value for page in re.findall(r"{doc}`[^`]*<([^>]*)>`", finding) for value in glued(page).values()
    ]
    names = re.findall(r"{glue:text}`(\w+)", finding)
    absent = [name for name in names if glued("index")[name] not in linked]
    assert not absent


def values_of(places: str) -> list:
    """The glued value at each `page name`."""
    return [glued(page)[name] for page, name in map(str.split, places.split(","))]


@pytest.mark.parametrize("told", TOLD_OFTEN)
def test_pages_that_tell_the_same_thing_tell_one_number(told):
    values = values_of(TOLD_OFTEN[told])
    assert len(values) > 1 and len({*values}) == 1, values


@pytest.mark.parametrize("told", MEASURED)
def test_a_table_of_few_digits_tells_the_same_number(told):
    one, other = values_of(MEASURED[told])
    assert one == pytest.approx(other, abs=1e-5)
