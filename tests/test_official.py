"""Readers of the official archives, each on a small archive in the official layout; download, checksum, resume."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from official_archives import CLOZE, STORIES, pair, reviews, snli, tar, trees

from attn_core.corpora import archives, encode, load, official, read
from attn_core.corpora.sources import Source
from attn_core.errors import AttnError

pytestmark = pytest.mark.usefixtures("no_data_at_hand")


def test_sst_trees(offer):
    offer("sst", trees())
    table = read("sst", "train")
    assert table.columns.tolist() == ["text", "label", "label5", "tree_index"]
    assert table.values.tolist() == [["It 's lovely .", 1, 3, 0], ["Bad -LRB- 1\\/2 -RRB-", 0, 0, 2]]  # neutral is out
    assert read("sst", "test").values.tolist() == [["Poor .", 0, 1, 0]]


def test_tables_are_kept_and_read_again_without_the_archive(offer, tmp_path):
    offer("sst", trees())
    first = read("sst", "train")
    (tmp_path / "official" / "sst").unlink()
    (load.cache_folder() / "downloads" / "trainDevTestTrees_PTB.zip").unlink()
    assert read("sst", "train").equals(first)


def test_a_damaged_table_in_the_cache_is_made_anew_from_the_archive(offer, capsys):
    offer("sst", trees())
    first = read("sst", "train")
    path = load.cache_folder() / "tables" / "sst" / "train.parquet"
    path.write_bytes(path.read_bytes()[:50])
    assert read("sst", "train").equals(first)
    warned = capsys.readouterr().err.splitlines()
    assert len(warned) == 1 and str(path) in warned[0] and "made anew" in warned[0]
    assert read("sst", "train").equals(first) and capsys.readouterr().err == ""


def test_an_archive_put_by_hand_is_taken(offer, tmp_path):
    source = offer("sst", trees())
    (tmp_path / "official" / "sst").unlink()
    folder = load.cache_folder() / "downloads"
    folder.mkdir(parents=True)
    (folder / source.file).write_bytes(trees())
    assert len(read("sst", "train")) == 2


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
    assert table["label"].tolist() == [1, 1, 2] and read("20news", "test")["label"].tolist() == [0]


def test_imdb(offer):
    reviews = {
        "aclImdb/train/pos/0_9.txt": "Great<br />film",
        "aclImdb/train/neg/10_2.txt": "Bad",
        "aclImdb/train/unsup/5_0.txt": "left out",
        "aclImdb/train/labeledBow.feat": "9 0:1",
        "aclImdb/test/neg/0_1.txt": "Dire",
    }
    offer("imdb", tar(reviews))
    assert read("imdb", "train").values.tolist() == [["Bad", 0, 2, "neg/10_2"], ["Great<br />film", 1, 9, "pos/0_9"]]
    assert read("imdb", "test").values.tolist() == [["Dire", 0, 1, "neg/0_1"]]


def test_ag_news(offer, monkeypatch):
    monkeypatch.setattr(archives, "AG_NEWS_FIRST_ROWS", 1)
    offer("ag_news_train", b'"3","Wall ""St.""","Bears, \\bulls"\n"1","World","Talks\nresume"\n')
    offer("ag_news_test", b'"4","Chip","Fast"\n')
    train = read("agnews", "train")
    assert train["text"].tolist() == ['Wall "St." Bears, \\bulls', "World Talks\nresume"]
    assert train["label"].tolist() == [2, 0] and train["part"].tolist() == ["first_rows", "rest"]
    assert read("agnews", "test")[["title", "description", "part"]].values.tolist() == [["Chip", "Fast", "official"]]


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
    assert encoded.statistics["splits"]["test"]["absent_classes"] == []


