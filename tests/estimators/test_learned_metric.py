"""The learned metric under metric-learn's names, and the latent space it belongs to."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shifted import shifted

from ilspace import ILSClassifier, ILSTransformer, ObjectiveSettings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DATA = shifted()
X, y, Xt, yt = DATA


@pytest.fixture(scope="module", params=[6, 4], ids=["same", "widths"])
def fitted(request):
    return ILSTransformer(3).fit(X, y, Xt[:, : request.param], yt)


@pytest.fixture(params=["source", "target"])
def domain(request):
    return request.param


def rows_of(fitted, domain):
    return X if domain == "source" else Xt[:, : fitted.n_target_features_in_]


def test_the_matrix_is_a_metric_of_rank_p(fitted, domain):
    matrix = fitted.get_mahalanobis_matrix(domain)
    assert matrix.shape == (rows_of(fitted, domain).shape[1],) * 2
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    values = np.linalg.eigvalsh(matrix)[::-1]
    assert (values[:3] > 1e-6 * values[0]).all()
    assert (abs(values[3:]) < 1e-10 * values[0]).all()


def test_the_matrix_is_made_of_the_attributes(fitted, domain):
    projection, scale = (getattr(fitted, f"{domain}_{name}_") for name in ("projection", "scale"))
    np.testing.assert_allclose(projection.T @ projection, np.eye(3), atol=1e-10)
    assert (np.linalg.eigvalsh(fitted.metric_) > 0).all()
    np.testing.assert_allclose(
        fitted.get_mahalanobis_matrix(domain),
        scale**2 * projection @ fitted.metric_ @ projection.T,
        atol=1e-10,
    )


def test_distances_agree(fitted, domain):
    rows = rows_of(fitted, domain)
    first, second = rows[:10], rows[10:20]
    distances = fitted.pair_distance(np.stack([first, second], axis=1), domain)
    matrix, latent = fitted.get_mahalanobis_matrix(domain), fitted.transform(rows, domain)
    for i in range(10):
        offset = first[i] - second[i]
        assert distances[i] == pytest.approx(np.sqrt(offset @ matrix @ offset))
        assert distances[i] == pytest.approx(np.linalg.norm(latent[i] - latent[10 + i]))
    np.testing.assert_array_equal(
        fitted.pair_distance(np.stack([rows, rows], axis=1), domain), np.zeros(len(rows))
    )


def test_the_domains_are_centred_in_the_latent_space(fitted, domain):
    latent = fitted.transform(rows_of(fitted, domain), domain)
    np.testing.assert_allclose(latent.mean(axis=0), 0, atol=1e-10)


def test_the_rule_is_the_nearest_row_in_the_latent_space():
    few = np.array(DATA.marked(-1))
    fitted = ILSClassifier(self_training=0).fit(X, y, Xt, few)
    latent = fitted.transform(Xt)
    known = np.concatenate([fitted.transform(X, "source"), latent[few >= 0]])
    labels = np.concatenate([y, few[few >= 0]])
    squared = ((latent[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(fitted.predict(Xt), labels[squared.argmin(axis=1)])
    expected = np.stack([squared[:, labels == c].min(axis=1) for c in range(3)], axis=1)
    np.testing.assert_allclose(fitted.class_distances(Xt), expected, atol=1e-10)


@pytest.mark.parametrize("source_vote", [0.0, 0.25, 1.0])
def test_the_vote_weighs_the_domains(source_vote):
    few = np.where((np.arange(24) < 6) & (yt != 2), yt, -1)  # no label of class 2
    fitted: Any = ILSClassifier(classifier="nearest").fit(X, y, Xt, few)
    fitted._rule = replace(fitted._rule, source_vote=source_vote)
    latent, known = fitted.transform(Xt), fitted.transform(X, "source")
    for c in range(3):
        from_source = ((latent[:, None] - known[y == c]) ** 2).sum(axis=2).min(axis=1)
        expected = from_source
        if c != 2:
            from_target = ((latent[:, None] - latent[few == c]) ** 2).sum(axis=2).min(axis=1)
            expected = source_vote * from_source + (1 - source_vote) * from_target
        np.testing.assert_allclose(fitted.class_distances(Xt)[:, c], expected, atol=1e-10)


def test_pairs_of_a_model_with_feature_names():
    frame = pd.DataFrame(DATA.X, columns=list("abcdef"))
    fitted = ILSClassifier(2).fit(frame, DATA.y, frame)
    pairs = np.stack([DATA.X[:3], DATA.X[3:6]], axis=1)
    latent = fitted.transform(frame)
    expected = np.linalg.norm(latent[:3] - latent[3:6], axis=1)
    np.testing.assert_allclose(fitted.pair_distance(pairs), expected, rtol=1e-12)


def test_kissme_of_duplicated_rows_begins_at_the_identity():
    rows, labels = np.repeat(DATA.X[:3], 2, axis=0), np.repeat(DATA.y[:3], 2)
    objective = ObjectiveSettings(metric_init="kissme")
    model = ILSTransformer(objective=objective, max_iter=0)
    fitted = model.fit(rows, labels, DATA.Xt)
    np.testing.assert_array_equal(fitted.metric_, np.eye(len(fitted.metric_)))


@pytest.mark.parametrize("width", [6, 4])
def test_projections_are_orthonormal_unless_told_otherwise(width):
    given = (X, y, Xt[:, :width], yt)
    for orthonormal in (True, False):
        fitted = ILSTransformer(
            3, objective=ObjectiveSettings(orthonormal=orthonormal, source_anchor=0.01)
        ).fit(*given)
        gram = fitted.source_projection_.T @ fitted.source_projection_
        assert np.allclose(gram, np.eye(3), atol=1e-10) == orthonormal
        assert fitted.solution_.history[-1].value < fitted.solution_.history[0].value


def test_a_given_start_says_how_many_components():
    basis = np.eye(6)[:, :2]
    starts: list[Any] = [basis, (basis, basis)]
    for start in starts:
        assert ILSClassifier(init=start).fit(DATA.X, DATA.y, DATA.Xt).n_components_ == 2
