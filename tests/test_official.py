"""Readers of the official archives, each on a small archive in the official layout; download and checksum."""

import hashlib
import io
import json
import re
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from conftest import refused

from attn_lab.data import files, official
from attn_lab.data.catalogue import SOURCES, Source
from attn_lab.data.tables import read
from attn_lab.runs import store

pytestmark = pytest.mark.usefixtures("no_data_at_hand")

# --- tables -----------------------------------------------------------------------------------------------------------


def tar(members: dict[str, str], **fields) -> bytes:
    """A .tar.gz. fields: of every member, such as its type and where it leads."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            data = content.encode("latin-1")
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for field, value in fields.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def zipped(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def pair(premise, hypothesis, label) -> str:
    """One line as the archive has it; its own further keys included."""
    keys = {"annotator_labels": [label], "captionID": "1.jpg#0", "sentence1_parse": "(ROOT a)"}
    return json.dumps(keys | {"sentence1": premise, "sentence2": hypothesis, "gold_label": label}) + "\n"


STORIES = """1 Mary moved to the bathroom.
2 John got the milk there.
3 Where is Mary? \tbathroom\t1
4 John went to the hall.
5 Where is the milk? \thall\t2 4
1 Sandra moved to the garden.
2 Where is Sandra? \tgarden\t1
"""
FIRST = "Mary moved to the bathroom.\nJohn got the milk there."
TOLD = [
    [FIRST, "Where is Mary?", "bathroom", "en-10k"],
    [f"{FIRST}\nJohn went to the hall.", "Where is the milk?", "hall", "en-10k"],
    ["Sandra moved to the garden.", "Where is Sandra?", "garden", "en-10k"],
]
TASKS = ("qa1_single-supporting-fact", "qa2_two-supporting-facts", "qa3_three-supporting-facts")
BABI = tar({f"tasks_1-20_v1-2/en-10k/{task}_{s}.txt": STORIES for task in TASKS for s in ("train", "test")})

CLOZE = """@placeholder met @entity1 in @entity4
@entity7
( @entity7 ) @entity1 came to @entity4 , 1,000 people saw @entity7 .
@entity1:Ann B.
@entity7:Cee

who saw @placeholder ?
@entity2
nobody saw @entity2 but @entity4
@entity2:Dee
"""
ASKED = [
    [
        "( @entity7 ) @entity1 came to @entity4 , 1,000 people saw @entity7 .",
        "@placeholder met @entity1 in @entity4",
        "@entity7",
    ],
    ["nobody saw @entity2 but @entity4", "who saw @placeholder ?", "@entity2"],
]
CNN = tar({f"cnn/{split}.txt": CLOZE for split in ("train", "dev", "test")})

SST = {
    "trees/train.txt": "(3 (2 It) (4 (2 's) (3 (3 lovely) (2 .))))\n(2 (2 So) (2 so))\n"
    "(0 (1 Bad) (2 (2 -LRB-) (2 (2 1\\/2) (2 -RRB-))))\n",
    "trees/dev.txt": "(4 (3 Fine) (2 .))\n",
    "trees/test.txt": "(1 (1 Poor) (2 .))\n",
}
POSTS = {
    "20news-bydate-train/rec.sport.hockey/53000": "H: x\n\nGoal\xe9!",
    "20news-bydate-train/rec.sport.baseball/9000": "nine",
    "20news-bydate-train/rec.sport.baseball/10000": "ten",
    "20news-bydate-test/alt.atheism/1": "no",
}
FILMS = {
    "aclImdb/train/pos/0_9.txt": "Great<br />film",
    "aclImdb/train/neg/10_2.txt": "Bad",
    "aclImdb/train/unsup/5_0.txt": "left out",
    "aclImdb/train/labeledBow.feat": "9 0:1",
    "aclImdb/test/neg/0_1.txt": "Dire",
}
SNLI = {
    "snli_1.0/snli_1.0_train.jsonl": pair("A man runs.", "He moves.", "entailment")
    + pair("A man.", "A dog.", "-")
    + pair("A cat.", "x", "neutral"),
    "snli_1.0/snli_1.0_dev.jsonl": pair("Café", "Bar", "contradiction"),
    "snli_1.0/snli_1.0_test.jsonl": pair("A", "B", "neutral"),
    "snli_1.0/README.txt": "about",
    "__MACOSX/snli_1.0/._snli_1.0_dev.jsonl": "\0",
}
NEWS = b'"3","Wall ""St.""","Bears, \\bulls"\n"1","World","Talks\nresume"\n'


