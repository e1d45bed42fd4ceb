"""Plans of the benchmark of labels: pairs by group, query strategies, budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from ilspace.benchmark.plan_entries import PlanError, chosen, first_trials
from ilspace.benchmark.plans import Method
from ilspace.benchmark.tasks import cell_key


@dataclass(frozen=True)
class LabelsGroup:
    """Pairs of domains on which the same estimator learns.

    Attributes
    ----------
    name : str
        Name of the group; a block of the table.
    estimator : str
        Name of a class, such as ``"ILSClassifier"``.
    pairs : sequence of str
        Such as ``"office-surf/A-W"``.
    parameters : mapping
        Parameters of the estimator.
    preprocessing : str
        As for :func:`ilspace.datasets.preprocess`; empty for tables as they are.
    most_rows : int
        Rows of each domain that a trial draws where there are more; 0 for no limit.
    """

    name: str
    estimator: str
    pairs: Sequence[str]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    preprocessing: str = ""
    most_rows: int = 0


@dataclass(frozen=True)
class QueryMethod:
    """A row of the table.

    Attributes
    ----------
    name : str
        Name of the row.
    strategy : str
        Query strategy, by name.
    groups : sequence of str
        Groups that it takes part in; all by default.
    """

    name: str
    strategy: str
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class LabelsCell:
    """Labels asked for in batches, with a fit and a score after each.

    Attributes
    ----------
    group : LabelsGroup
        Estimator and preprocessing.
    pair : str
        The data.
    trial : int
        Index of the draw, from 0.
    method : QueryMethod
        The query strategy.
    budgets : tuple of int
        Numbers of labels; the last is the most that are asked for.
    batch : int
        Labels per batch.
    digest : str
        Digest of the description.
    """

    group: LabelsGroup
    pair: str
    trial: int
    method: QueryMethod
    budgets: tuple[int, ...]
    batch: int
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, for a line of JSON; of group and method the names."""
        return {
            "group": self.group.name,
            "pair": self.pair,
            "trial": self.trial,
            "method": self.method.name,
            "digest": self.digest,
        }

    @property
    def key(self) -> str:
        """Unique key, as a string."""
        return cell_key(self.as_dict())

    @property
    def shared_needs(self) -> tuple[str, str]:
        """What cells have in common that fail with the same errors."""
        return self.digest, self.pair.partition("/")[0]

    # imported where used, for the command line reads names of plans before it needs any method

    def describe(self) -> dict[str, Any]:
        """Description of the estimator, and of how labels are asked for."""
        return describe_queries(self.group, self.method, self.budgets, self.batch)

    def check(self) -> None:
        """Raise the errors that this cell, and similar ones, would fail with."""
        from ilspace.benchmark.labels.cells import check_labels_cell

        check_labels_cell(self)

    def run(self) -> dict[str, Any]:
        """Ask and score, see :func:`~ilspace.benchmark.labels.cells.run_labels_cell`."""
        from ilspace.benchmark.labels.cells import run_labels_cell

        return run_labels_cell(self)


def describe_queries(
    group: LabelsGroup, method: QueryMethod, budgets: Sequence[int], batch: int
) -> dict[str, Any]:
    """Description of all that determines the results of a query strategy.

    Parameters
    ----------
    group : LabelsGroup
        Estimator and preprocessing.
    method : QueryMethod
        The query strategy.
    budgets : sequence of int
        Numbers of labels.
    batch : int
        Labels per batch.

    Returns
    -------
    dict
        That of :func:`~ilspace.benchmark.methods.describe_method`, and how labels are asked for.
    """
    from ilspace.active import QuerySelector
    from ilspace.benchmark.methods import describe_method

    described = describe_method(Method(group.name, group.estimator, group.parameters))
    queries = {
        "strategy": method.strategy,
        "revision": QuerySelector._revision,
        "preprocessing": group.preprocessing,
        "rows": group.most_rows,
        "most": max(budgets),
        "batch": batch,
    }
    return described | {"queries": queries}


