"""Run as a script: damage saved classifiers of tables; `storage.fuzz` has the damage."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from storage import fuzz


def use(model):
    """Ask a classifier of tables all that it can answer."""
    classes = set(model.classes_.tolist())
    for domain, columns in (("source", model.plan_.source), ("target", model.plan_.target)):
        table = pd.DataFrame(
            {
                each.name: (getattr(each, "categories", ()) * 4)[:4] or np.linspace(-1, 1, 4)
                for each in columns
            }
        )
        assert set(model.predict(table, domain).tolist()) <= classes
        assert model.predict_proba(table, domain).shape == (4, len(classes))
    labelled = model.label_rows(table)
    assert set(labelled["label"].tolist()) <= classes
    assert labelled["trusted"].dtype == bool
    repr(model)


if __name__ == "__main__":
    fuzz.use = use
    fuzz.main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
