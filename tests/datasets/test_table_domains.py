"""Tables of several domains: loaded, missed in one sentence, and made from their originals."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from ilspace.datasets import DataCorrupt, DataMissing, load_table_domains, make_tables
from ilspace.datasets.catalogue import DATA_SETS, fetch
from ilspace.datasets.table_domains import TABLES

SHAPES = {
    "heart": {"cleveland": 303, "hungarian": 294, "switzerland": 123, "va": 200},
    "wine_quality": {"red": 1599, "white": 4898},
    "penguins": {"adelie": 146, "chinstrap": 68, "gentoo": 119},
    "cars": {"1999": 117, "2008": 117},
    "students": {"town": 307, "country": 88},
    "sentences": {"amazon": 1000, "imdb": 1000, "yelp": 1000},
}


@pytest.mark.usefixtures("ilspace_data")
@pytest.mark.parametrize("name", SHAPES)
def test_domains_have_the_same_columns_and_labels_of_strings(name):
    domains = load_table_domains(name)
    assert {each.name: len(each.X) for each in domains.values()} == SHAPES[name]
    first, *others = domains.values()
    for each in others:
        assert list(each.X.columns) == list(first.X.columns)
    for each in domains.values():
        assert TABLES[name]["label"] not in each.X.columns
        assert each.y.shape == (len(each.X),)
        assert {type(label) for label in each.y} == {str}
        assert name in each.provenance


@pytest.mark.usefixtures("ilspace_data")
def test_words_are_not_missing_values_and_codes_are_strings():
    cars = load_table_domains("cars")["1999"]
    assert set(cars.y) == {"4", "f", "r"}
    cleveland = load_table_domains("heart")["cleveland"].X
    assert (cleveland["chest pain"] == "none").sum() == 144
    assert cleveland["ca"].isna().sum() == 4


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("ILSPACE_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "named"


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("heart", "UCI Heart Disease"),
        ("wine_quality", "UCI Wine Quality"),
        ("penguins", "palmerpenguins"),
        ("cars", "ggplot2"),
        ("students", "UCI Student Performance"),
        ("sentences", "UCI Sentiment Labelled Sentences"),
    ],
)
def test_who_lacks_the_files_is_told_of_the_originals_and_the_script(name, origin):
    with pytest.raises(DataMissing) as caught:
        load_table_domains(name)
    message = str(caught.value)
    assert "\n" not in message
    assert origin in message
    assert "python -m ilspace.datasets.make_tables" in message
    data_set = f"tables-{name.replace('_', '-')}"
    assert DATA_SETS[data_set].state() == "missing"
    with pytest.raises(DataMissing, match="make_tables"):
        fetch(data_set)


def test_a_changed_file_is_refused(root):
    path = root / "tables" / "cars" / "1999.csv"
    path.parent.mkdir(parents=True)
    path.write_text("manufacturer,drv\naudi,f\n")
    with pytest.raises(DataCorrupt, match="must have sha256"):
        load_table_domains("cars")
    assert DATA_SETS["tables-cars"].state() == "corrupt"


def test_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="heart, wine_quality"):
        load_table_domains("houses")


# -- from the originals --------------------------------------------------------------------------

ORIGINALS = {
    "heart/processed.cleveland.data": ""
    "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n"
    "67.0,0.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,?,3.0,2\n",
    "heart/processed.hungarian.data": "28,1,2,130,132,0,2,185,0,0,?,?,?,0\n"
    "29,1,3,?,?,0,0,160,0,0,?,?,7,1\n",
    "heart/processed.switzerland.data": "32,1,1,95,0,?,0,127,0,.7,1,?,?,1\n",
    "heart/processed.va.data": "63,1,4,140,260,0,1,112,1,3,2,?,?,2\n",
    "winequality-red.csv": '"fixed acidity";"chlorides";"quality"\n7.4;0.074;5\n7;0.1;6\n',
    "winequality-white.csv": '"fixed acidity";"chlorides";"quality"\n'
    "7;0.074;6\n6;0.1;9\n5;1;6\n4;2;5\n",
    "penguins.csv": "species,island,bill_length_mm,flipper_length_mm,sex,year\n"
    "Adelie,Torgersen,39.1,181,male,2007\nAdelie,Torgersen,NA,NA,NA,2007\n"
    "Gentoo,Biscoe,46.1,211,female,2007\nChinstrap,Dream,46.5,192,female,2007\n",
    "mpg.csv": '"manufacturer","displ","year","drv"\n"audi",1.8,1999,"f"\n"audi",2,2008,"4"\n',
    "student-mat.csv": "school;sex;address;Mjob;Fjob;reason;guardian;absences;G1;G2;G3\n"
    'GP;"F";"U";"at_home";"teacher";"course";"mother";6;"5";"6";6\n'
    'GP;"M";"R";"at_home";"teacher";"course";"mother";0;"9";"9";10\n',
    "amazon_cells_labelled.txt": "Good case, Excellent value.\t1\nSo there is no way\t0\n",
    "imdb_labelled.txt": 'A "slow" film.  \t0\nIt\x85 is one line  \t1\n',
    "yelp_labelled.txt": "Wow... Loved this place.\t1\r\nCrust is not good.\t0\r\n",
}
MADE = {
    "heart/cleveland": "63.0,m,typical,145.0,233.0,1.0,LVH,150.0,0.0,2.3,down,0.0,fixed,well\n"
    "67.0,f,none,160.0,286.0,0.0,LVH,108.0,1.0,1.5,flat,,normal,sick\n",
    "heart/hungarian": "28,m,atypical,130.0,132.0,0,LVH,185,0,0,,,,well\n"
    "29,m,non-anginal,,,0,normal,160,0,0,,,reversable,sick\n",
    "heart/switzerland": "32,m,typical,95,0,,normal,127,0,0.7,up,,,sick\n",
    "heart/va": "63,m,none,140,260,0,ST-T,112,1,3,flat,,,sick\n",
    "wine_quality/red": "7.4,0.07400000000000001,low\n7.0,0.1,mid\n",
    "wine_quality/white": "6.0,0.1,high\n7.0,0.074,mid\n5.0,1.0,mid\n4.0,2.0,low\n",
    "penguins/adelie": "Torgersen,39.1,181.0,male,2007\n",
    "penguins/chinstrap": "Dream,46.5,192.0,female,2007\n",
    "penguins/gentoo": "Biscoe,46.1,211.0,female,2007\n",
    "cars/1999": "audi,1.8,f\n",
    "cars/2008": "audi,2.0,4\n",
    "students/town": "F,6,no\n",
    "students/country": "M,0,yes\n",
    "sentences/amazon": '"Good case, Excellent value.",positive\nSo there is no way,negative\n',
    "sentences/imdb": '"A ""slow"" film.",negative\nIt\x85 is one line,positive\n',
    "sentences/yelp": "Wow... Loved this place.,positive\nCrust is not good.,negative\n",
}


def put(folder, originals):
    for name, text in originals.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def test_originals_become_tables(tmp_path):
    put(tmp_path / "originals", ORIGINALS)
    lines = list(make_tables.make_tables(tmp_path / "originals", tmp_path))
    assert len(lines) == len(MADE)
    assert all(line.endswith("differs from the published file") for line in lines)
    for name, expected in MADE.items():
        content = (tmp_path / "tables" / f"{name}.csv").read_bytes().decode()
        assert content.partition("\n")[2] == expected, name


def test_what_is_missing_is_named(tmp_path, capsys):
    put(tmp_path / "originals", {"mpg.csv": ORIGINALS["mpg.csv"]})
    assert make_tables.main([str(tmp_path / "originals"), str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "heart: not made, for there is no processed.cleveland.data" in said
    assert "tables/cars/1999.csv: differs" in said
    assert make_tables.main([]) == 2


@pytest.mark.parametrize(
    ("text", "number"), [("0.074", 0.07400000000000001), ("7", 7.0), (".5", 0.5)]
)
def test_numbers_of_red_wines(text, number):
    assert make_tables.parse_in_steps(text) == number
    with pytest.raises(ValueError, match="digits"):
        make_tables.parse_in_steps("-1")


def as_original(name: str, domain: str, text: pd.DataFrame) -> tuple[str, str]:
    """Undo the recoding: a file of the original's layout, from strings."""
    numbers = text.map(
        lambda each: f"{float(each):.15g}" if each.replace(".", "").isdigit() else each
    )
    if name == "heart":
        table = (text if domain == "cleveland" else numbers).copy()
        for column, codes in make_tables.HEART_CODES.items():
            table[column] = table[column].map({word: str(code) for code, word in codes.items()})
        table["disease"] = table["disease"].map({"well": "0", "sick": "2"})
        table = table.fillna("?").replace("", "?")
        return f"processed.{domain}.data", table.to_csv(index=False, header=False)
    if name == "wine_quality":
        numbers["quality"] = numbers["quality"].map({"low": "5", "mid": "6", "high": "7"})
        return f"winequality-{domain}.csv", numbers.to_csv(index=False, sep=";")
    file = {"amazon": "amazon_cells"}.get(domain, domain)
    labels = text["sentiment"].map({"negative": "0", "positive": "1"})
    lines = [f"{each}\t{label}\n" for each, label in zip(text["sentence"], labels, strict=True)]
    return f"{file}_labelled.txt", "".join(lines)


