"""Stories of bAbI tasks 1 to 3 by a grammar of our own, the same on every machine."""

from itertools import pairwise

import numpy as np
import pandas

ACTORS = ("Daniel", "John", "Mary", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
OBJECTS = ("apple", "football", "milk")
MOVES = ("moved to the", "went to the", "journeyed to the", "travelled to the", "went back to the")
TAKES = ("got the", "grabbed the", "took the", "picked up the")
DROPS = ("dropped the", "discarded the", "left the", "put down the")
_OTHERS = "Where is was before there .".split()
WORDS = tuple(sorted({*ACTORS, *PLACES, *OBJECTS, *" ".join(MOVES + TAKES + DROPS).split(), *_OTHERS}))
"""The 36 words of tasks 1-3 together (20, 34 and 35 of each), the stop between sentences included."""
SIZES = {"train": 10_000, "test": 1_000}
"""Questions of each split; a story has five."""
RECENT = 5
"""Statements within which something must have happened to what is asked of, as in the original."""

# Per task: share of moves among the statements; share of 'there' after an object taken and after one dropped, all as
# counted in the original's files.
_STYLE = {1: (1.0, (0.0, 0.0)), 2: (0.65, (1.0, 0.2)), 3: (0.64, (0.2, 0.2))}


def babi(task: int, split: str) -> pandas.DataFrame:
    """A split of bAbI task 1, 2 or 3 (Weston et al. 2015) by a grammar of our own.

    Columns: passage (statements so far, one a line), question, answer, story, source ('generated'). Task 1: where a
    person is. Task 2: where an object is. Task 3: where an object was before it came to a place (its last stay there
    counts). Every answer follows from the passage alone. Words and the rule of when and of what is asked
    (``World.questions``) are the original's; all 24,000 questions at hand follow them. Deviation: the people's steps
    are drawn by simple rules, so lengths resemble the original's and are not equal.
    """
    rng, rows = np.random.default_rng([0, task, list(SIZES).index(split)]), []
    for number in range(SIZES[split] // 5):
        story = World(rng, *_STYLE[task])
        while len(rows) < 5 * number + 5:
            story.step()
            story.step()
            if known := story.questions(task):
                asked = story.pick(story.pick(known))
                rows.append(("\n".join(story.statements), *asked, number, "generated"))
    return pandas.DataFrame(rows, columns=["passage", "question", "answer", "story", "source"])


class World:
    """People who walk about and carry things, and what a reader of the statements can know of it.

    at: the place where a person or object really is. moved: person -> line of the last move, absent before it (the
    reader then does not know the place). held: object -> person who carries it. Of each object's last carrying:
    handled, the line where it was taken or, later, dropped; trail, the place where it was taken (None: not known) and
    those it was carried to.
    """

    def __init__(self, rng, moves: float, there: tuple[float, float]):
        self.rng, self.moves, self.there, self.statements = rng, moves, there, []
        self.at = {name: self.pick(PLACES) for name in ACTORS + OBJECTS}
        self.moved, self.held, self.handled, self.trail = {}, {}, {}, {}

    def pick(self, options):
        return options[self.rng.integers(len(options))]

    def step(self) -> None:
        """One more statement: a move, or taking or dropping if somebody can."""
        line, at, held = len(self.statements), self.at, self.held
        can = [(actor, o) for actor in ACTORS for o in OBJECTS if held.get(o, actor) == actor and at[o] == at[actor]]
        if self.rng.random() < self.moves or not can:
            actor = self.pick(ACTORS)
            at[actor] = place = self.pick([place for place in PLACES if place != at[actor]])
            self.moved[actor] = line
            self.statements.append(f"{actor} {self.pick(MOVES)} {place}.")
            for thing in (thing for thing, holder in held.items() if holder == actor):
                at[thing] = place
                self.trail[thing].append(place)
            return
        actor, thing = self.pick(can)
        there = " there" if self.rng.random() < self.there[thing in held] else ""
        self.handled[thing] = line
        self.statements.append(f"{actor} {self.pick(DROPS if thing in held else TAKES)} {thing}{there}.")
        if held.pop(thing, None) is None:
            held[thing], self.trail[thing] = actor, [at[actor] if actor in self.moved else None]

    def questions(self, task: int) -> list[list[tuple[str, str]]]:
        """All (question, answer) that may be asked now, together those of one person or object.

        Task 1: of a person who moved, tasks 2 and 3: of an object handled within RECENT statements. Task 2: if it is
        held, only once it was carried somewhere. Task 3: of two places in a row that it was last carried to.
        """
        recent = lambda lines: [name for name, line in lines.items() if len(self.statements) - line <= RECENT]
        if task == 1:
            return [[(f"Where is {actor}?", self.at[actor])] for actor in recent(self.moved)]
        asked = []
        for thing in recent(self.handled):
            taken, *stays = self.trail[thing]
            if task == 3:
                asked.append([
                    (f"Where was the {thing} before the {place}?", before)
                    for i, (before, place) in enumerate(pairwise(stays), 2) if place not in stays[i:]
                ])  # fmt: skip
            elif stays or (taken and thing not in self.held):
                asked.append([(f"Where is the {thing}?", self.at[thing])])
        return [questions for questions in asked if questions]
