"""A run: everything that changes the numbers of one trained model; its key, and the command line that makes it."""

import json
import shlex
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from attn_core.errors import AttnError
from attn_lab.data import catalogue
from attn_lab.data.catalogue import schedule
from attn_lab.data.files import digest, sha256, stamp
from attn_lab.runs import foreign

RECIPE = 1
"""Raised by hand when the numbers of all runs are meant to change; part of every key."""

SEEDS = (10, 50, 257, 500231, 100078, 12504, 90754789, 8988812, 2)
"""The book's one seed list; shorter lists take the first ones."""

ENCODERS = ("lstm", "cnn", "average", "none", "transformer")
HIERARCHICAL = ("han_rnn", "han_conv", "han_none", "flan_rnn", "flan_conv", "flan_none")
"""The six models of Serrano & Smith: attention over sentences (HAN) or over words (FLAN)."""

LAYERS = {"minilm": 6, "bge": 12, "minilm_random": 6}
PRETRAINED = tuple(LAYERS)
"""MiniLM-L6 and bge-small, fine-tuned, and the first with all its weights drawn anew; not in the three papers."""

ATTENTIONS = ("tanh", "dot", "uniform", "given", "cls")
"""'given' goes with a guide; 'cls', of a pretrained encoder, is none: the state of [CLS] is read."""

GUIDES = ("", "own", "permuted", "swapped", "untrained", "searched")
"""Whose weights a guided model is given: none, its base's own, these permuted within each document, its base's in
training and another seed's in the test, those of an untrained model, those of the per-document search."""

MOST = 2**32 - 1  # the largest seed that NumPy takes, and beyond any number of epochs or units
BOUNDS: dict[str, tuple[float, float]] = {
    "seed": (0, MOST),
    "rounding": (0, MOST),
    "epochs": (0, MOST),
    "batch": (1, MOST),
    "hidden": (1, MOST),
    "fraction": (1e-9, 1.0),
    "learning_rate": (1e-12, 10.0),
    "decay": (0.0, 10.0),
    "divergence": (0.0, 1e6),
    "context": (0.0, 1.0),
    "tie": (0.0, 1e6),
    "hide": (0.0, 1e6),
    "mask": (0.0, 1.0),
    "layer": (-1, 12),
}
"""The least and the largest that these fields may be, of their own type."""

OPTIONAL = ("hidden", "divergence")
"""Numbers that may be None."""

WORDS = ("text", "position", "rank")
"""What the average encoder reads at each token: its word, its place, or its weight's rank (weights alone)."""

MIXES = ("both", "values", "scores")
"""Which states of the average encoder read context, see `Run`."""