@pytest.mark.parametrize("name", ["heart", "wine_quality", "sentences"])
def test_recoding_is_consistent_with_the_published_files(name, ilspace_data, tmp_path):
    """Not a proof: these originals are made up from the files that they should become."""
    for domain, (path, _) in TABLES[name]["files"].items():
        text = pd.read_csv(ilspace_data / path, dtype=str, keep_default_na=False)
        file, content = as_original(name, domain, text)
        put(tmp_path / "originals", {file: content})
    lines = set(make_tables.make_tables(tmp_path / "originals", tmp_path))
    assert {f"{path}: as published" for path, _ in TABLES[name]["files"].values()} <= lines
    for path, sha256 in TABLES[name]["files"].values():
        assert hashlib.sha256((tmp_path / path).read_bytes()).hexdigest() == sha256


def test_loader_keeps_the_order_of_rows(root, monkeypatch):
    path = root / "tables" / "cars" / "1999.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"a,drv\nnone,f\n,4\n")
    files = {"1999": ["tables/cars/1999.csv", hashlib.sha256(path.read_bytes()).hexdigest()]}
    monkeypatch.setitem(TABLES, "cars", TABLES["cars"] | {"files": files})
    domain = load_table_domains("cars")["1999"]
    np.testing.assert_array_equal(domain.y, ["f", "4"])
    assert domain.X["a"].tolist()[0] == "none"
    assert domain.X["a"].isna().tolist() == [False, True]
