"""A run: everything that changes the numbers of one trained model, its key, and `obtain`, the one way to get it."""

import hashlib
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from attn_core import archive, weights
from attn_core.archive import Result
from attn_core.corpora import catalogue
from attn_core.errors import AttnError

RECIPE = 1
"""Raised by hand when the numbers of all runs are meant to change; part of every key."""

SEEDS = (10, 50, 257, 500231, 100078, 12504, 90754789, 8988812, 2)
"""The book's one seed list; shorter lists take the first ones."""

ENCODERS = ("lstm", "cnn", "average", "none")
ATTENTIONS = ("tanh", "dot", "uniform")
SELECTIONS = ("dev", "test")


class AbsentRun(AttnError):
    """A run that is neither archived nor cached and was not to be trained."""


@dataclass(frozen=True)
class Run:
    """One training of one model.

    vectors: a recipe of `corpora.vectors` or a file; '' takes the catalogue's recipe for the corpus.
    selection: the split whose ROC AUC chooses the checkpoint ('dev': the authors' final code; 'test': the paper's
    Table 2). hidden: units per direction, filters per kernel or projection width. epochs, batch, hidden: None takes
    the catalogue's for the corpus, and a hidden that is None there is the encoder's own.
    fraction: share of the training documents that is used, see `reduced`. options: (name, value) pairs, the knobs of a
    generated corpus.
    """

    corpus: str
    encoder: str = "lstm"
    attention: str = "tanh"
    seed: int = SEEDS[0]
    vectors: str = ""
    selection: str = "dev"
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float = 1e-3
    decay: float = 1e-5
    class_weights: bool = True
    hidden: int | None = None
    fraction: float = 1.0
    options: tuple[tuple[str, object], ...] = ()

    def __post_init__(self) -> None:
        entry = catalogue.corpus(self.corpus)
        if not self.vectors:
            object.__setattr__(self, "vectors", entry.vectors)
        for name, own in defaults(entry, self.encoder).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, own)
        object.__setattr__(self, "options", tuple(sorted((str(k), v) for k, v in self.options)))
        for name, known in (("encoder", ENCODERS), ("attention", ATTENTIONS), ("selection", SELECTIONS)):
            if getattr(self, name) not in known:
                raise AttnError(f"unknown {name} '{getattr(self, name)}'; known: {', '.join(known)}")
        for name in ("seed", "epochs", "batch"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < (0 if name == "seed" else 1):
                raise AttnError(
                    f"{name} must be a whole number of at least {0 if name == 'seed' else 1}, got {value!r}"
                )

        if not 0 < self.fraction <= 1:
            raise AttnError(f"fraction must lie above 0 and at most at 1, got {self.fraction!r}")

    @property
    def key(self) -> str:
        """Readable name and hash of all fields that differ from their defaults, and RECIPE.

        A new field with a default changes no key.
        """
        canonical = {"recipe": RECIPE, **changed(self), "vectors": vectors_identity(self.vectors)}
        digest = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()
        return f"{self.corpus}-{self.encoder}-{self.attention}-{self.seed}-{digest[:10]}"


@lru_cache
def vectors_identity(vectors: str) -> str:
    """A recipe's name, or the SHA-256 of a vector file: never a path, which says nothing of what is in it."""
    path = Path(vectors)
    if not path.is_file():
        return vectors
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def defaults(entry: catalogue.Corpus, encoder: str) -> dict:
    """The fields whose default depends on the corpus."""
    return {"epochs": entry.epochs, "batch": entry.batch, "hidden": entry.hidden.get(encoder)}


def changed(run: Run) -> dict:
    """The fields of a run that differ from their defaults."""
    own = {field.name: field.default for field in fields(run)} | defaults(catalogue.corpus(run.corpus), run.encoder)
    return {name: value for name, default in own.items() if (value := getattr(run, name)) != default}


def as_dict(run: Run) -> dict:
    """All fields, as the record keeps them."""
    return {**asdict(run), "options": [list(pair) for pair in run.options]}


def from_dict(values: dict) -> Run:
    """The run of a record; unknown fields are an AttnError."""
    unknown = set(values) - {field.name for field in fields(Run)}
    if unknown:
        raise AttnError(f"unknown run field {sorted(unknown)[0]!r}; known: {', '.join(f.name for f in fields(Run))}")
    return Run(**{**values, "options": tuple(tuple(pair) for pair in values.get("options", ()))})


def obtain(run: Run, train: str = "never", progress: bool = True) -> Result:
    """The stored result of a run: from the archive, else the local cache, else computed.

    train: 'never' (an absent run raises AbsentRun, except on generated corpora, which are trained live),
    'auto' (train what is absent) or 'fresh' (train anew, whatever is stored).
    """
    if train not in ("never", "auto", "fresh"):
        raise AttnError(f"unknown train mode '{train}'; known: never, auto, fresh")
    if train != "fresh":
        for store in (archive.archive_folder(required=False), archive.cache_store()):
            if store is not None and archive.has(store, run.key):
                return archive.read(store, run.key)
    if train == "never" and not catalogue.corpus(run.corpus).generated:
        raise AbsentRun(f"run {run.key} is not in the archive; make it with: {command(run)}")
    return compute(run, progress, fresh=train == "fresh")


def command(run: Run) -> str:
    """The command line that makes a run; options of generated corpora and rarer fields go through a sweep file."""
    words = [f"--corpus {run.corpus} --encoder {run.encoder} --attention {run.attention} --seed {run.seed}"]
    if run.vectors != catalogue.corpus(run.corpus).vectors:
        words.append(f"--vectors {run.vectors}")
    words += [f"--{name} {value}" for name, value in changed(run).items() if name in ("selection", "epochs", "fraction")]
    return " ".join(["python -m attn_core run", *words])


def compute(run: Run, progress: bool = True, fresh: bool = False) -> Result:
    """Train a run, trace its whole test set, store both in the local cache (atomically) and return the result."""
    import torch

    from attn_core.corpora import encode
    from attn_core.corpora.vectors import vectors
    from attn_core.measures import classification
    from attn_core.models import classifier, paired
    from attn_core.tracing import trace
    from attn_core.training import train

    data = reduced(encode(run.corpus, **dict(run.options)), run.fraction)
    matrix, vectors_fingerprint = vectors(run.vectors, data.vocabulary)
    models = classifier if catalogue.corpus(run.corpus).task == "text" else paired
    classes = len(data.statistics["classes"])
    outputs = 1 if models is classifier and classes == 2 else classes
    device = compute_device()
    store = archive.cache_store()
    archive.staging(store, run.key).rmdir()  # a store that cannot be written is better known before the training
    cached = None if fresh else weights.read_weights(store, weights_key(run))
    if cached is None:
        with torch.random.fork_rng(devices=[0] if device == "cuda" else []):
            torch.manual_seed(run.seed)
            model = models.build(run.encoder, run.attention, matrix, outputs, run.hidden).to(device)
            trained = train(
                model, data, seed=run.seed, epochs=run.epochs, batch=run.batch, learning_rate=run.learning_rate,
                decay=run.decay, class_weights=run.class_weights, progress=progress,
            )  # fmt: skip
        cached = trained.weights, {"history": trained.history, "seconds": trained.seconds}
        weights.write_weights(store, weights_key(run), *cached)
    arrays, training = cached
    start = time.perf_counter()
    model = models.from_arrays(run.encoder, run.attention, arrays[run.selection]).to(device)
    traces = trace(model, data.splits["test"], progress=progress).rounded()
    record = {
        "key": run.key,
        "run": as_dict(run),
        "recipe": RECIPE,
        **classification(traces.label, traces.outputs),
        "n_train": len(data.splits["train"]),
        "n_dev": len(data.splits["dev"]),
        "n_test": len(data.splits["test"]),
        "seconds": {"train": training["seconds"], "trace": time.perf_counter() - start},
        "history": training["history"],
        "statistics": data.statistics,
        "fingerprints": {"data": data.fingerprint, "vectors": vectors_fingerprint},
        **environment(device),
    }
    archive.write(store, run.key, record, {"traces.parquet": traces})
    return Result(record=record, traces=traces, documents=None, summary=None, source="trained")


def reduced(data, fraction: float):
    """An Encoded with only a share of its training documents: the first of a fixed order that depends on the corpus alone.

    Smaller shares lie within larger ones. Vocabulary, word vectors, dev and test stay those of the whole.
    """
    if fraction == 1.0:
        return data
    training = data.splits["train"]
    kept = np.sort(archive.sample(training.doc_ids, data.name)[: max(1, round(fraction * len(training)))])
    return replace(data, splits={**data.splits, "train": training.take(kept)})


def warn_if_data_differ(result: Result) -> None:
    """One warning line where the data at hand are not the data a stored run was trained on."""
    from attn_core.corpora import encode

    if result.source == "trained" or not os.environ.get("ATTN_DATA"):
        return
    run = result.record["run"]
    found = encode(run["corpus"], **dict(run["options"])).fingerprint
    if found != (stored := result.record["fingerprints"]["data"]):
        print(
            f"warning: {result.key} was trained on data {stored[:12]}, {run['corpus']} here is {found[:12]}; "
            "--fresh trains anew",
            file=sys.stderr,
        )


def weights_key(run: Run) -> str:
    """Where the weights of a training lie: one training holds the dev-chosen and the test-chosen checkpoint."""
    return replace(run, selection="dev").key


def compute_device() -> str:
    """'cuda' where a GPU is at hand, else 'cpu'; $ATTN_DEVICE overrides."""
    import torch

    return os.environ.get("ATTN_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")


def environment(device: str) -> dict:
    """Device, threads, versions and commit: what stands in a record beside the numbers, never in the key."""
    import platform
    import subprocess

    import scipy
    import torch

    root = Path(__file__).parent.parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    name = torch.cuda.get_device_name() if device == "cuda" else f"cpu ({platform.machine()})"
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    versions |= {"numpy": np.__version__, "scipy": scipy.__version__}
    return {"device": name, "threads": torch.get_num_threads(), "versions": versions, "commit": commit}
