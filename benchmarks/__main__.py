"""Benchmarks: seconds (minimum of repeats), ratio to the plain twin of the same process, distance to the counted floor.

python -m benchmarks [--long]      --long adds 500 texts of 186 tokens (several minutes)
python -m benchmarks --lengths [NOTE]      only leave-one-out of 20 to 2,000 words, stored with a note for the table
python -m benchmarks --compared sst imdb   stores measures of importance beside each other, of cached runs
python -m benchmarks --wiegreffe sst      stores the minutes of all Wiegreffe & Pinter runs on a data set, two at a time
python -m benchmarks --sentences KEY       puts a cached SST training into the archive as the model that reads sentences
python -m benchmarks --baselines yelp      stores majority rate and bag-of-words regression of data sets
python -m benchmarks --strips              reads the book's sentences in SST models of several kinds, into data/examples
"""

import sys
from pathlib import Path

from benchmarks import (
    baselines,
    bench_compared,
    bench_erasure,
    bench_experiments,
    bench_lengths,
    bench_network,
    bench_sweep,
    bench_training,
    cost,
    sentence_model,
    strips,
)

COLUMNS = ("name", "seconds", "plain", "ratio", "floor", "distance")


def main() -> None:
    """Print one line per benchmark as it is done."""
    if sys.argv[1:2] == ["--lengths"]:
        path = Path(__file__).parents[1] / "data" / cost.FILE
        print(bench_lengths.write(path, " ".join(sys.argv[2:])).drop(columns=["machine", "torch", "date"]).to_string())
        return
    if sys.argv[1:2] == ["--compared"]:
        bench_compared.write(Path(__file__).parents[1] / "data" / bench_compared.FILE, sys.argv[2:])
        return
    if sys.argv[1:2] == ["--wiegreffe"]:
        row = bench_sweep.wiegreffe("".join(sys.argv[2:3]))
        bench_sweep.keep(row, Path(__file__).parents[1] / "data" / cost.ALL_RUNS)
        print(row.to_string(index=False))
        return
    if sys.argv[1:2] == ["--baselines"]:
        path = Path(__file__).parents[1] / "data" / "measured" / "baselines.csv"
        baselines.measure(sys.argv[2:]).to_csv(path, index=False, float_format="%.6g")
        return
    if sys.argv[1:2] == ["--sentences"]:
        print(sentence_model.export(*sys.argv[2:]))
        return
    if sys.argv[1:2] == ["--strips"]:
        print(strips.make_strips(Path(__file__).parents[1] / "data" / "examples"))
        return
    long = "--long" in sys.argv[1:]
    print(f"{'':44} {'seconds':>9} {'plain':>9} {'ratio':>8} {'floor':>8} {'x floor':>8}  note")
    for module in (bench_network, bench_lengths, bench_experiments, bench_erasure, bench_training, bench_sweep):
        for row in module.rows(long=long):
            cells = [f"{row[key]:>{width}.3g}" if row.get(key) is not None else " " * (width - 1) + "–"
                     for key, width in zip(COLUMNS[1:], (9, 9, 8, 8, 8), strict=True)]  # fmt: skip
            print(f"{row['name']:44} {' '.join(cells)}  {row.get('note', '')}", flush=True)


if __name__ == "__main__":
    main()
