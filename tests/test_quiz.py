"""The quiz: what a platform will read is what `answers.yml` says, in the form that its schema asks for.

Moodle has no schema of its own; its XML is parsed back and compared. The schema of QTI 2.1 is not to be had from a
package index: what is checked instead stands in CHILDREN and ATTRIBUTES, by the information model of version 2.1, for
the elements that the items use. Once, by hand, pyslet 0.7, another implementation of QTI 2.1, read all items and the
test; it complained of nothing but the pairs of `tolerance`, which it cannot hold. A platform's import was not tried."""

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_editions import ANSWERS

from attn_book.exercises import items_of, same
from attn_build import course, quiz
from attn_build.slides import notes_of

ROOT = Path(__file__).parents[1]
QTI = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"
KINDS = ("numerical", "cloze", "shortanswer", "multichoice", "essay")
BLOCKS = {"p", "div", "ul", "ol", "table", "pre", "blockquote"}
INLINE = {"em", "strong", "code", "sub", "sup", "br", "span"}
INTERACTIONS = {"choiceInteraction", "extendedTextInteraction", "textEntryInteraction"}
CHILDREN = {
    "assessmentItem": ["responseDeclaration", "outcomeDeclaration", "itemBody", "responseProcessing", "modalFeedback"],
    "responseDeclaration": ["correctResponse"],
    "outcomeDeclaration": ["defaultValue"],
    "correctResponse": ["value"],
    "defaultValue": ["value"],
    "choiceInteraction": ["prompt", "simpleChoice"],
    "responseProcessing": ["responseCondition"],
    "responseCondition": ["responseIf", "responseElseIf"],
    "responseIf": ["and", "setOutcomeValue"],
    "responseElseIf": ["and", "setOutcomeValue"],
    "setOutcomeValue": ["baseValue"],
    "equal": ["variable", "baseValue"],
    "stringMatch": ["variable", "baseValue"],
}
"""Element -> what may stand in it, in this order."""

