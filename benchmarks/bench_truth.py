"""What attention's tests tell on real texts: `python -m benchmarks --truth label_words | strata | lists | frozen |
explanations`.

label_words.csv: SST with planted label words, the way of Zhou et al. 2022. Each sentence has a label drawn anew, so
that its own words tell nothing, and one of two words put in at a random place: that of its label with probability
`strength`. The word that a model must read is known. strata.csv: how often the model's own weights move a test's number
more than the same weights permuted, by single-state agreement. lists.csv: whose top word is deletion's, of SST's
sentences with a negation and of those without, and in encoders of which the archive keeps single texts alone.
frozen.csv.xz: p and agreement of SST's test sentences in MiniLM as downloaded, for comparisons at equal confidence.
explanations.csv: lists of word pieces beside explanations of MiniLM, whose weights are trained anew: the archive keeps
neither them nor deletions piece by piece.

Predicted on 2026-11-28, before any was computed here. Known before: on SST the shuffle's AUC is .79 (one audit), the
lists on whole test sets, naive Bayes before attention in SST's CNN (.41 against .26), and the generated texts' AUCs.
1. label_words, strength 1: accuracy above .97 in the BiLSTM and the transformer; the planted word is the most attended
   in over .9 of the sentences with the BiLSTM, in under .7 with the transformer; deletion's top word is the planted one
   in over .95 with both; single-state agreement above .95, so permuting changes the output by less than 0.1 in over .9.
   Strength .8: accuracy .75 to .81, all else within .1 of strength 1.
2. Good attention is that on the planted word: told from permuted weights by naming (AUC above .95) and by nothing that
   edits weights: shuffle below .7, adversaries .4 to .6, top item .4 to .6, order below .6.
   The model's own weights are told by naming above .9 with the BiLSTM.
3. Scores: uniform weights cost less than .01 of F1 (the BiLSTM's states carry the word), so `necessary` cannot tell; as
   guides own weights beat the same permuted in every pair.
4. strata: shuffle's AUC differs by less than .1 between the lowest and the highest stratum with 50 texts, in BiLSTMs;
   so do uniform and erasure; adversaries stay between .4 and .6 in every one. Wrong if a stratum of agreement above .9
   has an interval that reaches .5 for the shuffle on SST, AG News or 20 News.
5. lists: with a negation attention's lead over naive Bayes is larger than without, by .02 to .10.
Wrong if the most attended word is the planted one in less than half of the BiLSTM's sentences at strength 1: then
attention misses a reason that is known.

Predicted on 2026-11-28 at 10:18, before any of it was run here. Known before: all that stands under Afterwards of 1 to
5, MiniLM's archived means on SST (agreement .71 as downloaded, .90 fine-tuned), and the made-up texts' pairs.
6. label_words, MiniLM as downloaded, a head on its frozen last layer, the first 400 sentences. Strength 1: accuracy
   above .95; the planted piece most attended in .70 to .95, named by deletion in over .9; agreement .60 to .85.
   Strength .8: accuracy .74 to .80, most attended less often by up to .2. Weights on the planted word are told by
   naming above .9, by shuffle above .7, by top item above .55, by order below .65, by adversaries .5 to .75.
7. Scores, pairs of trainings, no context, both strengths: weights on the word beat the same permuted, and those frozen
   at random, in every pair (necessary); a BiLSTM's weights as guides likewise (guide). A nat costs them less than
   uniform weights in over .8 of the pairs (hard to move), as on made-up texts.
8. Equal confidence on SST: fine-tuned MiniLM at the confidence of the downloaded one .75 to .85 of agreement, the
   latter at its own .66 to .76: less, and the interval of the difference clear of 0. The other way too few texts.

Predicted on 2026-11-28 at 13:58, before any of it was run here. Known before: all that stands under Afterwards of 1 to
8; of the BiLSTM with uniform weights, nothing.
9. Gradients at strength .8, without context: told beside the same permuted in .52 to .62 with weights on the word, in
   .1 to .4 with the model's own.
10. MiniLM, a regression on its frozen states of FEW: with weights on the planted piece the last layer (necessary) and
   the embeddings (guide) score better than with the same permuted and than with an untrained head's, in every pair at
   strength 1 and over .9 at .8; with a trained head's own likewise at 1, in over .7 at .8.
11. The BiLSTM's F1 falls by less than .01 with uniform weights, at both strengths: the first half of 3.

Predicted on 2026-11-28 at 17:12, before any was trained. Known before: the archive's means of 320 sentences (attention
x gradient .48, gradient x input .24, attention .24, chance .05), and naive Bayes in SST's BiLSTMs (.45).
12. pieces, MiniLM judged by [CLS] on SST, trained anew on a processor by the archive's recipe, the same 320 sentences:
   accuracy and each ranking's share within .06 of the archive's means. A list by naive Bayes of pieces names
   deletion's in .30 to .45, rarity in .05 to .15; attention x gradient leads naive Bayes by .03 to .20, its interval
   clear of 0; naive Bayes leads gradient x input and attention alike. Tau: naive Bayes .15 to .30, below that of the
   gradient's length.

Afterwards, on the same day. Strength 1: accuracy 1 in both: held. The planted word is the most attended in 1 with the
BiLSTM: held; in .82 (.51 to 1) with the transformer: failed. Deletion names it in 1 and .93: held, undecided.
Single-state agreement .58 and .93: failed, and so permuting changes little in .49 and .85. Strength .8: accuracy .80 in
both: held; most attended .91 and .82, agreement .64 and .99; within .1 failed for what the edits give.
2 failed but for naming (.97) and order (.59): shuffle .80, adversaries .75, top item .70. The BiLSTM's own weights are
told by naming in .97: held.
4 held for shuffle but on AG News (.91 to .76), where the lowest stratum has 88 texts; uniform likewise; erasure falls
by .11 on SST, .20 on AG News and .24 on 20 News: failed; adversaries lie below .4 in most: failed. What would have been
wrong was not: above .9 the shuffle's intervals begin at .72.
5 failed: the leads are .02 and .05, neither decided, the smaller one with a negation.
Nothing was wrong in the sense of the last line.
6. Strength 1: accuracy 1: held; the planted piece most attended in 1.00 (.99 to 1): failed, deletion names it in .98:
held; agreement .77 (.68 to .86): held. Told by naming (.96), shuffle (.80, .69 to .91) and adversaries (.72), not by
order (.41): held; top item .51 (.42 to .61): failed. Strength .8: accuracy .82 (.78 to .86), most attended in .72 (.31
to 1), less by .27, adversaries .75 (.68 to .82): undecided, the means just beyond what was predicted; naming .91,
shuffle .85, top item .55, order .43: held by their means.
7 and the second half of 3 held in all pairs, on a tenth of the training texts (FEW); hard to move at strength 1 in all,
at .8 a nat cost more in .88: failed.
8 held (.82, .71, the difference .10, .09 to .12) but for its end: 910 texts' worth of the downloaded network are as
sure as the fine-tuned one, and agree in .78.
9 held: .57 with weights on the word, .26 with the model's own.
10. Weights on the piece: after the last layer in every pair: held; after the embedding in .80 at strength 1: failed, as
two untrained heads' weights reach an F1 of 1, too; in every pair at .8: held. A trained head's own: 1 and .80 at
strength 1: failed; at .8 .92 with both: held.
Tried besides, cross-validated on the first 400 test sentences: the same at strength 1 (1 and .80) and after the
embedding at .8 (1, own .80); after the last layer at .8 an untrained head's weights do as well, .40 of the pairs (F1
.73 and .73).
11, the first half of 3: the loss is .000 (.000 to .001) at strength 1: held; .009 (.001 to .017) at .8: by its mean.
12. Accuracy .872 (the archive's .868), attention .26 (.24), its tau .22 (.23): held; rankings that ask for gradients
were not read again. Naive Bayes names deletion's piece in .25 (.20 to .29), less often than predicted: failed; rarity
in .08: held. The archive's attention x gradient is ahead of naive Bayes by .24 (.19 to .29): clear of 0, and more than
predicted; gradient x input and attention are not behind it (-.01 each, undecided): failed. Tau .14: failed, and below
that of the gradient's length: held.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import torch
from numpy import ndarray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from attn_book.verdict import BAD, CORPORA, made, prices, scores_of, tables_of, won
from attn_core.documents import Documents, Encoded
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.tables import joined
from attn_core.models.classifier import filled
from attn_core.traces import Traces, maxima, softmax, totals
from attn_core.tracing import trace
from attn_lab import Run, obtain
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.data.order import fixed_order
from attn_lab.data.pieces import OWN
from attn_lab.data.planted import SPLIT_ROWS
from attn_lab.data.prepare import PREPARE
from attn_lab.data.prepared import Prepared, Texts
from attn_lab.more import cls, language, rankings
from attn_lab.more.compared import agreement
from attn_lab.more.known import TESTS, mostly_on, weighed
from attn_lab.more.minilm import MiniLM
from attn_lab.more.single_state import single_state_agreement
from attn_lab.runs import controls, foreign, index
from attn_lab.runs.compute import inputs_of, reduced, weights_of
from attn_lab.runs.run import SEEDS
from benchmarks.bench_compared import network
from benchmarks.bench_tests import runs_of, shared, stable, told
from benchmarks.measured import mean_of, put

FIVE = SEEDS[:5]
NAME = "sst_label_words"
WORDS = ("tuesday", "copper")
"""Of class 0 and 1: in no sentence of SST, and each has a vector."""
STRENGTHS = (1.0, 0.8)
MODELS = tuple(product(STRENGTHS, ("average", "lstm", "transformer", "minilm")))
TESTED = 400
"""Sentences that tests are put to, and of which MiniLM's pieces are deleted."""
FROZEN = {"minilm": {"layer": 6}}
"""Encoder -> fields of its runs: MiniLM as downloaded, a head on its last layer."""
FEW = 0.1
"""Share of the training texts for tests of scores: 635, about as many as the made-up texts have."""
EDGES = [0, 0.6, 0.75, 0.9, 1, 1.01]
"""Strata of single-state agreement, the mean of five seeds; the last: every state in every seed."""
FEWEST = 50
NEGATIONS = ("not", "n't", "no", "never", "nothing", "neither", "nor", "without", "hardly")


