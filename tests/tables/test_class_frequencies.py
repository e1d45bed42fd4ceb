"""Class frequencies as they are written on a command line and in files."""

import pytest

from ilspace.tables import TableError
from ilspace.tables.labels import read_class_frequencies


@pytest.mark.parametrize("word", ["auto", "source"])
def test_words(word):
    assert read_class_frequencies(word) == word


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sick=0.3,well=0.7", {"sick": 0.3, "well": 0.7}),
        (" sick = 0.3 , well = .7 ,", {"sick": 0.3, "well": 0.7}),
        ("a=b=0.3,c=0.7", {"a=b": 0.3, "c": 0.7}),
        ("a, b=0.3,c=0.7", {"a, b": 0.3, "c": 0.7}),
        ("a=b, c=d=0.3,e=0.7", {"a=b, c=d": 0.3, "e": 0.7}),
        ("auto=1,source=0", {"auto": 1, "source": 0}),
        ("1=3e-1,2=0.7", {"1": 0.3, "2": 0.7}),
        (",".join(f"class {i}=0.01" for i in range(100)), {f"class {i}": 0.01 for i in range(100)}),
    ],
    ids=["plain", "spaces", "sign", "comma", "both", "words", "numbers", "many"],
)
def test_names_and_shares(text, wanted):
    assert read_class_frequencies(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "sick,0.3\nwell,0.7\n",
        "sick=0.3\nwell=0.7",
        "class,share\nsick,0.3\n\nwell,0.7\n",
        '\ufeff"class","share"\r\n"sick",0.3\r\n"well",0.7\r\n',
    ],
    ids=["commas", "signs", "header", "spreadsheet"],
)
def test_files(tmp_path, text):
    path = tmp_path / "shares.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_class_frequencies(str(path)) == {"sick": 0.3, "well": 0.7}


def test_odd_names_in_files(tmp_path):
    path = tmp_path / "a=b.csv"  # a file, although there is a sign in its name
    path.write_text('x=1,0.25\n"a, ""b""",0.25\nc, d=0.25\nélan, 0.25\n', encoding="utf-8")
    wanted = {"x=1": 0.25, 'a, "b"': 0.25, "c, d": 0.25, "élan": 0.25}
    assert read_class_frequencies(str(path)) == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing.csv", "'nothing.csv' is none of these"),
        ("", "'' is none of these"),
        ("sick=many", "that of 'sick' is 'many'"),
        ("sick=30,well=70", "a number from 0 to 1, but that of 'sick' is '30'"),
        ("sick=-0.1,well=1.1", "that of 'sick' is '-0.1'"),
        ("sick=nan,well=1", "that of 'sick' is 'nan'"),
        ("sick=0.5,sick=0.5", "'sick' is twice"),
    ],
)
def test_refused_in_one_sentence(text, said):
    with pytest.raises(TableError, match=said):
        read_class_frequencies(text)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"class,share\n", "is empty"),
        (b"sick=many\nwell=0.7\n", "that of 'sick' is 'many'"),
        (b"class,share\nsick,0.3\nwell\n", "that of '' is 'well'"),
        ("élan=1".encode("latin-1"), "must be UTF-8"),
    ],
)
def test_files_that_will_not_do(tmp_path, content, said):
    path = tmp_path / "shares.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=said):
        read_class_frequencies(str(path))
