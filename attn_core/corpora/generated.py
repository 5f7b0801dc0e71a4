"""Data sets made by this package, the same on every machine for the same seed: ``planted`` texts and stories of the
bAbI kind."""

from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real

import numpy as np

from attn_core.corpora import catalogue
from attn_core.corpora.batches import Encoded, fingerprint
from attn_core.corpora.prepare import Prepared, Texts
from attn_core.corpora.sentences import count
from attn_core.errors import AttnError

POSITIVE = tuple("good great fine lovely superb bright sweet brilliant charming perfect warm witty".split())
NEGATIVE = tuple("bad awful poor dull dreadful bleak sour stupid boring broken cold clumsy".split())
NEGATOR = "not"
_SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")
SPLIT_ROWS = 1_000_000  # doc_ids of dev and test start here and at twice as much, so they do not depend on n_train
MOST_FILLERS = len(_SYLLABLES) ** 2


def planted(
    n_train: int = 1500,
    n_dev: int = 300,
    n_test: int = 500,
    shortest: int = 10,
    longest: int = 30,
    evidence: int = 2,
    distractors: int = 0,
    context: float = 0.0,
    positive: float = 0.5,
    cues: int = 12,
    fillers: int = 200,
    seed: int = 0,
    shortest_sentence: int = 0,
    longest_sentence: int = 0,
    silent: int = 0,
) -> Encoded:
    """Documents whose evidence is known: filler words with a few cue words in between; the majority of the cues is
    the label.

    evidence: cues that speak for the label (more than one = redundant, any of them suffices). distractors: cues
    that speak against it, fewer than ``evidence``. context: probability that a cue is written as its opposite with
    'not' in front ('not bad' speaks for positive), so that no token alone decides. positive: share of label 1, met
    exactly up to rounding. cues: different cue words per class (at most 12). fillers: different filler words; the
    r-th is drawn with probability proportional to 1 / r. shortest, longest: tokens per document, uniform. The
    result's ``evidence`` marks, per split, the cues that speak for the label and the 'not' in front of them: (T,)
    bool aligned with ids. Each split has its own random stream, so a larger n_train leaves dev and test as they
    are. shortest_sentence, longest_sentence: the same documents cut into sentences of so many tokens, uniform; a
    document's last sentence may be shorter; 0 = not cut. silent: 1 leaves documents of class 0 without any cue, so that
    only class 1 has decisive tokens. Errors: AttnError for impossible knobs.
    """
    knobs = dict(locals())
    _check(knobs)
    words = [a + b for a in _SYLLABLES for b in _SYLLABLES]
    # The same filler words for every seed.
    words = [words[i] for i in np.random.default_rng(0).permutation(MOST_FILLERS)[:fillers]]
    weight = 1 / np.arange(1, fillers + 1)
    documents, marks = {}, {}
    for stream, (split, n) in enumerate((("train", n_train), ("dev", n_dev), ("test", n_test))):
        rng = np.random.default_rng([seed, stream])
        labels = rng.permutation(np.arange(n) < round(positive * n)).astype(np.int64)
        made = [_document(rng, label, knobs, words, weight / weight.sum()) for label in labels]
        documents[split] = Texts([tokens for tokens, _ in made], labels, SPLIT_ROWS * stream + np.arange(n))
        # Two specials per text are no evidence.
        marks[split] = np.concatenate([[False, *marked, False] for _, marked in made]).astype(bool)
    from attn_core.corpora.encoding import build

    encoded = build(catalogue.corpus("planted"), Prepared(documents))
    encoded = replace(encoded, statistics={**encoded.statistics, "knobs": knobs}, evidence=marks)
    return _cut(encoded, shortest_sentence, longest_sentence, seed) if longest_sentence else encoded


