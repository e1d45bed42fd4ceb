"""Stochastic solvers, and pieces, reach the batch solver's objective and accuracy."""

from itertools import islice

import numpy as np
import pytest
from accuracy.office_caltech import N_TRIALS, surf_trials

from ilspace import ILSClassifier
from ilspace.optimizers import STOCHASTIC_SOLVERS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ilspace_data")]

TRIALS = 2


def trials(setting, n_trials=TRIALS):
    """The first trials of all 12 transfers."""
    everything = surf_trials("sqrt-zscore-l2", setting)
    for _ in range(12):
        yield from list(islice(everything, N_TRIALS))[:n_trials]


# the labelled rows are 80 to 230: blocks of 64 rows, and of all
@pytest.mark.parametrize("setting", ["unsupervised", "semi-supervised"])
def test_objective_within_one_percent_and_accuracy_within_a_point(setting):
    compared = {(solver, size): [] for solver in sorted(STOCHASTIC_SOLVERS) for size in (64, 512)}
    for seed, (given, hidden) in enumerate(trials(setting)):
        batch = ILSClassifier(self_training=0).fit(*given)
        least, accuracy = batch.solution_.history[-1].value, 100 * batch.score(*hidden)
        for (solver, size), results in compared.items():
            model = ILSClassifier(
                solver=solver, batch_size=size, random_state=seed, self_training=0
            ).fit(*given)
            gap = 100 * (model.solution_.history[-1].value / least - 1)
            results.append((gap, 100 * model.score(*hidden) - accuracy))
    for (solver, size), results in compared.items():
        assert len(results) == 12 * TRIALS
        gaps, gains = np.transpose(results)
        print(
            f"{setting} {solver}, blocks of {size}: objective {gaps.mean():+.2f} % on average, "
            f"{gaps.max():+.2f} % at worst, accuracy {gains.mean():+.2f}"
        )
        assert gaps.max() <= 1
        assert abs(gains.mean()) <= 1


@pytest.mark.parametrize("setting", ["unsupervised", "semi-supervised"])
def test_pieces_give_what_fit_gives(setting):
    results = []
    # one trial: pieces are worked on in all columns, which takes its time
    for seed, ((X, y, Xt, yt), hidden) in enumerate(trials(setting, 1)):
        batch = ILSClassifier(self_training=0).fit(X, y, Xt, yt)
        model, rng = ILSClassifier(random_state=seed), np.random.default_rng(seed)
        source, target = (np.array_split(rng.permutation(len(rows)), 3) for rows in (X, Xt))
        for s, t in zip(source, target, strict=True):
            labels = None if yt is None else yt[t]
            model.partial_fit(X[s], y[s], Xt[t], labels, classes=np.unique(y))
        gap = 100 * (model.solution_.history[-1].value / batch.solution_.history[-1].value - 1)
        results.append((gap, 100 * model.score(*hidden) - 100 * batch.score(*hidden)))
    gaps, gains = np.transpose(results)
    print(
        f"{setting}, 3 pieces: objective {gaps.mean():+.2f} % on average, {gaps.max():+.2f} % at "
        f"worst, accuracy {gains.mean():+.2f}"
    )
    assert gaps.max() <= 1
    assert abs(gains.mean()) <= 1
