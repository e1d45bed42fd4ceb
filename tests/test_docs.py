"""What the docs say is so, and what they point at exists."""

import importlib
import pkgutil
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import typer
from shifted import shifted

import ilspace
from ilspace import baselines
from ilspace.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GENERATED = {"_generated", "auto_examples", "generated", "backreferences"}
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if GENERATED.isdisjoint(path.relative_to(DOCS).parts)
]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)


# -- citations and links -------------------------------------------------------------------------


def test_every_citation_has_an_entry_and_every_entry_is_cited():
    listed = re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text())
    entries = set(listed)
    assert len(listed) == len(entries), "an entry stands twice"
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    sources += "".join(path.read_text() for path in [*PAGES, *EXAMPLES])
    found = re.findall(r"(?::cite:[pt]:|\{cite:[pt]\})`([^`]+)`", sources)
    assert {key.strip() for keys in found for key in keys.split(",")} == entries


def exists(target: str, page: Path) -> bool:
    """Tell whether a link leads to a file, or to one that is made from another."""
    path = Path(page.parent, target)
    if path.with_name(path.name + ".jinja").is_file():
        return True
    if "auto_examples" in path.parts:
        place = Path(*path.parts[path.parts.index("auto_examples") + 1 :])
        made_from = ROOT / "examples" / place.with_suffix(".py")
        return place == Path("index.rst") or made_from.is_file()
    return path.exists()


@pytest.mark.parametrize("page", [*FRONT, *PAGES], ids=page_id)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        assert path.startswith("http") or not path or exists(path, page), target
        if anchor:
            headings = re.findall(
                r"^#+ (.+)$", (page.parent / path if path else page).read_text(), re.M
            )
            slugs = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
            assert anchor in slugs, target


def test_documents_that_a_page_includes_or_lists_exist():
    for page in PAGES:
        for toctree in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.M | re.S):
            for line in filter(None, toctree.splitlines()):
                if line.startswith(":") or line == "*":
                    continue
                name = line.partition("<")[2].rstrip(">") or line
                found = [exists(name + suffix, page) for suffix in (".md", ".rst")]
                assert any(found), (page_id(page), name)


