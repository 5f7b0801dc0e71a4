"""Readers of the official archives, each on a small archive in the official layout; download, checksum, resume."""

import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from attn_core.corpora import encode, load, official, read
from attn_core.corpora.sources import Source
from attn_core.errors import AttnError


@pytest.fixture(autouse=True)
def no_data_at_hand(monkeypatch):
    monkeypatch.delenv("ATTN_DATA", raising=False)


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Puts bytes at a local address and lets a source point there; the checksum fits unless one is given."""

    def put(name: str, data: bytes, checksum: str | None = None) -> Source:
        path = tmp_path / "official" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        checksum = checksum or "sha256:" + hashlib.sha256(data).hexdigest()
        source = Source(official.SOURCES[name].file, path.as_uri(), checksum)
        monkeypatch.setitem(official.SOURCES, name, source)
        return source

    return put


def tar(members: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def trees() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        train = (
            "(3 (2 It) (4 (2 's) (3 (3 lovely) (2 .))))\n"
            "(2 (2 So) (2 so))\n"
            "(0 (1 Bad) (2 (2 -LRB-) (2 (2 1\\/2) (2 -RRB-))))\n"
        )
        archive.writestr("trees/train.txt", train)
        archive.writestr("trees/dev.txt", "(4 (3 Fine) (2 .))\n")
        archive.writestr("trees/test.txt", "(1 (1 Poor) (2 .))\n")
    return packed.getvalue()


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
    monkeypatch.setattr(official, "AG_NEWS_FIRST_ROWS", 1)
    offer("ag_news_train", b'"3","Wall ""St.""","Bears, \\bulls"\n"1","World","Talks\nresume"\n')
    offer("ag_news_test", b'"4","Chip","Fast"\n')
    train = read("agnews", "train")
    assert train["text"].tolist() == ['Wall "St." Bears, \\bulls', "World Talks\nresume"]
    assert train["label"].tolist() == [2, 0] and train["part"].tolist() == ["first_rows", "rest"]
    assert read("agnews", "test")[["title", "description", "part"]].values.tolist() == [["Chip", "Fast", "official"]]


STORIES = """1 Mary moved to the bathroom.
2 John got the milk there.
3 Where is Mary? \tbathroom\t1
4 John went to the hall.
5 Where is the milk? \thall\t2 4
1 Sandra moved to the garden.
2 Where is Sandra? \tgarden\t1
"""


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


@pytest.mark.parametrize(
    ("name", "corpus", "data"),
    [
        ("sst", "sst", trees()),
        ("20newsgroups", "20news", tar({f"20news-bydate-train/a/{i}": bytes(range(256)) * 40 for i in range(9)})),
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
