"""A run: everything that changes the numbers of one trained model; its key, and the command line that makes it."""

import hashlib
import json
import shlex
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path

from attn_core import foreign
from attn_core.corpora import catalogue
from attn_core.corpora.catalogue import schedule
from attn_core.corpora.files import sha256
from attn_core.errors import AttnError

RECIPE = 1
"""Raised by hand when the numbers of all runs are meant to change; part of every key."""

SEEDS = (10, 50, 257, 500231, 100078, 12504, 90754789, 8988812, 2)
"""The book's one seed list; shorter lists take the first ones."""

ENCODERS = ("lstm", "cnn", "average", "none", "transformer")
HIERARCHICAL = ("han_rnn", "han_conv", "han_none", "flan_rnn", "flan_conv", "flan_none")
"""The six models of Serrano & Smith: attention over sentences (HAN) or over words (FLAN)."""

ATTENTIONS = ("tanh", "dot", "uniform", "given")
GUIDES = ("", "own", "permuted", "swapped", "untrained", "searched")
"""Whose weights a guided model is given: none, its base's own, these permuted within each document, its base's in
training and another seed's in the test, those of an untrained model, those of the per-document search."""

MOST = 2**32 - 1  # the largest seed that NumPy takes, and beyond any number of epochs or units
BOUNDS = {
    "seed": (0, MOST), "rounding": (0, MOST), "epochs": (0, MOST), "batch": (1, MOST), "hidden": (1, MOST),
    "fraction": (1e-9, 1.0), "learning_rate": (1e-12, 10.0), "decay": (0.0, 10.0), "divergence": (0.0, 1e6),
    "context": (0.0, 1.0), "tie": (0.0, 1e6), "hide": (0.0, 1e6),
}  # fmt: skip
"""The least and the largest that these fields may be, of their own type."""

WORDS = ("text", "position", "rank")
"""What the average encoder reads at each token: its word, its place, or its weight's rank (weights alone)."""


