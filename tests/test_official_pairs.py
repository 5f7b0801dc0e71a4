"""Readers of the official archives of bAbI, SNLI and CNN, each on a small archive in the official layout."""

import pytest
from official_archives import CLOZE, STORIES, pair, snli, tar

from attn_core.corpora import encode, load, read
from attn_core.errors import AttnError

pytestmark = pytest.mark.usefixtures("no_data_at_hand")


def test_babi(offer):
    names = {1: "qa1_single-supporting-fact", 2: "qa2_two-supporting-facts", 3: "qa3_three-supporting-facts"}
    files = {f"tasks_1-20_v1-2/en-10k/{n}_{s}.txt": STORIES for n in names.values() for s in ("train", "test")}
    offer("babi", tar(files))
    for task in names:
        table = read(f"babi_{task}", "train")
        assert table["passage"].tolist() == [
            "Mary moved to the bathroom.\nJohn got the milk there.",
            "Mary moved to the bathroom.\nJohn got the milk there.\nJohn went to the hall.",
            "Sandra moved to the garden.",
        ]
        assert table["question"].tolist() == ["Where is Mary?", "Where is the milk?", "Where is Sandra?"]
        # Line 4 of the story is the third statement: questions are counted in the file but are no part of the passage.
        assert table["support"].tolist() == ["0", "1,2", "0"]
        assert table["story"].tolist() == [0, 0, 1] and set(table["source"]) == {"en-10k"}


def test_snli_drops_pairs_without_a_gold_label(offer):
    train = pair("A man runs.", "He moves.", "entailment") + pair("A man.", "A dog.", "-")
    train += pair("A cat.", "x", "neutral")
    offer("snli", snli(train=train, dev=pair("Café", "Bar", "contradiction"), test=pair("A", "B", "neutral")))
    table = read("snli", "train")
    assert table.columns.tolist() == ["premise", "hypothesis", "label"]
    assert table.values.tolist() == [["A man runs.", "He moves.", "entailment"], ["A cat.", "x", "neutral"]]
    assert read("snli", "dev").values.tolist() == [["Café", "Bar", "contradiction"]]
    encoded = encode("snli")
    assert encoded.splits["train"].labels.tolist() == [2, 0] and len(encoded.splits["test"].queries) == 1


def test_malformed_lines_of_snli_are_reported_with_their_numbers(offer):
    good = pair("A", "B", "neutral")
    offer("snli", snli(train=good + "{broken\n" + good + '{"sentence1": "A"}\n' + "7\n", dev=good, test=good))
    with pytest.raises(AttnError) as caught:
        read("snli", "train")
    message = str(caught.value)
    assert "snli_1.0/snli_1.0_train.jsonl is malformed; line 2: no JSON object" in message and "\n" not in message
    assert "; lines 4, 5: lacks sentence1, sentence2 or gold_label" in message


def test_cnn_blocks(offer):
    other = "where is @placeholder\n@entity9\n@entity9 is near @entity4\n@entity9:Ef\n"
    offer("cnn", tar({"cnn/train.txt": CLOZE, "cnn/dev.txt": CLOZE, "cnn/test.txt": other + "\n\n" + CLOZE + "\n"}))
    table = read("cnn", "train")
    assert table.values.tolist() == [
        ["( @entity7 ) @entity1 came to @entity4 , 1,000 people saw @entity7 .",
         "@placeholder met @entity1 in @entity4", "@entity7"],
        ["nobody saw @entity2 but @entity4", "who saw @placeholder ?", "@entity2"],
    ]  # fmt: skip
    encoded = encode("cnn")
    assert encoded.statistics["classes"] == ["@entity1", "@entity2", "@entity4", "@entity7"]
    assert encoded.vocabulary[4:] == ("@entity1", "@entity2", "@entity4", "@entity7")  # no word is in 8 texts
    test = encoded.splits["test"]
    assert test.doc_ids.tolist() == [1, 2] and test.labels.tolist() == [3, 1]  # @entity9 is in no training passage
    assert test.allowed(4).tolist() == [[True, False, True, True], [False, True, True, False]]
    counts = encoded.statistics["splits"]
    assert (counts["test"]["dropped_answer"], counts["train"]["dropped_answer"]) == (1, 0)


def test_malformed_blocks_of_cnn_are_reported_with_their_lines(offer):
    offer("cnn", tar({f"cnn/{s}.txt": CLOZE + "\nalone\n\nq\nnobody\np\n" for s in ("train", "dev", "test")}))
    with pytest.raises(AttnError, match="line 12: a block of fewer than three lines; line 15: the answer is no @ent"):
        read("cnn", "train")
    assert not (load.cache_folder() / "tables" / "cnn").exists()


def test_cnn_without_a_part_is_named(offer):
    offer("cnn", tar({"cnn/train.txt": CLOZE, "cnn/test.txt": CLOZE}))
    with pytest.raises(AttnError, match="lacks the member cnn/dev.txt"):
        read("cnn", "train")
