"""Rows as they are shown."""

import numpy as np
import pandas as pd
import pytest

from ilspace.labelling.rows import MOST_CHARACTERS, find_layout, in_words, shown_row


def table(n=6):
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "photo": [f"p/{i}.JPG" if i else None for i in range(n)],
            "remark": ["it was a long day, and nobody had seen the cat since breakfast" * 2] * n,
            "note": ["short"] * n,
            "size": [1.23456789, 2.0, np.nan, 1e-9, 1e12, -3.0],
            "n": range(n),
        }
    )


def test_pictures_texts_and_identifiers_are_told_apart():
    layout = find_layout(table(), ids=("key",), text=())
    assert layout.ids == ("key",)
    assert layout.pictures == ("photo",)
    assert layout.texts == ("remark",)
    assert layout.others == ("note", "size", "n")
    named = find_layout(table(), ids=("key", "gone"), text=("note",))
    assert set(named.texts) == {"note", "remark"}


def test_a_row_has_each_column_once():
    layout = find_layout(table(), ids=("key",), text=())
    row = shown_row(table(), 0, layout)
    assert row["row"] == 1
    assert row["pictures"] == []  # none for this row
    assert shown_row(table(), 1, layout)["pictures"] == [["photo", "p/1.JPG"]]
    assert row["columns"] == [["note", "short"], ["size", "1.23457"], ["n", "0"]]
    wide = pd.DataFrame(np.zeros((2, 500))).add_prefix("x")
    shown = shown_row(wide, 0, find_layout(wide, ids=(), text=()))
    assert (len(shown["columns"]), shown["hidden"]) == (300, 200)


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, ""), (np.nan, ""), (pd.NaT, ""), (np.float32(0.5), "0.5"), (2.0, "2"), (True, "True")]
    + [(10**20, str(10**20)), ("<b>", "<b>"), (pd.Timestamp("2026-01-02"), "2026-01-02 00:00:00")],
)
def test_entries_in_words(value, words):
    assert in_words(value) == words


def test_very_long_entries_are_cut():
    assert len(in_words("x" * 10**6)) == MOST_CHARACTERS + 2


def test_whole_numbers_stay_whole():
    rows = pd.DataFrame({"id": [20231115, 20231116], "x": [0.5, 1.5]})
    found = [shown_row(rows, i, find_layout(rows, ids=("id",), text=()))["ids"] for i in (0, 1)]
    assert found == [[["id", "20231115"]], [["id", "20231116"]]]
