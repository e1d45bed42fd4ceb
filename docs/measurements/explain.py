"""Print the sample of docs/user_guide/explain.md: a patient of Budapest, learned from Cleveland's.

``python docs/measurements/explain.py``, with ILSPACE_DATA set.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from ilspace.datasets import load_table_domains

ROW = "230"


def main() -> None:
    """Write both tables, adapt, explain a row."""
    domains = load_table_domains("heart")
    source, target = domains["cleveland"], domains["hungarian"]
    with tempfile.TemporaryDirectory() as folder:
        old, new, out = (str(Path(folder) / name) for name in ("old.csv", "new.csv", "out"))
        source.X.assign(disease=source.y).to_csv(old, index=False)
        target.X.to_csv(new, index=False)
        command = [sys.executable, "-m", "ilspace.cli"]
        labelled = ["adapt", old, new, "--label", "disease", "-o", out]
        subprocess.run([*command, *labelled, "--quiet"], check=True)
        subprocess.run([*command, "explain", out, "--row", ROW, "--columns", "6"], check=True)


if __name__ == "__main__":
    main()
