"""Five sources of 200,000 rows each and a target, out of core.

    python perf/sources.py                          5 x 200,000 x 64 rows
    python perf/sources.py --rows 20000             fewer
    python perf/sources.py --no-target              sources alone, for a domain never seen

Prints seconds of the fit, accuracy on target rows, the weights of the sources, and the peak memory
of the process beside that of the rows. The rows are made up when a block is asked for, so they are
nowhere all at once; Dask works in threads. The labels of the last source are shuffled.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import dask
import dask.array as da
import numpy as np

from ilspace import ILSClassifier

N_CLASSES, LABELLED_BY_HAND = 10, 2_000


def made_up(n: int, d: int, *, chunk: int, number: int) -> da.Array:
    """Rows of one domain, each with a mean and a scale of its own; their numbers tell classes."""
    means = 0.5 * np.random.default_rng(0).normal(size=(N_CLASSES, d)).astype(np.float32)
    own = np.random.default_rng([1, number])
    offset, scale = 0.5 * own.normal(size=d).astype(np.float32), np.float32(own.uniform(0.8, 1.25))

    def block(block_info=None):
        (start, stop), _ = block_info[None]["array-location"]
        rng = np.random.default_rng([2, number, start])
        rows = rng.standard_normal((stop - start, d), dtype=np.float32)
        rows += means[np.arange(start, stop) % N_CLASSES]
        return scale * rows + offset

    sizes = tuple(min(chunk, n - start) for start in range(0, n, chunk))
    return da.map_blocks(block, chunks=(sizes, (d,)), dtype=np.float32, meta=np.empty((0, 0)))


def main() -> None:
    """Fit, predict, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sources", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-target", action="store_true")
    options = parser.parse_args()
    n, d, chunk = options.rows, options.columns, options.chunk
    rows = [made_up(n, d, chunk=chunk, number=i) for i in range(options.sources)]
    target = made_up(n, d, chunk=chunk, number=options.sources)
    truth = np.arange(n) % N_CLASSES
    labels = [truth] * (options.sources - 1) + [np.random.default_rng(0).permutation(truth)]
    size = (options.sources + (not options.no_target)) * n * d * 4 / 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    start = time.perf_counter()
    with (
        dask.config.set(scheduler="threads", num_workers=options.threads),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        model = ILSClassifier(20, random_state=0, unseen_mean="batch")
        model.fit(rows, labels, None if options.no_target else target)
        seconds = time.perf_counter() - start
        few = min(LABELLED_BY_HAND, n)
        right = np.mean(model.predict(target[:few]).compute() == truth[:few])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    for message in dict.fromkeys(str(each.message) for each in caught):
        print(message)
    print(
        f"{options.sources} sources of {n:,} rows, {d} columns: fit {seconds:.1f} s "
        f"({model.n_iter_} iterations, {model.solution_.status.name}), accuracy {100 * right:.1f} %"
    )
    print("weights of the sources:", model.source_weights_.round(4).tolist())
    print(f"rows {size:.0f} MiB; memory {peak:.0f} MiB at the peak, {before:.0f} before the fit")


if __name__ == "__main__":
    main()