@dataclass(frozen=True)
class Run:
    """One training of one model: everything that changes its numbers.

    Parameters
    ----------
    corpus : str
        A name of the catalogue, see `python -m attn_core corpora`.
    encoder : str
        Of ENCODERS, HIERARCHICAL or PRETRAINED.
    attention : str
        Of ATTENTIONS.
    seed : int
        Of every random choice of the training.
    vectors : str
        A recipe of `corpora.vectors` or a file; '' takes the catalogue's recipe for the corpus, and so does a
        pretrained encoder whatever is asked, for it reads none.
    selection : {'dev', 'test'}
        The split whose ROC AUC chooses the checkpoint. 'dev': the authors' final code; 'test': the paper's Table 2.
    epochs : int, optional
        None takes what the papers use for the corpus and the encoder, here and below; 0 is a model that is not trained.
    batch : int, optional
        Documents of a step.
    learning_rate : float, optional
        Of Adam.
    decay : float, optional
        Of the weights.
    class_weights : bool
        Whether the loss of a model with one logit weighs the classes by their shares in training.
    hidden : int, optional
        Units per direction, filters per kernel or projection width; None as above.
    fraction : float
        Share of the training documents that is used.
    options : dict or pairs
        Knobs of a corpus, by name.
    base : Run, optional
        The run from which this one takes weights, a guide or a target.
    guide : str
        Of GUIDES: whose attention a guided model is given.
    words : {'text', 'position', 'rank'}
        What the average encoder reads at each token.
    divergence : float, optional
        Weight of the distance to the base's attention, of a trained adversary.
    rounding : int
        Which draw moves each starting weight to a neighbouring float32 (`interventions.nudge`); not in the papers.
    context : float
        How much of the text's mean each token of the average encoder reads; not in the papers.
    mixes : {'both', 'values', 'scores'}
        Which states do so: those that are attended to, those that attention scores, or both.
    tie : float
        Strength of the penalty of that name; not in the papers.
    hide : float
        Strength of the penalty of that name; not in the papers.
    mask : float
        Share of the texts that are masked in training, see `interventions.masked`; not in the papers.
    layer : int
        Of a pretrained encoder, that of the base or as downloaded, which is frozen: a head is trained on the states
        after this layer, 0 being the embedding. -1: the encoder is trained, too.

    Raises
    ------
    AttnError
        An unknown name, a value out of its bounds, or fields that do not go together.
    """

    corpus: str
    encoder: str = "lstm"
    attention: str = "tanh"
    seed: int = SEEDS[0]
    vectors: str = ""
    selection: str = "dev"
    epochs: int = None  # type: ignore[assignment]  # never None in a run that is made; so the next three
    batch: int = None  # type: ignore[assignment]
    learning_rate: float = None  # type: ignore[assignment]
    decay: float = None  # type: ignore[assignment]
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
    mixes: str = "both"
    mask: float = 0.0
    layer: int = -1

    def __post_init__(self) -> None:
        self._check_types()
        self._fill_defaults()
        self._check_numbers()
        self._check_combination()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_types(self) -> None:
        """Texts among the known ones, the base a run, options sorted pairs; a mapping becomes what it stands for."""
        for name in ("corpus", "vectors", *CHOICES):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise AttnError(f"{name} must be text, got {value!r}")
            if name in CHOICES and value not in (known := choices(name, value)):
                raise AttnError(f"unknown {name} '{value}'; known: {', '.join(filter(None, known))}")
        if self.corpus not in catalogue.CATALOGUE:
            foreign.load_plugins()
        if isinstance(self.base, dict):
            self._set("base", from_dict(self.base))
        if not isinstance(self.base, Run | None):
            raise AttnError(f"base must be a run, in a grid a mapping of its fields; got {self.base!r}")
        self._set("options", option_pairs(self.options))
        if not isinstance(self.class_weights, bool):
            raise AttnError(f"class_weights must be true or false, got {self.class_weights!r}")

    def _fill_defaults(self) -> None:
        """What the corpus and the encoder say of the fields that are not given."""
        entry = catalogue.corpus(self.corpus)
        reads_vectors = self.vectors and self.encoder not in PRETRAINED
        self._set("vectors", self.vectors if reads_vectors else entry.vectors)
        for name, value in defaults(entry, self.encoder, self.layer).items():
            if getattr(self, name) is None:
                self._set(name, value)

    def _check_numbers(self) -> None:
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            kind = type(least)
            if not isinstance(value, int | kind) or isinstance(value, bool) or not least <= value <= most:
                what = "a whole number" if kind is int else "a number"
                hint = " (in YAML 1e-3 is text; write 1.0e-3)" if isinstance(value, str) else ""
                raise AttnError(f"{name} must be {what} from {least:,} to {most:,}, got {value!r}{hint}")
            self._set(name, kind(value))  # 0 and 0.0 are one run

    def _check_combination(self) -> None:
        """AttnError for fields that do not go together."""
        rules = self._base_rules() | self._model_rules() | self._knob_rules()
        for rule, met in rules.items():
            if not met:
                raise AttnError(f"{self.corpus} {self.encoder} {self.attention}: {rule}")

    def _base_rules(self) -> dict[str, bool]:
        """What must hold of a run with a base, in words, and whether it does."""
        base = self.base
        frozen = base is not None and self.layer >= 0
        uses = [bool(self.guide), self.divergence is not None, frozen]
        lends = base is None or base.family == "text" or (bool(self.guide) and base.family == "adversary")
        trained = base is None or not frozen or (base.encoder, base.layer, base.attention) == (self.encoder, -1, "tanh")
        same = base is None or (base.corpus, base.options) == (self.corpus, self.options)
        return {
            "base goes with guide, divergence or layer, with one of them, and the first two need a base": (
                sum(uses) == bool(base)
            ),
            "base of a layer is a trained encoder of the same kind": trained,
            "attention 'given' goes with a guide": bool(self.guide) == (self.attention == "given"),
            "words other than 'text' do not go with a divergence": self.words == "text" or self.family == "guided",
            "base must be a model of single texts, of a guided run also an adversary": lends or frozen,
            "base must be trained on the same data (corpus and options)": same,
        }

    def _model_rules(self) -> dict[str, bool]:
        """What must hold of encoder and attention, in words, and whether it does."""
        serrano = self.encoder in HIERARCHICAL
        learned = self.attention in ("tanh", "dot")
        guided = self.encoder == "average" and self.attention in ("given", "uniform")
        pretrained = self.encoder in PRETRAINED
        return {
            "a pretrained encoder reads single texts, attention 'tanh', 'uniform' or 'cls'": (
                not pretrained
                or self.family == "cls"
                or (self.family == "pretrained" and self.attention in ("tanh", "uniform"))
            ),
            "attention 'cls' goes with encoder minilm on single texts": (self.attention == "cls")
            == (self.family == "cls"),
            "a pretrained encoder keeps its last epoch, selection 'dev'": not pretrained or self.selection == "dev",
            "HAN and FLAN models have attention 'tanh'": not serrano or self.attention == "tanh",
            "HAN and FLAN models have selection 'dev'": not serrano or self.selection == "dev",
            "encoder transformer reads single texts": self.family == "text" or self.encoder != "transformer",
            "a run that is guided or reads other words is of the average encoder, attention 'given' or 'uniform'": (
                guided or self.family != "guided"
            ),
            "an adversary learns its attention, 'tanh' or 'dot'": learned or self.family != "adversary",
        }

    def _knob_rules(self) -> dict[str, bool]:
        """What must hold of models that are turned by one of the knobs that are not in the papers."""
        single = self.family == "text"
        plain = self.family in ("text", "pair")
        hides = self.corpus == "planted" and self.attention in ("tanh", "dot") and not self.tie
        return {
            "context goes with the average encoder and its own words": (
                not self.context or (plain and self.encoder == "average")
            ),
            "mixes goes with context": self.mixes == "both" or self.context > 0,
            "tie goes with lstm": not self.tie or (plain and self.encoder == "lstm"),
            "layer goes with a pretrained encoder and is one of its own": self.layer
            <= (LAYERS[self.encoder] if self.family == "pretrained" else -1),
            "hide goes with planted texts and an attention that is learned, and not with tie": (
                not self.hide or (single and hides)
            ),
            "mask goes with the models of Jain & Wallace on single texts": not self.mask or single,
            "rounding goes with the models of Jain & Wallace": not self.rounding or plain,
        }

    @property
    def family(self) -> str:
        """How it is trained and read: 'text', 'pair', 'hierarchical', 'guided', 'adversary', 'pretrained' or 'cls'."""
        if self.divergence is not None:
            return "adversary"
        if self.guide or self.words != "text":
            return "guided"
        if self.encoder in HIERARCHICAL:
            return "hierarchical"
        if catalogue.corpus(self.corpus).task != "text":
            return "pair"
        if self.encoder not in PRETRAINED:
            return "text"
        return "cls" if (self.encoder, self.attention) == ("minilm", "cls") else "pretrained"

    @property
    def key(self) -> str:
        """Readable name and hash of all fields that differ from their defaults, RECIPE, and `foreign.versions`.

        A new field with a default changes no key.
        """
        canonical = {"recipe": RECIPE, **changed(self), "vectors": vectors_identity(self.vectors)}
        canonical |= foreign.versions(self)
        if self.base is not None:
            canonical["base"] = self.base.key
        return f"{self.corpus}-{self.encoder}-{self.attention}-{self.seed}-{digest(canonical)[:10]}"