@dataclass(frozen=True)
class Run:
    """One training of one model.

    vectors: a recipe of `corpora.vectors` or a file; '' takes the catalogue's recipe for the corpus.
    selection: the split whose ROC AUC chooses the checkpoint ('dev': the authors' final code; 'test': the paper's
    Table 2). hidden: units per direction, filters per kernel or projection width. epochs, batch, hidden, learning_rate,
    decay: None takes what the papers use for the corpus and the encoder; epochs 0 is a model that is not trained.
    fraction: share of the training documents that is used. options: knobs of a corpus, by name or in pairs. Not in the
    papers: rounding, which draw moves each starting weight to a neighbouring float32 (`jain.nudge`); context, how much
    of the text's mean each token of the average encoder reads; tie and hide, strengths of the penalties of that name in
    `training.jain`.
    """

    corpus: str
    encoder: str = "lstm"
    attention: str = "tanh"
    seed: int = SEEDS[0]
    vectors: str = ""
    selection: str = "dev"
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    decay: float | None = None
    class_weights: bool = True
    hidden: int | None = None
    fraction: float = 1.0
    options: tuple[tuple[str, object], ...] = ()
    base: "Run | None" = None
    guide: str = ""
    words: str = "text"
    divergence: float | None = None
    rounding: int = 0
    context: float = 0.0
    tie: float = 0.0
    hide: float = 0.0

    def __post_init__(self) -> None:
        foreign.load_plugins()
        put = partial(object.__setattr__, self)
        choices = {"encoder": ENCODERS + HIERARCHICAL, "attention": ATTENTIONS, "selection": ("dev", "test"),
                   "guide": GUIDES, "words": WORDS}  # fmt: skip
        for name in ("corpus", "vectors", *choices):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise AttnError(f"{name} must be text, got {value!r}")
            if value not in (known := choices.get(name, (value,))):
                raise AttnError(f"unknown {name} '{value}'; known: {', '.join(filter(None, known))}")
        if isinstance(self.base, dict):
            put("base", from_dict(self.base))
        if not (self.base is None or isinstance(self.base, Run)):
            raise AttnError(f"base must be a run, in a grid a mapping of its fields; got {self.base!r}")
        pairs = list(self.options.items()) if isinstance(self.options, dict) else self.options or ()
        fits = lambda pair: isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], str | int | float)
        if not isinstance(pairs, list | tuple) or not all(map(fits, pairs)):
            raise AttnError(f"options must be pairs of a name and one value, got {self.options!r}")
        put("options", tuple(sorted((str(name), value) for name, value in pairs)))
        entry = catalogue.corpus(self.corpus)
        put("vectors", self.vectors or entry.vectors)
        for name, own in defaults(entry, self.encoder).items():
            if getattr(self, name) is None:
                put(name, own)
        for name, (least, most) in BOUNDS.items():
            value, kind = getattr(self, name), type(least)
            if value is None and name in ("hidden", "divergence"):
                continue
            if not isinstance(value, (int, kind)) or isinstance(value, bool) or not least <= value <= most:
                what = "a whole number" if kind is int else "a number"
                hint = " (in YAML 1e-3 is text; write 1.0e-3)" if isinstance(value, str) else ""
                raise AttnError(f"{name} must be {what} from {least:,} to {most:,}, got {value!r}{hint}")
            put(name, kind(value))  # 0 and 0.0 are one run
        if not isinstance(self.class_weights, bool):
            raise AttnError(f"class_weights must be true or false, got {self.class_weights!r}")
        for met, rule in self._rules():
            if not met:
                raise AttnError(f"{self.corpus} {self.encoder} {self.attention}: {rule}")

    def _rules(self) -> tuple[tuple[bool, str], ...]:
        """What must hold of fields together, and each rule in words."""
        family, base, average = self.family, self.base, self.encoder == "average"
        learned, single = self.attention in ("tanh", "dot"), family == "text"
        return (
            (bool(self.guide) + (self.divergence is not None) == (base is not None),
             "base goes with guide or divergence, with one of the two, and these need a base"),
            (bool(self.guide) == (self.attention == "given"), "attention 'given' goes with a guide"),
            (self.words == "text" or family == "guided", "words other than 'text' do not go with a divergence"),
            (self.encoder not in HIERARCHICAL or (self.attention, self.selection) == ("tanh", "dev"),
             "HAN and FLAN models have attention 'tanh' and selection 'dev'"),
            (not self.context or (average and single), "context goes with the average encoder on single texts"),
            (self.encoder != "transformer" or single, "encoder transformer reads single texts"),
            (not self.tie or (self.encoder == "lstm" and single), "tie goes with lstm on single texts"),
            (not self.hide or (self.corpus == "planted" and single and learned and not self.tie),
             "hide goes with planted texts and an attention that is learned, and not with tie"),
            (not self.rounding or family in ("text", "pair"), "rounding goes with the models of Jain & Wallace"),
            (family != "guided" or (average and self.attention in ("given", "uniform")),
             "a run that is guided or reads other words is of the average encoder, attention 'given' or 'uniform'"),
            (family != "adversary" or learned, "an adversary learns its attention, 'tanh' or 'dot'"),
            (base is None or base.family == "text" or (self.guide and base.family == "adversary"),
             "base must be a model of single texts, of a guided run also an adversary"),
            (base is None or (base.corpus, base.options) == (self.corpus, self.options),
             "base must be trained on the same data (corpus and options)"),
        )  # fmt: skip

    @property
    def family(self) -> str:
        """How it is trained and read: 'text', 'pair', 'hierarchical', 'guided' or 'adversary'."""
        if self.divergence is not None:
            return "adversary"
        if self.guide or self.words != "text":
            return "guided"
        if self.encoder in HIERARCHICAL:
            return "hierarchical"
        return "text" if catalogue.corpus(self.corpus).task == "text" else "pair"

    @property
    def key(self) -> str:
        """Readable name and hash of all fields that differ from their defaults, RECIPE, and `foreign.parts`.

        A new field with a default changes no key.
        """
        canonical = {"recipe": RECIPE, **changed(self), "vectors": vectors_identity(self.vectors)}
        canonical |= foreign.parts(self)
        if self.base is not None:
            canonical["base"] = self.base.key
        digest = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()
        return f"{self.corpus}-{self.encoder}-{self.attention}-{self.seed}-{digest[:10]}"


@lru_cache
def vectors_identity(vectors: str) -> str:
    """A recipe's name, or the SHA-256 of a vector file: never a path, which says nothing of what is in it."""
    file = Path(vectors)
    return vectors if vectors in catalogue.RECIPES or not file.is_file() else f"sha256:{sha256(file)}"


def other_seed(run: Run) -> Run:
    """The same configuration with the next of SEEDS, after the last the first: whose attention 'swapped' takes."""
    if run.seed not in SEEDS:
        raise AttnError(f"guide 'swapped' needs a base whose seed is one of {SEEDS}, got {run.seed}")
    return replace(run, seed=SEEDS[(SEEDS.index(run.seed) + 1) % len(SEEDS)])


