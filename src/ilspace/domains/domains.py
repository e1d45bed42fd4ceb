"""The checked input of a fit, as a frozen record of all domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ilspace._typing import Array, ProjectedRows
from ilspace.backend import array_namespace, is_foreign
from ilspace.domains.class_prior import check_several_classes, refuse_labels_of_no_share
from ilspace.pairs import LabelledRows
from ilspace.scale import HeldRows, RowSpace, is_single

SPACE_POWER = 0.25
"""Power of the weights of sources in learning the space, which needs the rows of all: with 1 it is
worse than with equal weights, on draws of Office+Caltech10 that no table reports."""


@dataclass(frozen=True)
class Domains:
    """Checked input of a fit: labelled sources, and a target if there is one.

    Attributes
    ----------
    sources : tuple of Domain
        At least one; every row has a label.
    target : Domain or None
        Some, all or none of its rows have a label.
    classes : ndarray of shape (n_classes,)
        The classes, sorted; `codes` of the domains are indices into it.
    shares_features : bool
        Whether the columns of all domains mean the same.
    class_prior : ndarray of shape (n_classes,) or None
        Shares of the classes in the target, all positive, which a rule is to assume; None where
        nothing is said of them. The weights of the source rows are in agreement with it.
    source_names : tuple of str or None
        Names that the user gave to the sources.
    source_numbers : tuple of float or None
        Their numbers, ascending, as `sample_domain` has them; None for 1, 2 and so on.
    source_weights : ndarray of shape (n_sources,) or None
        Weights of the sources in a rule, of sum 1; None where they are equal. The weights of the
        source rows are in agreement with them.
    is_unseen : bool
        Whether `target` stands for domains that are to come: it holds the rows of all sources.
    """

    sources: tuple[Any, ...]
    target: Any | None
    classes: np.ndarray
    shares_features: bool = True
    class_prior: np.ndarray | None = None
    source_names: tuple[str, ...] | None = None
    source_numbers: tuple[float, ...] | None = None
    source_weights: np.ndarray | None = None
    is_unseen: bool = False

    @property
    def all(self) -> tuple[Any, ...]:
        """The sources, then the target."""
        return self.sources if self.target is None else (*self.sources, self.target)

    @property
    def dtype(self) -> Any:
        """Floating type that holds the rows of all domains."""
        types = [domain.dtype for domain in self.all]
        rows = getattr(self.sources[0], "X", None)
        return (
            array_namespace(rows).result_type(*types)
            if is_foreign(rows)
            else np.result_type(*types)
        )

    @property
    def source_shares(self) -> np.ndarray:
        """Weighted shares of the classes in all sources together."""
        masses = sum(domain.class_masses(len(self.classes)) for domain in self.sources)
        return np.asarray(masses / (np.sum(masses) or 1.0))

    def among(self, shares: np.ndarray) -> Domains:
        """The same without the classes of share 0.

        Parameters
        ----------
        shares : ndarray of shape (n_classes,)
            Shares of the classes.

        Returns
        -------
        Domains
            With fewer classes, and without their rows; itself where all shares are positive.
        """
        codes = np.flatnonzero(shares)
        if len(codes) == len(shares):
            return self
        if self.target is not None:
            counts = self.target.class_counts(len(shares))
            refuse_labels_of_no_share(counts, shares, self.classes)
        rest = {"target": None if self.target is None else self.target.among(codes)}
        sources = tuple(None if each is None else each.among(codes) for each in self.sources)
        return replace(self, sources=sources, classes=self.classes[codes], **rest)

    def with_class_prior(self, shares: np.ndarray) -> Domains:
        """The same for a target in which the classes have given shares.

        This is where shares become weights: the rows of each source weigh q / p times as much, with
        q the share of their class in the target and p its share of the weight of that source. So
        they weigh in its mean and covariance, in the loss, and in the rule.

        Parameters
        ----------
        shares : ndarray of shape (n_classes,)
            Shares of the classes in the target, of sum 1.

        Returns
        -------
        Domains
            Without the classes of share 0.
        """
        kept, left = self.among(shares), shares[shares > 0]
        check_several_classes(kept.source_shares)
        for number, each in zip(kept.numbers, kept.sources, strict=True):
            if len(kept.sources) > 1 and each.n_rows < 2:
                raise ValueError(
                    "Every source must have two rows or more of classes with a share, but source "
                    f"{number:g} has {each.n_rows}: leave it out, or give its classes a share."
                )
        sources = tuple(each.with_class_shares(left) for each in kept.sources)
        return replace(kept, sources=sources, class_prior=left)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers of the sources."""
        if self.source_numbers is not None:
            return self.source_numbers
        return tuple(1.0 + i for i in range(len(self.sources)))

    @property
    def shares_of_sources(self) -> np.ndarray:
        """Weights of the sources, of sum 1."""
        n = len(self.sources)
        return np.full(n, 1 / n) if self.source_weights is None else self.source_weights

    @property
    def shares_of_discrepancies(self) -> np.ndarray:
        """Shares of the sources in the discrepancy to the target: flatter, as in the loss."""
        flat = self.shares_of_sources**SPACE_POWER
        return flat / np.sum(flat)

    @property
    def rule_factors(self) -> tuple[float | np.ndarray, ...]:
        """Factors of the row weights of each domain in a rule, besides those that the rows have."""
        shares = self.shares_of_sources
        factors = (shares / np.max(shares)) ** (1 - SPACE_POWER)
        if self.target is None:
            return tuple(factors)
        if not self.is_unseen:
            return (*factors, 1.0)
        # every row is there twice, and counts once; the second time with the weight of its source
        of_rows = np.repeat(factors, [each.n_labelled for each in self.sources])
        return (*factors / 2, of_rows / 2)

    def with_source_weights(self, weights: np.ndarray) -> Domains:
        """The same with weighed sources.

        This is where the weights of sources become weights of rows. With w the weight of a source
        over the largest, its rows weigh :math:`w^{1/4}` times as much in the common axes and in the
        loss over pairs, and, by `rule_factors`, w times as much in a rule.

        Parameters
        ----------
        weights : ndarray of shape (n_sources,)
            Positive weights of the sources.

        Returns
        -------
        Domains
            Itself for a single source.
        """
        if len(self.sources) == 1:
            return self
        factors = (weights / np.max(weights)) ** SPACE_POWER
        pairs = zip(self.sources, factors.tolist(), strict=True)
        sources = tuple(each.times(factor) for each, factor in pairs)
        return replace(self, sources=sources, source_weights=weights / np.sum(weights))

    def with_unseen(self) -> Domains:
        """The same with a target that stands for domains to come.

        It holds the labelled rows of all sources once more, uncentred, so that each source takes
        part as one that was held out: its rows are sent to the latent space as those of an unknown
        domain will be.

        Returns
        -------
        Domains
            Itself where there is a target, or a single source.
        """
        if self.target is not None or len(self.sources) == 1:
            return self
        return replace(self, target=self.sources[0].pooled(self.sources), is_unseen=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the domains."""
        sources = self.source_names
        if sources is None and len(self.sources) == 1:
            sources = ("source",)
        elif sources is None:
            sources = tuple(f"source {number:g}" for number in self.numbers)
        last = "unseen" if self.is_unseen else "target"
        return sources if self.target is None else (*sources, last)

    def labelled_rows(self, spaces: Sequence[RowSpace], *, single: bool = False) -> LabelledRows:
        """The labelled rows of all domains, in coordinates.

        Parameters
        ----------
        spaces : sequence of RowSpace
            One per domain.
        single : bool, default=False
            Whether those of rows in single precision stay there.

        Returns
        -------
        LabelledRows
            From which the loss over pairs is made.
        """
        weights = None
        if any(domain.weights is not None for domain in self.all):
            weights = np.concatenate([domain.labelled_weights for domain in self.all])
        return LabelledRows(
            tuple(
                domain.coordinates(space, single=single)
                for domain, space in zip(self.all, spaces, strict=True)
            ),
            np.concatenate([domain.labelled_codes for domain in self.all]),
            weights,
        )

    def projected_rows(self, spaces: Sequence[RowSpace], scales: Sequence[float]) -> ProjectedRows:
        """All rows of all domains, in coordinates, for moments along directions.

        Parameters
        ----------
        spaces : sequence of RowSpace
            One per domain.
        scales : sequence of float
            Factor of the coordinates of each domain.

        Returns
        -------
        ProjectedRows
            From which higher moments are found.
        """
        # rows in single precision are converted a block at a time
        rows = [each.X if is_single(each.X) else each.working_rows for each in self.all]
        weights = [domain.weights for domain in self.all]
        return HeldRows.placed(rows, weights, spaces=spaces, scales=scales)

    def latent_rows(self, ils: Any) -> tuple[tuple[Array, np.ndarray], ...]:
        """The labelled rows of all domains in the latent space, and their classes.

        Parameters
        ----------
        ils : ILSMap
            The fitted map.

        Returns
        -------
        tuple of (array of shape (n, p), ndarray of shape (n,))
            One pair per domain.
        """
        return tuple(
            (ils.transform(domain.labelled_rows, position), domain.labelled_codes)
            for position, domain in enumerate(self.all)
        )
