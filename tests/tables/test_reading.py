"""Files of four formats, in many dialects; and what is no table."""

import csv
import datetime
import decimal
import gzip
import io
import random
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from ilspace.datasets import DataCorrupt, load_domain
from ilspace.tables import TableError, read_chunks, read_table

# -- text ----------------------------------------------------------------------------------------

SEPARATOR = re.compile(r"[,;|\t]")
TEXTS = st.text(st.sampled_from(list("aé中 ,;\t|\"'.0NA-\n\x0b\u2028")), max_size=6)
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False) | st.none()
ROWS = st.lists(st.tuples(TEXTS, NUMBERS, TEXTS, st.integers(-99, 99)), min_size=1, max_size=8)
NAMES = st.tuples(TEXTS, TEXTS, TEXTS, TEXTS).map(
    # a separator of another kind in each name could be the true one
    lambda names: [f"n{i}{SEPARATOR.sub('', each)}x" for i, each in enumerate(names)]
)


def written(names, rows, *, separator, quoting, ending, decimal_comma):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=ending)
    writer.writerow(names)
    for first, number, second, count in rows:
        digits = "" if number is None else repr(number)
        digits = digits.replace(".", ",") if decimal_comma else digits
        writer.writerow([first, digits, second, count])
    return text.getvalue().encode()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("reading") / "table"


@settings(max_examples=60, deadline=None)
@given(
    names=NAMES,
    rows=ROWS,
    separator=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    ending=st.sampled_from(["\n", "\r\n"]),
    decimal_comma=st.booleans(),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    pack=st.sampled_from([bytes, gzip.compress]),
)
def test_any_dialect_comes_back_as_it_was_meant(
    path, names, rows, separator, quoting, ending, decimal_comma, mark, pack
):
    decimal_comma &= separator != ","
    dialect = {"separator": separator, "quoting": quoting, "ending": ending}
    content = written(names, rows, **dialect, decimal_comma=decimal_comma)
    path.write_bytes(pack(mark + content))
    table = read_table(path, string_columns=[names[0]], label=names[2])
    assert list(table.columns) == names
    assert table[names[0]].tolist() == [first.strip() for first, *_ in rows]
    assert table[names[2]].tolist() == [second.strip() for _, _, second, _ in rows]
    assert table[names[3]].tolist() == [count for *_, count in rows]
    wanted = [np.nan if number is None else number for _, number, *_ in rows]
    np.testing.assert_array_equal(table[names[1]].astype(float), wanted)


@pytest.mark.parametrize("text", ["NA", "None", "1.0", "nan", "007", "1e5", "True", "?", "null"])
def test_labels_and_identifiers_are_verbatim(path, text):
    path.write_text(f"name,class,x\n{text},{text},1\nb,c,2\n")
    table = read_table(path, string_columns=["name"], label="class")
    assert table["name"].tolist() == [text, "b"]
    assert table["class"].tolist() == [text, "c"]


def test_zeros_before_a_number_make_it_a_text(path):
    path.write_text("zip,x\n01234,0\n99999,0.5\n")
    table = read_table(path)
    assert table["zip"].tolist() == ["01234", "99999"]
    assert table["x"].tolist() == [0, 0.5]


def test_what_is_called_an_identifier_stays_as_written_to_the_last_row(path):
    ids = [str(10_000 + i) for i in range(1000)] + ["00123", "9" * 30, ""]
    path.write_text("sample_id,x\n" + "".join(f"{each},1\n" for each in ids))
    table = read_table(path)
    assert table["sample_id"].fillna("").tolist() == ids


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        (["1", "2", "1"], [1, 2, 1]),  # of several rows: counts, not names
        (["0.5", "2", "3"], [0.5, 2, 3]),  # fractions: measured
        (["1", "", ""], [1, np.nan, np.nan]),
    ],
)
def test_numbers_that_identify_nothing_are_numbers(path, entries, wanted):
    path.write_text("key,x\n" + "".join(f"{each},1\n" for each in entries))
    np.testing.assert_array_equal(read_table(path)["key"], wanted)


