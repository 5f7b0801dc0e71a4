"""Readers of the official archives, each on a small archive in the official layout; download and checksum."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import refused
from official_archives import STORIES, TREES, pair, reviews, snli, tar

from attn_lab.data import encode, files, official
from attn_lab.data.catalogue import Source
from attn_lab.data.tables import read
from attn_lab.runs import store

pytestmark = pytest.mark.usefixtures("no_data_at_hand")

POSTS = tar(
    {
        "20news-bydate-train/rec.sport.hockey/53000": "H: x\n\nGoal\xe9!".encode("latin-1"),
        "20news-bydate-train/rec.sport.baseball/9000": b"H: x\n\nnine",
        "20news-bydate-train/rec.sport.baseball/10000": b"H: x\n\nten",
        "20news-bydate-test/alt.atheism/1": b"H: x\n\nno",
    }
)
FILMS = tar(
    {
        "aclImdb/train/pos/0_9.txt": "Great<br />film",
        "aclImdb/train/neg/10_2.txt": "Bad",
        "aclImdb/train/unsup/5_0.txt": "left out",
        "aclImdb/train/labeledBow.feat": "9 0:1",
        "aclImdb/test/neg/0_1.txt": "Dire",
    }
)
NEWS = b'"3","Wall ""St.""","Bears, \\bulls"\n"1","World","Talks\nresume"\n'
TASKS = tar(
    {
        f"tasks_1-20_v1-2/en-10k/qa{task}_{split}.txt": STORIES
        for task in ("1_single-supporting-fact", "2_two-supporting-facts", "3_three-supporting-facts")
        for split in ("train", "test")
    }
)
FIRST = "Mary moved to the bathroom.\nJohn got the milk there."
ASKED = [
    [FIRST, "Where is Mary?", "bathroom", "en-10k"],
    [f"{FIRST}\nJohn went to the hall.", "Where is the milk?", "hall", "en-10k"],
    ["Sandra moved to the garden.", "Where is Sandra?", "garden", "en-10k"],
]
PAIRS = snli(
    train=pair("A man runs.", "He moves.", "entailment")
    + pair("A man.", "A dog.", "-")
    + pair("A cat.", "x", "neutral"),
    dev=pair("Café", "Bar", "contradiction"),
    test=pair("A", "B", "neutral"),
)

TABLES = [  # source, its file, corpus, split, the table's rows
    ("sst", TREES, "sst", "train", [["It 's lovely .", 1], ["Bad -LRB- 1\\/2 -RRB-", 0]]),  # neutral is out
    ("sst", TREES, "sst", "test", [["Poor .", 0]]),
    (
        "20newsgroups",
        POSTS,
        "20news",
        "train",  # file names sort as text
        [
            ["H: x\n\nten", 0, "rec.sport.baseball", "10000"],
            ["H: x\n\nnine", 0, "rec.sport.baseball", "9000"],
            ["H: x\n\nGoalé!", 1, "rec.sport.hockey", "53000"],
        ],
    ),
    ("20newsgroups", POSTS, "20news", "test", [["H: x\n\nno", 0, "alt.atheism", "1"]]),
    ("imdb", FILMS, "imdb", "train", [["Bad", 0, "neg", "10_2", 2], ["Great<br />film", 1, "pos", "0_9", 9]]),
    ("imdb", FILMS, "imdb", "test", [["Dire", 0, "neg", "0_1", 1]]),
    (
        "ag_news_train",
        NEWS,
        "agnews",
        "train",
        [
            ['Wall "St." Bears, \\bulls', 2, 'Wall "St."', "Bears, \\bulls"],
            ["World Talks\nresume", 0, "World", "Talks\nresume"],
        ],
    ),
    ("ag_news_train", NEWS, "agnews", "test", [["Chip Fast", 3, "Chip", "Fast"]]),
    *(("babi", TASKS, f"babi_{task}", "train", ASKED) for task in (1, 2, 3)),
    ("snli", PAIRS, "snli", "train", [["A man runs.", "He moves.", "entailment"], ["A cat.", "x", "neutral"]]),
    ("snli", PAIRS, "snli", "dev", [["Café", "Bar", "contradiction"]]),
]


@pytest.mark.parametrize(("source", "archive", "corpus", "split", "rows"), TABLES)
def test_official_files_become_tables(offer, source, archive, corpus, split, rows):
    offer("ag_news_test", b'"4","Chip","Fast"\n')
    offer(source, archive)
    assert read(corpus, split).values.tolist() == rows


def test_snli_pairs_become_arrays(offer):
    offer("snli", PAIRS)
    encoded = encode("snli")
    assert encoded.splits["train"].labels.tolist() == [2, 0]
    assert len(encoded.splits["test"].queries) == 1


SETS = [
    ("amazon", "amazon", "amazon_review_full_csv", 5, 2),
    ("yelp", "yelp", "yelp_review_full_csv", 5, 1),
    ("yahoo", "yahoo", "yahoo_answers_csv", 10, 3),
]


@pytest.mark.parametrize(("name", "corpus", "folder", "classes", "columns"), SETS)
def test_review_archives_become_tables_and_arrays(offer, name, corpus, folder, classes, columns):
    offer(name, reviews(folder, classes, columns))
    table = read(corpus, "train")
    assert table.columns.tolist() == ["text", "label"] and table["label"].tolist() == [i % classes for i in range(60)]
    assert set(table["text"]) == {" ".join(f'Part {c}. A "word".\\n' for c in range(columns))}
    encoded = encode(corpus)
    assert encoded.splits["test"].labels.tolist() == [*range(classes)] * 2
    assert encoded.statistics["splits"]["test"]["mean_sentences"] == 2 * columns
    assert "\\n" not in encoded.vocabulary and '"' in encoded.vocabulary


def test_without_a_sound_file_one_line_names_three_ways(offer):
    archive = offer("sst", TREES)
    archive.write_bytes(TREES[:-1])
    ways = f"Three ways: set ATTN_DATA.*put {archive.name} into .*in place of.*the download$"
    with refused(f"no data for corpus 'sst': .*{ways}"):
        read("sst", "train")
    assert not (files.cache_folder() / "tables").exists()


def test_what_a_killed_command_has_unpacked_is_swept_away(offer, monkeypatch):
    class Killed(BaseException):
        pass

    def die(self, *_):
        raise Killed

    path = offer("sst", TREES)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(official.TemporaryDirectory, "cleanup", lambda self: self._finalizer.detach())
        patched.setattr(official, "READERS", official.READERS | {"sst": die})
        read("sst", "train")
    (left,) = [each for each in path.parent.iterdir() if each != path]
    assert left.is_dir() and list(left.rglob("train.txt"))
    monkeypatch.setattr(store.psutil, "pid_exists", lambda number: False)
    store.sweep_away(files.cache_folder())
    assert list(path.parent.iterdir()) == [path]


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
        assert official.fetch(source, tmp_path).exists() and Server.asked == 4, "a whole file is not asked for again"
    finally:
        server.shutdown()
        server.server_close()