# ---- a known truth on real texts -------------------------------------------------------------------------------------


def label_words(strength: float = 1.0) -> Prepared:
    """SST's sentences with labels drawn anew and a label word in each."""
    splits = {}
    for stream, (split, texts) in enumerate(PREPARE["sst"]().splits.items()):
        rng = np.random.default_rng([16, stream])
        count = len(texts.lists)
        labels = rng.integers(2, size=count)
        spoken = np.where(rng.random(count) < strength, labels, 1 - labels)
        for tokens, word in zip(texts.lists, spoken, strict=True):
            tokens.insert(rng.integers(len(tokens) + 1), WORDS[word])
        splits[split] = Texts(texts.lists, labels, SPLIT_ROWS * stream + np.arange(count))
    return Prepared(splits)


def traced(run: Run) -> tuple[Traces, ndarray]:
    """Traces of sentences of two words at least, and which of their words (T,) are planted."""
    traces = obtain(run, "auto", progress=False).traces
    data = inputs_of(run)[0]
    test = data.splits["test"]
    assert (test.doc_ids == traces.doc_id).all()
    if run.layer >= 0:  # stored without deletions
        test = test.take(np.arange(TESTED))
        traces = trace(network(run), test, gradient=False)
    return traces, is_planted(data, test)


def is_planted(data: Encoded, texts: Documents) -> ndarray:
    """Which words (T,) are."""
    return np.isin(data.vocabulary, WORDS)[texts.ids[texts.inner]]