def test_gaps_are_gaps_however_they_are_written(path):
    missing = ["", "NA", "NaN", "nan", "?", "None", "null", "N/A", " "]
    path.write_text("x,y\n1.5,a\n" + "".join(f"{each},a\n" for each in missing))
    column = read_table(path)["x"]
    assert column.dtype == float
    assert column.isna().tolist() == [False] + [True] * len(missing)


def test_separators_within_quoted_names_do_not_count(path):
    path.write_text('"a,b";"c,d,e"\n1;2\n')
    assert list(read_table(path).columns) == ["a,b", "c,d,e"]


def test_row_numbers_without_a_name_and_separators_at_the_end(path):
    path.write_text(",a,b,\n0,1,2,\n1,3,4,\n")
    table = read_table(path)
    assert list(table.columns) == ["Unnamed: 0", "a", "b", "Unnamed: 3"]
    assert table["b"].tolist() == [2, 4]


def test_spaces_around_names_and_entries(path):
    path.write_text("id , x ,  class\n 7 , 1.5 , cat \n")
    table = read_table(path, string_columns=["id"], label="class")
    assert table.to_dict("list") == {"id": ["7"], "x": [1.5], "class": ["cat"]}


def test_a_file_longer_than_the_sample_is_read_to_its_end(path):
    path.write_text("x,é\n" + "1.25,ü\n" * 200_000, encoding="utf-8")  # 1.8 MB
    table = read_table(path)
    assert len(table) == 200_000
    assert (table["é"] == "ü").all()


@pytest.mark.parametrize(("n_columns", "pad"), [(12_000, 10), (2000, 600)])
def test_wide_lines(path, n_columns, pad):
    # a line longer than the csv module's largest field; a header longer than the sample
    names = [f"c{i:0{pad}d}" for i in range(n_columns)]
    rows = np.arange(2 * n_columns).reshape(2, n_columns)
    lines = [f"class,{','.join(names)},name"]
    lines += [
        f"{label},{','.join(map(str, row))},7" for label, row in zip(("NA", ""), rows, strict=True)
    ]
    path.write_text("\n".join(lines).replace(",3,", ",?,", 1))
    assert len(lines[0]) > (131_072 if pad < 600 else 2**20)
    for n_rows in (None, 1):
        blocks = read_chunks(path, string_columns=["name"], label="class", n_rows=n_rows)
        table = pd.concat(blocks, ignore_index=True)
        assert table.columns.tolist() == ["class", *names, "name"]
        assert table["class"].tolist() == ["NA", ""]
        assert table["name"].tolist() == ["7", "7"]
        read = table[names].to_numpy(float)
        assert np.isnan(read[0, 3])
        read[0, 3] = 3
        np.testing.assert_array_equal(read, rows)


# -- binary formats ------------------------------------------------------------------------------


def test_parquet_types(path):
    day = datetime.date(2024, 5, 1)
    table = pa.table(
        {
            "class": pa.array([3, None, 12], pa.int64()),
            " x ": pa.array([1, 2, 3], pa.float32()),
            "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2")]),
            "day": pa.array([day, None, day]),
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
            "is": pa.array([True, None, False]),
        }
    )
    pq.write_table(table, path)
    read = read_table(path, label="class")
    assert read["class"].tolist() == ["3", "", "12"]
    assert read["x"].tolist() == [1, 2, 3]
    assert read["day"].dtype.kind == "M"
    assert read["kind"].tolist() == ["a", "b", "a"]
    assert [float(each) for each in read["price"].dropna()] == [1.5, 2.0]


