"""The real data sets, where $ATTN_DATA holds those that the archive's runs were trained on."""

import functools
import json
import os

import pytest

from attn_lab.data import catalogue, encode

pytestmark = pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
NAMES = [name for name in catalogue.FINGERPRINTS.values() if name in catalogue.CATALOGUE]

real = functools.cache(encode)  # once for all tests below


@pytest.mark.parametrize("name", NAMES)
def test_the_arrays_are_those_of_the_archive(name):
    """Every row, label and word: whatever changes the rules of a data set changes its fingerprint."""
    assert catalogue.FINGERPRINTS.get(real(name).fingerprint) == name


@pytest.mark.parametrize("name", [name for name in NAMES if catalogue.corpus(name).expected])
def test_counts_are_the_papers(name):
    entry, encoded = catalogue.corpus(name), real(name)
    for split, counts in entry.expected.items():
        if isinstance(counts, list) and (split == "test" or not entry.whole_train):
            assert encoded.statistics["splits"][split]["per_class"] == counts, split
        elif split == "vocabulary" and encoded.statistics.get("train_share", 1) == 1:
            assert abs(len(encoded.vocabulary) - counts) <= (2 if name == "20news" else 0)  # spaCy's version
    assert json.loads(json.dumps(encoded.statistics)) == encoded.statistics
