"""What a release is made of agrees with pyproject.toml and with itself."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]


def bare(requirement: str) -> str:
    return re.sub(r"\s", "", requirement)


def test_the_conda_recipe_asks_for_what_pip_does():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    _, *found = recipe["requirements"]["run"]
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]]
    assert [bare(each) for each in found] == wanted
    assert recipe["about"]["summary"] == PROJECT["description"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == PROJECT["scripts"]


def test_every_step_of_the_workflow_is_a_target_of_make():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    said = [step["run"] for step in steps if "run" in step]
    for line in said:
        make, *words, python = line.split()
        assert (make, python) == ("make", "PYTHON=python")
        assert targets.issuperset(words)
    assert {word for line in said for word in line.split()[1:-1]} >= {
        "lint",
        "test",
        "docs",
        "dist",
    }
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert tested == listed


def test_every_action_is_pinned():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in used)


def test_the_stores_of_the_benchmark_stay_small_in_a_clone():
    stores = list((ROOT / "benchmarks").glob("*.jsonl*"))
    assert stores
    assert {each.suffix for each in stores} == {".xz"}
    assert sum(each.stat().st_size for each in stores) < 2e6


def test_the_conda_recipe_builds_with_what_pip_does():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    _, _, *found = recipe["requirements"]["host"]
    assert [bare(each) for each in found] == SETTINGS["build-system"]["requires"]


@pytest.fixture(scope="module")
def dist():
    return runpy.run_path(str(ROOT / ".ci" / "dist.py"), run_name="dist")


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/a.md)",
        "[a](<docs/a.md>)",
        "[a]: docs/a.md",
        '<img src="docs/a.png">',
        "<a href='/docs'>",
        "![a](a.png)",
    ],
)
def test_relative_links_are_found(dist, text):
    assert len(dist["relative_links"](f"Words.\n{text}\n")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://example.org/a.md)",
        "[a](#install)",
        '<img src="https://example.org/a.png">',
        "`f[0](a)`",
        "```python\nf[0](a)\n```",
    ],
)
def test_other_links_are_let_through(dist, text):
    assert not dist["relative_links"](f"Words.\n{text}\n")


def test_the_readme_has_absolute_links_in_the_metadata(dist):
    """Those of the file are relative; the build applies the substitutions of pyproject.toml."""
    text = (ROOT / "README.md").read_text()
    before = dist["relative_links"](text)
    assert before
    assert all((ROOT / each).is_file() for each in before), "a link that leads nowhere"
    hook = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert not dist["relative_links"](text)
    assert all(f"/v$HFPR_VERSION/{each}" in text for each in before)


@pytest.fixture(scope="module")
def docker_steps():
    return runpy.run_path(str(ROOT / ".ci" / "docker_steps.py"), run_name="docker_steps")


def test_the_dockerfile_is_read_as_docker_does(docker_steps):
    found = docker_steps["instructions"](
        "FROM a AS b\n# no\nRUN one && \\\n    # nor this\n  two\n"
    )
    assert found == [("FROM", "a AS b"), ("RUN", "one &&    two")]


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("src/ilspace/__init__.py", False),
        ("README.md", False),
        ("docs/README.md", True),
        ("src/ilspace/__pycache__/a.pyc", True),
        (".venv/bin/python", True),
    ],
)
def test_the_context_of_docker_is_small(docker_steps, path, ignored):
    patterns = (ROOT / ".dockerignore").read_text().split()
    assert docker_steps["is_ignored"](path, patterns) is ignored
