"""One set of numbers: what the front page says stands on a page that it links to; pages that tell one thing agree."""

import re
from functools import cache
from pathlib import Path

import pytest

from attn_build.sources import executed, numbers_of

ROOT = Path(__file__).parents[1]
FRONT = (ROOT / "notebooks" / "index.md").read_text(encoding="utf-8")
FINDINGS = re.findall(r"^\d+\. .*$", FRONT, re.MULTILINE)
TOLD_OFTEN = {
    "single-state agreement, SST": {"index": "echo", "verdict": "echo", "one-word": "echo_sst"},
    "permuting changes SST by less than 0.1": {"index": "little_sst", "verdict": "little_own"},
    "single-state agreement, SST, in the summary": {"index": "echo", "summary": "echo"},
    "minimal sets by attention, Amazon": {"index": "attention", "summary": "attention"},
}
"""What several pages print -> page -> the name under which it is glued there."""

pytestmark = pytest.mark.skipif(not executed(ROOT, "index").is_file(), reason="no built book; `make book` writes it")


@cache
def glued(page: str) -> dict:
    """What a page glues, by name."""
    return numbers_of(page, ROOT)


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_number_of_the_front_page_stands_on_the_page_that_it_links_to(finding):
    linked = [value for page in re.findall(r"{doc}`[^`]*<([^>]*)>`", finding) for value in glued(page).values()]
    names = re.findall(r"{glue:text}`(\w+)", finding)
    absent = [name for name in names if glued("index")[name] not in linked]
    assert not absent


@pytest.mark.parametrize("told", TOLD_OFTEN)
def test_pages_that_tell_the_same_thing_tell_one_number(told):
    values = {glued(page)[name] for page, name in TOLD_OFTEN[told].items()}
    assert len(values) == 1
