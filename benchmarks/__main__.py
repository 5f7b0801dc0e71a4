"""Speed: seconds of our forms and of plain batched torch, and what the authors' code took elsewhere (recorded).

python -m benchmarks [--keep]      one thread in processor seconds, then all in the clock's; --keep stores the table
python -m benchmarks --compared sst imdb   stores measures of importance beside each other, of cached runs
python -m benchmarks --masking            trains with masked words and without, and compares measures of importance
python -m benchmarks --carried [sst]       stores how right models are under other models' weights; trains them
python -m benchmarks --tests sst amazon   stores how well tests tell good attention from bad, and numbers under deals
python -m benchmarks --truth strata        stores what tests tell on real texts, and on SST with planted label words
python -m benchmarks --vectors             stores headline numbers on PPMI vectors and on fastText vectors
python -m benchmarks --wiegreffe sst      stores the minutes of all Wiegreffe & Pinter runs on a data set, two at a time
python -m benchmarks --sentences KEY       puts a cached SST training into the archive as the model that reads sentences
python -m benchmarks --baselines yelp      stores majority rate and bag-of-words regression of data sets
python -m benchmarks --device cuda [--to FILE.csv]      a GPU beside the CPU: numbers, seconds, memory
python -m benchmarks --strips              reads the book's sentences in SST models of several kinds, into data/examples
python -m benchmarks --readings            reads sentences without context, in a transformer, into data/examples
"""

import sys

import pandas as pd

from benchmarks import cost
from benchmarks.cost import DATA


def main() -> None:
    """What the first word asks for; only what that needs is imported, so that `--device` runs beside torch alone."""
    asked = "".join(sys.argv[1:2])
    words = sys.argv[2:]
    if asked == "--device":
        from benchmarks import on_device

        on_device.main(sys.argv[1:])
    elif asked == "--compared":
        from benchmarks import bench_compared

        bench_compared.write(DATA / bench_compared.FILE, words)
    elif asked == "--masking":
        from benchmarks import bench_compared

        bench_compared.write_masking(DATA)
    elif asked == "--carried":
        from benchmarks import bench_carried

        print(bench_carried.write(DATA, words).to_string())
    elif asked == "--tests":
        from benchmarks import bench_tests

        bench_tests.write(DATA / "measured", words)
    elif asked == "--truth":
        from benchmarks import bench_truth

        bench_truth.write(DATA / "measured", words)
    elif asked == "--vectors":
        from benchmarks import bench_vectors

        print(bench_vectors.write(DATA / bench_vectors.FILE).to_string())
    elif asked == "--wiegreffe":
        from benchmarks import bench_sweep

        row = bench_sweep.wiegreffe("".join(words[:1]))
        bench_sweep.keep(row, DATA / cost.ALL_RUNS)
        print(row.to_string(index=False))
    elif asked == "--baselines":
        from benchmarks import baselines

        path = DATA / "measured" / "baselines.csv"
        baselines.measure(words).to_csv(path, index=False, float_format="%.6g")
    elif asked == "--sentences":
        from benchmarks import sentence_model

        print(sentence_model.export(*words))
    elif asked == "--readings":
        from benchmarks import readings

        print(readings.make_readings(DATA / "examples"))
    elif asked == "--strips":
        from benchmarks import strips

        print(strips.make_strips(DATA / "examples"))
    else:
        compare(keep=asked == "--keep")


def compare(keep: bool) -> None:
    """Print each row as it is measured; with `keep` store them."""
    from benchmarks import speed

    print(f"{'seconds':>54} {'ours':>9} {'plain':>9} {'ratio':>7} {'authors’':>9}")
    rows = []
    recorded = cost.recorded()
    for row in speed.measure():
        name = f"{row['phase']}, {row['threads']} thread(s)"
        ratio = row["plain"] / row["seconds"]
        authors = recorded.get(row["phase"], float("nan"))
        seconds = f"{row['seconds']:>9.3g} {row['plain']:>9.3g} {ratio:>7.1f} {authors:>9.3g}"
        print(f"{name:>54} {seconds}", flush=True)
        rows.append(row)
    if keep:
        cost.stamped(pd.DataFrame(rows)).to_csv(DATA / speed.FILE, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
