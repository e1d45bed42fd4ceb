"""Print the oldest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
asked = [*project["dependencies"]]
for extra in ("cli", "demo", "label", "images", "excel", "report", "dask", "pot"):
    asked += extras[extra]
for each in asked:
    found = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)(?:,<[\d.]+)?", each)
    if found:
        print("==".join(found.groups()))
    elif not each.startswith("ilspace[") and "==" not in each:  # one that is pinned has no range
        raise SystemExit(f"pyproject.toml must say name>=version, but says {each!r}.")
