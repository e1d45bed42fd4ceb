"""What asv times and weighs at each commit, on the problems of the other scripts here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kernel import rows_and_metric  # noqa: E402
from problem import surf_like_problem  # noqa: E402

from ilspace import ILSClassifier, ILSTransformer  # noqa: E402
from ilspace.objective import SmoothHinge  # noqa: E402
from ilspace.pairs import all_pairs  # noqa: E402


class Fit:
    """One fit of random rows of the shape of Amazon → Caltech."""

    timeout = 300

    def setup(self):
        self.given = surf_like_problem().given

    def time_latent_space(self):
        ILSTransformer(random_state=0).fit(*self.given)

    def time_without_self_training(self):
        ILSClassifier(self_training=0, random_state=0).fit(*self.given)

    def time_defaults(self):
        ILSClassifier(random_state=0).fit(*self.given)

    def peakmem_defaults(self):
        ILSClassifier(random_state=0).fit(*self.given)

    def track_iterations(self):
        return ILSTransformer(random_state=0).fit(*self.given).n_iter_


class Predict:
    """Rows that were not seen."""

    def setup(self):
        X, y, Xt, yt = surf_like_problem().given
        self.rows = np.tile(Xt, (5, 1))
        self.clf = ILSClassifier(self_training=0, random_state=0).fit(X, y, Xt, yt)

    def time_predict(self):
        self.clf.predict(self.rows)

    def time_transform(self):
        self.clf.transform(self.rows)


class Pairs:
    """Value and gradient of the loss of all pairs."""

    params = (500, 3_000)
    param_names = ("rows",)

    def setup(self, n):
        codes, self.rows, self.metric, _ = rows_and_metric(n, 20, "cpu")
        self.engine, self.hinge = all_pairs(codes, reference=self.rows), SmoothHinge(0.7)

    def time_value_and_gradient(self, n):
        self.engine.sum(self.hinge, self.rows, self.metric)


class CommandLine:
    """What a user waits for before anything happens."""

    def time_help(self):
        subprocess.run([sys.executable, "-m", "ilspace.cli", "--help"], capture_output=True)

    def time_import(self):
        subprocess.run([sys.executable, "-c", "from ilspace import ILSClassifier"], check=True)
