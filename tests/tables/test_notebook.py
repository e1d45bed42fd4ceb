"""What a notebook shows of a job."""

import re

from tables.small_tables import small_tables

from ilspace import ILSClassifier
from ilspace.tables import Adaptation, Verdict, adapt_files
from ilspace.tables.verdict import Word

HOSTILE = "<script>alert(1)</script>"


def test_a_job_shows_its_verdict_and_some_labels(tmp_path):
    tables = small_tables()
    tables.source.to_csv(tmp_path / "old.csv", index=False)
    tables.labelled(12).to_csv(tmp_path / "new.csv", index=False)
    found = adapt_files(tmp_path / "old.csv", tmp_path / "new.csv", label="class", method="linear")
    assert isinstance(found, Adaptation)
    shown = found._repr_html_()
    assert f"<strong>{found.diagnosis.verdict.sentence}</strong>" in shown
    assert len(re.findall("<th>[0-4]</th>", shown)) == 5
    assert "<td>NaN</td>" not in shown
    assert repr(found).startswith(f"<Adaptation: {found.diagnosis.verdict.sentence} Trusted")
    assert len(repr(found)) < 200


def test_a_verdict_escapes_what_the_data_hold():
    verdict = Verdict(
        Word.ADAPTED, HOSTILE, HOSTILE, "target labels", 12, {HOSTILE: 0.5}, {}, {}, 0.9, None
    )
    shown = verdict._repr_html_()
    assert "<script>" not in shown
    assert "50%" in shown
    assert "12 labelled target rows" in shown


def test_a_verdict_without_labels_has_no_table():
    verdict = Verdict(Word.ADAPTED, "Use these.", "So.", "agreement", 0, {}, {}, {}, None, None)
    assert "<table>" not in verdict._repr_html_()


def test_an_estimator_is_shown_as_scikit_learn_shows_its_own():
    clf = ILSClassifier(n_components=3)
    assert "ILSClassifier" in clf._repr_html_()
    assert "n_components" in clf._repr_html_()
