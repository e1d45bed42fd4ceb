"""
Which rows to label
===================

Somebody can label thirty rows of the target. Rows that represent many uncertain ones are worth more
than random ones.
"""

# %%
# The source is digits of MNIST, 20 per class; the target is 400 of scikit-learn's digits. Half of
# these are never asked about: on them we measure.

import matplotlib.pyplot as plt
import numpy as np

from ilspace import ILSClassifier
from ilspace.active import QuerySelector
from ilspace.datasets import load_digit_pair, preprocess

digits, mnist = load_digit_pair()
source, target = preprocess(mnist.X, "l2"), preprocess(digits.X, "l2")


def draw(trial):
    """Draw source rows, target rows, and the half of these that is never asked about."""
    rng = np.random.default_rng(trial)
    order = rng.permutation(len(mnist.y))
    rows = np.concatenate([order[mnist.y[order] == each][:20] for each in range(10)])
    chosen = rng.permutation(len(digits.y))[:400]
    given = source[rows], mnist.y[rows], target[chosen]
    return given, digits.y[chosen], np.arange(200)


# %%
# :class:`~ilspace.active.QuerySelector` takes the data as any estimator here does. Then we ask for
# five rows, pass their labels, and ask again.

given, truth, held_out = draw(0)
selector = QuerySelector(ILSClassifier(), random_state=0).fit(*given, skip=held_out)
rows = selector.query(5)
selector.teach(rows, truth[rows])
print("asked about", rows, "which are", truth[rows])
found = selector.estimate_accuracy()
print(f"accuracy {found.value:.0%}, between {found.low:.0%} and {found.high:.0%}")
print(f"five more labels may add {selector.expected_gain(5):.1%}")

# %%
# The same for three strategies, up to thirty labels, and three draws. With each number of labels we
# note the accuracy on the held-out rows, and what the selector believes it to be.

counts = range(0, 31, 5)
names = {"auto": "facility location, the default", "margin": "margin", "random": "random rows"}
n_trials = 3
accuracy = np.empty((len(names), n_trials, len(counts)))
estimate = np.empty((n_trials, len(counts), 3))
for place, strategy in enumerate(names):
    for trial in range(n_trials):
        given, truth, held_out = draw(trial)
        asking = QuerySelector(ILSClassifier(), strategy, random_state=trial)
        asking.fit(*given, skip=held_out)
        for step in range(len(counts)):
            if step:
                rows = asking.query(5)
                asking.teach(rows, truth[rows])
            hidden = given[2][held_out], truth[held_out]
            accuracy[place, trial, step] = asking.estimator_.score(*hidden)
            if strategy == "auto":
                said = asking.estimate_accuracy()
                estimate[trial, step] = said.value, said.low, said.high

# %%
# On the left, chosen rows against random ones. On the right, one draw of the default: the interval
# is wide at first, and gets narrower with each answer. Rows are queried because they are
# uncertain, so the accuracy among them would be far too low; the estimate corrects for that.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for values, name in zip(accuracy, names.values(), strict=True):
    left.plot(counts, values.mean(axis=0), marker="o", label=name)
left.set(xlabel="target labels", ylabel="accuracy on held-out rows")
value, low, high = estimate[0].T
right.fill_between(counts, low, high, alpha=0.25, label="90 % interval")
right.plot(counts, value, label="estimate")
right.plot(counts, accuracy[0, 0], "k--", label="accuracy")
right.set(xlabel="target labels", ylim=(0, 1))
for ax in (left, right):
    ax.grid(alpha=0.3)
    ax.legend(loc="lower right")
plt.show()
