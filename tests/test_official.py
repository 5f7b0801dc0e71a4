"""Readers of the official archives, each on a small archive in the official layout; download and checksum."""

import hashlib
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import refused
from official_archives import CLOZE, STORIES, TREES, pair, reviews, snli, special, tar, zipped

from attn_lab.data import encode, files, official
from attn_lab.data.catalogue import SOURCES, Source
from attn_lab.data.tables import read
from attn_lab.runs import store

pytestmark = pytest.mark.usefixtures("no_data_at_hand")


def test_sst_trees(offer):
    offer("sst", TREES)
    told = read("sst", "train").to_dict("list")  # neutral is out
    assert told == {"text": ["It 's lovely .", "Bad -LRB- 1\\/2 -RRB-"], "label": [1, 0]}
    assert read("sst", "test").values.tolist() == [["Poor .", 0]]


def test_newsgroups_in_loader_order(offer):
    posts = {
        "20news-bydate-train/rec.sport.hockey/53000": "H: x\n\nGoal\xe9!".encode("latin-1"),
        "20news-bydate-train/rec.sport.baseball/9000": b"H: x\n\nnine",
        "20news-bydate-train/rec.sport.baseball/10000": b"H: x\n\nten",
        "20news-bydate-test/alt.atheism/1": b"H: x\n\nno",
    }
    offer("20newsgroups", tar(posts))
    table = read("20news", "train")
    assert table["doc_id"].tolist() == ["10000", "9000", "53000"]  # file names sort as text
    assert table["text"].tolist() == ["H: x\n\nten", "H: x\n\nnine", "H: x\n\nGoalé!"]
    assert table["label"].tolist() == [0, 0, 1]
    assert read("20news", "test")["label"].tolist() == [0]


def test_imdb(offer):
    reviews = {
        "aclImdb/train/pos/0_9.txt": "Great<br />film",
        "aclImdb/train/neg/10_2.txt": "Bad",
        "aclImdb/train/unsup/5_0.txt": "left out",
        "aclImdb/train/labeledBow.feat": "9 0:1",
        "aclImdb/test/neg/0_1.txt": "Dire",
    }
    offer("imdb", tar(reviews))
    bad, great = ["Bad", 0, "neg", "10_2", 2], ["Great<br />film", 1, "pos", "0_9", 9]
    assert read("imdb", "train").values.tolist() == [bad, great]
    assert read("imdb", "test").values.tolist() == [["Dire", 0, "neg", "0_1", 1]]


def test_ag_news(offer):
    offer("ag_news_train", b'"3","Wall ""St.""","Bears, \\bulls"\n"1","World","Talks\nresume"\n')
    offer("ag_news_test", b'"4","Chip","Fast"\n')
    assert read("agnews", "train").to_dict("list") == {
        "text": ['Wall "St." Bears, \\bulls', "World Talks\nresume"],
        "label": [2, 0],
        "title": ['Wall "St."', "World"],
        "description": ["Bears, \\bulls", "Talks\nresume"],
    }
    assert read("agnews", "test").values.tolist() == [["Chip Fast", 3, "Chip", "Fast"]]


SETS = [
    ("amazon", "amazon", "amazon_review_full_csv", 5, 2),
    ("yelp", "yelp", "yelp_review_full_csv", 5, 1),
    ("yahoo", "yahoo", "yahoo_answers_csv", 10, 3),
]


@pytest.mark.parametrize(("name", "corpus", "folder", "classes", "columns"), SETS)
def test_review_archives_become_tables_and_arrays(offer, name, corpus, folder, classes, columns):
    offer(name, reviews(folder, classes, columns))
    table = read(corpus, "train")
    assert table.columns.tolist() == ["text", "label"]
    assert table["label"].tolist() == [i % classes for i in range(60)]
    assert set(table["text"]) == {" ".join(f'Part {c}. A "word".\\n' for c in range(columns))}
    encoded = encode(corpus)
    assert encoded.splits["test"].labels.tolist() == [*range(classes)] * 2
    assert encoded.statistics["splits"]["test"]["mean_sentences"] == 2 * columns
    assert "\\n" not in encoded.vocabulary
    assert '"' in encoded.vocabulary


