"""Refuse model files whose parts do not belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ilspace.storage import ModelFileError
from ilspace.tables.column import is_whole
from ilspace.tables.committee import ask_members


def check_restored(model: Any) -> None:
    """Raise an error unless the parts of a classifier agree, and it can label rows.

    Parameters
    ----------
    model : TableClassifier
        Whose attributes were read from a file.
    """
    source, target = model.source_encoder_, model.target_encoder_
    if not all(is_whole(str(each)) for each in model.classes_):
        raise ModelFileError("a class of it holds half a character")
    if model.own_encoder_.columns != source.columns:
        raise ModelFileError("its encoders of the source should have the same columns")
    if model.plan_.are_shared and source.columns != target.columns:
        raise ModelFileError("its tables should share their columns and do not")
    if (model.unadapted_ is not None) != model.plan_.are_shared:
        raise ModelFileError("its rule without adaptation should be there and is not")
    if len(model.class_prior_) != len(model.classes_):
        raise ModelFileError("its class shares are not of its classes")
    if len(model.agreement_.of_classes) != len(model.classes_):
        raise ModelFileError("its agreement is not about its classes")
    if len(model.member_weights_) != len(model.members_) or not model.member_weights_.any():
        raise ModelFileError("its weights are not those of its members")
    plain = model.unadapted_
    if plain is not None and not np.array_equal(plain.classes_, model.classes_):
        raise ModelFileError("its rule without adaptation has other classes")
    for each in model.members_:
        if not np.array_equal(each.estimator.classes_, model.classes_):
            raise ModelFileError(f"its member {each.name} has other classes")
        if each.scaling == "source" and not model.plan_.are_shared:
            raise ModelFileError(f"its member {each.name} needs columns that are not shared")
    # rows of each table are labelled, which finds all else that does not fit together, and
    # numbers that cannot be calculated with
    for domain, encoder in (("source", source), ("target", target)):
        rows = np.outer([0.0, 1.0, -1.0], np.ones(len(encoder.names)))
        with np.errstate(all="ignore"):
            said = ask_members(
                model.members_, model.class_prior_, {"source": rows, "own": rows}, domain
            )
        if said.shape[2] != len(model.classes_) or not np.isfinite(said).all():
            raise ModelFileError("its members do not tell probabilities of its classes")