CHOICES = {
    "encoder": ENCODERS + HIERARCHICAL + PRETRAINED,
    "attention": ATTENTIONS,
    "selection": ("dev", "test"),
    "guide": GUIDES,
    "words": WORDS,
    "mixes": MIXES,
}
"""Field -> the texts that it may be, besides what the user registered."""


def choices(name: str, value: str) -> tuple[str, ...]:
    """What a field may be; files of the user's are loaded where the value is none of what is known so far."""
    if value not in CHOICES[name] and value not in foreign.registered(name):
        foreign.load_plugins()
    return CHOICES[name] + foreign.registered(name)


def is_option(pair: object) -> bool:
    """Whether it is a name and one value."""
    return isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], str | int | float)


def option_pairs(options: object) -> tuple[tuple[str, object], ...]:
    """Sorted pairs of a mapping, or of a list of pairs; AttnError for anything else."""
    pairs = list(options.items()) if isinstance(options, dict) else options or ()
    if isinstance(pairs, list | tuple) and all(map(is_option, pairs)):
        return tuple(sorted((str(name), value) for name, value in pairs))
    raise AttnError(f"options must be pairs of a name and one value, got {options!r}")


def vectors_identity(vectors: str) -> str:
    """A recipe's name, or the SHA-256 of a vector file: never a path, which says nothing of what is in it."""
    file = Path(vectors).absolute()
    return vectors if vectors in catalogue.RECIPES or not file.is_file() else _checksum(file, stamp(file))


@lru_cache
def _checksum(file: Path, _stamp: str) -> str:
    return f"sha256:{sha256(file)}"


