"""Follow the Dockerfile without Docker: each stage in a folder and an environment of its own.

What it cannot see is the base image: RUN has this machine's tools. So that the folder of a stage
can stand for its root, the commands of RUN name paths relative to WORKDIR.
"""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "docker"


def instructions(text: str) -> list[tuple[str, str]]:
    """Words and the rest of each line; lines that end with a backslash go on."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [(line.split()[0].upper(), line.partition(" ")[2].strip()) for line in lines]


@dataclass
class Stage:
    """What one FROM begins."""

    root: Path
    workdir: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def place(self, path: str) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / os.path.normpath(os.path.join(self.workdir, path)).lstrip("/")

    def run(self, words: list[str]) -> None:
        """Run a command as in the image."""
        print("+", *words, flush=True)
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        path = f"{self.root / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = kept | self.variables | {"PATH": path}
        ended = subprocess.run(words, cwd=self.place("."), env=environment)
        if ended.returncode:
            sys.exit(f"This step failed with exit code {ended.returncode}.")


def is_ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore keeps a path of the context out; the last pattern that fits decides."""
    ignored = False
    for pattern in patterns:
        above = [path, *map(str, Path(path).parents)]
        bare = pattern.removeprefix("!")
        anywhere = bare.removeprefix("**/")
        if any(
            fnmatch.fnmatch(each, bare)
            or (anywhere != bare and fnmatch.fnmatch(Path(each).name, anywhere))
            for each in above
        ):
            ignored = not pattern.startswith("!")
    return ignored


def copy(origin: Path, target: Path, patterns: list[str]) -> None:
    """Copy a file, or the content of a folder, without what is ignored."""
    files = [origin] if origin.is_file() else [each for each in origin.rglob("*") if each.is_file()]
    wanted = [each for each in files if not is_ignored(str(each.relative_to(ROOT)), patterns)]
    if not wanted:
        sys.exit(
            f"COPY must find files, but {origin.name} has none that .dockerignore lets through."
        )
    for each in wanted:
        place = target / each.name if origin.is_file() else target / each.relative_to(origin)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(each, place)


def main() -> None:
    """Follow all steps, then start what the image would."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    shutil.rmtree(BUILD, ignore_errors=True)
    stages: dict[str, Stage] = {}
    stage = Stage(BUILD)
    for word, rest in instructions((ROOT / "Dockerfile").read_text()):
        print(word, rest, flush=True)
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            if not re.fullmatch(r"python:3\.1[1-4]-slim", image):
                sys.exit(f"FROM must name an image of Python 3.11 to 3.14, but names {image}.")
            stage = stages[name] = Stage(BUILD / (name or "last"))
            stage.root.mkdir(parents=True)
            subprocess.run([sys.executable, "-m", "venv", stage.root / "venv"], check=True)
        elif word == "WORKDIR":
            stage.workdir = rest
            stage.place(".").mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            *origins, target = rest.split()
            if origins[0].startswith("--from="):
                other = stages[origins.pop(0).removeprefix("--from=")]
                for each in origins:
                    copy(other.place(each), stage.place(target), [])
            else:
                for each in origins:
                    copy(ROOT / each, stage.place(target), patterns)
        elif word == "RUN":
            stage.run(["bash", "-euc", rest])
        elif word == "ENV":
            stage.variables |= dict(each.split("=", 1) for each in rest.split())
        elif word == "USER":
            if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", rest):
                sys.exit(f"USER must be the numbers of one who is not root, but is {rest}.")
        elif word == "ENTRYPOINT":
            stage.entrypoint = json.loads(rest)
        elif word == "CMD":
            stage.command = json.loads(rest)
        else:
            sys.exit(f"The Dockerfile must keep to steps that can be followed, but has {word}.")

    stage.run([*stage.entrypoint, *stage.command])
    rows = [f"{i},{2 * i},{'b' if i > 20 else 'a'}" for i in range(40)]
    stage.place("old.csv").write_text("x,y,kind\n" + "\n".join(rows) + "\n")
    stage.place("new.csv").write_text("x,y\n" + "\n".join(row[:-2] for row in rows) + "\n")
    stage.run([*stage.entrypoint, "adapt", "old.csv", "new.csv", "--label", "kind", "-o", "out"])
    if not stage.place("out/predictions.csv").is_file():
        sys.exit("ilspace adapt must leave out/predictions.csv in the folder it was started in.")
    shutil.rmtree(BUILD)


if __name__ == "__main__":
    main()
