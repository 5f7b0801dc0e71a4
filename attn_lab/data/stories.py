"""Stories of bAbI tasks 1 to 3 by a grammar of our own, the same on every machine."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas

ACTORS = ("Daniel", "John", "Mary", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
OBJECTS = ("apple", "football", "milk")
MOVES = ("moved to the", "went to the", "journeyed to the", "travelled to the", "went back to the")
TAKES = ("got the", "grabbed the", "took the", "picked up the")
DROPS = ("dropped the", "discarded the", "left the", "put down the")
_PHRASES = " ".join(MOVES + TAKES + DROPS).split()
_ASKED = ("Where", "is", "was", "before", "there", ".")
WORDS = tuple(sorted({*ACTORS, *PLACES, *OBJECTS, *_PHRASES, *_ASKED}))
"""The 36 words of tasks 1-3 together (20, 34 and 35 of each), the stop between sentences included."""
SIZES = {"train": 10_000, "test": 1_000}
"""Questions of each split; a story has five."""
RECENT = 5
"""Statements within which something must have happened to what is asked of, as in the original."""


class Style(NamedTuple):
    """How the people of a task behave, as counted in the original's files."""

    moves: float
    """Share of moves among the statements."""
    there_taken: float
    """Share of 'there' after an object taken."""
    there_dropped: float
    """Share of 'there' after an object dropped."""


STYLES = {
    1: Style(1.0, 0.0, 0.0),
    2: Style(0.65, 1.0, 0.2),
    3: Style(0.64, 0.2, 0.2),
}
"""By task."""


def babi(task: int, split: str) -> pandas.DataFrame:
    """A split of bAbI task 1, 2 or 3 (Weston et al. 2015) by a grammar of our own.

    Columns: passage (statements so far, one a line), question, answer, story, source ('generated'). Task 1: where a
    person is. Task 2: where an object is. Task 3: where an object was before it came to a place (its last stay there
    counts). Every answer follows from the passage alone. Words and the rule of when and of what is asked
    (``World.questions``) are the original's; all 24,000 questions at hand follow them. Deviation: the people's steps
    are drawn by simple rules, so lengths resemble the original's and are not equal.
    """
    rng = np.random.default_rng([0, task, list(SIZES).index(split)])
    rows: list[tuple] = []
    for number in range(SIZES[split] // 5):
        story = World(rng, STYLES[task])
        while len(rows) < 5 * number + 5:
            story.step()
            story.step()
            possible = story.questions(task)
            if possible:
                question, answer = story.pick(story.pick(possible))
                rows.append(("\n".join(story.statements), question, answer, number, "generated"))
    return pandas.DataFrame(rows, columns=["passage", "question", "answer", "story", "source"])


class World:
    """People who walk about and carry things, and what a reader of the statements can know of it.

    at: the place where a person or object really is. moved: person -> line of the last move, absent before it (the
    reader then does not know the place). holder: object -> person who carries it. Of each object's last carrying:
    handled, the line where it was taken or, later, dropped; trail, the place where it was taken (None: not known) and
    those it was carried to.
    """

    def __init__(self, rng: np.random.Generator, style: Style):
        self.rng = rng
        self.style = style
        self.statements: list[str] = []
        self.at = {name: self.pick(PLACES) for name in ACTORS + OBJECTS}
        self.moved: dict[str, int] = {}
        self.holder: dict[str, str] = {}
        self.handled: dict[str, int] = {}
        self.trail: dict[str, list] = {}

    def pick(self, options: Sequence):
        return options[int(self.rng.integers(len(options)))]

    def step(self) -> None:
        """One more statement: a move, or taking or dropping if somebody can."""
        possible = [
            (actor, item)
            for actor in ACTORS
            for item in OBJECTS
            if self.holder.get(item, actor) == actor and self.at[item] == self.at[actor]
        ]
        if self.rng.random() < self.style.moves or not possible:
            self.move(self.pick(ACTORS))
        else:
            self.handle(*self.pick(possible))

    def move(self, actor: str) -> None:
        """A person goes elsewhere, and what is carried comes along."""
        place = self.pick([place for place in PLACES if place != self.at[actor]])
        self.at[actor] = place
        self.moved[actor] = len(self.statements)
        self.statements.append(f"{actor} {self.pick(MOVES)} {place}.")
        for item, holder in self.holder.items():
            if holder == actor:
                self.at[item] = place
                self.trail[item].append(place)

    def handle(self, actor: str, item: str) -> None:
        """Somebody takes what lies there, or drops what they carry. Where it was taken the reader knows only of a
        person who moved before."""
        carried = item in self.holder
        verbs, there = (DROPS, self.style.there_dropped) if carried else (TAKES, self.style.there_taken)
        ending = " there" if self.rng.random() < there else ""
        self.handled[item] = len(self.statements)
        self.statements.append(f"{actor} {self.pick(verbs)} {item}{ending}.")
        if carried:
            del self.holder[item]
        else:
            self.holder[item] = actor
            self.trail[item] = [self.at[actor] if actor in self.moved else None]

    def recent(self, lines: dict[str, int]) -> list[str]:
        """Of which something happened within the last RECENT statements."""
        return [name for name, line in lines.items() if len(self.statements) - line <= RECENT]

    def questions(self, task: int) -> list[list[tuple[str, str]]]:
        """All (question, answer) that may be asked now, together those of one person or object.

        Task 1: of a person who moved, tasks 2 and 3: of an object handled within RECENT statements. Task 2: if it is
        held, only once it was carried somewhere. Task 3: of two places in a row that it was last carried to.
        """
        if task == 1:
            return [[(f"Where is {actor}?", self.at[actor])] for actor in self.recent(self.moved)]
        groups = []
        for item in self.recent(self.handled):
            taken, *stays = self.trail[item]
            if task == 3:
                moves = enumerate(pairwise(stays), 2)  # its last stay at a place counts
                last = [pair for i, pair in moves if pair[1] not in stays[i:]]
                groups.append([(f"Where was the {item} before the {place}?", before) for before, place in last])
            elif stays or (taken and item not in self.holder):
                groups.append([(f"Where is the {item}?", self.at[item])])
        return list(filter(None, groups))