@dataclass(frozen=True)
class LabelsPlan:
    """Query strategies on groups of pairs.

    Attributes
    ----------
    name, title : str
        Name and title of the experiment.
    groups : tuple of LabelsGroup
        Groups; each makes a block of the table.
    methods : tuple of QueryMethod
        The rows.
    budgets : tuple of int
        Numbers of labels over which accuracy is averaged; those above half of the rows that may be
        asked about are left out.
    batch : int
        Labels per batch.
    trials : int
        Number of trials.
    reference : str
        The row that the others are compared with; empty for none.
    compared : tuple of int
        So many labels of a row, against so many of the reference.
    """

    name: str
    title: str
    groups: tuple[LabelsGroup, ...]
    methods: tuple[QueryMethod, ...]
    budgets: tuple[int, ...]
    batch: int
    trials: int
    reference: str = ""
    compared: tuple[int, int] = (0, 0)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks of the table: the groups."""
        return tuple(each.name for each in self.groups)

    def block_of(self, cell: Mapping[str, Any]) -> str:
        """Block of a cell.

        Parameters
        ----------
        cell : mapping
            A cell as plain data.

        Returns
        -------
        str
            Its group.
        """
        return cell["group"]

    def cells(self) -> Iterable[LabelsCell]:
        """All cells, grouped by their data.

        Yields
        ------
        LabelsCell
            One per pair, trial and strategy.

        Raises
        ------
        PlanError
            Where an estimator cannot be made.
        """
        from ilspace.benchmark.methods import method_digest

        for group in self.groups:
            methods = [
                each for each in self.methods if not each.groups or group.name in each.groups
            ]
            asked = self.budgets, self.batch
            digests = [method_digest(describe_queries(group, each, *asked)) for each in methods]
            for pair, trial in product(group.pairs, range(self.trials)):
                for method, digest in zip(methods, digests, strict=True):
                    yield LabelsCell(group, pair, trial, method, *asked, digest)

    def narrowed(
        self,
        *,
        trials: int | None = None,
        methods: Sequence[str] = (),
        transfers: Sequence[str] = (),
        blocks: Sequence[str] = (),
    ) -> LabelsPlan:
        """A subset of the plan.

        Parameters
        ----------
        trials : int, optional
            Only the first trials.
        methods : sequence of str
            Only these rows, case-insensitive; all by default.
        transfers : sequence of str
            Only these pairs or groups.
        blocks : sequence of str
            Only these groups.

        Returns
        -------
        LabelsPlan
            The subset.
        """
        rows = chosen(self.name, "method", methods, {each.name: each for each in self.methods})
        groups = chosen(self.name, "group", blocks, {each.name: each for each in self.groups})
        known = {pair: {pair} for group in self.groups for pair in group.pairs}
        known |= {group.name: set(group.pairs) for group in self.groups}
        pairs = set().union(*chosen(self.name, "pair or group", transfers, known))
        kept = [
            replace(group, pairs=tuple(each for each in group.pairs if each in pairs))
            for group in groups
        ]
        return replace(
            self,
            trials=first_trials(self.name, trials, self.trials),
            methods=tuple(rows),
            groups=tuple(each for each in kept if each.pairs),
            reference=self.reference if self.reference in {each.name for each in rows} else "",
        )


_NEEDED = {"kind", "title", "trials", "batch", "budgets", "method", "group"}
_ENTRIES = _NEEDED | {"reference", "compared"}


def parse_labels_plan(name: str, raw: Mapping[str, Any]) -> LabelsPlan:
    """Read a plan of the benchmark of labels.

    Parameters
    ----------
    name : str
        Its name.
    raw : mapping
        Content of its TOML file.

    Returns
    -------
    LabelsPlan
        Checked.
    """
    from ilspace.active import STRATEGIES

    unknown, missing = set(raw) - _ENTRIES, _NEEDED - set(raw)
    if unknown or missing:
        what = f"has no entry for {min(unknown)!r}" if unknown else f"lacks {min(missing)!r}"
        raise PlanError(
            f"The plan {name} {what}; one of labels may hold {', '.join(sorted(_ENTRIES))}."
        )
    methods = tuple(_made(QueryMethod, entry, name) for entry in raw["method"])
    groups = tuple(_made(LabelsGroup, entry, name) for entry in raw["group"])
    for method in methods:
        if method.strategy not in ("auto", *STRATEGIES):
            raise PlanError(
                f"A strategy must be auto or one of {', '.join(STRATEGIES)}, but that of "
                f"{method.name} is {method.strategy!r}."
            )
    budgets, batch = tuple(raw["budgets"]), raw["batch"]
    compared = tuple(raw.get("compared", (0, 0)))
    if list(budgets) != sorted(set(budgets)) or any(n < 1 or n % batch for n in budgets):
        raise PlanError(
            f"The budgets of {name} must be multiples of the batch, {batch}, and ascend, but are "
            f"{list(budgets)}."
        )
    names = [each.name for each in methods]
    reference = raw.get("reference", "")
    if len(set(names)) < len(names) or (reference and reference not in names):
        raise PlanError(
            f"Methods of {name} must have different names, and its reference be one of them, but "
            f"they are {', '.join(names)} and {reference or 'no reference'}."
        )
    given = (groups, methods, budgets, batch, raw["trials"], reference, compared)
    return LabelsPlan(name, raw["title"], *given)


def _made(kind: type, entry: Mapping[str, Any], name: str) -> Any:
    """One entry of a plan."""
    known = {each.name for each in fields(kind)}
    if set(entry) - known:
        raise PlanError(
            f"An entry of {name} may have {', '.join(sorted(known))}, but one has "
            f"{min(set(entry) - known)!r}."
        )
    try:
        return kind(**entry)
    except TypeError as error:
        raise PlanError(f"An entry of {name} lacks something: {error}.") from None