RATED = '"1","Part 1. A ""word"".\\n","Part 2"\n"5","NA",""\n'
RATINGS = tar(
    {"of_a_set_csv/readme.txt": "about", "of_a_set_csv/train.csv": RATED, "of_a_set_csv/test.csv": RATED}
)
REVIEWS = [['Part 1. A "word".\\n Part 2', 0], ["NA ", 4]]
OFFICIAL = {  # corpus -> its archives by source, columns, rows of the training part and of the test
    "sst": (
        {"sst": zipped(SST)},
        "text label",
        [["It 's lovely .", 1], ["Bad -LRB- 1\\/2 -RRB-", 0]],  # neutral is out
        [["Poor .", 0]],
    ),
    "20news": (
        {"20newsgroups": tar(POSTS)},
        "text label group doc_id",
        [  # file names sort as text
            ["ten", 0, "rec.sport.baseball", "10000"],
            ["nine", 0, "rec.sport.baseball", "9000"],
            ["H: x\n\nGoalé!", 1, "rec.sport.hockey", "53000"],
        ],
        [["no", 0, "alt.atheism", "1"]],
    ),
    "imdb": (
        {"imdb": tar(FILMS)},
        "text label group doc_id stars",
        [["Bad", 0, "neg", "10_2", 2], ["Great<br />film", 1, "pos", "0_9", 9]],
        [["Dire", 0, "neg", "0_1", 1]],
    ),
    "agnews": (
        {"ag_news_train": NEWS, "ag_news_test": b'"4","Chip","Fast"\n'},
        "text label title description",
        [
            ['Wall "St." Bears, \\bulls', 2, 'Wall "St."', "Bears, \\bulls"],
            ["World Talks\nresume", 0, "World", "Talks\nresume"],
        ],
        [["Chip Fast", 3, "Chip", "Fast"]],
    ),
    **{name: ({name: RATINGS}, "text label", REVIEWS, REVIEWS) for name in ("amazon", "yelp", "yahoo")},
    **{f"babi_{task}": ({"babi": BABI}, "passage question answer source", TOLD, TOLD) for task in (1, 2, 3)},
    "snli": (
        {"snli": zipped(SNLI)},
        "premise hypothesis label",
        [
            ["A man runs.", "He moves.", "entailment"],
            ["A cat.", "x", "neutral"],
        ],  # without a gold label is out
        [["A", "B", "neutral"]],
    ),
    "cnn": (
        {"cnn": tar({"cnn/train.txt": CLOZE, "cnn/dev.txt": CLOZE, "cnn/test.txt": f"{CLOZE}\n\n{CLOZE}\n"})},
        "passage question answer",
        ASKED,
        ASKED * 2,
    ),
}


@pytest.mark.parametrize("corpus", OFFICIAL)
def test_an_official_archive_becomes_tables(offer, corpus):
    archives, columns, train, test = OFFICIAL[corpus]
    for source, data in archives.items():
        offer(source, data)
    table = read(corpus, "train")
    assert table.columns.tolist() == columns.split()
    assert table.values.tolist() == train
    assert read(corpus, "test").values.tolist() == test


# --- damage -----------------------------------------------------------------------------------------------------------


BLOCK = "cnn/train.txt, block 3: not question, @entity and passage"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (CNN[: len(CNN) * 2 // 3], "end-of-stream marker"),
        (b"<html>", "Not a gzipped file"),
        (tar({"other/file": "text"}), "No such file"),
        (tar({"cnn/train.txt": f"{CLOZE}\n\nalone\n\n"}), BLOCK),
        (tar({"cnn/train.txt": f"{CLOZE}\n\nq\nnobody\np\n\n"}), BLOCK),
    ],
    ids=["truncated", "no archive", "another layout", "a line alone", "no entity"],
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
        ("cnn", tar({"cnn": ""}, type=tarfile.SYMTYPE, linkname="/tmp")),
        ("cnn", tar({"cnn": ""}, type=tarfile.CHRTYPE)),
        ("cnn", tar({"cnn": ""}, type=tarfile.GNUTYPE_SPARSE)),
    ],
    ids=["tar", "header", "zip", "outside", "absolute", "link", "device", "sparse"],
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
    def die(_):
        raise KeyboardInterrupt

    path = offer("cnn", CNN)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(official.TemporaryDirectory, "cleanup", lambda self: self._finalizer.detach())
        patched.setitem(official.FORMS, "cnn", ("*", die))
        read("cnn", "train")
    assert list(path.parent.rglob("train.txt"))
    monkeypatch.setattr(store.psutil, "pid_exists", lambda number: False)
    store.sweep_away(files.cache_folder())
    assert list(path.parent.iterdir()) == [path]


def test_a_file_without_a_published_checksum_is_said(offer, monkeypatch, capsys):
    offer("cnn", CNN)
    read("cnn", "dev")
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(SOURCES, "cnn", replace(SOURCES["cnn"], checksum=None))
    (files.cache_folder() / "tables").rename(files.cache_folder() / "others")
    read("cnn", "dev")
    (warning,) = capsys.readouterr().err.splitlines()
    assert re.search(r"checksum of cnn\.tar\.gz.*http:", warning)


# --- download -------------------------------------------------------------------------------------------------------


class Server(BaseHTTPRequestHandler):
    """Sends a file, or of /half its half."""

    data = bytes(range(256)) * 4000
    asked: ClassVar[list] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()
        self.wfile.write(self.data[: 512_000 if self.path == "/half" else None])

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_download_is_whole_or_refused_and_never_kept_broken(address, tmp_path, capsys, monkeypatch):
    source = Source("big.bin", f"{address}/whole", "sha256:" + hashlib.sha256(Server.data).hexdigest())
    for change, told in (
        ({"url": f"{address}/half"}, "Incomplete|broken"),
        ({"checksum": "sha256:" + "0" * 64}, "hash of downloaded file"),
    ):
        with pytest.raises((OSError, ValueError), match=told):
            official.fetch(replace(source, **change), tmp_path)
    with pytest.raises(ValueError, match="more than 1,000,000 bytes"), monkeypatch.context() as context:
        context.setattr(official, "LARGEST_DOWNLOAD", 1_000_000)
        official.fetch(source, tmp_path)
    assert not list(tmp_path.iterdir())
    for _ in range(2):
        assert official.fetch(source, tmp_path).read_bytes() == Server.data
    assert "100%" in capsys.readouterr().err
    assert len(Server.asked) == 4, "a whole file is not asked for again"