BLOCK = "cnn/train.txt, block 3: not question, @entity and passage"
WHOLE = tar({f"cnn/{split}.txt": CLOZE for split in ("train", "dev", "test")})


@pytest.mark.parametrize(
    ("data", "told"),
    {
        "truncated": (WHOLE[: len(WHOLE) * 2 // 3], "end-of-stream marker"),
        "no archive": (b"<html>", "Not a gzipped file"),
        "another layout": (tar({"other/file": "text"}), "No such file"),
        **{
            block: (tar({"cnn/train.txt": f"{CLOZE}\n\n{block}\n\n"}), BLOCK)
            for block in ("alone", "q\nnobody\np")
        },
    }.values(),
)
def test_damage_of_the_one_archive_without_a_checksum_is_one_line(offer, data, told):
    archive = offer("cnn", data)
    with refused(
        f"'cnn': .*{told}.*Three ways: set ATTN_DATA.*put {archive.name} into .*in place of.*the download$"
    ):
        read("cnn", "train")
    assert not (files.cache_folder() / "tables" / "cnn").exists()


@pytest.mark.parametrize(
    ("name", "archive"),
    [
        ("cnn", tar({"cnn/train.txt": "0" * 50_000})),
        ("cnn", tar({"0" * 50_000: "a header that is too long"})),
        ("sst", zipped({"trees/train.txt": "0" * 50_000})),
        ("cnn", tar({"../outside": "text"})),
        ("cnn", tar({"/tmp/outside": "text"})),
        ("cnn", special("cnn", tarfile.SYMTYPE, "/tmp")),
        ("cnn", special("cnn", tarfile.LNKTYPE, "../cnn.tar.gz")),
        ("cnn", special("cnn", tarfile.FIFOTYPE)),
        ("cnn", special("cnn", tarfile.CHRTYPE)),
        ("cnn", special("cnn", tarfile.GNUTYPE_SPARSE)),
    ],
    ids=["tar", "header", "zip", "outside", "absolute", "link", "hard link", "pipe", "device", "sparse"],
)
def test_an_archive_that_grows_or_leads_outside_is_refused_and_leaves_nothing(
    offer, monkeypatch, name, archive
):
    monkeypatch.setattr(official, "ALWAYS_UNPACKED", 40_000)
    path = offer(name, archive)
    with refused("more than 40,000 bytes|outside"):
        read(name, "train")
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_command_has_unpacked_is_swept_away(offer, monkeypatch):
    class Killed(BaseException):
        pass

    def die(self, *_):
        raise Killed

    path = offer("cnn", WHOLE)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(official.TemporaryDirectory, "cleanup", lambda self: self._finalizer.detach())
        patched.setattr(official, "READERS", official.READERS | {"cnn": die})
        read("cnn", "train")
    (left,) = [each for each in path.parent.iterdir() if each != path]
    assert left.is_dir()
    assert list(left.rglob("train.txt"))
    monkeypatch.setattr(store.psutil, "pid_exists", lambda number: False)
    store.sweep_away(files.cache_folder())
    assert list(path.parent.iterdir()) == [path]


def test_a_file_without_a_published_checksum_is_said(offer, monkeypatch, capsys):
    offer("cnn", WHOLE)
    read("cnn", "dev")
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(SOURCES, "cnn", replace(SOURCES["cnn"], checksum=None))
    (files.cache_folder() / "tables").rename(files.cache_folder() / "others")
    read("cnn", "dev")
    (warning,) = capsys.readouterr().err.splitlines()
    assert "cnn.tar.gz" in warning
    assert "checksum" in warning
    assert "http:" in warning


def test_babi(offer):
    names = {1: "qa1_single-supporting-fact", 2: "qa2_two-supporting-facts", 3: "qa3_three-supporting-facts"}
    files = {
        f"tasks_1-20_v1-2/en-10k/{n}_{s}.txt": STORIES for n in names.values() for s in ("train", "test")
    }
    offer("babi", tar(files))
    for task in names:
        table = read(f"babi_{task}", "train")
        assert table["passage"].tolist() == [
            "Mary moved to the bathroom.\nJohn got the milk there.",
            "Mary moved to the bathroom.\nJohn got the milk there.\nJohn went to the hall.",
            "Sandra moved to the garden.",
        ]
        assert table["question"].tolist() == ["Where is Mary?", "Where is the milk?", "Where is Sandra?"]
        assert set(table["source"]) == {"en-10k"}


def test_snli_drops_pairs_without_a_gold_label(offer):
    train = pair("A man runs.", "He moves.", "entailment") + pair("A man.", "A dog.", "-")
    train += pair("A cat.", "x", "neutral")
    offer("snli", snli(train=train, dev=pair("Café", "Bar", "contradiction"), test=pair("A", "B", "neutral")))
    table = read("snli", "train")
    assert table.columns.tolist() == ["premise", "hypothesis", "label"]
    assert table.values.tolist() == [["A man runs.", "He moves.", "entailment"], ["A cat.", "x", "neutral"]]
    assert read("snli", "dev").values.tolist() == [["Café", "Bar", "contradiction"]]
    encoded = encode("snli")
    assert encoded.splits["train"].labels.tolist() == [2, 0]
    assert len(encoded.splits["test"].queries) == 1


def test_cnn_blocks(offer):
    other = "where is @placeholder\n@entity9\n@entity9 is near @entity4\n@entity9:Ef\n"
    offer(
        "cnn",
        tar({"cnn/train.txt": CLOZE, "cnn/dev.txt": CLOZE, "cnn/test.txt": other + "\n\n" + CLOZE + "\n"}),
    )
    table = read("cnn", "train")
    assert table.values.tolist() == [
        [
            "( @entity7 ) @entity1 came to @entity4 , 1,000 people saw @entity7 .",
            "@placeholder met @entity1 in @entity4",
            "@entity7",
        ],
        ["nobody saw @entity2 but @entity4", "who saw @placeholder ?", "@entity2"],
    ]
    encoded = encode("cnn")
    assert encoded.statistics["classes"] == ["@entity1", "@entity2", "@entity4", "@entity7"]
    assert encoded.vocabulary[4:] == ("@entity1", "@entity2", "@entity4", "@entity7")  # no word is in 8 texts
    test = encoded.splits["test"]
    assert test.doc_ids.tolist() == [1, 2] and test.labels.tolist() == [
        3,
        1,
    ]  # @entity9 is in no training passage
    assert test.allowed(4).tolist() == [[True, False, True, True], [False, True, True, False]]
    counts = encoded.statistics["splits"]
    assert [counts[split]["dropped_answer"] for split in ("train", "test")] == [0, 1]
    assert counts["test"]["dropped_length"] == 0


# --- download -------------------------------------------------------------------------------------------------------


class Server(BaseHTTPRequestHandler):
    """Sends a file, of the first answer only half."""

    data, asked, half = bytes(range(256)) * 4000, 0, True

    def do_GET(self):
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()
        self.wfile.write(self.data[: len(self.data) // 2] if type(self).half else self.data)
        type(self).half = False

    def log_message(self, *_):
        pass


def test_a_download_is_whole_or_refused_and_never_kept_broken(tmp_path, capsys, monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/big.bin"
    source = Source("big.bin", address, "sha256:" + hashlib.sha256(Server.data).hexdigest())
    try:
        with pytest.raises(OSError, match="Incomplete|broken"):
            official.fetch(source, tmp_path)
        with pytest.raises(ValueError, match="hash of downloaded file"):
            official.fetch(Source("big.bin", address, "sha256:" + "0" * 64), tmp_path)
        with pytest.raises(ValueError, match="more than 1,000,000 bytes"), monkeypatch.context() as context:
            context.setattr(official, "LARGEST_DOWNLOAD", 1_000_000)
            official.fetch(source, tmp_path)
        assert not list(tmp_path.iterdir())
        assert official.fetch(source, tmp_path).read_bytes() == Server.data
        assert "100%" in capsys.readouterr().err
        assert official.fetch(source, tmp_path).exists() and Server.asked == 4, (
            "a whole file is not asked for again"
        )
    finally:
        server.shutdown()
        server.server_close()
