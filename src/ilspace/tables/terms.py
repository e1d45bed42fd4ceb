"""Words of a text column that carry most for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ilspace.tables.free_text import texts_of
from ilspace.tables.kinds import Text
from ilspace.tables.members import LogisticRule

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier
    from ilspace.tables.encoding import TableEncoder

_MOST_ROWS = 2_000
"""Target rows in which words are counted."""


def leading_terms(
    model: TableClassifier, table: pd.DataFrame, column: Text, *, n: int = 10
) -> dict[str, list[str]]:
    r"""Find the words, and pairs of words, that carry most for each class.

    The logistic regressions of the committee are linear in the TF-IDF weights of a text, so that
    an n-gram :math:`v` adds :math:`w_{iv} \beta_{vc}` to the score of class :math:`c` in row
    :math:`i`, but for the length of the row, which is the same for all classes. Words are ordered
    by the mean over the rows, relative to the other classes.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    table : DataFrame
        Rows of the target; of many some are drawn.
    column : Text
        One of its columns.
    n : int, default=10
        Words per class.

    Returns
    -------
    dict of str to list of str
        Words by class, those that carry most first; empty where nothing is linear.
    """
    weights = _term_weights(model, column)
    if weights is None or not column.words.vocabulary:
        return {}
    texts = texts_of(table[column.name]).dropna()
    if len(texts) > _MOST_ROWS:
        texts = texts.sample(_MOST_ROWS, random_state=0)
    if not len(texts):
        return {}
    use = np.asarray(column.words.weigh(texts.tolist()).mean(axis=0)).ravel()
    carried = use[:, None] * (weights - weights.mean(axis=1, keepdims=True))
    found = {}
    for code, name in enumerate(model.classes_):
        order = np.argsort(-carried[:, code], kind="stable")[:n]
        found[str(name)] = [column.words.vocabulary[i] for i in order if carried[i, code] > 0]
    return found


def _term_weights(model: TableClassifier, column: Text) -> np.ndarray | None:
    """Weight of each word in the scores of the classes, by all that are linear."""
    linear = [
        (share, each.estimator, each.scaling)
        for share, each in zip(model.member_weights_, model.members_, strict=True)
        if isinstance(each.estimator, LogisticRule)
    ]
    if not linear and model.unadapted_ is not None:
        linear = [(1.0, model.unadapted_, "source")]
    total = None
    for share, rule, scaling in linear:
        encoder = model.source_encoder_ if scaling == "source" else model.target_encoder_
        coefficients = _coefficients(rule, encoder, column)
        weights = share * (column.words.axes.astype(np.float64) @ coefficients.T)
        total = weights if total is None else total + weights
    return total


def _coefficients(rule: LogisticRule, encoder: TableEncoder, column: Text) -> np.ndarray:
    """Coefficients of the dimensions of a text before they are scaled."""
    names = encoder.names
    own = [names.index(each) for each in column.ngram_names]
    scale = encoder.scale[own] if "zscore" in encoder.scaling.split("-") else 1.0
    return rule.coef_[:, own] / scale
