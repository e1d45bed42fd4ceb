"""Stochastic methods: many cheap steps, each on a mini-batch estimate of the objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, Protocol

from ilspace._typing import Array, Manifold, Objective, Point
from ilspace.backend import is_linalg_error
from ilspace.optimizers.line_search import Backtracking, first_iterate, try_evaluate
from ilspace.optimizers.problem import Iterate, Problem, Progress


class Past(NamedTuple):
    """Running moments of the gradients.

    Attributes
    ----------
    mean : Point
        Running mean of the gradients, a tangent vector at the current point.
    squares : tuple of array of shape ()
        Running means of their squared norms, one per factor; empty where the rule needs none.
    count : int
        Number of gradients.
    """

    mean: Point
    squares: tuple[Array, ...]
    count: int


class Rule(Protocol):
    """How a stochastic method turns noisy gradients into search directions."""

    def __call__(
        self, manifold: Manifold, point: Point, gradient: Point, past: Past | None
    ) -> tuple[Point, Past]:
        """Search direction at `point`, and the updated moments; `past` is None at first."""
        ...


@dataclass(frozen=True)
class Momentum:
    r"""Stochastic gradient descent with momentum: the negative running mean of the gradients.

    .. math:: m \leftarrow \beta\,\mathcal T m + (1 - \beta)\,g

    The search direction is :math:`-m / (1 - \beta^t)`, which corrects the bias of the first
    steps. Without momentum it is plain Riemannian stochastic gradient descent
    :cite:p:`bonnabel2013`.

    Attributes
    ----------
    momentum : float, default=0.9
        :math:`\beta`, between 0 and 1.
    """

    momentum: float = 0.9

    def __call__(
        self, manifold: Manifold, point: Point, gradient: Point, past: Past | None
    ) -> tuple[Point, Past]:
        """Search direction at a point.

        Parameters
        ----------
        manifold : Manifold
            Where the points live.
        point : Point
            The current point.
        gradient : Point
            Riemannian gradient of an estimate of the objective there.
        past : Past or None
            Moments so far, transported to `point`; None at first.

        Returns
        -------
        direction : Point
            Tangent vector at `point`.
        past : Past
            The updated moments.
        """
        mean, count = _running_mean(manifold, gradient, past, self.momentum)
        direction = manifold.combine(-1 / (1 - self.momentum**count), mean)
        return direction, Past(mean, (), count)


@dataclass(frozen=True)
class AdaptiveMoments:
    r"""Riemannian Adam, factor by factor: the running mean over the root of the running square.

    The squares that Adam keeps per coordinate have no meaning on a manifold, which has no
    canonical coordinates. On a product there is one number per factor instead, the running mean
    of the squared Riemannian norm :cite:p:`becigneul2019`. Gradients of a factor that are small
    beside the others' are mostly noise, so its steps stay shorter: `floor` bounds the ratio.

    Attributes
    ----------
    momentum : float, default=0.9
        Decay of the mean of the gradients.
    memory : float, default=0.99
        Decay of the mean of their squares.
    floor : float, default=0.01
        Fraction of the squares of all factors that is added to those of each.
    """

    momentum: float = 0.9
    memory: float = 0.99
    floor: float = 0.01

    def __call__(
        self, manifold: Manifold, point: Point, gradient: Point, past: Past | None
    ) -> tuple[Point, Past]:
        """Search direction at a point.

        Parameters
        ----------
        manifold : Manifold
            Where the points live, a product.
        point : tuple of array
            The current point.
        gradient : tuple of array
            Riemannian gradient of an estimate of the objective there.
        past : Past or None
            Moments so far, transported to `point`; None at first.

        Returns
        -------
        direction : tuple of array
            Tangent vector at `point`.
        past : Past
            The updated moments.
        """
        mean, count = _running_mean(manifold, gradient, past, self.momentum)
        squares = _squares(manifold, point, gradient)
        before = past.squares if past else (0.0,) * len(squares)
        squares = tuple(
            self.memory * old + (1 - self.memory) * new
            for old, new in zip(before, squares, strict=True)
        )
        floor = self.floor * sum(squares)
        # bias correction, since both means begin at zero; no direction where all gradients vanish
        scale = -((1 - self.memory**count) ** 0.5) / (1 - self.momentum**count)
        direction = tuple(
            entry * (scale / (square + floor + 1e-30) ** 0.5)
            for entry, square in zip(mean, squares, strict=True)
        )
        return direction, Past(mean, squares, count)


def stochastic_descent(
    problem: Problem,
    start: Point,
    *,
    rule: Rule | None = None,
    n_steps: int = 20,
    horizon: int = 100,
    search: Backtracking | None = None,
) -> Iterator[Iterate]:
    r"""Yield iterates of a stochastic method, one every few steps, without end.

    Each step uses the gradient of the next of ``problem.batches``. A line search on the first
    mini-batch finds the first step size; the t-th is smaller by :math:`1 + t/T`, with T the
    `horizon`. What is yielded is not the last point but a mean of the last ones, with weights
    that grow as :math:`t^3`, projected onto the manifold: it has less noise
    :cite:p:`shamir2013`. It is evaluated by ``problem.objective``, which is the same each time,
    so that iterates are compared without the noise of mini-batches; it may itself be a larger
    sample.

    Where the objective is higher than before, or not finite, the steps since are undone and the
    step size is halved. So the values of the iterates never increase.

    Parameters
    ----------
    problem : Problem
        What to minimise, with its mini-batches; the objective itself where it has none.
    start : Point
        Initial point.
    rule : Rule, optional
        Turns gradients into search directions; :class:`Momentum` by default.
    n_steps : int, default=20
        Steps per iterate.
    horizon : int, default=100
        Number of steps after which the step size is half the first one.
    search : Backtracking, optional
        The line search that finds the first step size.

    Yields
    ------
    Iterate
        The initial one, then one every `n_steps` steps.
    """
    rule = rule or Momentum()
    batches = repeat(problem.objective) if problem.batches is None else problem.batches
    now = first_iterate(problem, start)
    yield now
    first = next(batches)
    rate, evaluations = _first_rate(
        Problem(problem.manifold, first), start, rule, search or Backtracking()
    )
    evaluations += now.progress.evaluations
    while rate == 0:
        now = now.stalled(evaluations)
        yield now
    trajectory = _Trajectory(start, start, None, 0)
    while True:
        evaluations += n_steps + 1
        reached = _take_steps(trajectory, problem.manifold, batches, rule, rate, n_steps, horizon)
        seen = None if reached is None else try_evaluate(problem, reached.averaged)
        if reached is None or seen is None or seen.value > now.progress.value:
            rate /= 2
            trajectory = _Trajectory(now.point, now.point, None, trajectory.count)
            value, norm = now.progress.value, now.progress.gradient_norm
        else:
            trajectory = reached
            value, norm = seen.value, seen.gradient_norm
            now = now._replace(point=seen.point, gradient=seen.gradient)
        step = rate / (1 + trajectory.count / horizon)
        now = now._replace(progress=Progress(value, norm, step, evaluations))
        yield now


class _Trajectory(NamedTuple):
    """Where the steps have led; a running mean of the points, and its projection."""

    point: Point
    mean: Point
    past: Past | None
    count: int
    averaged: Point | None = None


def _take_steps(
    trajectory: _Trajectory,
    manifold: Manifold,
    batches: Iterator[Objective],
    rule: Rule,
    rate: float,
    n_steps: int,
    horizon: int,
) -> _Trajectory | None:
    """Take some steps; None where a matrix is no longer positive definite, or a value not finite.

    Nothing here waits for a number on the host, so that a device can run ahead.
    """
    point, mean, past, count, _ = trajectory
    try:
        for _ in range(n_steps):
            direction, past = rule(manifold, point, _gradient(manifold, next(batches), point), past)
            step = manifold.combine(rate / (1 + count / horizon), direction)
            reached = manifold.retract(point, step)
            past = past._replace(mean=manifold.transport(point, reached, past.mean))
            point, count = reached, count + 1
            share = 4 / (count + 3)  # weights that grow as the third power
            mean = manifold.combine(1 - share, mean, share, point)
        return _Trajectory(point, mean, past, count, manifold.project(mean))
    except Exception as error:
        if not is_linalg_error(error):
            raise
        return None


def _gradient(manifold: Manifold, objective: Objective, point: Point) -> Point:
    return manifold.riemannian_gradient(point, objective(point)[1])


def _first_rate(
    batch: Problem, start: Point, rule: Rule, search: Backtracking
) -> tuple[float, int]:
    """Step size found by a line search on one mini-batch, and its number of evaluations."""
    there = first_iterate(batch, start)
    direction, _ = rule(batch.manifold, start, there.gradient, None)
    found = search(batch, there, direction)
    return found.progress.step, found.progress.evaluations


def _running_mean(
    manifold: Manifold, gradient: Point, past: Past | None, decay: float
) -> tuple[Point, int]:
    if past is None:
        return manifold.combine(1 - decay, gradient), 1
    return manifold.combine(1 - decay, gradient, decay, past.mean), past.count + 1


def _squares(manifold: Manifold, point: Point, gradient: Point) -> tuple[Array, ...]:
    """Squared norm of the gradient in each factor of a product."""
    alone = (
        tuple(each if i == factor else 0 * each for i, each in enumerate(gradient))
        for factor in range(len(gradient))
    )
    return tuple(manifold.inner(point, each, each) for each in alone)
