"""Run the examples of the page "Coming from SKADA, ADAPT or POT", each in a process of its own.

``python docs/measurements/coming_from.py``, where skada, adapt (with tensorflow) and POT are
installed. Prints the accuracy that each ends with.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "coming-from.md"


def main() -> None:
    """Run the first block before each other one."""
    text = PAGE.read_text()
    task, *_ = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    for part in re.split(r"^## ", text, flags=re.M)[2:]:
        for code in re.findall(r"^```py(?:thon)?\n(.*?)^```$", part, re.M | re.S):
            ended = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", task + code], capture_output=True, text=True
            )
            said = ended.stdout.split()[-1:] or [ended.stderr.strip()[-300:]]
            sys.stdout.write(f"{part.splitlines()[0]}: {said[0]}\n")
    for name in ("ilspace", "skada", "adapt", "POT", "scikit-learn", "tensorflow"):
        try:
            sys.stdout.write(f"{name} {version(name)}\n")
        except PackageNotFoundError:
            sys.stdout.write(f"{name} is not installed\n")


if __name__ == "__main__":
    main()