def _cut(encoded: Encoded, shortest: int, longest: int, seed: int) -> Encoded:
    """The same documents cut into sentences of shortest to longest tokens, uniform; the last takes what is left."""
    splits, counts = {}, {}
    for stream, (split, made) in enumerate(encoded.splits.items()):
        rng = np.random.default_rng([seed, stream, 1])
        cut = []
        for words in (made.lengths - 2).tolist():
            lengths = rng.integers(shortest, longest + 1, size=-(-words // shortest))
            ends = np.minimum(np.cumsum(lengths), words)
            cut.append(np.diff(ends[: np.searchsorted(ends, words) + 1], prepend=0))
        offsets = np.cumsum([0, *(len(lengths) for lengths in cut)]).astype(np.int64)
        splits[split] = replace(made, sentence_lengths=np.concatenate(cut).astype(np.int64), sentence_offsets=offsets)
        counts[split] = encoded.statistics["splits"][split] | count(splits[split], encoded.statistics["classes"])
    statistics = {**encoded.statistics, "splits": counts}
    return replace(encoded, splits=splits, fingerprint=fingerprint(splits, encoded.vocabulary), statistics=statistics)


def _document(rng, label, knobs, words, weight) -> tuple[list[str], list[bool]]:
    """Tokens of one document and which of them are evidence."""
    length = int(rng.integers(knobs["shortest"], knobs["longest"] + 1))
    units = []
    for i in range(0 if knobs["silent"] and label == 0 else knobs["evidence"] + knobs["distractors"]):
        speaks_for_label = i < knobs["evidence"]
        side = label if speaks_for_label else 1 - label
        negated = rng.random() < knobs["context"]
        word = (NEGATIVE, POSITIVE)[1 - side if negated else side][rng.integers(knobs["cues"])]
        units.append(([NEGATOR, word] if negated else [word], speaks_for_label))
    room = length - sum(len(tokens) for tokens, _ in units)
    units += [([words[i]], False) for i in rng.choice(len(words), size=room, p=weight)]
    units = [units[i] for i in rng.permutation(len(units))]
    return [t for tokens, _ in units for t in tokens], [mark for tokens, mark in units for _ in tokens]


def _check(knobs: dict) -> None:
    """AttnError for a knob of the wrong type or a combination that cannot be met."""
    for name, value in knobs.items():
        kind, wanted = (Real, "a number") if name in ("context", "positive") else (Integral, "a whole number")
        if isinstance(value, bool) or not isinstance(value, kind):
            raise AttnError(f"planted: {name} is {value!r}, expected {wanted}")
    k = knobs
    rules = (
        (min(k["n_train"], k["n_dev"], k["n_test"]) >= 1, "n_train, n_dev and n_test must be at least 1"),
        (max(k["n_train"], k["n_dev"], k["n_test"]) <= SPLIT_ROWS, f"a split holds at most {SPLIT_ROWS:,} documents"),
        (k["evidence"] >= 1, "evidence must be at least 1"),
        (0 <= k["distractors"] < k["evidence"], "distractors must be fewer than evidence"),
        (0 <= k["context"] <= 1, "context must lie between 0 and 1"),
        (0 <= k["positive"] <= 1, "positive must lie between 0 and 1"),
        (1 <= k["cues"] <= len(POSITIVE), f"cues must lie between 1 and {len(POSITIVE)}"),
        (1 <= k["fillers"] <= MOST_FILLERS, f"fillers must lie between 1 and {MOST_FILLERS}"),
        (k["seed"] >= 0, "seed must not be negative"),
        (k["silent"] in (0, 1), "silent must be 0 or 1"),
        (k["shortest"] <= k["longest"], "shortest must not exceed longest"),
        (
            k["shortest"] >= (k["evidence"] + k["distractors"]) * (2 if k["context"] > 0 else 1),
            "shortest must leave room for all cues (two tokens each where context is above 0)",
        ),
        (
            0 < k["shortest_sentence"] <= k["longest_sentence"] or k["shortest_sentence"] == k["longest_sentence"] == 0,
            "shortest_sentence must be at least 1 and not exceed longest_sentence (both 0: not cut)",
        ),
    )
    for met, rule in rules:
        if not met:
            raise AttnError(f"planted: {rule}")


ACTORS = ("Daniel", "John", "Mary", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
OBJECTS = ("apple", "football", "milk")
MOVES = ("moved to the", "went to the", "journeyed to the", "travelled to the", "went back to the")
TAKES = ("got the", "grabbed the", "took the", "picked up the")
DROPS = ("dropped the", "discarded the", "left the", "put down the")
_OTHERS = "Where is was before there .".split()
WORDS = tuple(sorted({*ACTORS, *PLACES, *OBJECTS, *" ".join(MOVES + TAKES + DROPS).split(), *_OTHERS}))
"""The 36 words of tasks 1-3 together, the stop between sentences included: the original's and ours."""
STORIES = 2
"""Raised by hand when the same seed gives other stories; cached arrays are then made anew."""
QUESTIONS_PER_STORY = 5
RECENT = 5
"""Statements: only of what was handled (task 1: who moved) within so many is anything asked, as in the original."""

# Per task: share of moves among the statements; share of 'there' after an object taken and after one dropped, all as
# counted in the original's files.
_STYLE = {
    1: dict(moves=1.0, there=(0.0, 0.0)),
    2: dict(moves=0.65, there=(1.0, 0.2)),
    3: dict(moves=0.64, there=(0.2, 0.2)),
}


def babi(task: int, n_train: int = 10_000, n_test: int = 1_000, seed: int = 0) -> dict:
    """Stories of bAbI tasks 1-3 (Weston et al. 2015) by a grammar of our own: split -> table with the columns of
    the original's files.

    Columns: passage (statements so far, one a line), question, answer, support (0-based lines that prove the
    answer), story, source ('generated'). Task 1: where a person is. Task 2: where an object is. Task 3: where an
    object was before it came to a place (its last stay there counts). Every answer follows from the passage alone.
    Words, and so vocabulary sizes, are the original's (24, 38 and 39 with the four special ids, 40 together).
    When and of what is asked was read off the original's files, which follow the same rule (``World.questions``) in all
    22,000 questions of tasks 1 and 2 and in the 2,000 of task 3 whose files were at hand, but for five moments of task
    3 at which the rule allows a question and none is asked. Deviation: the people's steps are drawn by simple rules, so
    lengths resemble the original's and are not equal to them.
    """
    if task not in _STYLE:
        raise AttnError(f"bAbI task {task!r} is not generated; known: 1, 2, 3")
    from attn_core.corpora.archives import table

    tables = {}
    for stream, (split, n) in enumerate((("train", n_train), ("test", n_test))):
        if n < 1:
            raise AttnError(f"babi: n_{split} is {n}, expected at least 1")
        rng = np.random.default_rng([seed, task, stream])
        rows, story = [], 0
        while len(rows) < n:
            rows += [(*row, story, "generated") for row in _story(rng, task)]
            story += 1
        tables[split] = table(rows[:n], ("passage", "question", "answer", "support", "story", "source"))
    return tables


def _story(rng, task: int) -> list[tuple[str, str, str, str]]:
    """(passage, question, answer, support) of one story's questions: after every second statement, if one can be."""
    world, rows = World(rng, _STYLE[task]), []
    while len(rows) < QUESTIONS_PER_STORY:
        world.step()
        world.step()
        if known := world.questions(task):
            of_one = known[rng.integers(len(known))]
            question, answer, support = of_one[rng.integers(len(of_one))]
            rows.append(("\n".join(world.statements), question, answer, ",".join(map(str, support))))
    return rows


class World:
    """People who walk about and carry things, and what a reader of the statements can know of it.

    at: the place where a person or object really is. moved: person -> line of the last move, absent before it (the
    reader then does not know the place). held: object -> person who carries it. Of each object's last carrying:
    handled, the line where it was taken or, later, dropped; began, the known place where it was taken and the line that
    proves it, if any; stays, the same of the places it was carried to.
    """

    def __init__(self, rng, style):
        self.rng, self.style, self.statements = rng, style, []
        self.at = {name: PLACES[rng.integers(len(PLACES))] for name in ACTORS + OBJECTS}
        self.moved, self.held, self.handled, self.began, self.stays = {}, {}, {}, {}, {}

    def step(self) -> None:
        """One more statement: a move, or taking or dropping if somebody can."""
        rng = self.rng
        if rng.random() >= self.style["moves"]:
            can = [(a, o, o in self.held) for a in ACTORS for o in OBJECTS if self._can(a, o)]
            if can:
                self._handle(*can[rng.integers(len(can))])
                return
        actor = ACTORS[rng.integers(len(ACTORS))]
        elsewhere = [place for place in PLACES if place != self.at[actor]]
        self.at[actor] = elsewhere[rng.integers(len(elsewhere))]
        self.moved[actor] = len(self.statements)
        self.statements.append(f"{actor} {MOVES[rng.integers(len(MOVES))]} {self.at[actor]}.")
        for thing, holder in self.held.items():
            if holder == actor:
                self.stays[thing].append((self.at[actor], self.moved[actor]))

    def _can(self, actor, thing) -> bool:
        return self.held[thing] == actor if thing in self.held else self.at[thing] == self.at[actor]

    def _handle(self, actor, thing, drop) -> None:
        there = " there" if self.rng.random() < self.style["there"][drop] else ""
        verbs = DROPS if drop else TAKES
        self.handled[thing] = len(self.statements)
        self.statements.append(f"{actor} {verbs[self.rng.integers(len(verbs))]} {thing}{there}.")
        if drop:
            del self.held[thing]
            self.at[thing] = self.at[actor]
        else:
            self.held[thing], self.stays[thing] = actor, []
            self.began[thing] = [(self.at[actor], self.moved[actor])] if actor in self.moved else []

    def questions(self, task: int) -> list[list[tuple[str, str, tuple[int, ...]]]]:
        """All (question, answer, support) that may be asked now, together those of one person or object.

        Task 1: of a person who moved within RECENT statements. Tasks 2 and 3: of an object handled within RECENT.
        Task 2: if it is held, only once it was carried somewhere. Task 3: of two places it was carried to one after the
        other in its last carrying.
        """
        now = len(self.statements)
        if task == 1:
            recent = [(actor, line) for actor, line in self.moved.items() if now - line <= RECENT]
            return [[(f"Where is {actor}?", self.at[actor], (line,))] for actor, line in recent]
        asked = []
        for thing, handled in self.handled.items():
            stays = self.stays[thing]
            if now - handled > RECENT:
                continue
            if task == 2:
                known = stays or ([] if thing in self.held else self.began[thing])
                asked.append([(f"Where is the {thing}?", place, (handled, line)) for place, line in known[-1:]])
            else:
                asked.append([
                    (f"Where was the {thing} before the {place}?", before, (handled, line, earlier))
                    for i, ((before, earlier), (place, line)) in enumerate(pairwise(stays), 2)
                    if all(later != place for later, _ in stays[i:])
                ])  # fmt: skip
        return [questions for questions in asked if questions]
