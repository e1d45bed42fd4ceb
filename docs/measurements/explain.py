"""Print the sample of docs/user_guide/explain.md: a penguin's sex, learned from another species.

``python docs/measurements/explain.py``, with ILSPACE_DATA set.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from ilspace.datasets import load_table_domains

ROW = "17"


def main() -> None:
    """Write both tables, adapt, explain a row."""
    domains = load_table_domains("penguins")
    source, target = domains["adelie"], domains["chinstrap"]
    with tempfile.TemporaryDirectory() as folder:
        old, new, out = (str(Path(folder) / name) for name in ("old.csv", "new.csv", "out"))
        source.X.assign(sex=source.y).to_csv(old, index=False)
        target.X.to_csv(new, index=False)
        command = [sys.executable, "-m", "ilspace.cli"]
        labelled = ["adapt", old, new, "--label", "sex", "-o", out]
        subprocess.run([*command, *labelled, "--quiet"], check=True)
        subprocess.run([*command, "explain", out, "--row", ROW], check=True)


if __name__ == "__main__":
    main()