def test_an_index_that_pandas_made_of_a_column_is_a_column(path):
    frame = pd.DataFrame({"name": ["x7", "x8"], "x": [1.0, 2.0]})
    frame.set_index("name").to_parquet(path)
    assert read_table(path)["name"].tolist() == ["x7", "x8"]
    frame[::-1].to_parquet(path)  # an index without a name means nothing
    assert set(read_table(path).columns) == {"name", "x"}


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    frame = pd.DataFrame({"x": np.arange(10.0), "kind": list("ababababab")})
    (tmp_path / "deep").mkdir()
    frame[:4].to_parquet(tmp_path / "a.parquet")
    frame[4:].to_parquet(tmp_path / "deep" / "b.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path), frame)
    assert [len(each) for each in read_chunks(tmp_path, n_rows=3)] == [3, 1, 3, 3]


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed, scipy.io.savemat])
@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (np.array([3.0, 1.0]), ["3", "1"]),
        (np.array(["dog", "élan"]), ["dog", "élan"]),
        (np.array([[2], [7]], dtype=np.uint8), ["2", "7"]),
    ],
)
def test_arrays(path, write, labels, wanted):
    X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with open(path, "wb") as stream:
        if write is scipy.io.savemat:
            write(stream, {"fts": X, "labels": labels})
        else:
            write(stream, X=X, y=labels)
    table = read_table(path, string_columns=["id"], label="class")
    assert table["class"].tolist() == wanted
    np.testing.assert_array_equal(table[["x0", "x1", "x2"]], X)
    assert list(read_table(path, string_columns=["id"]).columns) == ["x0", "x1", "x2"]


def test_texts_in_cells_of_a_mat_file(path):
    cells = np.array(["cat", "Hündin"], dtype=object)
    with open(path, "wb") as stream:
        scipy.io.savemat(stream, {"fts": np.eye(2), "labels": cells})
    assert read_table(path, label="class")["class"].tolist() == ["cat", "Hündin"]


# -- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "gz", "parquet", "npz"])
@pytest.mark.parametrize("n_rows", [1, 7, 23, 1000])
def test_blocks_are_the_whole(path, kind, n_rows):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(23, 3)), columns=["x0", "x1", "x2"])
    if kind == "parquet":
        frame.to_parquet(path, row_group_size=5)
    elif kind == "npz":
        with open(path, "wb") as stream:
            np.savez(stream, X=frame.to_numpy())
    else:
        frame.to_csv(path, index=False, compression="gzip" if kind == "gz" else None)
    blocks = list(read_chunks(path, n_rows=n_rows))
    assert max(map(len, blocks)) <= n_rows
    again = pd.concat(blocks, ignore_index=True)
    np.testing.assert_array_equal(again, frame)
    pd.testing.assert_frame_equal(read_table(path), again)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_standard_input(path, kind, monkeypatch):
    frame = pd.DataFrame({"x0": [1.5, 2.5], "x1": [3.0, 4.0]})
    if kind == "npz":
        with open(path, "wb") as stream:
            np.savez(stream, X=frame.to_numpy())
    else:
        getattr(frame, f"to_{kind}")(path, index=False)
    with open(path, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        pd.testing.assert_frame_equal(read_table("-"), frame, check_dtype=False)


# -- what is no table ----------------------------------------------------------------------------

BAD = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "empty line"),
    "names only": (b"a,b\n", "must have rows"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary data"),
    "latin-1": ("naïve,b\n1,2\n".encode("latin-1"), "byte 0xef"),
    "latin-1 late": (b"a,b\n" + b"1,2\n" * 300_000 + b"\xe9,2\n", "byte 0xe9"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    "no names": (b"1.5,2\n3,4\n", "begins with numbers"),
    "same names": (b"a,b,a\n1,2,3\n", "'a' occurs 2 times"),
    "long line": (b"a,b\n1,2\n1,2,3\n", "line 3"),
    "long first line": (b"a,b\n1,2,3\n", "2 names and 3 entries"),
    "open quote": (b'a,b\n1,2\n"1,2\n', "mend"),
    "cut gzip": (gzip.compress(random.Random(0).randbytes(999).hex().encode())[:200], "intact"),
    "broken gzip": (b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 99, "intact"),
    "cut parquet": (b"PAR1\0\0\0\0", "intact"),
    "cut zip": (b"PK\x03\x04\0\0\0\0", "intact"),
    "cut mat": (b"MATLAB 5.0 MAT-file" + b"\0" * 200, "intact|must hold its rows"),
    "mat 7.3": (b"MATLAB 7.3 MAT-file" + b" " * 105 + b"\x00\x02IM" + b"\0" * 99, "intact"),
    "long field": (b'a,"b' + b"x" * 200_000, "must have rows"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.filterwarnings("ignore::UserWarning")  # SciPy's, of a MAT file without a header
def test_refused_in_one_sentence(path, name):
    content, said = BAD[name]
    path.write_bytes(content)
    for n_rows in (None, 100_000):
        with pytest.raises(TableError, match=said) as caught:
            list(read_chunks(path, n_rows=n_rows))
        message = str(caught.value)
        assert "\n" not in message
        assert message.endswith(".")
        assert str(path) in message


def save_npz(path, **arrays):
    with open(path, "wb") as stream:
        np.savez(stream, **arrays)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"a": np.eye(2)}, "must hold its rows under"),
        ({"X": np.eye(2)[0]}, "2-d array"),
        ({"X": np.array([["a", "b"]])}, "2-d array"),
        ({"X": np.array([[object()]], dtype=object)}, "cannot be read"),  # no pickles
        ({"X": np.eye(2), "y": np.arange(3)}, "an entry for each"),
        ({"X": np.zeros((0, 3))}, "must have rows"),
    ],
)
def test_arrays_that_are_no_table(path, arrays, said):
    save_npz(path, **arrays)
    with pytest.raises(TableError, match=said):
        read_table(path, label="class")