ATTRIBUTES = {
    "assessmentItem": {"identifier", "title", "adaptive", "timeDependent"},
    "responseDeclaration": {"identifier", "cardinality", "baseType"},
    "outcomeDeclaration": {"identifier", "cardinality", "baseType"},
    "choiceInteraction": {"responseIdentifier", "shuffle", "maxChoices"},
    "simpleChoice": {"identifier"},
    "textEntryInteraction": {"responseIdentifier"},
    "extendedTextInteraction": {"responseIdentifier"},
    "equal": {"toleranceMode", "tolerance"},
    "stringMatch": {"caseSensitive"},
    "variable": {"identifier"},
    "baseValue": {"baseType"},
    "setOutcomeValue": {"identifier"},
    "modalFeedback": {"outcomeIdentifier", "identifier", "showHide"},
}
"""Element -> attributes that must be there."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("quiz")
    quiz.write_quiz(ROOT, course.sessions(ROOT), notes_of(ROOT), target)
    return target


def test_moodles_questions_parse_back_to_the_answers(folder):
    every = ElementTree.parse(folder / "moodle.xml").getroot().findall("question")
    questions = {one.findtext("idnumber"): one for one in every if one.get("type") != "category"}
    assert {one.get("type") for one in questions.values()} == set(KINDS)
    assert len(questions) >= 50 and sum(name.startswith("statement") for name in questions) == 10
    for name, question in questions.items():
        text = question.findtext("questiontext/text")
        assert text and question.findtext("name/text") and float(question.findtext("defaultgrade")) > 0
        assert "glue:text" not in text and "attn" not in text
        full = [one for one in question.findall("answer") if one.get("fraction") == "100"]
        if question.get("type") in ("numerical", "shortanswer", "multichoice"):
            assert len(full) == 1
        if name not in ANSWERS:
            continue
        right = items_of(ANSWERS[name]["is"])
        within = max(ANSWERS[name].get("within", 0), quiz.LEAST)
        if question.get("type") == "cloze":
            stored = re.findall(r"%100%(.*?)(?::([\d.e-]+))?#Right\.", text)
            read = [float(value) if tolerance else value for value, tolerance in stored]
        else:
            read = [full[0].findtext("text")]
            read = [float(read[0])] if question.get("type") == "numerical" else read
        assert same(read, right, within / 10), name
        if question.get("type") == "cloze":
            continue  # each part has its own feedback, that of the first slip with this value
        for why in {slip["why"] for slip in ANSWERS[name].get("slips", ()) if len(items_of(slip["is"])) == len(right)}:
            assert why in re.sub(r"\\(.)", r"\1", ElementTree.tostring(question, "unicode", method="text")), why


def local(element):
    return element.tag.removeprefix(QTI)


def faults(item):
    """What of an item is not as CHILDREN and ATTRIBUTES have it."""
    for element in item.iter():
        name = local(element)
        if not element.tag.startswith(QTI):
            yield f"{name} is in another namespace"
        if missing := ATTRIBUTES.get(name, set()) - set(element.keys()):
            yield f"{name} lacks {missing}"
        inside = [local(child) for child in element]
        if name in CHILDREN:
            places = [CHILDREN[name].index(child) if child in CHILDREN[name] else -1 for child in inside]
            if -1 in places or places != sorted(places):
                yield f"{name} holds {inside}"
        if name == "itemBody" and not set(inside) <= BLOCKS | INTERACTIONS:
            yield f"itemBody holds {inside}"
        if name in ("p", *INLINE) and not set(inside) <= INLINE | {"textEntryInteraction"}:
            yield f"{name} holds {inside}"
    declared = {one.get("identifier"): one.get("baseType") for one in item if "Declaration" in one.tag}
    for element in item.iter():
        used = element.get("responseIdentifier") or (
            element.get("identifier") if local(element) == "variable" else None
        )
        if used and used not in declared:
            yield f"{used} is not declared"
    for value in item.iter(f"{QTI}baseValue"):
        if value.get("baseType") == "float":
            float(value.text)
    shown = {one.get("identifier") for one in item.iter(f"{QTI}modalFeedback")}
    for element in item.iter(f"{QTI}setOutcomeValue"):
        if element.get("identifier") == "FEEDBACK" and element[0].text not in shown:
            yield f"no feedback {element[0].text}"


def test_items_of_qti_are_as_version_2_1_has_them(folder):
    with zipfile.ZipFile(folder / "qti.zip") as package:
        names = set(package.namelist())
        items = {name: ElementTree.fromstring(package.read(name)) for name in names}
    manifest = items.pop("imsmanifest.xml")
    test = items.pop("test.xml")
    assert {one.get("href") for one in manifest.iter() if one.tag.endswith("}file")} == names - {"imsmanifest.xml"}
    assert {one.get("href") for one in test.iter(f"{QTI}assessmentItemRef")} == set(items)
    assert not [(name, fault) for name, item in items.items() for fault in faults(item)]
    assert len({item.get("identifier") for item in items.values()}) == len(items)


def test_a_broken_item_is_found(folder):
    with zipfile.ZipFile(folder / "qti.zip") as package:
        text = package.read("jain-421-ex-bound.xml").decode()
    assert not list(faults(ElementTree.fromstring(text)))
    for old, new in (
        (' adaptive="false"', ""),
        ("<correctResponse>", "<answer/><correctResponse>"),
        ('variable identifier="R1"', 'variable identifier="R7"'),
        ('identifier="slip1" showHide', 'identifier="slip99" showHide'),
        ("<itemBody>", "<itemBody><script/>"),
    ):
        assert old in text and list(faults(ElementTree.fromstring(text.replace(old, new)))), old


@pytest.mark.browser
def test_every_kind_is_seen_in_the_preview(folder, chromium):
    chromium.open(folder / "preview.html", 390)
    assert chromium.js("document.documentElement.scrollWidth") <= 390
    fields = {
        "numerical": "input",
        "cloze": "input",
        "shortanswer": "input",
        "multichoice": "input",
        "essay": "textarea",
    }
    for kind, field in fields.items():
        assert chromium.js(f"document.querySelectorAll('section[data-kind={kind}] {field}').length") > 0
    assert chromium.js("document.querySelectorAll('input:not(label input), textarea:not(label textarea)').length") == 0