def counted(traces: Traces, planted: ndarray) -> dict[str, ndarray]:
    """What is told of each sentence (D,)."""
    kinds = {
        "attention": traces.attention,
        "gradient": traces.gradient,
        "deletion": traces.leave_one_out,
    }
    names = {
        f"{name} names it": agreement(np.abs(values), planted, traces.offsets, 1)
        for name, values in kinds.items()
        if values is not None
    }
    tests = joined(single_state_agreement(traces), permutation(traces), exact(traces, 0.05))
    return {
        "accuracy": traces.predicted == traces.label,
        "weight on it": totals(traces.attention * planted, traces.offsets),
        **names,
        "single-state agreement": tests["single_state_agreement"],
        "permuting changes little": tests["median_change"] < 0.1,
        "adversarial attention": tests["jsd_exact"] > 0.4,
    }


def of_encoder(strength: float, encoder: str) -> Iterator[dict]:
    run = partial(made, NAME, {"strength": strength}, encoder=encoder)
    read = [traced(run(seed, **FROZEN.get(encoder, {}))) for seed in FIVE]
    named = {"strength": strength, "encoder": encoder}
    columns = [counted(*both) for both in read]
    for name in columns[0]:
        values = np.array([column[name] for column in columns], float)
        yield mean_of(values, **named, weights="own", measure=name, statistic="mean")
    few = np.arange(TESTED)
    own = [traces.take(few) for traces, _ in read]
    on_word = [
        weighed(traces, mostly_on(planted, traces.offsets)).take(few)
        for traces, planted in read
    ]
    tests = [name for name in TESTS if (name == "gradients") == (encoder == "average")]
    for weights, good in {"own": own, "planted word": on_word}.items():
        named["weights"] = weights
        for name in tests:
            yield from told(
                good,
                own,
                TESTS[name],
                **named,
                measure=name,
            )
        if encoder != "average":
            yield from stable(good, **named)


