"""
Pipelines and grid search
=========================

Both domains travel through scikit-learn's tools as one array, with a second array that says
which row is whose.
"""

# %%
# `sample_domain` is positive for source rows and negative for target rows. The target has six
# labels per class here, which is all that a semi-supervised search can use.

import matplotlib.pyplot as plt
import numpy as np
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.datasets import load_digit_pair

digits, mnist = load_digit_pair()
rng = np.random.default_rng(0)
order = rng.permutation(len(mnist.y))
rows = np.concatenate([order[mnist.y[order] == each][:30] for each in range(10)])
order = rng.permutation(len(digits.y))
known = np.concatenate([order[digits.y[order] == each][:6] for each in range(10)])
new = order[~np.isin(order, known)][:900]

X = np.concatenate([mnist.X[rows], digits.X[known]])
y = np.concatenate([mnist.y[rows], digits.y[known]])
domain = np.concatenate([np.ones(len(rows)), -np.ones(len(known))])

# %%
# Folds of the target
# -------------------
#
# What matters is accuracy on the target, so only target rows are ever tested, and all source
# rows are trained on every time. A list of folds says just that.

ours, theirs = np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)
folds = [
    (np.concatenate([ours, theirs[train]]), theirs[test])
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(theirs, y[theirs])
]

# %%
# The search
# ----------
#
# With metadata routing turned on, `sample_domain` reaches the step that asks for it, in `fit`
# and in `score` alike. The first step scales each row by itself. A scaler that learns from
# *all* rows, such as `StandardScaler`, would mix the domains here: scale each domain before
# they are put together. Once `objective` is passed, its parameters have nested names too.

ils = ILSClassifier(objective=ObjectiveSettings(), self_training=0)
pipeline = Pipeline([("unit", Normalizer()), ("ils", ils)])
weights = [1.0, 20.0]
grid = {"ils__n_components": [2, 5, 10, 20, 30], "ils__objective__metric_weight": weights}
with config_context(enable_metadata_routing=True):
    search = GridSearchCV(pipeline, grid, cv=folds).fit(X, y, sample_domain=domain)
    print("chosen:", search.best_params_)
    print(f"cross-validated accuracy: {search.best_score_:.3f}")
    print(f"on 900 new target rows:   {search.score(digits.X[new], digits.y[new]):.3f}")

# %%
# Sixty labelled rows cannot separate neighbours on the grid, as the bars of one standard deviation
# over the folds show, but they rule out a latent space that is too small. Without any target
# labels, cross-validation has nothing to score.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
results = search.cv_results_
for weight in weights:
    mine = results["param_ils__objective__metric_weight"] == weight
    ax.errorbar(
        results["param_ils__n_components"][mine].astype(int),
        results["mean_test_score"][mine],
        results["std_test_score"][mine],
        marker="o",
        capsize=3,
        label=f"metric_weight={weight:g}",
    )
ax.set(xlabel="n_components", ylabel="accuracy on target folds")
ax.grid(alpha=0.3)
ax.legend()
plt.show()
