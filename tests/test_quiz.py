"""The quiz: what a platform will read is what `answers.yml` says. Moodle has no schema; its XML is parsed back."""

import re
from xml.etree import ElementTree

import pytest
from conftest import ROOT
from test_editions import ANSWERS

from attn_book.exercises import items_of, same
from attn_build import course, quiz
from attn_build.slides import notes_of

SESSIONS = course.sessions(ROOT)
SINGLE = ("numerical", "shortanswer", "multichoice")


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """Name -> question of the file."""
    target = tmp_path_factory.mktemp("quiz") / "moodle.xml"
    quiz.write_quiz(ROOT, SESSIONS, notes_of(ROOT), target)
    every = ElementTree.parse(target).getroot().findall("question")
    return {one.findtext("idnumber"): one for one in every if one.get("type") != "category"}


def full(question):
    """Its answers that give all points."""
    return [one.findtext("text") for one in question.findall("answer") if one.get("fraction") == "100"]


def right(question):
    """The right answer as a platform reads it: numbers and words."""
    text = question.findtext("questiontext/text")
    parts = [(value, question.get("type") == "numerical") for value in full(question)]
    parts = parts or re.findall(r"%100%(.*?)(?::([\d.e-]+))?#Right\.", text)
    return [float(value) if numeric else value for value, numeric in parts]


def test_there_are_questions_of_every_kind(questions):
    assert {one.get("type") for one in questions.values()} == {*SINGLE, "cloze", "essay"}
    assert sum(name.startswith("statement") for name in questions) == 10
    assert {exercise.label for session in SESSIONS for exercise in session.checked} <= questions.keys()


def test_every_question_has_a_text_without_roles_points_and_at_most_one_answer(questions):
    for name, question in questions.items():
        text = question.findtext("questiontext/text")
        assert text and "glue:text" not in text, name
        assert float(question.findtext("defaultgrade")) > 0, name
        assert len(full(question)) == (question.get("type") in SINGLE), name


def test_right_answers_are_those_of_the_book(questions):
    for name in questions.keys() & ANSWERS.keys():
        entry = ANSWERS[name]
        assert same(right(questions[name]), items_of(entry["is"]), entry.get("within", quiz.LEAST) / 10), name


def test_a_slip_is_told(questions):
    """Of a cloze each part has the feedback of the first slip with its value."""
    for name in questions.keys() & ANSWERS.keys():
        question = questions[name]
        if question.get("type") != "cloze":
            told = ElementTree.tostring(question, "unicode", method="text")
            reasons = {
                slip["why"] for slip in ANSWERS[name].get("slips", ()) if len(items_of(slip["is"])) == 1
            }
            assert not [why for why in reasons if why not in told], name
