"""The paper's formulas as loops over pairs, written from its text, slowly and plainly.

Equation numbers are those of the paper's main text; corrections to its tables are marked
*erratum* (DESIGN.md, section 3).
"""

import math

import numpy as np


def ell(beta, metric, y, x, u):
    """Equation 3: the generalised logistic function of one pair."""
    distance = 0.0
    for a in range(len(x)):
        for b in range(len(x)):
            distance += x[a] * metric[a, b] * x[b]
    return math.log(1 + math.exp(beta * y * (distance - u))) / beta


def delta(P, Q):
    """Stein divergence, by determinants."""
    return math.log(np.linalg.det((P + Q) / 2)) - 0.5 * math.log(np.linalg.det(P @ Q))


def r(metric):
    p = len(metric)
    return delta(metric, np.eye(p)) / p


def embed(source, target, Ws, Wt):
    """The set Z: labelled source rows through Ws, labelled target rows through Wt."""
    Z = []
    for x in source:
        Z.append(Ws.T @ x)
    for x in target:
        Z.append(Wt.T @ x)
    return Z


def discriminative_loss(Z, pairs, metric, beta, v):
    """Equation 4 (soft margin); `v` is None for the hard margin of equation 2."""
    n_pairs = len(pairs)
    total = 0.0
    for k, (i, j, y) in enumerate(pairs):
        slack = 0.0 if v is None else math.exp(v[k])
        total += ell(beta, metric, y, Z[i] - Z[j], 1 + y * slack)
    total = total / n_pairs + r(metric)
    if v is not None:
        total += math.sqrt(sum(math.exp(each) ** 2 for each in v)) / n_pairs
    return total


def statistical_loss(source_cov, target_cov, Ws, Wt):
    """Equation 5."""
    return delta(Ws.T @ source_cov @ Ws, Wt.T @ target_cov @ Wt) / Ws.shape[1]


def paper_objective(source, target, source_cov, target_cov, pairs, point, *, beta, trade_off):
    """Equation 1, with or without slacks."""
    Ws, Wt, metric = point[:3]
    v = point[3] if len(point) == 4 else None
    Z = embed(source, target, Ws, Wt)
    return discriminative_loss(Z, pairs, metric, beta, v) + trade_off * statistical_loss(
        source_cov, target_cov, Ws, Wt
    )


def paper_gradient(source, target, source_cov, target_cov, pairs, point, *, beta, trade_off):
    """The two tables of gradients, case by case, with the errata corrected."""
    Ws, Wt, M = point[:3]
    v = point[3] if len(point) == 4 else None
    n_pairs, p, n_source = len(pairs), len(M), len(source)
    grad_s, grad_t = np.zeros_like(Ws), np.zeros_like(Wt)
    grad_m, grad_v = np.zeros_like(M), np.zeros(n_pairs)
    for k, (i, j, y) in enumerate(pairs):
        eps = 0.0 if v is None else math.exp(v[k])
        xi = source[i] if i < n_source else target[i - n_source]
        xj = source[j] if j < n_source else target[j - n_source]
        zi = (Ws if i < n_source else Wt).T @ xi
        zj = (Ws if j < n_source else Wt).T @ xj
        ratio = math.exp(beta * y * ((zi - zj) @ M @ (zi - zj) - 1 - y * eps))
        sigma = 1 / (1 + 1 / ratio)
        if i < n_source and j < n_source:
            grad_s += 2 * y * sigma * np.outer(xi - xj, xi - xj) @ Ws @ M / n_pairs
        elif i >= n_source and j >= n_source:
            grad_t += 2 * y * sigma * np.outer(xi - xj, xi - xj) @ Wt @ M / n_pairs
        else:
            # the source row first, as in the tables
            xs, xt = (xi, xj) if i < n_source else (xj, xi)
            grad_s += 2 * y * sigma * np.outer(xs, Ws.T @ xs - Wt.T @ xt) @ M / n_pairs
            grad_t += 2 * y * sigma * np.outer(xt, Wt.T @ xt - Ws.T @ xs) @ M / n_pairs
        # erratum: no factor 2 here
        grad_m += y * sigma * np.outer(zi - zj, zi - zj) / n_pairs
        grad_v[k] -= eps * sigma / n_pairs
    # erratum: the tables leave out the regularisers of M and of the slacks
    grad_m += (np.linalg.inv(M + np.eye(p)) - np.linalg.inv(M) / 2) / p
    if v is not None:
        norm = math.sqrt(sum(math.exp(2 * each) for each in v))
        for k in range(n_pairs):
            grad_v[k] += math.exp(2 * v[k]) / (n_pairs * norm)
    A, B = Ws.T @ source_cov @ Ws, Wt.T @ target_cov @ Wt
    joint = 2 * np.linalg.inv(A + B)
    grad_s += trade_off / p * source_cov @ Ws @ (joint - np.linalg.inv(A))
    grad_t += trade_off / p * target_cov @ Wt @ (joint - np.linalg.inv(B))
    return (grad_s, grad_t, grad_m) if v is None else (grad_s, grad_t, grad_m, grad_v)


