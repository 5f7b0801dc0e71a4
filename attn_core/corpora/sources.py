"""Where the official copies of the data sets lie, with the checksums that well-known loaders publish."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One official file. checksum: 'sha256:…' or 'md5:…'; None where nobody publishes one. size: bytes, None if
    unknown."""

    file: str
    url: str
    checksum: str | None = None
    size: int | None = None


SOURCES: dict[str, Source] = {
    "sst": Source(
        "trainDevTestTrees_PTB.zip",
        "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
        "sha256:5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
        789_539,
    ),
    "imdb": Source(
        "aclImdb_v1.tar.gz",
        "http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        "sha256:c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        84_125_825,
    ),
    "20newsgroups": Source(
        "20news-bydate.tar.gz",
        "https://ndownloader.figshare.com/files/5975967",
        "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    ),
    "ag_news_train": Source(
        "ag_news_train.csv",
        "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/train.csv",
        "sha256:76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
        29_470_338,
    ),
    "ag_news_test": Source(
        "ag_news_test.csv",
        "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/test.csv",
        "sha256:521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
        1_857_427,
    ),
    "babi": Source(
        "tasks_1-20_v1-2.tar.gz",
        "http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz",
        "sha256:0364ebde659f14d11bc21744516c5ec49d3d06cb692733f66680771244998898",
        15_719_851,
    ),
    "snli": Source(
        "snli_1.0.zip",
        "https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
        "sha256:afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
        94_550_081,
    ),
    # About 546 MB; nobody publishes a checksum. The question files of Hermann et al. (cnn.tgz) are another form.
    "cnn": Source("cnn.tar.gz", "http://cs.stanford.edu/~danqi/data/cnn.tar.gz"),
    "yelp": Source(
        "yelp_review_full_csv.tgz",
        "https://s3.amazonaws.com/fast-ai-nlp/yelp_review_full_csv.tgz",
        "sha256:56006b0a17a370f1e366504b1f2c3e3754e4a3dda17d3e718a885c552869a559",
        196_146_755,
    ),
    "yahoo": Source(
        "yahoo_answers_csv.tgz",
        "https://s3.amazonaws.com/fast-ai-nlp/yahoo_answers_csv.tgz",
        "sha256:2d4277855faf8b35259009425fa8f7fe1888b5644b47165508942d000f4c96ae",
        319_476_345,
    ),
    "amazon": Source(
        "amazon_review_full_csv.tar.gz",
        "https://drive.google.com/uc?export=download&id=0Bz8a_Dbh9QhbZVhsUnRWRDhETzA",
        "md5:57d28bd5d930e772930baddf36641c7c",
    ),
    "mimic": Source("NOTEEVENTS.csv", "https://physionet.org/content/mimiciii/"),
}
