"""Stochastic methods: many cheap steps, each on an estimate of the objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, Protocol

from ilspace._typing import Array, Manifold, Objective, Point
from ilspace.backend import is_linalg_error
from ilspace.optimizers.problem import Problem
from ilspace.optimizers.result import Iterate, Progress
from ilspace.optimizers.search import Backtracking, first_iterate, look


class Past(NamedTuple):
    """What a rule remembers of the gradients it has met.

    Attributes
    ----------
    mean : Point
        Running mean of the gradients, a tangent vector at the current point.
    squares : tuple of array of shape ()
        Running means of their squared norms, one a factor; empty where the rule needs none.
    count : int
        How many gradients there were.
    """

    mean: Point
    squares: tuple[Array, ...]
    count: int


class Rule(Protocol):
    """How a stochastic method makes headings of noisy gradients."""

    def __call__(
        self, manifold: Manifold, point: Point, gradient: Point, past: Past | None
    ) -> tuple[Point, Past]:
        """Heading at `point`, and the past that includes `gradient`; no past at the start."""
        ...


@dataclass(frozen=True)
class Momentum:
    r"""Against the running mean of the gradients: stochastic gradient descent with momentum.

    .. math:: m \leftarrow \beta\,\mathcal T m + (1 - \beta)\,g

    The heading is :math:`-m / (1 - \beta^t)`, so that the first steps are as long as the later
    ones. Without momentum it is plain Riemannian stochastic gradient descent
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
        """Heading at a point.

        Parameters
        ----------
        manifold : Manifold
            Where the points live.
        point : Point
            Where we stand.
        gradient : Point
            Riemannian gradient of an estimate of the objective there.
        past : Past or None
            What was remembered, carried to `point`; None at the start.

        Returns
        -------
        heading : Point
            Tangent vector at `point`.
        past : Past
            What to remember.
        """
        mean, count = _running_mean(manifold, gradient, past, self.momentum)
        heading = manifold.combine(-1 / (1 - self.momentum**count), mean)
        return heading, Past(mean, (), count)