def test_lists_in_a_cell_are_refused(path):
    pq.write_table(pa.table({"x": [1.0], "embedding": [[1.0, 2.0]]}), path)
    with pytest.raises(TableError, match="'embedding'.* list"):
        read_table(path)


def test_parquet_with_one_name_twice(path):
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    with pytest.raises(TableError, match="'a' occurs 2 times"):
        read_table(path)


def test_no_file_and_no_parquet(tmp_path):
    with pytest.raises(TableError, match="there is none"):
        read_table(tmp_path / "nothing")
    with pytest.raises(TableError, match="must hold Parquet"):
        read_table(tmp_path)


def good_files():
    frame = pd.DataFrame({"x0": [1.5, 2.5], "x1": ["a", "b"], "n": [1, 2]})
    parquet, npz = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    np.savez(npz, X=np.eye(3), y=np.arange(3))
    text = frame.to_csv(index=False).encode() * 3
    return {
        "csv": text,
        "gz": gzip.compress(text),
        "parquet": parquet.getvalue(),
        "npz": npz.getvalue(),
    }


@pytest.mark.parametrize("kind", ["csv", "gz", "parquet", "npz"])  # SciPy crashes on MAT
@pytest.mark.filterwarnings("ignore")  # what libraries say of broken files is not the point
def test_damaged_files_are_read_or_refused(path, kind):
    rng = random.Random(0)
    good = good_files()[kind]
    messages = []
    for _ in range(60):
        content = bytearray(good)
        for _ in range(rng.choice([1, 2, 8])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
        try:
            table = read_table(path, label="class")
        except TableError as error:
            messages.append(str(error))
        else:
            assert len(table) > 0
    assert len(messages) > 5
    assert not any("\n" in each for each in messages)


def test_one_comma_does_not_make_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;note\n1.5;2.5;1,2\n3.5;4.5;x\n")
    assert read_table(path)["a"].tolist() == [1.5, 3.5]
    path.write_text("a;b;note\n1,5;2,5;1.x\n3,5;4,5;x\n")
    assert read_table(path)["b"].tolist() == [2.5, 4.5]


BOOK = pd.DataFrame(
    {
        "id": ["007", "010", "x"],
        "grade": [3, None, 1],
        "size": [1.5, 2.0, None],
        "when": pd.to_datetime(["2024-05-03 08:00", None, "2024-05-04 10:00"]),
        "good": [True, False, True],
        "note": ["a b", "NA", " "],
    }
)


def test_the_first_sheet_of_a_workbook_is_read_as_a_text_file_is(tmp_path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "t.xlsx", engine="openpyxl") as book:
        # titles of Excel users do not begin in the first cell
        BOOK.to_excel(book, sheet_name="rows", index=False, startrow=2, startcol=1)
        pd.DataFrame({"other": [1]}).to_excel(book, sheet_name="more")
    BOOK.to_csv(tmp_path / "t.csv", index=False)
    one, other = (
        read_table(tmp_path / each, string_columns=["id"], label="grade")
        for each in ("t.xlsx", "t.csv")
    )
    assert list(one.columns) == list(other.columns)
    assert one["grade"].tolist() == ["3", "", "1"]
    for name in ("id", "size", "good"):
        assert one[name].dropna().tolist() == other[name].dropna().tolist()
    assert pd.api.types.is_datetime64_any_dtype(one["when"])
    for table in (one, other):
        assert table["note"].isna().tolist() == [False, True, True]
    assert one["size"].dtype == float
    blocks = list(read_chunks(tmp_path / "t.xlsx", n_rows=2))
    assert [len(each) for each in blocks] == [2, 1]


def test_odd_workbooks_are_refused(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    pd.DataFrame().to_excel(path, index=False)
    with pytest.raises(TableError, match="first sheet"):
        read_table(path)
    pd.DataFrame([["a", "a"], [1, 2]]).to_excel(path, index=False, header=False)
    with pytest.raises(TableError, match="'a' occurs 2 times"):
        read_table(path)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
    with pytest.raises(TableError, match="cannot be read"):
        read_table(path)


def test_without_openpyxl_it_is_said_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match=r"ilspace\[excel\].*or save it as CSV"):
        read_table(path)


def damaged_mat(path):
    """A MAT file whose sparse matrix claims more entries than it holds: SciPy's reader crashes."""
    with (Path(__file__).parent / "damaged.mat").open("rb") as stream:
        path.write_bytes(stream.read())


def test_a_file_that_crashes_its_reader_is_refused(path):
    damaged_mat(path)
    with pytest.raises(TableError, match=r"cannot be read \(its reader crashed.*intact file\.$"):
        read_table(path)
    with_suffix = path.rename(path.with_suffix(".mat"))
    with pytest.raises(DataCorrupt, match="its reader crashed"):
        load_domain(with_suffix)


def test_an_array_that_claims_terabytes_is_refused(path):
    header = io.BytesIO()
    claimed = {"descr": "<f8", "fortran_order": False, "shape": (10**13, 30)}
    np.lib.format.write_array_header_2_0(header, claimed)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue() + b"\0" * 800)
    with pytest.raises(TableError, match=r"must fit into memory, but does not: .*\.$"):
        read_table(path)


