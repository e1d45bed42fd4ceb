"""
Solvers, and what convergence looks like
========================================

Five ways to minimise the same objective from the same start.
"""

# %%
# `solution_.history` has one line per iterate: the objective, the norm of its Riemannian
# gradient, the step, and how often the objective had been evaluated by then. ``tol=0`` goes on
# until the gradient has all but vanished, or until `max_iter`, which the estimator then warns
# of.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ilspace import ILSClassifier
from ilspace.datasets import load_digit_pair, preprocess
from ilspace.optimizers import SOLVERS

digits, mnist = load_digit_pair()
rng = np.random.default_rng(0)
rows = np.concatenate([rng.permutation(np.flatnonzero(mnist.y == each))[:20] for each in range(10)])
Xs, ys = preprocess(mnist.X, "l2")[rows], mnist.y[rows]
Xt, yt = preprocess(digits.X, "l2"), digits.y

fits = {}
for solver in SOLVERS:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ILSClassifier(solver=solver, tol=0.0, max_iter=150, self_training=0)
        fits[solver] = model.fit(Xs, ys, Xt[:800])

# %%
# All descend to the same minimum. Steepest descent, alternation and projection need many more
# iterations than conjugate gradient and limited-memory BFGS, which learn from the steps before.

lowest = min(fit.solution_.history[-1].value for fit in fits.values())
fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for solver, fit in fits.items():
    values = np.array([line.value for line in fit.solution_.history]) - lowest
    evaluations = [line.evaluations for line in fit.solution_.history]
    left = np.maximum(values / values[0], 1e-9)
    axes[0].semilogy(left, label=solver)
    axes[1].semilogy(evaluations, left)
axes[0].set(xlabel="iteration", ylabel="remaining decrease (relative)")
axes[1].set(xlabel="evaluations of the objective", xlim=(0, 300))
axes[0].legend()
for ax in axes:
    ax.grid(alpha=0.3)
plt.show()

# %%
# For the predictions it hardly matters how far one goes: the default `tol` stops earlier, by a
# criterion that uses no labels, and predicts about as well.

early = ILSClassifier(self_training=0).fit(Xs, ys, Xt[:800])
for name, fit in {"default, stopped early": early, **fits}.items():
    print(f"{name:24} {fit.n_iter_:4} iterations  accuracy {fit.score(Xt[800:], yt[800:]):.3f}")