@pytest.mark.parametrize(("name", "corpus", "folder", "classes", "columns"), SETS)
def test_malformed_lines_of_review_archives_are_reported_with_their_numbers(
    offer, name, corpus, folder, classes, columns
):
    texts = b',"t"' * columns
    bad = [first + texts for first in (b'"0"', b'"1"', b'"%d"' % (classes + 1), b'"one"')]
    bad += [
        b'"2"' + texts + b',"x"',
        b'"1"' + b',"caf\xe9"' * columns,
        b'"1"' + b',"two\nlines"' * columns,
        b'"3"x' + texts,
        b"",
        b'"1",',
    ]
    offer(name, reviews(folder, classes, columns, [line + b"\n" for line in bad], rows=10))
    with pytest.raises(AttnError) as caught:
        read(corpus, "train")
    message = str(caught.value)
    assert f"{folder}/train.csv is malformed; lines 11, 13, 14: the class is none of 1 to {classes};" in message
    after = 17 + 1 + columns  # the row of two lines a column is in order
    last = [] if columns == 1 else [after + 2]
    short = ", ".join(map(str, [15, after + 1, *last]))
    assert f"lines {short}: expected {columns + 1} columns; line 16: not UTF-8; line {after}: " in message
    assert "\n" not in message and not (load.cache_folder() / "tables" / corpus).exists()


def test_broken_quotes_at_the_end_of_a_file_are_reported(offer):
    offer("yelp", reviews("yelp_review_full_csv", 5, 1, [b'"1","open\n', b'"2","x"\n', b'"1","never closed\n'], rows=5))
    # The row that starts in line 6 ends at the quote of line 7, where it breaks; what follows is read anew.
    with pytest.raises(AttnError, match="line 6: ',' expected after '\"'; line 8: unexpected end of data"):
        read("yelp", "train")


def test_malformed_lines_of_ag_news_are_reported_with_their_numbers(offer):
    offer("ag_news_train", b'"1","World","fine"\n"5","?","no such class"\n"2","one column short"\n')
    offer("ag_news_test", b'"4","Chip","Fast"\n')
    with pytest.raises(AttnError, match="line 2: the class is none of 1 to 4; line 3: expected 3 columns"):
        read("agnews_all", "train")


def test_official_imdb_has_stars(offer):
    reviews = {
        f"aclImdb/{part}/{'pos' if stars > 5 else 'neg'}/{i}_{stars}.txt": "Good.<br /><br />Or bad"
        for part in ("train", "test") for i, stars in enumerate([1, 2, 3, 4, 7, 8, 9, 10] * 5)
    }  # fmt: skip
    offer("imdb", tar(reviews))
    counts = encode("imdb_stars").statistics["splits"]
    assert counts["test"]["per_class"] == [5] * 8 and counts["test"]["mean_sentences"] == 2


def test_official_ag_news_becomes_arrays(offer):
    lines = [f'"{1 + i % 4}","Title {i}","{"word " * (3 + i % 6)}end"\n' for i in range(240)]
    offer("ag_news_train", "".join(lines).encode())
    offer("ag_news_test", "".join(lines[:40]).encode())
    encoded = encode("agnews")
    assert "Title" not in encoded.vocabulary and "title" not in encoded.vocabulary and "word" in encoded.vocabulary
    rows = np.concatenate([encoded.splits[split].doc_ids for split in ("train", "dev")])
    # World (class 1, label 0) and Business (class 3, label 1) are rows 0 and 2 of every four.
    assert set((rows % 4).tolist()) == {0, 2}
    assert all((split.labels == (split.doc_ids % 4 == 2)).all() for split in encoded.splits.values())
    assert encoded.statistics["train_share"] == 120 / 60_000


