"""Make the tables of `load_table_domains` from their originals.

``python -m ilspace.datasets.make_tables ORIGINALS ROOT`` looks for the original files below the
folder ORIGINALS, in folders of their own or not, and writes ``ROOT/tables/NAME/DOMAIN.csv`` for
each table whose originals are all there. Needs pandas 3.1 or later, as older ones round numbers.

What could be checked, and what not. The originals were not at hand. The recoding was inferred from
the CSV files and from the documented layout of the originals; numbers of rows, class frequencies
and, for white wines and sentences, the first rows of public copies agree with it, and heart, wines
and sentences come out byte by byte when they are written back into the originals' layout first.
That the true originals do so as well could not be tested, which is why each file is compared with
its published checksum, and those that differ are named. Two traits of the files are reproduced on
purpose: white wines are sorted by falling grade, and numbers of red wines have the last digit that
an older parser gave them (0.074 became 0.07400000000000001).
"""

from __future__ import annotations

import csv
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ilspace.datasets.table_domains import TABLES

if TYPE_CHECKING:
    import pandas as pd

Find = Callable[[str], Path]
"""From the name of an original file to its path."""

HEART_COLUMNS = (
    "age",
    "sex",
    "chest pain",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
    "disease",
)

HEART_CODES: Mapping[str, Mapping[int, str]] = {
    "sex": {0: "f", 1: "m"},
    "chest pain": {1: "typical", 2: "atypical", 3: "non-anginal", 4: "none"},
    "restecg": {0: "normal", 1: "ST-T", 2: "LVH"},
    "slope": {1: "up", 2: "flat", 3: "down"},
    "thal": {3: "normal", 6: "fixed", 7: "reversable"},
}

STUDENTS_LEFT_OUT = (
    "school",
    "address",
    "Mjob",
    "Fjob",
    "reason",
    "guardian",
    "G1",
    "G2",
    "G3",
)


def read_heart(find: Find) -> Iterator[tuple[str, pd.DataFrame]]:
    """Domains of UCI Heart Disease, with codes spelled out.

    Parameters
    ----------
    find : callable
        Finds an original file by its name.

    Yields
    ------
    name : str
        The hospital.
    table : DataFrame
        Its patients; ``?`` is missing, and any grade of disease above 0 is ``sick``.
    """
    import pandas as pd

    for name in ("cleveland", "hungarian", "switzerland", "va"):
        table = pd.read_csv(
            find(f"processed.{name}.data"), header=None, names=[*HEART_COLUMNS], na_values=["?"]
        )
        for column, codes in HEART_CODES.items():
            table[column] = table[column].map(codes)
        table["disease"] = table["disease"].gt(0).map({True: "sick", False: "well"})
        yield name, table


def read_wines(find: Find) -> Iterator[tuple[str, pd.DataFrame]]:
    """Domains of UCI Wine Quality, with grades in three classes.

    Parameters
    ----------
    find : callable
        Finds an original file by its name.

    Yields
    ------
    name : str
        The color.
    table : DataFrame
        Its wines: up to grade 5 ``low``, 6 ``mid``, from 7 on ``high``.
    """
    import pandas as pd

    for name, number in (("red", parse_in_steps), ("white", float)):
        table = pd.read_csv(find(f"winequality-{name}.csv"), sep=";", dtype=str)
        grade = table.pop("quality").astype(int)
        table = table.map(number)
        table["quality"] = grade.map(
            lambda each: "low" if each < 6 else "high" if each > 6 else "mid"
        )
        if name == "white":
            table = table.loc[grade.sort_values(ascending=False, kind="stable").index]
        yield name, table


def parse_in_steps(text: str) -> float:
    """Parse a decimal number by dividing its digits by powers of ten, one after another.

    Each division rounds, so that the last digit may differ from that of ``float(text)``.

    Parameters
    ----------
    text : str
        Digits with at most one point.

    Returns
    -------
    float
        The number.
    """
    found = re.fullmatch(r"(\d*)\.?(\d*)", text)
    if found is None or text == ".":
        raise ValueError(f"A number must be digits with at most one point, got {text!r}")
    number = 0.0
    for digit in found[1] + found[2]:
        number = number * 10 + int(digit)
    places, power = len(found[2]), 10.0
    while places:
        if places % 2:
            number /= power
        places, power = places // 2, power * power
    return number