def test_paths_that_the_page_on_architecture_names_exist():
    text = (DOCS / "architecture.md").read_text()
    for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|toml|md|svg))`", text):
        below = ROOT / "src" / "ilspace" / name
        assert below.exists() or (ROOT / name).exists(), name


# -- names ---------------------------------------------------------------------------------------


def test_every_method_has_its_line():
    named = set(re.findall(r"`(\w+)`", (DOCS / "which-method.md").read_text()))
    assert set(baselines.__all__) <= named


INTERNAL = {"backend", "benchmark", "cli", "dask", "estimators", "labelling", "pages", "storage"}
"""Packages of the library that are no part of what it offers, or are offered elsewhere."""


@pytest.fixture
def extension(monkeypatch):
    """Import a module of docs/_ext."""
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module


@pytest.fixture
def generated(extension):
    return extension("generated_pages")


def test_api_page_lists_every_public_name(generated):
    page = generated.api_index((DOCS / "api" / "index.rst.jinja").read_text())
    _, *parts = re.split(r"^\.\. currentmodule:: ", page, flags=re.M)
    listed = {
        part.partition("\n")[0]: set(re.findall(r"^   ([A-Za-z]\w*)$", part, re.M))
        for part in parts
    }
    modules = {each.name for each in pkgutil.iter_modules(ilspace.__path__)} - INTERNAL
    public = {f"ilspace.{name}" for name in modules if not name.startswith("_")} | {"ilspace"}
    assert set(listed) == public
    for module, names in listed.items():
        above = set() if module == "ilspace" else set(ilspace.__all__)
        assert names == set(importlib.import_module(module).__all__) - above


# -- code ----------------------------------------------------------------------------------------

RUNNABLE = [page for page in PAGES if blocks(page, "python")]  # test_readme runs the README


@pytest.mark.parametrize("page", RUNNABLE, ids=page_id)
def test_python_of_the_pages_runs(page):
    data = shifted()
    unlabelled = [label if i % 5 == 0 else None for i, label in enumerate(data.yt)]
    # what a reader has: rows, labels, and rows that come later
    names = {
        "X": data.X,
        "y": data.y,
        "pandas": pandas,
        "Xs": data.X,
        "ys": data.y,
        "Xt": data.Xt,
        "yt": np.array(unlabelled, dtype=object),
        "Xs_new": data.X[:3],
        "Xt_new": data.Xt[:3],
    }
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("path", EXAMPLES, ids=page_id)
def test_examples_can_be_shown(path):
    text = path.read_text()
    compile(text, str(path), "exec")
    assert re.match(r'r?"""\n(.+)\n=+\n', text), "the gallery needs a title"
    assert path.name.startswith("plot_"), "only plot_*.py is run"


def test_every_example_has_its_place_in_the_gallery(extension):
    order = extension("reading_order")
    assert [f"plot_{name}.py" for name in order.EXAMPLES] == sorted(
        (path.name for path in EXAMPLES), key=order.ReadingOrder("")
    )
    assert set(order.FOLDERS) == {path.parent.name for path in EXAMPLES}


def commands() -> list[str]:
    """Lines that a reader is told to type."""
    lines = [
        line.partition(" #")[0].strip()
        for page in [*FRONT, *PAGES]
        for block in blocks(page, "sh")
        for line in block.splitlines()
    ]
    return sorted({line for line in lines if line.startswith("ilspace ")})


@pytest.mark.parametrize("line", commands())
def test_commands_of_the_pages_exist(line):
    _, *words = shlex.split(line)
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert not hasattr(command, "commands"), f"{line} ends at a group of commands"
    known = {name for each in command.params for name in [*each.opts, *each.secondary_opts]}
    assert {word for word in words if word.startswith("-")} <= known


# -- extensions ----------------------------------------------------------------------------------


@pytest.fixture
def to_mathml(extension):
    return extension("mathml").to_mathml


def bare(mathml: str) -> str:
    return re.sub(r"\s+|</?math[^>]*>", "", mathml)


def test_a_fraction_of_two_digits_is_what_latex_makes_of_it(to_mathml):
    for short in (r"\frac12x", r"\frac 12x"):
        assert bare(to_mathml(short)) == bare(to_mathml(r"\frac{1}{2}x"))
    assert "<mn>12</mn>" not in to_mathml(r"\tfrac12\log\det(AB)")


def test_an_operator_with_limits_has_them_below(to_mathml):
    made = to_mathml(r"\operatorname*{arg\,min}_{W^\top W = I_{p}} f", block=True)
    assert "<munder>" in made
    assert '<mi mathvariant="normal">arg\N{THIN SPACE}min</mi>' in made
    assert "*" not in made


def test_names_of_functions_stand_apart(to_mathml):
    space = '<mspacewidth="0.1667em"></mspace>'
    made = bare(to_mathml(r"b\log\det A + c\log(x)"))
    log, det = (f"<mi>{name}</mi><mo>&ApplyFunction;</mo>" for name in ("log", "det"))
    assert f"<mi>b</mi>{space}{log}{space}{det}{space}<mi>A</mi>" in made
    assert f'{log}<mostretchy="false">(</mo>' in made


def test_both_bars_of_a_norm_are_as_high_as_its_letters(to_mathml):
    assert to_mathml(r"\lVert x \rVert").count('<mo stretchy="false">‖</mo>') == 2


def test_a_constant_has_the_words_below_its_assignment(extension):
    from ilspace.active import NONE_OF_THESE

    lines = (str.__doc__ or "").splitlines()
    extension("docstrings").mend(
        None, "data", "ilspace.active.NONE_OF_THESE", NONE_OF_THESE, {}, lines
    )
    assert "object=''" not in " ".join(lines)
    assert any(lines)


def test_a_formula_with_an_unknown_command_is_refused(to_mathml):
    from docutils.utils.math import MathError

    with pytest.raises(MathError, match="nosuch"):
        to_mathml(r"\nosuch{x}")


def test_command_reference_has_every_command_and_option(generated):
    root = typer.main.get_command(app)
    text = generated.command_reference(root)

    def walk(command, path):
        assert f"## {path}\n" in text
        for each in command.params:
            assert all(f"`{name}`" in text for name in each.opts if name.startswith("-"))
        for name, child in getattr(command, "commands", {}).items():
            walk(child, f"{path} {name}")

    walk(root, "ilspace")
    assert "Same seed, same rows and results. Default: `0`." in text


def test_changes_to_come_are_the_fragments(generated):
    text = " ".join(generated.unreleased_changes(ROOT).split())
    for fragment in (ROOT / "changes").glob("*.*.md"):
        assert " ".join(fragment.read_text().split()) in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://a.b/c.js"></script>', ["https://a.b/c.js"]),
        ('<link rel="stylesheet" href="//a.b/c.css"/>', ["//a.b/c.css"]),
        ("<img alt=\"x\" src='http://a.b/c.png'>", ["http://a.b/c.png"]),
        ('<a href="https://a.b/c">a link to follow</a>', []),
        ('<script src="_static/c.js"></script><img src="../c.png">', []),
    ],
)
def test_what_a_page_loads_from_elsewhere_is_found(extension, text, found):
    assert extension("self_contained").loaded_from_elsewhere(text) == found


def test_what_a_style_loads_from_elsewhere_is_found(extension):
    text = '@import "https://a.b/c.css"; p { src: url(https://a.b/f.woff); background: url(x.png) }'
    found = extension("self_contained").loaded_from_elsewhere(text, style=True)
    assert found == ["https://a.b/c.css", "https://a.b/f.woff"]