def test_official_imdb_becomes_arrays(offer):
    reviews = {
        f"aclImdb/{part}/{side}/{i}_{stars}.txt": f"{'fine ' * (8 + i)}<br />end"
        for part in ("train", "test") for side, stars in (("pos", 9), ("neg", 2)) for i in range(30)
    }  # fmt: skip
    offer("imdb", tar(reviews))
    encoded = encode("imdb")
    counts = encoded.statistics["splits"]
    read_in = {s: counts[s]["documents"] + counts[s]["dropped_length"] for s in counts}
    assert read_in == {"train": 48, "dev": 12, "test": 12}
    labels = read("imdb", "test")["label"].to_numpy()
    assert (encoded.splits["test"].labels == labels[encoded.splits["test"].doc_ids]).all()
    assert encoded.vocabulary[4:] == ("br", "end", "fine")


@pytest.mark.parametrize(
    ("name", "corpus", "data"),
    [
        ("sst", "sst", trees()),
        ("20newsgroups", "20news", tar({f"20news-bydate-train/a/{i}": bytes(range(256)) * 40 for i in range(9)})),
        ("snli", "snli", snli(train="".join(pair(f"A {i}", "B", "neutral") for i in range(99)))),
        ("cnn", "cnn", tar({"cnn/train.txt": "".join(f"{i * 7919 % 1009} {CLOZE}\n" for i in range(99))})),
        ("yelp", "yelp", reviews("yelp_review_full_csv", 5, 1, [bytes(range(32, 127)) * 40] * 9)),
        ("babi", "babi_1", tar({"tasks_1-20_v1-2/en-10k/qa1_single-supporting-fact_train.txt": STORIES * 99})),
    ],
)
def test_a_truncated_archive_is_one_line(offer, name, corpus, data):
    source = offer(name, data[: len(data) * 2 // 3])
    with pytest.raises(AttnError) as caught:
        read(corpus, "train")
    message = str(caught.value)
    assert source.file in message and "cannot be read as the official archive" in message and "\n" not in message


def test_an_archive_of_another_layout_is_one_line(offer):
    offer("20newsgroups", tar({"other/file": "text"}))
    with pytest.raises(AttnError, match="holds no documents of '20newsgroups' in the official layout"):
        read("20news", "train")


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(offer):
    source = offer("sst", trees(), checksum="sha256:" + "0" * 64)
    with pytest.raises(AttnError, match="does not have the published checksum") as caught:
        encode("sst")
    assert "\n" not in str(caught.value)
    assert not (load.cache_folder() / "downloads" / source.file).exists()


def test_an_absent_address_names_the_three_ways(offer, tmp_path):
    offer("sst", trees())
    (tmp_path / "official" / "sst").unlink()
    with pytest.raises(AttnError, match="no data for corpus 'sst'.*Three ways.*ATTN_DATA"):
        read("sst", "train")


class Server(BaseHTTPRequestHandler):
    """Sends a file, half of it and then silence on the first request; knows ranges."""

    data, asked, cut = b"", [], True

    def do_GET(self):
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        type(self).asked.append(start)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(self.data) - start))
        self.end_headers()
        end = len(self.data) // 2 if type(self).cut else len(self.data)
        type(self).cut = False
        self.wfile.write(self.data[start:end])

    def log_message(self, *_):
        pass


def test_an_interrupted_download_goes_on_where_it_stopped(tmp_path):
    Server.data, Server.asked, Server.cut = bytes(range(256)) * 4000, [], True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    checksum = "sha256:" + hashlib.sha256(Server.data).hexdigest()
    source = Source("big.bin", f"http://127.0.0.1:{server.server_port}/big.bin", checksum)
    try:
        with pytest.raises(AttnError, match="big.bin cannot be downloaded"):
            official.fetch(source, tmp_path)
        kept = (tmp_path / "big.bin.part").stat().st_size
        assert kept > 0 and not (tmp_path / "big.bin").exists()
        assert official.fetch(source, tmp_path).read_bytes() == Server.data
        assert Server.asked == [0, kept]
        official.fetch(source, tmp_path)
        assert len(Server.asked) == 2  # a complete file is not asked for again
    finally:
        server.shutdown()
        server.server_close()