def other_seed(run: Run) -> Run:
    """The same configuration with the next of SEEDS, after the last the first: whose attention 'swapped' takes."""
    if run.seed not in SEEDS:
        raise AttnError(f"guide 'swapped' needs a base whose seed is one of {SEEDS}, got {run.seed}")
    return replace(run, seed=SEEDS[(SEEDS.index(run.seed) + 1) % len(SEEDS)])


def bases(run: Run) -> list[Run]:
    """The runs whose weights this one needs: none, its base, that as it starts, or it and its next seed."""
    if run.base is None:
        return []
    if run.layer >= 0:
        return [run.base]
    if run.guide == "untrained":
        return [replace(run.base, epochs=0)]
    return [run.base, other_seed(run.base)] if run.guide == "swapped" else [run.base]


def defaults(entry: catalogue.Corpus, encoder: str, layer: int = -1) -> dict:
    """The fields whose default depends on the corpus and the encoder."""
    if encoder in PRETRAINED:
        return pretrained_defaults(entry.name, encoder, layer)
    if encoder in HIERARCHICAL:
        plan = schedule(entry.name, encoder)
        plan = {name: plan[name] for name in ("epochs", "batch", "learning_rate")}
        return plan | {"hidden": None if encoder.endswith("none") else 50, "decay": 0.0}
    return {
        "epochs": entry.epochs,
        "batch": entry.batch,
        "hidden": entry.hidden.get(encoder),
        "learning_rate": 5e-4 if encoder == "transformer" else 1e-3,
        "decay": 1e-5,
    }


def pretrained_defaults(corpus: str, encoder: str, layer: int) -> dict:
    """The same of a pretrained encoder, or of a head on one of its layers; the rate is the encoder's."""
    if layer >= 0:
        return {"epochs": 5, "batch": 64, "hidden": None, "learning_rate": 1e-3, "decay": 0.01}
    drawn = encoder == "minilm_random"
    epochs = 4 if drawn else 2 if corpus == "agnews" else 3
    return {"epochs": epochs, "batch": 32, "hidden": None, "learning_rate": 3e-4 if drawn else 3e-5, "decay": 0.01}


def changed(run: Run) -> dict:
    """The fields of a run that differ from their defaults."""
    standard = {field.name: field.default for field in fields(run)}
    standard |= defaults(catalogue.corpus(run.corpus), run.encoder, run.layer)
    return {name: getattr(run, name) for name, default in standard.items() if getattr(run, name) != default}


def as_dict(run: Run) -> dict:
    """All fields, as the record keeps them; a vector file is named by its content, not by its place."""
    return vars(run) | {
        "options": [list(pair) for pair in run.options],
        "vectors": vectors_identity(run.vectors),
        "base": run.base and as_dict(run.base),
    }


def from_dict(values: dict) -> Run:
    """The run of a record or of a grid; unknown fields are an AttnError."""
    names = [field.name for field in fields(Run)]
    if unknown := [name for name in values if name not in names]:
        raise AttnError(f"unknown run field {unknown[0]!r}; known: {', '.join(names)}")
    if "corpus" not in values:
        raise AttnError("a run without corpus; name one of those that `python -m attn_core corpora` lists")
    return Run(**values)


def weights_key(run: Run) -> str:
    """Where the weights of a training lie: one training holds the dev-chosen and the test-chosen checkpoint."""
    return replace(run, selection="dev").key


NAMED = ("corpus", "encoder", "attention", "seed", "vectors", "selection", "epochs", "fraction")
"""Fields with an option of their own; all others go by --set."""


def standard(run: Run) -> Run:
    """The run of the same corpus, encoder, attention, seed and layer with all else at its default."""
    attention = "tanh" if run.attention == "given" else run.attention  # weights are given by a guide alone
    return Run(run.corpus, run.encoder, attention, run.seed, layer=run.layer)


def short_form(run: Run) -> dict:
    """The fields from which `from_dict` makes a run: the first four and those off their defaults, a base likewise."""
    given = {name: getattr(run, name) for name in NAMED[:4]} | changed(run)
    if run.vectors == catalogue.corpus(run.corpus).vectors:
        del given["vectors"]
    return given | ({"base": short_form(run.base)} if run.base else {})


def command(run: Run) -> str:
    """The command line that makes a run; a base stands in it as a mapping of its fields."""
    given = short_form(run)
    given |= {f"options.{name}": value for name, value in given.pop("options", ())}
    words = ["python", "-m", "attn_core", "run"]
    for name, value in given.items():
        words += [f"--{name}", str(value)] if name in NAMED else ["--set", f"{name}={json.dumps(value)}"]
    return shlex.join(words)