def objective_of_sources(rows, covariances, pairs, point, *, beta, trade_off, shares):
    """Equation 1 with one projection per source: the pairs are those of all rows, and each source
    is compared with the target, which is the last domain, in its share."""
    n = len(rows)
    projections, metric = point[:n], point[n]
    Z = []
    for W, own in zip(projections, rows, strict=True):
        for x in own:
            Z.append(W.T @ x)
    total = discriminative_loss(Z, pairs, metric, beta, None)
    for i in range(n - 1):
        between = statistical_loss(covariances[i], covariances[-1], projections[i], projections[-1])
        total += trade_off * shares[i] * between
    return total


def balanced_pair_loss(Z, labels, metric, beta):
    """Half the mean loss of all similar pairs and half that of all dissimilar pairs.

    Returns the value, and its gradients in Z and in the metric.
    """
    kinds = {1: [], -1: []}
    for i in range(len(Z)):
        for j in range(i + 1, len(Z)):
            kinds[1 if labels[i] == labels[j] else -1].append((i, j))
    share = 0.5 if kinds[1] and kinds[-1] else 1.0
    value, grad_z, grad_m = 0.0, np.zeros_like(Z), np.zeros_like(metric)
    for y, members in kinds.items():
        for i, j in members:
            x = Z[i] - Z[j]
            weight = share / len(members)
            value += weight * ell(beta, metric, y, x, 1.0)
            sigma = 1 / (1 + math.exp(-beta * y * (x @ metric @ x - 1)))
            grad_z[i] += weight * y * sigma * 2 * metric @ x
            grad_z[j] -= weight * y * sigma * 2 * metric @ x
            grad_m += weight * y * sigma * np.outer(x, x)
    return value, grad_z, grad_m


def squared_distances_and_outer_products(Z, labels, weights):
    """Lists of (weight, squared distance, outer product) of similar, then of dissimilar pairs."""
    similar, dissimilar = [], []
    for i in range(len(Z)):
        # a row of weight w stands for w equal rows, which make pairs of distance 0
        twins = weights[i] * (weights[i] - 1) / 2
        if twins > 0:
            similar.append((twins, 0.0, np.zeros((Z.shape[1], Z.shape[1]))))
        for j in range(i + 1, len(Z)):
            x = Z[i] - Z[j]
            record = (weights[i] * weights[j], float(x @ x), np.outer(x, x))
            (similar if labels[i] == labels[j] else dissimilar).append(record)
    return similar, dissimilar


def cumulant_loss(domains, weights, projections, directions, *, scales, shares):
    """Differences of third and fourth cumulants along each direction, of each source to the target.

    Not in the paper; cumulants are those of the expansion of log E exp(t u), up to t^4.
    """

    def cumulants(X, w, W, scale, a):
        w = [1.0] * len(X) if w is None else list(w)
        total = sum(w)
        mean = sum(each * x for each, x in zip(w, X, strict=True)) / total
        u = [scale * float((W.T @ (x - mean)) @ a) for x in X]
        raw = [sum(each * v**j for each, v in zip(w, u, strict=True)) / total for j in range(5)]
        return raw[3], raw[4] - 3 * raw[2] ** 2

    n = directions.shape[1]
    value = 0.0
    for s, share in enumerate(shares):
        for k in range(n):
            third, fourth = cumulants(
                domains[s], weights[s], projections[s], scales[s], directions[:, k]
            )
            other = cumulants(
                domains[-1], weights[-1], projections[-1], scales[-1], directions[:, k]
            )
            value += share / n * ((third - other[0]) ** 2 / 12 + (fourth - other[1]) ** 2 / 48)
    return value


def dictionary_loss(rows, atoms, codes, penalty):
    """How well given codes represent rows, and their size; not in the paper."""
    total = 0.0
    for x, c in zip(rows, codes, strict=True):
        for a in range(len(x)):
            total += 0.5 * (x[a] - sum(atoms[a, j] * c[j] for j in range(len(c)))) ** 2
        total += penalty * sum(abs(each) for each in c)
    return total / len(rows)
