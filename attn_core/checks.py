"""What public functions ask of arrays, once: what is inside them trusts what was checked. Lists are taken."""

from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core.errors import AttnError, one_line

SUM = 1e-4
"""By how much weights may miss the sum 1."""


def numbers(name: str, values: ArrayLike, *shape: Any, finite: bool = True) -> ndarray:
    """Numbers as an array of this shape; ... first: with any axes before it, None: of any length."""
    try:
        array = np.asarray(values)
        broken = finite and not np.isfinite(array).all()
    except (TypeError, ValueError, RuntimeError) as error:
        raise AttnError(f"{name} must be an array of numbers ({one_line(error)})") from error
    if shape[0] is ...:
        shape = (None,) * (array.ndim - len(shape) + 1) + shape[1:]
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        raise AttnError(f"{name} must have the shape {shape}, got {array.shape}; None stands for any length")
    if broken:
        first = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
        raise AttnError(f"{name} must be finite, which it is not at {first}; leave out what is not")
    if np.ma.isMaskedArray(values):
        raise AttnError(f"{name} must have no masked numbers; leave them out")
    return array


def bounds(offsets: ArrayLike, tokens: int) -> ndarray:
    """(D + 1,) where texts of so many tokens begin and end, none of them empty."""
    array = numbers("offsets", offsets, None)
    if array.dtype.kind not in "iu" or array[:1].tolist() != [0] or array[-1] != tokens or (np.diff(array) < 1).any():
        raise AttnError(f"offsets must rise from 0 to the number of tokens, {tokens}: one more than texts, none empty")
    return array


def weights(name: str, values: ArrayLike, offsets: ndarray | None = None) -> ndarray:
    """Distributions (..., n), or with offsets those of texts laid end to end (..., T), as float64: 0 or more, with the
    sum 1 in each, within SUM."""
    array = numbers(name, values, ..., None if offsets is None else offsets[-1]).astype(float)
    sums = array.sum(axis=-1) if offsets is None else np.add.reduceat(array, offsets[:-1], axis=-1)
    if (array < 0).any() or (np.abs(sums - 1) > SUM).any():
        raise AttnError(f"{name} must be 0 or more and add up to 1 in each text; divide them by their sum")
    return array


def outputs(name: str, values: ArrayLike) -> ndarray:
    """Output probabilities (..., K): K = 1 is that of class 1, others add up to 1."""
    array = numbers(name, values, ..., None).astype(float)
    weights(name, array if array.shape[-1] > 1 else np.concatenate([array, 1 - array], axis=-1))
    return array


def indices(name: str, values: ArrayLike, count: int, texts: int | None, way: str) -> ndarray:
    """Whole numbers (texts,) from 0 to count - 1; else an AttnError that says `way`."""
    array = numbers(name, values, texts)
    beyond = np.flatnonzero((array < 0) | (array >= count) | (array.dtype.kind not in "iu"))
    if len(beyond):
        raise AttnError(f"{name} must be whole numbers from 0 to {count - 1}, got {array[beyond[0]]}; {way}")
    return array


def whole(name: str, value: object, least: int = 0) -> None:
    """AttnError unless it is a whole number, not below the least."""
    if not isinstance(value, int | np.integer) or value < least:
        raise AttnError(f"{name} must be a whole number from {least}, got {value}")


def places(rows: ArrayLike, count: int) -> ndarray:
    """Rows, of a mask or counted from the end, too, as whole numbers from 0 to count - 1."""
    try:
        return np.arange(count)[rows]  # type: ignore[index]
    except (IndexError, TypeError, ValueError) as error:
        raise AttnError(f"no such rows of {count} texts ({one_line(error)}); give whole numbers or a mask") from error