@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_of_a_mat_file_come_back(path, compressed):
    labels = np.array(["ant", "bee", "élan"], dtype=object)[:, None]
    content = {"X": np.arange(6.0).reshape(3, 2), "y": labels, "file": np.eye(2), "s": {"a": 1}}
    with path.open("wb") as stream:
        scipy.io.savemat(stream, content, do_compression=compressed)
    table = read_table(path, label="class")
    assert table["class"].tolist() == ["ant", "bee", "élan"]
    np.testing.assert_array_equal(table[["x0", "x1"]], content["X"])


HEADLESS = {
    "census": "39,State-gov,77516\n50,Private,83311\n38,State-gov,215646\n",
    "flowers": "5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,2.9,virginica\n",
    "missing": "39,?,a\n50,7,b\n38,8,a\n",
    "mushrooms": "p,x,s,n\n" * 3 + "e,x,y,n\n" * 3,
}
WITH_HEADER = {
    "years": "country,2019,2020\nA,1,2\nB,2,3\n",
    "wavelengths": "400.5,401.5,class\n1,2,a\n3,4,b\n",
    "named as an entry": "a,b\na,c\nd,b\n",
    "words": "colour,size\nred,1\nblue,2\n",
    "one row": "a,1\nb,2\n",
}


@pytest.mark.parametrize("name", HEADLESS)
def test_a_missing_header_is_said_to_be(path, name):
    path.write_text(HEADLESS[name])
    with pytest.raises(TableError, match=r"the header seems missing: .*: add a line of names\.$"):
        read_table(path)


@pytest.mark.parametrize("name", WITH_HEADER)
def test_odd_headers_are_headers(path, name):
    path.write_text(WITH_HEADER[name])
    assert list(read_table(path)) == WITH_HEADER[name].partition("\n")[0].split(",")
