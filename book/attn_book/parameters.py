"""Parameters of a page: read from its cell, fitted to their types, and refused before anything runs.

What a parameter takes beside its type, and whose texts the page reads, stands in the page's front matter:

    attn:
      takes: {words: 1, epsilon: {ge: 0.001, lt: 1}, chosen: [dev, test]}
      reads: {encoder: lstm, attention: tanh}

takes: the least that a number may be; or bounds by pydantic's names; or the values (for a list: of its items, and null
where it may be empty); or 'default', those of the default.
reads: the stored run whose texts the page reads, by the fields of `Run` that are no parameters of it; those that are
say the rest. `documents: false` where numbers of the run are enough. Which data sets, encoders and seeds there are is
asked of the archive and the cache when the page runs.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Union

import numpy as np
import pandas as pd
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from attn_core.errors import AttnError
from attn_lab.data import catalogue
from attn_lab.runs import index, store
from attn_lab.runs.run import Run, command

SCALARS = (bool, int, float, str)
STRICT = ConfigDict(strict=True, allow_inf_nan=False)
WORDS = {"true": True, "false": False}
"""What YAML and papermill write for Python's."""

RUN_FIELDS = ("corpus", "encoder", "attention", "seed", "vectors", "selection")
"""Parameters of these names choose the run that a page reads."""


# ---- from the page's cell and the command line -----------------------------------------------------------------------


def declared(cell: str, page: str) -> dict:
    """Names and defaults of a parameters cell, read and never run; AttnError at a line that is not `name = literal`."""
    rule = f"page {page}: its parameters cell holds only `name = literal`, a bool, int, float, str or a list"
    defaults = {}
    statement: Any = None
    try:
        for statement in ast.parse(cell).body:
            (target,) = statement.targets
            value = ast.literal_eval(statement.value)
            items = value if isinstance(value, list | tuple) else [value]
            if not all(isinstance(item, SCALARS) for item in items):
                raise ValueError
            defaults[target.id] = value
    except SyntaxError as error:
        raise AttnError(f"{rule}; its line {error.lineno} is no Python ({error.msg})") from error
    except (AttributeError, ValueError) as error:
        raise AttnError(f"{rule}; found: {ast.unparse(statement).splitlines()[0]}") from error
    return defaults


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the one that is most like it, if any."""
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


@dataclass(frozen=True)
class Declaration:
    """What a page declares of its parameters. smoke: other values, with which the tests run it in a few seconds; the
    others are explained at the head of this file."""

    page: str
    defaults: dict
    takes: dict = field(default_factory=dict)
    reads: dict | None = None
    smoke: dict = field(default_factory=dict)

    def check(self, values: dict) -> dict:
        """`values` in the types of their defaults; AttnError, one line, for an unknown name or what is not taken."""
        described = [f"{name} ({type(value).__name__}, {value!r})" for name, value in self.defaults.items()]
        known = ", ".join(described) or "none"
        fitted = {}
        for name, value in values.items():
            if name not in self.defaults:
                near = nearest(name, self.defaults)
                raise AttnError(f"page {self.page} has no parameter {name!r}{near} Known: {known}")
            default = self.defaults[name]
            kind: TypeAdapter = TypeAdapter(_kind(default, self.takes.get(name)), config=STRICT)
            try:
                fitted[name] = kind.validate_python(_read(value, default))
            except ValidationError as error:
                reason = error.errors()[0]["msg"]
                raise AttnError(
                    f"page {self.page}: parameter {name}: {reason}, got {value!r}. Known: {known}"
                ) from None
        return fitted

    def settle(self, values: dict) -> dict:
        """All parameters, those of `values` in place of their defaults, fit to run with.

        Where the page reads a run and the reader set no `vectors`, they are those of the stored run. AttnError, one
        line, for a value that is not taken, a run that is not stored.
        """
        settled = self.defaults | self.check(values)
        if self.reads is None or not self.changed(settled):
            return settled
        vectors = read_vectors(self, settled, self.reads)
        if "vectors" in settled:
            settled["vectors"] = vectors
        return settled

    def changed(self, settled: dict) -> dict:
        """The parameters that are not at their defaults."""
        return {name: value for name, value in settled.items() if value != self.defaults[name]}


def _kind(default: Any, limit: object) -> Any:
    """The type of a parameter from its default and what it takes."""
    if not isinstance(default, list | tuple):
        return _item(type(default), default, limit)
    item: Any = _item(Union[tuple(map(type, default)) or SCALARS], default, limit)  # noqa: UP007
    may_be_empty = limit is None or (isinstance(limit, list) and None in limit)
    items = list[item] if isinstance(default, list) else tuple[item, ...]
    return Annotated[items, Field(min_length=0 if may_be_empty else 1)]


def _item(kind: Any, default: Any, limit: Any) -> Any:
    """The type of one value within its limits."""
    if isinstance(limit, int | float):
        limit = {"ge": limit}
    if isinstance(limit, dict):
        return Annotated[kind, Field(**limit)]
    allowed = default if limit == "default" else limit
    return Literal[tuple(value for value in allowed if value is not None)] if allowed else kind


def _read(value: object, default: Any) -> object:
    """A value as Python's plain types: NumPy's scalars from a caller; for all but texts what is typed on a command
    line, of several items with or without brackets. Whole numbers are decimal: 010 is none."""
    is_list = isinstance(default, list | tuple)
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str) and not isinstance(default, str):
        value = _literal(value, is_list)
    return type(default)(value) if is_list and isinstance(value, list | tuple) else value


def _literal(text: str, is_list: bool) -> object:
    """A literal of Python; else the words of a list, or WORDS."""
    text = text.strip()
    if is_list and not text.startswith(("[", "(")):
        text = f"[{text}]"
    with suppress(ValueError, SyntaxError):
        return ast.literal_eval(text)
    if is_list:
        items = text.strip("[]()").split(",")
        return [_literal(item, is_list=False) for item in items]
    return WORDS.get(text, text)


# ---- against what is stored ------------------------------------------------------------------------------------------


def read_vectors(declares: Declaration, settled: dict, reads: dict) -> str:
    """Vectors of the stored run that a page reads; a run of generated texts need not be stored, it is trained in
    seconds. Where the vectors are the page's own, or no parameter, any are taken, its own first."""
    vectors = declares.defaults.get("vectors")
    choice = {name: settled[name] for name in RUN_FIELDS if name in settled}
    if settled.get("vectors") == vectors:
        choice.pop("vectors", None)
    fixed = dict(reads)
    documents = fixed.pop("documents", True)
    readable = _stored(fixed | dict.fromkeys((*choice, "vectors"), "any"), documents)
    fits = [*readable.loc[_equal(readable, choice), "vectors"]]
    if fits:
        return min(fits, key=lambda name: name != vectors)
    run = None
    with suppress(AttnError, TypeError):  # no such model, or not one alone
        wanted = fixed | choice
        run = Run(**{name: value for name, value in wanted.items() if name in index.FIELDS and value != "any"})
        if run.family != fixed.get("family", run.family):
            run = None  # trained, it would be refused again
    if run and catalogue.corpus(run.corpus).generated:
        return run.vectors
    asked = ", ".join(f"{name} {value}" for name, value in choice.items())
    stored = _alternatives(readable, choice)
    message = f"page {declares.page}: no run with {asked} is stored; stored for this page: {stored}"
    if run:
        message += f". To train it{_minutes(run)}: {command(run)}"
    raise AttnError(message)


