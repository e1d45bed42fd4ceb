"""Rules that give rows a class, and the class shares that they may assume."""

from ilspace.rules.class_prior import (
    ClassPriorEstimate,
    counted_class_prior,
    estimate_class_prior,
    in_source_scale,
    mixture_of_classes,
)

__all__ = [
    "ClassPriorEstimate",
    "counted_class_prior",
    "estimate_class_prior",
    "in_source_scale",
    "mixture_of_classes",
]