def of_uniform(strength: float) -> dict:
    """What the BiLSTM's F1 loses where it is trained with uniform weights."""
    named = {
        "strength": strength,
        "encoder": "lstm",
        "weights": "uniform",
    }
    f1 = partial(scores_of, partial(made, NAME, {"strength": strength}, encoder="lstm"))
    lost = f1() - f1(attention="uniform")
    return mean_of(lost, **named, measure="F1", statistic="lost")


def of_scores(strength: float) -> Iterator[dict]:
    """The three tests of scores: without context, and of guides by a BiLSTM."""
    run = partial(made, NAME, {"strength": strength}, fraction=FEW)
    f1 = partial(scores_of, run)
    flat = f1(attention="uniform")
    by_reader = partial(f1, base=partial(run, encoder="lstm"))
    own = by_reader(guide="own") - flat
    pairs = {
        "necessary": [(f1() - flat, f1(guide=kind, base=run) - flat) for kind in BAD],
        "guide": [(own, by_reader(guide=kind) - flat) for kind in BAD],
        "hard to move": [prices(run)],
    }
    yield from of_pairs(
        pairs,
        strength=strength,
        encoder="average",
        weights="planted word",
    )


def of_pairs(pairs: dict[str, list], **named) -> Iterator[dict]:
    for name, value in won(pairs).items():
        named |= {"measure": name, "statistic": "beside"}
        yield named | {"value": value, "n_seeds": len(FIVE)}


@torch.no_grad()
def of_pieces(strength: float) -> Iterator[dict]:
    """Two tests of scores in MiniLM as downloaded: F1 of a regression on a text's mean state, of the last layer
    (necessary) or the embedding (guide), under a head's own weights and under those on the planted piece."""
    head = partial(made, NAME, {"strength": strength}, encoder="minilm", **FROZEN["minilm"])
    data = reduced(inputs_of(head(SEEDS[0]))[0], FEW)
    train, test = data.splits["train"], data.splits["test"]
    planted = np.concatenate([is_planted(data, part) for part in (train, test)])
    ids = [*cls.texts_of(train), *cls.texts_of(test)]
    offsets = np.cumsum([0, *(len(text) - 2 for text in ids)])
    minilm = network(head(SEEDS[0])).encoder.frozen
    read = dict(language.states(minilm, ids, [0, -1]))
    by_text = [read[row][:, 1:-1] for row in range(len(ids))]
    first, last = np.concatenate(by_text, axis=1)  # (T, H) each

    def scores_of_head(seed: int, **fields: int) -> ndarray:
        model = network(head(seed, **fields))
        return model.attention(torch.from_numpy(last) / model.encoder.scale).numpy()

    def f1(states: ndarray, scores: ndarray) -> float:
        means = totals(softmax(scores, offsets) * states.T, offsets).T
        fitted = LogisticRegression(max_iter=1000).fit(means[: len(train)], train.labels)
        return f1_score(test.labels, fitted.predict(means[len(train) :]))

    on_word = mostly_on(planted, offsets)
    scores = {"own": [], "planted word": []}  # of each seed: good, permuted, untrained ones
    for seed in FIVE:
        untrained = scores_of_head(seed, epochs=0)
        order = shuffled(offsets, seed)
        for weights, good in (("own", scores_of_head(seed)), ("planted word", on_word)):
            scores[weights].append((good, good[order], untrained))
    for weights, (test_of, states) in product(scores, (("guide", first), ("necessary", last))):
        good, *bad = np.array([[f1(states, one) for one in each] for each in scores[weights]]).T
        pairs = {test_of: [(good, one) for one in bad]}
        yield from of_pairs(
            pairs,
            strength=strength,
            encoder="minilm",
            weights=weights,
        )


