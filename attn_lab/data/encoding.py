"""A data set as arrays of token ids, by its name: one cache for all, and who makes what is not there.

Arrays are made once and kept, see ``files.cached``, so a machine that only trains needs neither text nor tokenizer;
those of the user's own tables are taken while $ATTN_DATA names these and never after. What is made without tables that
the catalogue names is never kept, nor what the user registered without a version: nothing would tell that it changed.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args, overload

from attn_core.documents import Documents, Encoded
from attn_core.errors import AttnError
from attn_lab.data import arrays, catalogue, files, prepare
from attn_lab.data.planted import planted
from attn_lab.data.prepared import Prepared

ENCODING = 1
"""Raised by hand when the same text, or bAbI's generator, is meant to give other arrays; all are then made anew."""

PREPARE: dict[str, Callable[..., Prepared]] = {"planted": planted} | prepare.PREPARE
"""Corpus -> function that gives its texts; its arguments are the corpus's options."""

VERSIONS: dict[str, str] = {}
"""Corpus that the user registered -> version, '' without one, see `foreign.register_corpus`."""


@overload
def encode(corpus: str, vocabulary: Any = None, **options) -> Encoded: ...


@overload
def encode(corpus: Sequence[str], vocabulary: Sequence[str]) -> Documents: ...


def encode(corpus, vocabulary=None, **options):
    """A data set as arrays, from the cache or made from its tables; or texts of yours, by a vocabulary.

    Parameters
    ----------
    corpus : str or list of str
        A name of the catalogue; or texts.
    vocabulary : list of str, optional
        Of texts: words by their id, as `Encoded.vocabulary` has them; any other word is <unk>.
    **options
        Those of the corpus's function in ``prepare`` or ``planted``, and for the sets of Jain & Wallace
        ``vocabulary_from``: 'train', as in their final run, or 'all', as behind their Table 1 (vocabulary fitted on
        all splits).

    Returns
    -------
    Encoded, or Documents
        Of texts Documents with doc_ids 0 to D - 1 and labels 0; tokens are spaCy's in lower case, with digits masked
        where the vocabulary masks them.

    Raises
    ------
    AttnError
        Unknown corpus or option, data found nowhere, or as of `build`; a text without words, no vocabulary.

    Examples
    --------
    >>> from attn_lab.data import encode
    >>> encode("planted", n_test=20).splits["test"].labels.shape
    (20,)
    >>> texts = encode(["A quiet film."], ["<pad>", "<unk>", "<s>", "</s>", ".", "a", "film"])
    >>> texts.ids.tolist()
    [2, 5, 1, 6, 4, 3]
    """
    if isinstance(corpus, str):
        return Arrays(corpus, options).read()
    return arrays.typed(corpus, vocabulary)


class Arrays:
    """The arrays of a data set under its options: how they are made, and where they are kept."""

    def __init__(self, corpus: str, options: dict) -> None:
        """AttnError for an unknown corpus, an unknown option or a value that an option does not take."""
        self.entry = catalogue.corpus(corpus)
        if corpus not in PREPARE:
            origin = self.entry.origin
            raise AttnError(f"the texts of '{corpus}' are not passed on ({origin}); name a table of yours by corpus_of")
        self.prepare = PREPARE[corpus]
        self.parameters = inspect.signature(self.prepare).parameters
        self.options = dict(options)
        self._check_options()
        self.vocabulary_from = self.options.pop("vocabulary_from", "train")

    def _check_options(self) -> None:
        known = {}
        if not (self.entry.cut or self.entry.generated):
            known["vocabulary_from"] = ("train", "all")
        for name, parameter in self.parameters.items():
            known[name] = get_args(parameter.annotation)  # the values of a Literal
        for name, value in self.options.items():
            where = f"corpus '{self.entry.name}'"
            if name not in known:
                raise AttnError(f"{where} has no option '{name}'; known: {', '.join(known) or 'none'}")
            if known[name] and value not in known[name]:
                raise AttnError(f"{where}: {name} is {value!r}; known: {', '.join(map(repr, known[name]))}")

    def read(self) -> Encoded:
        """From the cache, else made and kept where something would tell of a change."""
        if not self.kept:
            return self.make()
        about, arrays = files.cached(self.stem, ENCODING, self.source, self.made)
        splits = {}
        for split in about["statistics"]["splits"]:
            names = {name.removeprefix(f"{split} "): name for name in arrays if name.startswith(f"{split} ")}
            splits[split] = Documents(**{field: arrays[name] for field, name in names.items()})
        vocabulary = tuple(about["vocabulary"])
        return Encoded(self.entry.name, splits, vocabulary, about["fingerprint"], about["statistics"])

    @property
    def kept(self) -> bool:
        """Whether they are kept: made of files, by the package's own code or by a version of another's."""
        name = self.entry.name
        if not self.entry.files or self.options.get("source") == "generated":
            return False
        return name not in VERSIONS or bool(VERSIONS[name] and self.source())

    @property
    def stem(self) -> Path:
        """Where they are kept, but for the ending: the corpus and the options that are not at their defaults."""
        marks = ["all"] if self.vocabulary_from == "all" else []
        for name, value in self.options.items():
            if value != self.parameters[name].default:
                marks.append(f"{name}={value}")
        name = "-".join([self.entry.name, *marks])
        if len(name.encode()) > 200:
            name = f"{self.entry.name}-{files.digest(marks)}"
        return files.cache_folder() / "arrays" / name

    def source(self) -> dict[str, str] | None:
        """What tells the files at hand from others; None where one is missing."""
        paths = files.found(self.entry)
        if not paths:
            return None
        marks = {part: files.sha256(path) for part, path in paths.items()}
        if self.entry.name in VERSIONS:
            marks["code"] = VERSIONS[self.entry.name] + repr(self.entry)
        return marks

    def make(self) -> Encoded:
        """From the tables."""
        prepared = self.prepare(**self.options)
        return arrays.build(self.entry, prepared, self.vocabulary_from)

    def made(self) -> files.Kept:
        """The same as `files.cached` keeps it: facts, and arrays by split and field."""
        about = vars(self.make()).copy()
        arrays = {
            f"{split} {field}": values
            for split, part in about.pop("splits").items()
            for field, values in vars(part).items()
            if values is not None
        }
        return about, arrays


def identity(corpus: str, options: tuple) -> str | None:
    """Fingerprint of the data that a training would read now; None where they are not on this machine."""
    paths = files.found(catalogue.corpus(corpus))
    if not paths:
        return None
    made_from = [files.stamp(path) for path in paths.values()]
    return _identity(corpus, options, VERSIONS.get(corpus), *made_from, files.cache_folder())


@lru_cache(maxsize=64)
def _identity(corpus: str, options: tuple, *made_from) -> str:
    return encode(corpus, **dict(options)).fingerprint
