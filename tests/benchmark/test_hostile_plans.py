"""A plan that makes no sense is refused in one sentence, before anything runs."""

import pytest
from benchmark.hostile_plans import BASE, FIELD, HOSTILE
from typer.testing import CliRunner

from ilspace.benchmark.kinds import load_experiment
from ilspace.benchmark.plan_entries import PlanError
from ilspace.cli.app import app


@pytest.fixture
def plan(tmp_path):
    return tmp_path / "plan.toml"


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_in_one_sentence(plan, name):
    text = HOSTILE[name]
    plan.write_bytes(text if isinstance(text, bytes) else text.encode())
    options = ["--store", str(plan.parent / "results"), "--jobs", "1"]
    ended = CliRunner().invoke(app, ["bench", "run", str(plan), *options])
    assert ended.exit_code == 2
    *shown, last = ended.stderr.splitlines()
    assert last.startswith("Error: ")
    assert last.endswith(".")
    assert not any("Error" in line or "Traceback" in line for line in shown)
    assert not (plan.parent / "results").exists()


@pytest.mark.parametrize("text", [BASE, FIELD])
def test_what_they_are_made_from_is_a_plan(plan, text):
    plan.write_text(text)
    assert len(list(load_experiment(str(plan)).cells())) in (1, 2)


def test_a_sentence_says_rule_value_and_remedy(plan):
    plan.write_text(BASE.replace("trials = 2", 'trials = "many"'))
    said = "The entry trials of the plan plan must be a whole number from 1 to 10000, but is 'many'"
    with pytest.raises(PlanError, match=said):
        load_experiment(str(plan))