def read_penguins(find: Find) -> Iterator[tuple[str, pd.DataFrame]]:
    """Domains of palmerpenguins: species, without the birds of unknown sex.

    Parameters
    ----------
    find : callable
        Finds an original file by its name.

    Yields
    ------
    name : str
        The species.
    table : DataFrame
        Its birds.
    """
    import pandas as pd

    birds = pd.read_csv(find("penguins.csv")).dropna(subset="sex")
    for name in ("Adelie", "Chinstrap", "Gentoo"):
        yield name.lower(), birds[birds["species"] == name].drop(columns="species")


def read_cars(find: Find) -> Iterator[tuple[str, pd.DataFrame]]:
    """Domains of ggplot2's `mpg`: model years.

    Parameters
    ----------
    find : callable
        Finds an original file by its name.

    Yields
    ------
    name : str
        The year.
    table : DataFrame
        Its cars.
    """
    import pandas as pd

    cars = pd.read_csv(find("mpg.csv"))
    for year in (1999, 2008):
        yield str(year), cars[cars["year"] == year].drop(columns="year")


def read_students(find: Find) -> Iterator[tuple[str, pd.DataFrame]]:
    """Domains of UCI Student Performance, mathematics: where students live.

    Parameters
    ----------
    find : callable
        Finds an original file by its name.

    Yields
    ------
    name : str
        Town or country.
    table : DataFrame
        Its students, who passed with a final grade of 10 or more; grades, school, and the columns
        of many categories are left out.
    """
    import pandas as pd

    students = pd.read_csv(find("student-mat.csv"), sep=";")
    students["passed"] = students["G3"].ge(10).map({True: "yes", False: "no"})
    for name, code in (("town", "U"), ("country", "R")):
        yield name, students[students["address"] == code].drop(columns=[*STUDENTS_LEFT_OUT])


def read_sentences(find: Find) -> Iterator[tuple[str, pd.DataFrame]]:
    """Domains of UCI Sentiment Labelled Sentences: the sites.

    Parameters
    ----------
    find : callable
        Finds an original file by its name.

    Yields
    ------
    name : str
        The site.
    table : DataFrame
        Its sentences.
    """
    import pandas as pd

    words = {"0": "negative", "1": "positive"}
    for name, file in (("amazon", "amazon_cells"), ("imdb", "imdb"), ("yelp", "yelp")):
        # not splitlines: some sentences hold U+0085, which is a line break to Python
        lines = find(f"{file}_labelled.txt").read_bytes().decode().split("\n")
        pairs = [line.rstrip("\r").rpartition("\t") for line in lines if line.strip()]
        rows = [(text.strip(" "), words[label.strip()]) for text, _, label in pairs]
        yield name, pd.DataFrame(rows, columns=["sentence", "sentiment"])


READERS: Mapping[str, Callable[[Find], Iterator[tuple[str, pd.DataFrame]]]] = {
    "heart": read_heart,
    "wine_quality": read_wines,
    "penguins": read_penguins,
    "cars": read_cars,
    "students": read_students,
    "sentences": read_sentences,
}
"""Readers of the originals, by the name of the table."""


def make_tables(originals: Path, root: Path) -> Iterator[str]:
    """Make all tables whose originals are there.

    Parameters
    ----------
    originals : Path
        Folder of the original files, searched with all folders below.
    root : Path
        Data root; files go to ``tables/NAME/DOMAIN.csv`` below it.

    Yields
    ------
    str
        What was made of each file, or which original is missing.
    """

    def find(name: str) -> Path:
        found = sorted(originals.rglob(name))
        if not found:
            raise FileNotFoundError(name)
        return found[0]

    for name, read in READERS.items():
        try:
            tables = dict(read(find))
        except FileNotFoundError as error:
            yield f"{name}: not made, for there is no {error} below {originals}"
            continue
        for domain, table in tables.items():
            path, sha256 = TABLES[name]["files"][domain]
            content = table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode())
            is_same = hashlib.sha256(content.encode()).hexdigest() == sha256
            yield f"{path}: {'as published' if is_same else 'differs from the published file'}"


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str
        The folder of the originals, and the data root.

    Returns
    -------
    int
        Exit code: 0 if all tables were made as published, 1 if not, 2 for other arguments.
    """
    if len(arguments) != 2:
        sys.stderr.write("python -m ilspace.datasets.make_tables ORIGINALS ROOT\n")
        return 2
    are_same = True
    for line in make_tables(Path(arguments[0]), Path(arguments[1])):
        sys.stdout.write(f"{line}\n")
        are_same &= line.endswith(": as published")
    return 0 if are_same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
