"""Commands on data sets, runs and their numbers."""

import json
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from typer import Argument, Option

from attn_core.errors import AttnError
from attn_lab.cli.app import Json, app, show
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.runs import index, results, rows
from attn_lab.runs.run import NAMED, Run, from_dict
from attn_lab.runs.store import Result

ASKED = {
    "single_state_agreement mean": "of words, each alone, give the text's decision",
    "attention_invariant mean": "of texts: every word alone gives it, so any attention does",
    "tau_attention_gradient mean": "mean tau of attention and gradients (Jain & Wallace 4.1)",
    "median_change share_below_0.1": "of texts: p moves by less than 0.1 under shuffled weights (4.2.1)",
    "jsd_exact epsilon=0.05 share_above_0.4": "of texts: an attention beyond JSD 0.4 leaves p within 0.05 (4.2.2)",
    "top_erased mean": "p moved, the most attended word erased (after Serrano & Smith 4)",
    "flips_under_uniform mean": "of decisions turn under equal weights, not retrained (after Wiegreffe & Pinter 3.2)",
}
"""Measure and statistic -> what `run` says of it, where a run has it."""

LEGEND = """
attention: the word's weight. contribution: what its state adds to the logit with all the weight on it; alone: p then.
gradient: of p, times the word's vector. leave_one_out: change of p without the word. adversary: the other attention."""

SCORES = ("accuracy", "f1_0", "f1_1", "f1_2", "macro_f1", "auc")


@app.command()
def corpora(as_json: Json = False) -> None:
    """List all data sets of the three papers: name, task, title, licence."""
    show(pd.DataFrame(list(CATALOGUE.values()))[["name", "task", "title", "licence"]], as_json)


@app.command()
def run(
    context: typer.Context,
    corpus: Annotated[str, Option(help="Data set; `corpora` lists them.")],
    encoder: Annotated[
        str, Option(help="lstm, cnn, transformer, average, none; han_rnn to flan_none; minilm.")
    ] = "lstm",
    attention: Annotated[str, Option(help="tanh (additive), dot (scaled) or uniform.")] = "tanh",
    seed: Annotated[int, Option(help="Seeds the weights and the batches.")] = 10,
    selection: Annotated[str, Option(help="Split that chooses the checkpoint: dev or test.")] = "dev",
    vectors: Annotated[str, Option(help="Word vectors: ppmi-300, indomain-300, random, or a text file.")] = "",
    epochs: Annotated[int | None, Option(help="Epochs of training; by default the paper's for the corpus.")] = None,
    fraction: Annotated[float, Option(help="Share of the training documents to use.")] = 1.0,
    others: Annotated[list[str] | None, Option("--set", help="Any other field: hidden=64, options.cues=6.")] = None,
    fresh: Annotated[bool, Option("--fresh", help="Train anew, whatever is stored.")] = False,
    as_json: Json = False,
) -> None:
    """Train one model (or take it from the archive) and print its test metrics.

    Word vectors are counted (ppmi-300, a minute) unless named; the archive's first models start from learned ones.
    """
    wanted = from_dict({name: context.params[name] for name in NAMED} | set_fields(others or []))
    result = results.obtain(wanted, train="fresh" if fresh else "auto", progress=not as_json, traces=False)
    if as_json:
        print(json.dumps({**result.record, "source": result.source}, indent=1))
        return
    for name, value in facts(result).items():
        print(f"{name:10} {value}")
    if wanted.family == "text":
        for name, value in answers(result).items():
            print(f"{value:10.4f} {ASKED[name]}")


def answers(result: Result) -> pd.Series:
    """Those of ASKED over the whole test set: as stored, else what the traces give in seconds."""
    table = result.numbers
    if table is None:
        assert result.traces is not None
        table = rows.number_rows(result.record, rows.quick_summary(result.record, result.traces))
    whole = index.with_parameters(table[(table["predicted"] == "all") & (table["bin"] == "all")])
    named = whole["measure"] + " " + whole["statistic"].astype(object)
    return whole.set_index(named)["value"].reindex(list(ASKED)).dropna()


def set_fields(words: list[str]) -> dict:
    """Run fields of NAME=VALUE words, `options.NAME=VALUE` for a knob of the corpus; what is no JSON is text."""
    values: dict = {}
    for word in words:
        name, _, value = word.partition("=")
        if not (name and value):
            raise AttnError(f"--set takes NAME=VALUE, such as hidden=64 or options.source=files; got {word!r}")
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
        if name.startswith("options."):
            values.setdefault("options", {})[name.removeprefix("options.")] = value
        else:
            values[name] = value
    return values


def facts(result: Result) -> dict[str, str]:
    """What `run` prints of a result, by name."""
    record = result.record
    documents = [f"{split} {record[f'n_{split}']}" for split in ("train", "dev", "test")]
    lines = {"run": f"{record['key']}  ({result.source})", "vectors": record["run"]["vectors"]}
    lines["documents"] = ", ".join(documents)
    lines |= {name: f"{record[name]:.4f}" for name in SCORES if record.get(name) is not None}
    seconds = record["seconds"]
    lines["seconds"] = f"train {seconds['train']:.1f}, trace {seconds['trace']:.1f}  ({record['device']})"
    return lines


