"""Build the wheel and the sdist, install each in an environment of its own, and test it there.

The whole fast suite runs against the wheel, from the tree that the sdist holds, so both must be
complete. The sdist, whose wheel has the same files, gets the short test of an installation.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
BUILD = ROOT / "build" / "dist"
SHORT = "tests/test_installed.py"


def run(*words: object, cwd: Path = ROOT) -> None:
    """Run a command; end with its code if it fails."""
    print("+", *words, flush=True)
    # what is tested is what was installed, not what lies about
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ended = subprocess.run([str(word) for word in words], cwd=cwd, env=environment)
    if ended.returncode:
        sys.exit(ended.returncode)


def environment(name: str, *requirements: str) -> Path:
    """Python of a new environment with these packages."""
    folder = BUILD / name
    run(sys.executable, "-m", "venv", "--clear", folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(python, "-m", "pip", "install", "--quiet", *requirements)
    return python


def check_origin(python: Path, tree: Path) -> None:
    """Make sure that tests run in `tree` see the installed package."""
    home = str(python.parents[1])
    script = f"import ilspace; assert ilspace.__file__.startswith({home!r}), ilspace.__file__"
    run(python, "-c", script, cwd=tree)


def package_files(names: list[str], prefix: str) -> set[str]:
    """Files of the package in an archive, by their path below `prefix`."""
    found = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
    return {name for name in found if name and not name.endswith("/")}


def relative_links(text: str) -> list[str]:
    """Addresses of links and pictures, in Markdown or HTML, that need a folder beside the text."""
    text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.M | re.S)
    inline = re.findall(r"\]\(\s*<?([^)\s>]+)", text)
    reference = re.findall(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", text, flags=re.M)
    html = re.findall(r"""\b(?:src|href|srcset)\s*=\s*["']?([^"'\s>]+)""", text)
    return [each for each in inline + reference + html if not re.match(r"[a-z]+:|#", each)]


def check_description(metadata: str, origin: Path) -> None:
    """Make sure that the page made of the metadata has a text whose links lead somewhere."""
    description = str(message_from_string(metadata).get_payload())
    if not description.strip():
        sys.exit(f"{origin.name} must hold a description, but has none.")
    if found := relative_links(description):
        sys.exit(f"Links in the metadata must be absolute, but {origin.name} has {found}.")


def main() -> None:
    """Build, compare, install, test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="the short test for the wheel too")
    is_short = parser.parse_args().short

    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    run(sys.executable, "-m", "towncrier", "build", "--draft", "--version", "0.0.0")
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)

    with tarfile.open(sdist) as archive:
        archive.extractall(BUILD, filter="data")
        listed = archive.getnames()
    tree = BUILD / sdist.name.removesuffix(".tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = package_files(archive.namelist(), "ilspace/")
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        check_description(archive.read(name).decode(), wheel)
    check_description((tree / "PKG-INFO").read_text(encoding="utf-8"), sdist)
    in_sdist = {
        name
        for name in package_files(listed, f"{tree.name}/src/ilspace/")
        if (tree / "src" / "ilspace" / name).is_file()
    }
    if in_wheel != in_sdist:
        sys.exit(f"Wheel and sdist must hold the same package, but differ: {in_wheel ^ in_sdist}")

    extras = "[cli]" if is_short else "[test]"
    python = environment("wheel", f"{wheel}{extras}", "pytest")
    check_origin(python, tree)
    if is_short:
        run(python, "-m", "pytest", "-q", SHORT, cwd=tree)
    else:
        run(python, "-m", "pytest", "-q", "-n", "auto", "-m", "not slow", cwd=tree)

    python = environment("sdist", f"{sdist}[cli]", "pytest")
    check_origin(python, tree)
    run(python, "-m", "pytest", "-q", SHORT, cwd=tree)
    print(
        *(f"{each.name}  {each.stat().st_size / 1e6:.1f} MB" for each in (wheel, sdist)), sep="\n"
    )


if __name__ == "__main__":
    main()