def _stored(fields: dict, documents: bool) -> pd.DataFrame:
    """The stored runs of these fields; with `documents` those whose single texts are kept."""
    rows = index.runs(**fields)
    if not documents:
        return rows
    kept = [any(store.has_traces(folder, key) for folder in store.stores()) for key in rows["key"]]
    return rows[np.array(kept, bool)]


def _equal(rows: pd.DataFrame, fields: dict) -> pd.Series:
    """Which rows have all these values."""
    return (rows[list(fields)] == list(fields.values())).all(axis=1)


def _alternatives(rows: pd.DataFrame, choice: dict) -> str:
    """What each parameter might be beside the others as they are; where no single one helps, the data sets."""
    values_of = []
    for name in choice:
        fixed = dict(choice)
        del fixed[name]
        values = rows.loc[_equal(rows, fixed), name].unique()
        if len(values):
            values_of.append(f"{name} {', '.join(map(str, values))}")
    return "; ".join(values_of) or f"corpus {', '.join(rows['corpus'].unique())}"


def _minutes(run: Run) -> str:
    """What a training takes and where, by the records of stored ones of the data set and the encoder, on a processor
    if there are any."""
    rows = index.runs(corpus=run.corpus, encoder=run.encoder, attention=["tanh", "dot"], vectors="any")
    seconds = defaultdict(list)
    for record in index.records(rows["key"]):
        seconds[record["device"]].append(sum(record["seconds"].values()))
    device = max(seconds, default="")  # 'cpu' comes after names of GPUs
    return f" (about {max(1, round(np.median(seconds[device]) / 60))} min on {device})" if seconds else ""
