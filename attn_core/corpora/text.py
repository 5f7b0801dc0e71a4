"""The four special tokens that every vocabulary begins with, and their ids."""

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
PAD = 0
UNKNOWN = 1
START = 2
END = 3

CLS = 101
SEP = 102
"""What START and END are among MiniLM's word pieces; pads are 0 as everywhere."""
