"""A million source rows, a million target rows, 512 columns, on one GPU.

    python perf/million.py                     the stochastic solver on everything
    python perf/million.py --rows 100000       fewer

Prints seconds of the fit and of labelling the target, and the accuracy beside that of the batch
solver on a subsample of the source. The rows are made up: classes in a subspace, turned and
stretched in the target.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from ilspace import ILSClassifier

N_CLASSES, N_SIGNAL = 20, 40


def made_up(n: int, d: int, *, device: str, target: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of one domain, and their classes."""
    shared = torch.Generator(device).manual_seed(0)
    means = 0.7 * torch.randn(N_CLASSES, N_SIGNAL, generator=shared, device=device)
    basis = torch.linalg.qr(torch.randn(d, d, generator=shared, device=device))[0]
    turn = 0.03 * torch.randn(N_SIGNAL, N_SIGNAL, generator=shared, device=device)
    rng = torch.Generator(device).manual_seed(1 + target)
    y = torch.randint(N_CLASSES, (n,), generator=rng, device=device)
    signal = means[y] + torch.randn(n, N_SIGNAL, generator=rng, device=device)
    if target:
        signal = signal @ torch.linalg.matrix_exp(turn - turn.T) * 1.3 + 0.5
    X = 0.3 * torch.randn(n, d, generator=rng, device=device)
    X += signal @ basis[:, :N_SIGNAL].T
    return X, y


def timed(action, device: str):
    """Seconds of a call, and what it returned."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    result = action()
    wait()
    return time.perf_counter() - start, result


def accuracy(model, X, y) -> tuple[float, float]:
    """Share of right labels, and seconds."""
    seconds, found = timed(lambda: model.predict(X), X.device.type)
    return float(np.mean(found == y.cpu().numpy())), seconds


def main() -> None:
    """Fit, label, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--subsample", type=int, default=20_000)
    parser.add_argument("--solver", default="adam")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    n, d = options.rows, options.columns
    X, y = made_up(n, d, device=options.device, target=False)
    Xt, yt = made_up(n, d, device=options.device, target=True)
    few = slice(0, min(options.subsample, n))
    ILSClassifier(5, self_training=0).fit(X[:500], y[:500], Xt[:500])  # kernels are compiled now
    for name, rows, solver in (
        ("everything", slice(0, n), options.solver),
        (f"{few.stop:,} source rows", few, "conjugate-gradient"),
        (f"{few.stop:,} source rows", few, options.solver),
    ):
        model = ILSClassifier(solver=solver, random_state=0, self_training=0)
        seconds, _ = timed(lambda: model.fit(X[rows], y[rows], Xt), options.device)  # noqa: B023
        right, labelling = accuracy(model, Xt, yt)
        print(
            f"{name}, {solver}: fit {seconds:.2f} s ({model.n_iter_} iterations, "
            f"{model.solution_.status.name}), {n:,} rows labelled in {labelling:.2f} s, accuracy "
            f"{100 * right:.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