@dataclass(frozen=True)
class AdaptiveMoments:
    r"""Adam's heading, factor by factor: the running mean over its running size.

    The squares that Adam keeps for each coordinate have no meaning on a manifold, where
    coordinates can be turned at will. What is left of them on a product is one number a factor,
    the running mean of the squared Riemannian norm :cite:p:`becigneul2019`. A factor whose
    gradients are small beside the others' mostly shows noise, so its steps are not made as long
    as theirs: `floor` bounds the ratio.

    Attributes
    ----------
    momentum : float, default=0.9
        Decay of the mean of the gradients.
    memory : float, default=0.99
        Decay of the mean of their squares.
    floor : float, default=0.01
        Share of the squares of all factors that is added to those of each.
    """

    momentum: float = 0.9
    memory: float = 0.99
    floor: float = 0.01

    def __call__(
        self, manifold: Manifold, point: Point, gradient: Point, past: Past | None
    ) -> tuple[Point, Past]:
        """Heading at a point.

        Parameters
        ----------
        manifold : Manifold
            Where the points live, a product.
        point : tuple of array
            Where we stand.
        gradient : tuple of array
            Riemannian gradient of an estimate of the objective there.
        past : Past or None
            What was remembered, carried to `point`; None at the start.

        Returns
        -------
        heading : tuple of array
            Tangent vector at `point`.
        past : Past
            What to remember.
        """
        mean, count = _running_mean(manifold, gradient, past, self.momentum)
        squares = _squares(manifold, point, gradient)
        before = past.squares if past else (0.0,) * len(squares)
        squares = tuple(
            self.memory * old + (1 - self.memory) * new
            for old, new in zip(before, squares, strict=True)
        )
        floor = self.floor * sum(squares)
        # both means begin at zero: undo that; where all gradients vanish, so does the heading
        scale = -((1 - self.memory**count) ** 0.5) / (1 - self.momentum**count)
        heading = tuple(
            entry * (scale / (square + floor + 1e-30) ** 0.5)
            for entry, square in zip(mean, squares, strict=True)
        )
        return heading, Past(mean, squares, count)


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

    Each step follows the gradient of the next of ``problem.blocks``. The first step is as long
    as a line search on the first block makes it; the t-th is shorter by :math:`1 + t/T`, with T
    the `horizon`. What is yielded is not the last point but a mean of the last ones, with weights
    that grow as :math:`t^3`, brought back to the manifold: it has less noise
    :cite:p:`shamir2013`. ``problem.objective`` judges it. Being the same each time, it tells two
    iterates apart by less than the noise of a block; it may itself be a sample, if a larger one.

    Where the objective is higher than before, or not finite, the steps since are undone and those
    to come are halved. So the values of the iterates never rise.

    Parameters
    ----------
    problem : Problem
        What to minimise, with its blocks; the objective itself where it has none.
    start : Point
        Where to begin.
    rule : Rule, optional
        Makes headings of gradients; :class:`Momentum` by default.
    n_steps : int, default=20
        Steps an iterate.
    horizon : int, default=100
        Steps after which they are half as long.
    search : Backtracking, optional
        Finds the length of the first step.

    Yields
    ------
    Iterate
        The start, then one every `n_steps` steps.
    """
    rule = rule or Momentum()
    blocks = repeat(problem.objective) if problem.blocks is None else problem.blocks
    now = first_iterate(problem, start)
    yield now
    first = next(blocks)
    rate, evaluations = _first_rate(
        Problem(problem.manifold, first), start, rule, search or Backtracking()
    )
    evaluations += now.progress.evaluations
    while rate == 0:
        now = now.stuck(evaluations)
        yield now
    walk = _Walk(start, start, None, 0)
    while True:
        evaluations += n_steps + 1
        reached = _follow(walk, problem.manifold, blocks, rule, rate, n_steps, horizon)
        seen = None if reached is None else look(problem, reached.shown)
        if reached is None or seen is None or seen.value > now.progress.value:
            rate /= 2
            walk = _Walk(now.point, now.point, None, walk.count)
            value, norm = now.progress.value, now.progress.gradient_norm
        else:
            walk = reached
            value, norm = seen.value, seen.gradient_norm
            now = now._replace(point=seen.point, gradient=seen.gradient)
        step = rate / (1 + walk.count / horizon)
        now = now._replace(progress=Progress(value, norm, step, evaluations))
        yield now


class _Walk(NamedTuple):
    """Where the steps have led; a running mean of the places, and the point nearest to it."""

    point: Point
    mean: Point
    past: Past | None
    count: int
    shown: Point | None = None


def _follow(
    walk: _Walk,
    manifold: Manifold,
    blocks: Iterator[Objective],
    rule: Rule,
    rate: float,
    n_steps: int,
    horizon: int,
) -> _Walk | None:
    """Take some steps; None where a matrix stops being definite, or a number finite.

    Nothing here asks for a number on the host, so that a device can run ahead.
    """
    point, mean, past, count, _ = walk
    try:
        for _ in range(n_steps):
            heading, past = rule(manifold, point, _gradient(manifold, next(blocks), point), past)
            step = manifold.combine(rate / (1 + count / horizon), heading)
            reached = manifold.retract(point, step)
            past = past._replace(mean=manifold.transport(point, reached, past.mean))
            point, count = reached, count + 1
            share = 4 / (count + 3)  # makes the weights grow as the third power
            mean = manifold.combine(1 - share, mean, share, point)
        return _Walk(point, mean, past, count, manifold.project(mean))
    except Exception as error:
        if not is_linalg_error(error):
            raise
        return None


def _gradient(manifold: Manifold, objective: Objective, point: Point) -> Point:
    return manifold.riemannian_gradient(point, objective(point)[1])


def _first_rate(
    block: Problem, start: Point, rule: Rule, search: Backtracking
) -> tuple[float, int]:
    """Length of the first step that a line search finds, and what finding it cost."""
    there = first_iterate(block, start)
    heading, _ = rule(block.manifold, start, there.gradient, None)
    found = search(block, there, heading)
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
