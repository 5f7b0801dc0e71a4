"""Small archives in the layouts of the official ones."""

import io
import json
import tarfile
import zipfile

STORIES = """1 Mary moved to the bathroom.
2 John got the milk there.
3 Where is Mary? \tbathroom\t1
4 John went to the hall.
5 Where is the milk? \thall\t2 4
1 Sandra moved to the garden.
2 Where is Sandra? \tgarden\t1
"""

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


def tar(members: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def special(name: str, kind: bytes, target: str = "") -> bytes:
    """A .tar.gz of one member that is no plain file: kind is its type, target where it leads."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.type = kind
        info.linkname = target
        archive.addfile(info)
    return packed.getvalue()


def zipped(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


TREES = zipped(
    {
        "trees/train.txt": "(3 (2 It) (4 (2 's) (3 (3 lovely) (2 .))))\n(2 (2 So) (2 so))\n"
        "(0 (1 Bad) (2 (2 -LRB-) (2 (2 1\\/2) (2 -RRB-))))\n",
        "trees/dev.txt": "(4 (3 Fine) (2 .))\n",
        "trees/test.txt": "(1 (1 Poor) (2 .))\n",
    }
)


def reviews(folder: str, classes: int, columns: int) -> bytes:
    """An archive in the layout of Zhang et al., with the text columns 'part 1', 'part 2', ..."""
    lines = [
        ",".join([f'"{1 + i % classes}"', *(f'"Part {c}. A ""word"".\\n"' for c in range(columns))]).encode()
        + b"\n"
        for i in range(60)
    ]
    train, test = b"".join(lines), b"".join(lines[: 2 * classes])
    return tar({f"{folder}/readme.txt": "about", f"{folder}/train.csv": train, f"{folder}/test.csv": test})


def snli(**files: str) -> bytes:
    members = {f"snli_1.0/snli_1.0_{split}.jsonl": lines for split, lines in files.items()}
    return zipped({"snli_1.0/README.txt": "about", "__MACOSX/snli_1.0/._snli_1.0_dev.jsonl": "\0", **members})


def pair(premise, hypothesis, label) -> str:
    """One line as the archive has it; its own further keys included."""
    keys = {"annotator_labels": [label], "captionID": "1.jpg#0", "gold_label": label, "pairID": "1.jpg#0r1n"}
    trees = {"sentence1_binary_parse": "( a )", "sentence1_parse": "(ROOT a)", "sentence2_parse": "(ROOT b)"}
    return json.dumps({**keys, **trees, "sentence1": premise, "sentence2": hypothesis}) + "\n"