def shuffled(offsets: ndarray, seed: int) -> ndarray:
    """Places (T,) in a random order within each text."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    key = np.random.default_rng(seed).random(len(owner))
    return np.lexsort((key, owner))


def frozen() -> Iterator[dict]:
    """p and agreement of SST's test sentences in MiniLM as downloaded, a head on its last layer."""
    for seed in FIVE:
        traces = obtain(Run("sst", "minilm", seed=seed, **FROZEN["minilm"]), "auto").traces
        rows = single_state_agreement(traces).assign(seed=seed, p=traces.p)
        yield from rows[["seed", "doc_id", "p", "single_state_agreement"]].to_dict("records")


# ---- own weights beside the same permuted, by agreement --------------------------------------------------------------


def strata() -> Iterator[dict]:
    for corpus, encoder in product(CORPORA, ("lstm", "average", "cnn", "transformer")):
        tables = tables_of(corpus, encoder, "documents") or stored(corpus, encoder)
        if len(tables) < 5:
            continue
        agreement = np.mean([table["single_state_agreement"] for table in tables], axis=0)
        stratum = pd.cut(agreement.round(9), EDGES, right=False, labels=False)
        for test in ("shuffle", "uniform", "erasure", "adversary"):
            named = {
                "corpus": corpus,
                "encoder": encoder,
                "test": test,
            }
            values = np.array([table[f"{test}_own_wins"] for table in tables])
            for one in np.unique(stratum):
                here = values[:, stratum == one]
                if here.shape[1] >= FEWEST:
                    yield mean_of(here, **named, stratum=one)
            yield mean_of(values, **named, stratum="all")


def stored(corpus: str, encoder: str) -> list[pd.DataFrame]:
    """The same of the texts that the archive keeps of all seeds."""
    if len(index.runs(corpus=corpus, encoder=encoder, attention="tanh", source="archive")) < 5:
        return []
    return [
        single_state_agreement(traces).assign(
            **controls.of_permuted(traces), **controls.of_adversaries(traces)
        )
        for traces in shared(runs_of(corpus, encoder))
    ]


# ---- lists of words --------------------------------------------------------------------------------------------------


def lists() -> Iterator[dict]:
    """top1 and change (a share of the best word's) by attention, naive Bayes and rarity, and attention's lead."""
    data = inputs_of(Run("sst"))[0]
    test = data.splits["test"]
    denies = np.isin(data.vocabulary, NEGATIONS)[test.ids]
    negated = test.doc_ids[maxima(denies, test.offsets)]
    for encoder in ("lstm", "average"):
        tables = tables_of("sst", encoder, "documents")
        has = tables[0].index.isin(negated)
        for texts, rows in (("negation", has), ("no negation", ~has)):
            named = {
                "corpus": "sst",
                "encoder": encoder,
                "texts": texts,
            }
            yield from of_words([table[rows] for table in tables], **named)
    for corpus, encoder in product(("sst", "agnews", "20news"), ("cnn", "transformer")):
        splits = inputs_of(Run(corpus))[0].splits
        models = shared(runs_of(corpus, encoder))
        if len(models[0]) < FEWEST:
            continue
        kept = splits["test"].take(np.isin(splits["test"].doc_ids, models[0].doc_id))
        assert (kept.doc_ids == models[0].doc_id).all()
        each = [controls.of_lists(traces, splits["train"], kept) for traces in models]
        tables = map(pd.DataFrame, each)
        yield from of_words(tables, corpus=corpus, encoder=encoder, texts="stored")


