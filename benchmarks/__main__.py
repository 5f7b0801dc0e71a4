"""Speed: seconds of our forms and of plain batched torch; and what makes the tables of data/measured.

python -m benchmarks [--keep]      processor seconds of one thread; --keep stores the table
python -m benchmarks --compared sst imdb   stores measures of importance beside each other, of cached runs
python -m benchmarks --masking            trains with masked words and without, and compares measures of importance
python -m benchmarks --carried [sst]       stores how right models are under other models' weights; trains them
python -m benchmarks --tests sst amazon   stores how well tests tell good attention from bad, and permuted weights
python -m benchmarks --truth strata        stores what tests tell on real texts, and on SST with planted label words
python -m benchmarks --people [minilm]     stores how far rankings of words agree with people's marks; trains models
python -m benchmarks --language sst [bge]  stores SmolLM2's or another's numbers; reads the texts and trains heads
python -m benchmarks --sentences KEY       puts a cached SST training into the archive as the model that reads sentences
python -m benchmarks --baselines yelp      stores majority rate and bag-of-words regression of data sets
python -m benchmarks --device cuda [--to FILE.csv]      a GPU beside the CPU: numbers, seconds, memory
python -m benchmarks --strips              reads the book's sentences in SST models of several kinds, into data/examples
python -m benchmarks --readings            reads sentences without context, in a transformer, into data/examples
"""

import sys
from pkgutil import resolve_name

ASKED = {
    "": "speed:write",
    "--keep": "speed:keep",
    "--compared": "bench_compared:write",
    "--masking": "bench_compared:write_masking",
    "--carried": "bench_carried:write",
    "--tests": "bench_tests:write",
    "--truth": "bench_truth:write",
    "--people": "bench_people:write",
    "--language": "bench_language:write",
    "--sentences": "sentence_model:export",
    "--baselines": "baselines:write",
    "--device": "on_device:main",
    "--strips": "strips:make_strips",
    "--readings": "readings:make_readings",
}
"""First word -> what takes the others."""


def main() -> None:
    """Only what is asked for is imported, so that `--device` runs beside torch alone."""
    asked, *words = sys.argv[1:] or [""]
    if asked not in ASKED:
        sys.exit(f"python -m benchmarks takes {', '.join(filter(None, ASKED))}; got {asked}")
    resolve_name(f"benchmarks.{ASKED[asked]}")(*words)


if __name__ == "__main__":
    main()