def bases(run: Run) -> list[Run]:
    """The runs whose weights this one needs: none, its base, that as it starts, or it and its next seed."""
    if run.base is None:
        return []
    if run.guide == "untrained":
        return [replace(run.base, epochs=0)]
    return [run.base, other_seed(run.base)] if run.guide == "swapped" else [run.base]


def defaults(entry: catalogue.Corpus, encoder: str) -> dict:
    """The fields whose default depends on the corpus and the encoder."""
    if encoder in HIERARCHICAL:
        plan, hidden = schedule(entry.name, encoder), None if encoder.endswith("none") else 50
        return {name: plan[name] for name in ("epochs", "batch", "learning_rate")} | {"hidden": hidden, "decay": 0.0}
    own = {"epochs": entry.epochs, "batch": entry.batch, "hidden": entry.hidden.get(encoder)}
    return own | {"learning_rate": 5e-4 if encoder == "transformer" else 1e-3, "decay": 1e-5}


def changed(run: Run) -> dict:
    """The fields of a run that differ from their defaults."""
    own = {field.name: field.default for field in fields(run)} | defaults(catalogue.corpus(run.corpus), run.encoder)
    return {name: value for name, default in own.items() if (value := getattr(run, name)) != default}


def as_dict(run: Run) -> dict:
    """All fields, as the record keeps them; a vector file is named by its content, not by its place."""
    told = {"options": [list(pair) for pair in run.options], "vectors": vectors_identity(run.vectors)}
    return vars(run) | told | {"base": run.base and as_dict(run.base)}


def from_dict(values: dict) -> Run:
    """The run of a record or of a grid; unknown fields are an AttnError."""
    known = [field.name for field in fields(Run)]
    if unknown := [name for name in values if name not in known]:
        raise AttnError(f"unknown run field {unknown[0]!r}; known: {', '.join(known)}")
    if "corpus" not in values:
        raise AttnError("a run without corpus; name one of those that `python -m attn_core corpora` lists")
    return Run(**values)


def weights_key(run: Run) -> str:
    """Where the weights of a training lie: one training holds the dev-chosen and the test-chosen checkpoint."""
    return replace(run, selection="dev").key


NAMED = ("corpus", "encoder", "attention", "seed", "vectors", "selection", "epochs", "fraction")
"""Fields with an option of their own; all others go by --set."""

LEARNED, COUNTED = "indomain-300", "ppmi-300"
"""Recipes of word vectors: of the archive's first models, a quarter of an hour; by counting, a minute, the default."""


def first_vectors(corpus: str) -> str:
    """The recipe that the archive's first generation of a data set starts from: LEARNED, or the set's fixed recipe."""
    recipe = catalogue.corpus(corpus).vectors
    return LEARNED if recipe == COUNTED else recipe


def generation(run: Run) -> str:
    """'second': models that start from counted vectors where the archive's first ones started from others; 'first'."""
    return "second" if run.vectors.startswith(COUNTED) and first_vectors(run.corpus) != run.vectors else "first"


def standard(run: Run) -> Run:
    """The run of the same generation, corpus, encoder, attention and seed that has all else at its default."""
    attention = "tanh" if run.attention == "given" else run.attention  # weights are given by a guide alone
    vectors = COUNTED if generation(run) == "second" else first_vectors(run.corpus)
    return Run(run.corpus, run.encoder, attention, run.seed, vectors)


def told(run: Run) -> dict:
    """The fields from which `from_dict` makes a run: the first four and those off their defaults, a base likewise."""
    given = {name: getattr(run, name) for name in NAMED[:4]} | changed(run)
    if run.vectors == catalogue.corpus(run.corpus).vectors:
        del given["vectors"]
    return given | ({"base": told(run.base)} if run.base else {})


def command(run: Run) -> str:
    """The command line that makes a run; a base stands in it as a mapping of its fields."""
    given = told(run)
    given |= {f"options.{name}": value for name, value in given.pop("options", ())}
    words = ["python", "-m", "attn_core", "run"]
    for name, value in given.items():
        words += [f"--{name}", str(value)] if name in NAMED else ["--set", f"{name}={json.dumps(value)}"]
    return shlex.join(words)


def set_fields(words: list[str]) -> dict:
    """Run fields of NAME=VALUE words, `options.NAME=VALUE` for a knob of the corpus; what is no JSON is text."""
    found: dict = {}
    for word in words:
        name, _, value = word.partition("=")
        if not (name and value):
            raise AttnError(f"--set takes NAME=VALUE, such as hidden=64 or options.source=files; got {word!r}")
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
        if name.startswith("options."):
            found.setdefault("options", {})[name.removeprefix("options.")] = value
        else:
            found[name] = value
    return found
