"""The official archives of the data sets: downloaded with checksum and resume, then read by ``archives``."""

import shutil
import sys
import tarfile
import urllib.request
import zipfile
import zlib
from pathlib import Path

from attn_core.corpora import archives
from attn_core.corpora.sources import SOURCES, Source
from attn_core.errors import AttnError


def fetch(source: Source, folder: Path) -> Path:
    """The file of a source in ``folder``, downloaded if absent: progress bar, checksum, an interrupted download is
    resumed.

    A file put there by hand under the same name is taken if its checksum fits. Errors: AttnError for a refused
    connection, a wrong checksum (the file is then removed) or a folder that cannot be written.
    """
    import pooch
    import requests

    part = folder / f"{source.file}.part"

    def resumable(url, output, _):
        if url.startswith("file:"):
            with urllib.request.urlopen(url) as stream, open(output, "wb") as out:
                shutil.copyfileobj(stream, out)
            return
        _continue(url, part, source)
        shutil.move(part, output)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        pooch.get_logger().setLevel("ERROR")
        return Path(pooch.retrieve(source.url, source.checksum, fname=source.file, path=folder, downloader=resumable))
    except ValueError as error:  # pooch's answer to a wrong checksum
        raise AttnError(
            f"{source.file} from {source.url} does not have the published checksum {source.checksum}; the download "
            "was incomplete or the official file has changed"
        ) from error
    except (OSError, requests.exceptions.RequestException) as error:
        raise AttnError(f"{source.file} cannot be downloaded from {source.url}: {_one_line(error)}") from error


def _continue(url: str, part: Path, source: Source) -> None:
    """Download to ``part`` with requests, from the byte where an earlier attempt stopped if the server allows it."""
    import requests
    from tqdm import tqdm

    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with requests.get(url, headers=headers, stream=True, timeout=30) as answer:
        if answer.status_code == 416:  # nothing is left to send
            return
        answer.raise_for_status()
        resumed = answer.status_code == 206
        have = have if resumed else 0
        length = int(answer.headers.get("Content-Length", 0)) + have or source.size
        with (
            open(part, "ab" if resumed else "wb") as out,
            tqdm(total=length, initial=have, unit="B", unit_scale=True, desc=source.file, file=sys.stderr) as bar,
        ):
            for block in answer.iter_content(1 << 16):
                out.write(block)
                bar.update(len(block))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


READERS = {
    "sst": (("sst",), archives.sst),
    "20newsgroups": (("20newsgroups",), archives.newsgroups),
    "imdb": (("imdb",), archives.imdb),
    "ag_news": (("ag_news_train", "ag_news_test"), archives.ag_news),
    "babi_1": (("babi",), lambda archive: archives.babi(archive, 1)),
    "babi_2": (("babi",), lambda archive: archives.babi(archive, 2)),
    "babi_3": (("babi",), lambda archive: archives.babi(archive, 3)),
    "snli": (("snli",), archives.snli),
    "cnn": (("cnn",), archives.cnn),
    "amazon_review_full": (("amazon",), lambda archive: archives.zhang(archive, "amazon_review_full_csv", 5, 2)),
    "yelp_review_full": (("yelp",), lambda archive: archives.zhang(archive, "yelp_review_full_csv", 5, 1)),
    "yahoo_answers": (("yahoo",), lambda archive: archives.zhang(archive, "yahoo_answers_csv", 10, 3)),
}
"""Folder under $ATTN_DATA -> (names in SOURCES, reader of those files)."""


_UNREADABLE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error)


def read_official(folder: str, downloads: Path) -> dict:
    """split -> table of a data set from its official files, which are downloaded into ``downloads`` if they are not
    there."""
    names, reader = READERS[folder]
    files = [fetch(SOURCES[name], downloads) for name in names]
    try:
        tables = reader(*files)
    except (*_UNREADABLE, OSError, KeyError, ValueError, IndexError) as error:
        raise AttnError(
            f"{', '.join(str(file) for file in files)} cannot be read as the official archive of '{folder}': "
            f"{_one_line(error)}; delete it to download it again"
        ) from error
    if any(len(table) == 0 for table in tables.values()):
        raise AttnError(f"{files[0]} holds no documents of '{folder}' in the official layout")
    return tables
