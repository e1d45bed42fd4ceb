"""The labels of two tables, as files have them."""

import numpy as np
import pytest
from tables.small_tables import small_tables

from ilspace.tables import TableError, read_table
from ilspace.tables.labels import take_source_labels, take_target_labels

TABLES = small_tables()


def target_codes(folder, classes, entries):
    """What comes of labels that a target has on disk."""
    path = folder / "target.csv"
    TABLES.target.assign(**{"class": entries}).to_csv(path, index=False)
    table = read_table(path, label="class")
    rows, codes = take_target_labels(table, "class", classes=np.unique(classes))
    assert "class" not in rows
    return codes.tolist()


def test_labels_with_decimals_as_pandas_writes_them(tmp_path):
    some = np.where(np.arange(24) < 6, np.arange(24) % 3, np.nan)  # 0.0, 1.0, …
    assert target_codes(tmp_path, ["0", "1", "2"], some) == [0, 1, 2, 0, 1, 2] + [-1] * 18
    assert target_codes(tmp_path, ["0", "0.0"], some * 0)[0] == 1


@pytest.mark.parametrize("marker", ["", "NA", "nan", "?", "-1", "-1.0", "null", "none"])
def test_markers_of_rows_without_a_label(tmp_path, marker):
    assert target_codes(tmp_path, ["a", "b"], ["b"] + [marker] * 23) == [1] + [-1] * 23
    if marker not in ("", "NA"):  # a class may be called so
        assert target_codes(tmp_path, ["a", marker], ["a"] + [marker] * 23).count(-1) == 0


def test_a_target_without_the_column_has_no_labels():
    rows, codes = take_target_labels(TABLES.target, "class", classes=np.array(["a", "b"]))
    assert rows is TABLES.target
    assert codes.tolist() == [-1] * 24


def test_labels_that_are_no_class_of_the_source_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"classes of the source \(a, b\), but 'wasp' is not"):
        target_codes(tmp_path, ["a", "b"], ["wasp"] + ["a"] * 23)


def test_missing_labels_of_the_source(tmp_path):
    codes = target_codes(tmp_path, ["None", "x"], ["NA", "None", "x"] + ["nan"] * 21)
    assert codes == [-1, 0, 1] + [-1] * 21
    path = tmp_path / "source.csv"
    path.write_text("x,class\n1,NA\n2,None\n3,\n4,b\n")
    notes = []
    read = read_table(path, label="class")
    table, y = take_source_labels(read, "class", name="it", notes=notes)
    assert y.tolist() == ["None", "b"]
    assert table["x"].tolist() == [2, 4]  # a row without a label is of no use
    assert notes == ["Without a label ('NA'), and left out: 2 rows of it."]


def test_identifiers_in_place_of_labels_are_wondered_at(tmp_path):
    path = tmp_path / "source.csv"
    path.write_text("x,name\n" + "".join(f"1,n{i // 3 if i < 6 else i}\n" for i in range(12)))
    notes = []
    take_source_labels(read_table(path, label="name"), "name", name="it", notes=notes)
    assert notes == ["Most rows of it are a class of their own: is 'name' the column of labels?"]


def test_whole_labels_of_a_source_with_missing_ones(tmp_path):
    path = tmp_path / "source.csv"
    path.write_text("x,class\n1,0.0\n2,1.0\n3,\n")
    _, y = take_source_labels(read_table(path, label="class"), "class", name="it")
    assert y.tolist() == ["0", "1"]


def test_one_class_is_too_few():
    table = TABLES.source.assign(**{"class": "ant"})
    with pytest.raises(TableError, match="two classes or more, but holds one, 'ant'"):
        take_source_labels(table, "class", name="it")
    with pytest.raises(TableError, match="two classes or more, but holds none"):
        take_source_labels(table.assign(**{"class": ""}), "class", name="it")


def test_a_name_that_is_nearly_right_is_suggested():
    with pytest.raises(TableError, match="must have the column 'Klass' of labels.*--label 'class'"):
        take_source_labels(TABLES.source, "Klass", name="it")