def of_words(tables: Iterable[pd.DataFrame], **named) -> Iterator[dict]:
    lead = "{0}_lead = {0}_attention - {0}_bayes".format
    tables = [
        table.filter(regex="^(top1|change)").eval("\n".join(map(lead, ("top1", "change"))))
        for table in tables
    ]
    for name in tables[0]:
        yield mean_of([table[name] for table in tables], **named, measure=name)


# ---- lists of word pieces beside explanations of MiniLM --------------------------------------------------------------


def explanations() -> Iterator[dict]:
    """Of each of `explained`, five trainings: mean (top, tau); what the archive's rankings, those of as many other
    trainings, are ahead of naive Bayes (lead)."""
    runs = [Run("sst", "minilm", "cls", seed) for seed in FIVE]
    tables = [explained(run) for run in runs]
    for measure, statistic in tables[0].columns:
        values = [table[measure, statistic] for table in tables]
        yield mean_of(values, corpus="sst", measure=measure, statistic=statistic)
    stored = [obtain(run, traces=False).documents.set_index("doc_id") for run in runs]
    both = [*zip(stored, tables, strict=True)]
    for ranking in rankings.RANKINGS:
        leads = [
            (documents[f"top_deletion_{ranking}"] - table["bayes", "top"])[table.index]
            for documents, table in both
        ]
        yield mean_of(leads, corpus="sst", measure=ranking, statistic="lead")


def explained(run: Run) -> pd.DataFrame:
    """(ranking, top or tau) by doc_id: agreement with deletion in MiniLM judged by [CLS], its weights trained if they
    are not cached. The last layer's attention, and two lists of pieces."""
    arrays = weights_of(run, progress=False)
    data = inputs_of(run)[0]
    train, test = data.splits["train"], data.splits["test"]
    kept = test.take(fixed_order(test.doc_ids, run.corpus)[: cls.RANKED])
    model = filled(lambda: cls.FirstState(MiniLM()), "[CLS] model", arrays)
    reader = cls.Reader(model, data.vocabulary, False)
    texts = cls.texts_of(kept)
    offsets = kept.word_offsets
    p = reader.p(texts)
    shorter = [np.delete(text, place) for text in texts for place in range(1, len(text) - 1)]
    deletion = np.abs(reader.p(shorter) - p.repeat(np.diff(offsets)))

    def looked(_: ndarray, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        row = reader.open(ids).attention[-1][:, :, 0]
        return {"attention": row.mean(1)[:, 1:-1].flatten()}

    words = kept.ids[kept.inner]
    counts = controls.word_counts(train, len(data.vocabulary))
    values = reader.over(texts, looked, of_pieces=True) | {
        "bayes": np.abs(controls.naive_bayes(counts, train.labels))[words],
        "rarity": controls.rarity(counts)[words],
    }
    columns = {("accuracy", "mean"): (p > 0.5) == kept.labels}
    for name, value in values.items():
        columns[name, "top"] = agreement(value, deletion, offsets, 1)
        columns[name, "tau"] = rankings.agreement(value, deletion, offsets)[1]
    return pd.DataFrame(columns, index=kept.doc_ids, dtype=float)


def planted_words() -> Iterator[dict]:
    entry = replace(CATALOGUE["sst"], name=NAME, expected={}, reported=(), split="SST's")
    foreign.register_corpus(entry, label_words, version="1")
    for strength, encoder in MODELS:
        splits = label_words(strength).splits.values()
        OWN[NAME] = pd.concat(
            [pd.Series([*map(" ".join, part.lists)], part.doc_ids) for part in splits]
        )
        yield from of_encoder(strength, encoder)
        if encoder == "minilm":
            yield from of_pieces(strength)
    for strength in STRENGTHS:
        yield from of_scores(strength)
        yield of_uniform(strength)


def write(*asked: str) -> None:
    """Make the tables of these names anew."""
    for name in asked:
        rows = {
            "strata": strata,
            "lists": lists,
            "label_words": planted_words,
            "frozen": frozen,
            "explanations": explanations,
        }[name]()
        put(f"{name}.csv" + ".xz" * (name == "frozen"), pd.DataFrame(rows))
