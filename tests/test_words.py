"""Numbers in words."""

from attn_book import words


def test_a_rounded_zero_has_no_sign():
    assert words.number(-0.001, ".2f") == "0.00" and words.number(-0.02, ".2f") == "−0.02"
    assert words.number(0.25, ".0%") == "25%" and words.number(-0.001, ".0%") == "0%"
