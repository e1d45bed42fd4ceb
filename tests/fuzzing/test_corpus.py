"""Cases that once were findings, and a few more of each family; `make fuzz` draws without end."""

import json
from pathlib import Path

import pytest
from fuzzing import arrays, files

RUN = {
    "arrays": arrays.run,
    "files": files.run_files,
    "tables": files.run_tables,
    "plans": files.run_plans,
}
CORPUS = json.loads(Path(__file__).with_name("corpus.json").read_text())


@pytest.mark.parametrize(("family", "seed"), CORPUS)
def test_past_findings(family, seed):
    RUN[family](seed)


@pytest.mark.parametrize(("family", "n_cases"), [("arrays", 60), ("files", 25), ("plans", 60)])
def test_some_of_each_family(family, n_cases):
    assert len({RUN[family](seed) for seed in range(n_cases)}) == 2  # refused, and not


@pytest.mark.parametrize("seed", range(4))
def test_hostile_tables(seed):
    assert RUN["tables"](seed) in ("refused", "labelled")