@app.command()
def sweep(
    grid: Annotated[Path, Argument(help="YAML grid; the book's own lie in data/sweeps.")],
    pack: Annotated[bool, Option("--pack", help="Put each run into data/archive.")] = False,
    dry: Annotated[bool, Option("--dry-run", help="List the runs and what remains.")] = False,
    jobs: Annotated[int, Option(help="Processes of this machine that share the runs, one thread each.")] = 1,
    scheduler: Annotated[
        str, Option(help="Address of a Dask scheduler whose workers share them; see book/rerun.md.")
    ] = "",
    no_workers_timeout: Annotated[float, Option(help="Seconds to wait for a cluster's worker.")] = 40.0,
) -> None:
    """Work off a grid of runs; stored ones are skipped, so an interrupted sweep resumes."""
    from attn_lab.runs import sweep as sweeps

    if scheduler and jobs != 1:
        raise AttnError("--jobs starts processes here, --scheduler uses those of a cluster; give one of them")
    runs = sweeps.read_grid(grid)
    todo = {wanted for wanted in runs if not results.stored(wanted, pack)}
    if dry:
        print("\n".join(f"{'to do  ' if wanted in todo else 'stored '} {wanted.key}" for wanted in runs))
    print(f"{len(runs) - len(todo)} of {len(runs)} runs stored", flush=True)
    if dry:
        return
    failures = sweeps.sweep(runs, pack, True, jobs, scheduler, no_workers_timeout)
    print(f"{len(runs)} runs, {len(failures)} failed")
    for key, reason in failures.items():
        print(f"failed  {key}: {reason}")
    raise typer.Exit(1 if failures else 0)


@app.command()
def numbers(
    measure: Annotated[str, Argument(help="Such as tau_attention_gradient; --list names all.")] = "",
    statistic: Annotated[str, Argument(help="Such as mean; left out: all there are.")] = "any",
    where: Annotated[
        list[str] | None, Option("--where", help="FIELD=VALUE: a run's field, predicted or bin; 'any' frees it.")
    ] = None,
    by: Annotated[list[str] | None, Option("--by", help="Columns: one row each, mean and interval over seeds.")] = None,
    listed: Annotated[bool, Option("--list", help="What can be asked for.")] = False,
    as_json: Json = False,
) -> None:
    """Stored numbers of runs, one row a seed, or with --by means over seeds with their 95 % intervals."""
    if listed or not measure:
        show(index.measures(), as_json)
        return
    places = where or []
    fields = dict(place.split("=", 1) for place in places if "=" in place)
    if len(fields) != len(places):
        raise AttnError(f"--where takes FIELD=VALUE, each field once; got {' '.join(places)}")
    table = index.numbers(measure, statistic, **fields)
    if table.empty:
        raise AttnError(
            f"no stored run fits {' '.join(places)}; {near(fields)}`python -m attn_core archive list` names all"
        )
    if by:
        table = index.over_seeds(table, *dict.fromkeys([*by, "measure", "parameter", "statistic"]))
    else:
        model = ["corpus", "encoder", "attention", "vectors", "selection", "variant", "seed"]
        table = table[[*model, *index.NAMES, "value", "data", "n_test", "key"]]
    show(table, as_json)


def near(fields: dict[str, str]) -> str:
    """What stored runs have that is like a value that none has; '' without."""
    stored = index.runs()
    for name, value in fields.items():
        known = sorted(set(stored[name].dropna().astype(str))) if name in stored else []
        if value not in known and (like := get_close_matches(value, known, 3)):
            return f"near '{value}': {', '.join(like)}; "
    return ""


@app.command()
def read(
    text: Annotated[str, Argument(help="A sentence of your own, in English.")],
    epsilon: Annotated[float, Option(help="How far the other attention may move p, above 0 and below 1.")] = 0.05,
    key: Annotated[str, Option("--run", help="Read by the run of this key that was trained here.")] = "",
    model: Annotated[
        str, Option(help="minilm: read by SST's first MiniLM, which is trained where it is not yet.")
    ] = "",
    as_json: Json = False,
) -> None:
    """What the archived SST model does with your sentence: attention, gradient, leave-one-out, exact adversary."""
    from attn_lab.runs.sentence import MOST_WORD_BY_WORD, read_sentence, trained_here

    if not 0 < epsilon < 1:
        raise AttnError(f"--epsilon lies above 0 and below 1, got {epsilon:g}; the papers take 0.01 and 0.05")
    by = trained_here(key) if key else Run("sst", model) if model else None
    table, summary = read_sentence(text, epsilon, by)
    if as_json:
        tokens = json.loads(table.to_json(orient="records"))  # which knows no NaN
        print(json.dumps({**summary, "tokens": tokens}, indent=1))
        return
    print(summary["line"])
    if unknown := len(table) - int(table["known"].sum()):
        print(f"{unknown:,} of {len(table):,} words are unknown to the model, which reads all of them alike.")
    if len(table) > MOST_WORD_BY_WORD:
        print(f"Of more than {MOST_WORD_BY_WORD} words none is left out or has a gradient: that takes their square.")
    show(table, as_json=False, digits=3)
    print(LEGEND)
