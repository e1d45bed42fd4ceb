"""Which experiments the package ships; imports nothing, as each help text names them."""

from __future__ import annotations

from importlib import resources


def experiment_names() -> tuple[str, ...]:
    """Names of the experiments that the package ships."""
    folder = resources.files("ilspace.benchmark") / "experiments"
    return tuple(sorted(each.name[:-5] for each in folder.iterdir() if each.name.endswith(".toml")))
