"""What the docs point at exists."""

import re
from pathlib import Path

from ilspace import baselines

ROOT = Path(__file__).resolve().parents[1]


def test_every_citation_has_an_entry():
    entries = set(re.findall(r"@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text()))
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    cited = {
        key.strip() for keys in re.findall(r":cite:p:`([^`]+)`", sources) for key in keys.split(",")
    }
    assert cited == entries


def test_every_method_has_its_line():
    page = (ROOT / "docs" / "which-method.md").read_text()
    named = set(re.findall(r"`(\w+)`", page))
    assert set(baselines.__all__) <= named


def test_links_of_the_front_pages_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
            assert target.startswith("http") or (ROOT / target).exists(), (page, target)
