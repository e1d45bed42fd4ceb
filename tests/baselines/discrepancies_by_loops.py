"""The matrix of the maximum mean discrepancy, pair by pair."""

import numpy as np


def naive_mmd(codes, target_codes, n_classes, balance):
    """Matrix M between all rows of both domains, of Frobenius norm 1."""
    everyone = np.concatenate([codes, target_codes])
    is_source = np.arange(len(everyone)) < len(codes)
    matrix = np.zeros((len(everyone), len(everyone)))
    groups = [(np.ones(len(everyone), dtype=bool), (1 - balance) * n_classes)]
    groups += [(everyone == c, balance) for c in range(n_classes)]
    for members, weight in groups:
        n, m = np.sum(members & is_source), np.sum(members & ~is_source)
        if n == 0 or m == 0:
            continue
        for i in np.flatnonzero(members):
            for j in np.flatnonzero(members):
                if is_source[i] and is_source[j]:
                    matrix[i, j] += weight / n**2
                elif not is_source[i] and not is_source[j]:
                    matrix[i, j] += weight / m**2
                else:
                    matrix[i, j] -= weight / (n * m)
    return matrix / np.sqrt(np.sum(matrix**2))
