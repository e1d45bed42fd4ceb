"""Write the golden numbers anew, which needs a reason.

    python tests/golden/make_golden.py --reason "why the method gives other numbers now"

The reason, the command and the commit go into each file that changes.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from golden import cases, compare, feature_cases  # noqa: E402

ROOT = HERE.parents[1]


def commit() -> str:
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases; all by default")
    parser.add_argument("--reason", help="why numbers that exist may be replaced")
    arguments = parser.parse_args()
    every = cases.CASES | feature_cases.FEATURE_CASES
    for name in arguments.names or every:
        path = HERE / f"{name}.json"
        numbers = plain(every[name]())
        if path.is_file():
            kept = json.loads(path.read_text())["numbers"]
            worst = compare.largest_deviation(kept, numbers)
            if worst == 0:
                print(f"{name}: as before")
                continue
            if not arguments.reason:
                print(f"{name}: differs by {worst:.2g}; give --reason to replace it")
                continue
        record = {
            "command": f"python tests/golden/make_golden.py {name}",
            "commit": commit(),
            "reason": arguments.reason or "first written",
            "tolerance": compare.TOLERANCE if name in cases.CASES else 0,
            "numbers": numbers,
        }
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
