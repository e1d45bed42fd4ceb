"""The order of the gallery: what a newcomer reads first comes first."""

from __future__ import annotations

FOLDERS = ("basics", "practice", "inside")

EXAMPLES = (
    "first_adaptation",
    "few_target_labels",
    "different_widths",
    "several_sources",
    "unseen_domain",
    "latent_space",
    "compare_methods",
    "when_not_to_adapt",
    "which_rows_to_label",
    "preprocessing",
    "pipeline_and_grid_search",
    "kernel_pipeline",
    "metric_learning_alone",
    "loss_and_margin",
    "anchors_and_stopping",
    "higher_moments",
    "dictionary",
    "solvers",
    "method_without_estimator",
)
"""Examples that are not listed follow by name."""


class ReadingOrder:
    """Sort key of the examples of one folder.

    Parameters
    ----------
    src_dir : str
        The folder; not looked at.
    """

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> tuple[int, str]:
        """Place of an example.

        Parameters
        ----------
        filename : str
            Such as ``plot_solvers.py``.

        Returns
        -------
        tuple of (int, str)
            Smaller comes first.
        """
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), name)
