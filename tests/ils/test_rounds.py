"""Rounds of self-training: what a fit learns from, what the rule sees, when a round is undone."""

from dataclasses import replace
from math import ceil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from shifted import shifted
from sklearn.decomposition import PCA

from ilspace.domains import check_domains
from ilspace.ils import fit_ils, rounds
from ilspace.ils.plain import plain_map
from ilspace.ils.rounds import both_spaces, self_train, train_rule
from ilspace.optimizers import Status

DATA = shifted(1, n=45, nt=40)
X, y, Xt, yt = DATA
SOME = DATA.marked(-1, 6)
FREE, KNOWN = np.arange(6, 40), np.arange(6)


@pytest.fixture
def spied(monkeypatch):
    """What self-training hands to its parts, and what they give back."""
    seen = SimpleNamespace(fits=[], options=[], maps=[], rows=[], weights=[], codes=[], found=[])
    ridge, rule = rounds.laplacian_ridge, rounds.selective_ridge

    def spy_fit(domains, **options):
        seen.fits.append(domains)
        seen.options.append(options)
        seen.maps.append(fit_ils(domains, **options))
        return seen.maps[-1]

    def spy_ridge(rows, *others):
        seen.rows.append(rows)
        return ridge(rows, *others)

    def spy_rule(ridge, codes, weights, n_classes, **options):
        seen.codes.append(codes.copy())
        seen.weights.append(weights.copy())
        seen.found.append(rule(ridge, codes, weights, n_classes, **options))
        return seen.found[-1]

    monkeypatch.setattr(rounds, "fit_ils", spy_fit)
    monkeypatch.setattr(rounds, "laplacian_ridge", spy_ridge)
    monkeypatch.setattr(rounds, "selective_ridge", spy_rule)
    return seen


def collapse_in(monkeypatch, *calls):
    """Let some predictions be of one class only; 0 are those in the plain space."""
    rule, counts = rounds.selective_ridge, []

    def collapsed(ridge, codes, *others, **options):
        found = rule(ridge, codes, *others, **options)
        counts.append(len(counts))
        if counts[-1] not in calls:
            return found
        return found._replace(codes=np.where(codes < 0, 0, codes))

    monkeypatch.setattr(rounds, "selective_ridge", collapsed)


def surest_labels(found, free, share):
    """Target rows, and their classes, that a share of the predictions should select."""
    ranked = np.sort(found.scores[free], axis=1)
    margins, codes = ranked[:, -1] - ranked[:, -2], found.codes[free]
    chosen = {}
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        members = members[np.argsort(-margins[members], kind="stable")]
        for row in members[: ceil(share * len(members))]:
            chosen[int(free[row])] = int(code)
    return chosen


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# -- what the fits learn from --------------------------------------------------------------------


@pytest.mark.parametrize("labels", [None, SOME], ids=["unsupervised", "semi-supervised"])
@pytest.mark.parametrize("n_rounds", [1, 2, 4])
def test_the_surest_predictions_join_the_labels_chosen_anew(spied, labels, n_rounds):
    found = self_train(check_domains(X, y, Xt, labels), n_rounds=n_rounds, n_components=3)
    n_known = 0 if labels is None else 6
    free = np.arange(n_known, 40)
    assert len(spied.fits) == len(found.rounds) == n_rounds
    for number, domains in enumerate(spied.fits, 1):
        before = spied.found[number - 1]
        share = number / n_rounds
        chosen = surest_labels(before, 45 + free, share - 1e-12)
        wanted = np.full(40, -1)
        wanted[:n_known] = yt[:n_known]
        for row, code in chosen.items():
            wanted[row - 45] = code
        np.testing.assert_array_equal(domains.target.codes, wanted)
        np.testing.assert_array_equal(domains.sources[0].codes, y)
        assert found.rounds[number - 1].n_selected == len(chosen)
        changed = np.mean(before.codes[45 + free] != spied.found[number].codes[45 + free])
        assert found.rounds[number - 1].changed == pytest.approx(changed)
        assert found.rounds[number - 1].n_iter == spied.maps[number - 1].solution.n_iter
        assert found.rounds[number - 1].status is spied.maps[number - 1].solution.status
        assert found.rounds[number - 1].kept
    assert (spied.fits[-1].target.codes >= 0).all()
    assert found.ils is spied.maps[-1]
    assert found.expansion is spied.found[-1].expansion


def test_known_target_labels_are_kept_however_wrong(spied):
    wrong = (yt[:6] + 1) % 3
    labels = np.r_[wrong, np.full(34, -1)]
    self_train(check_domains(X, y, Xt, labels), n_components=3)
    for domains in spied.fits:
        np.testing.assert_array_equal(domains.target.codes[:6], wrong)
    for codes, found in zip(spied.codes, spied.found, strict=True):
        np.testing.assert_array_equal(codes, np.r_[y, labels])
        np.testing.assert_array_equal(found.codes[45:51], wrong)


def test_the_given_domains_are_not_changed(spied):
    domains = check_domains(X, y, Xt, SOME)
    target: Any = domains.target
    self_train(domains, n_components=3)
    np.testing.assert_array_equal(target.codes, SOME)


def test_parameters_of_the_fit_are_handed_on(spied):
    options = {"n_components": 3, "max_iter": 4, "solver": "steepest-descent", "tol": 1e-9}
    found = self_train(check_domains(X, y, Xt), n_rounds=3, **options)
    assert len(spied.options) == 3
    for given in spied.options:
        assert options.items() <= given.items()
    assert [each.n_iter for each in found.rounds] == [4, 4, 4]
    assert {each.status for each in found.rounds} == {Status.EXHAUSTED}


def test_all_fits_draw_from_one_generator(spied):
    self_train(check_domains(X, y, Xt), n_components=3, random_state=5)
    drawn = {id(given["random_state"]) for given in spied.options}
    assert len(drawn) == 1
    assert all(isinstance(each["random_state"], np.random.Generator) for each in spied.options)


def test_a_callback_can_end_the_fit_and_the_rounds(spied):
    seen = []

    def callback(count, now):
        seen.append(count)
        assert [each.shape for each in now.point[:2]] == [(6, 3)] * 2
        return len(seen) == 4

    found = self_train(check_domains(X, y, Xt), n_rounds=3, n_components=3, callback=callback)
    assert len(seen) == 4
    assert len(found.rounds) == len(spied.fits) == 1
    assert found.rounds[0].status is Status.STOPPED
    assert found.rounds[0].kept


def test_a_callback_that_is_content_sees_all_fits(spied):
    seen = []
    found = self_train(
        check_domains(X, y, Xt), n_components=3, callback=lambda count, _: seen.append(count)
    )
    assert seen.count(0) == len(found.rounds) == 2
    assert len(seen) == sum(each.n_iter + 1 for each in found.rounds)


# -- what the rule sees --------------------------------------------------------------------------


def test_the_rule_sees_the_plain_space_and_from_round_one_on_both(spied):
    found = self_train(check_domains(X, y, Xt), n_components=3)
    centred = np.concatenate([X - X.mean(axis=0), Xt - Xt.mean(axis=0)])
    plain = unit(PCA(6).fit(centred).transform(centred))
    assert [rows.shape for rows in spied.rows] == [(85, 6), (85, 9), (85, 9)]
    for rows, ils in zip(spied.rows, [None, *spied.maps], strict=True):
        np.testing.assert_allclose(np.abs(rows[:, :6]), np.abs(plain), atol=1e-9)
        if ils is not None:
            latent = np.concatenate([ils.transform(X, 0), ils.transform(Xt, 1)])
            np.testing.assert_allclose(rows[:, 6:], unit(latent), atol=1e-12)
    for position, (rows, part) in enumerate([(X, slice(45)), (Xt, slice(45, None))]):
        seen = both_spaces(rows, found.plain, found.ils, position)
        np.testing.assert_allclose(seen, spied.rows[-1][part], atol=1e-12)
    met = found.expansion.scores(both_spaces(Xt, found.plain, found.ils, 1))
    np.testing.assert_allclose(met, spied.found[-1].scores[45:], atol=1e-9)


def test_rows_of_both_domains_at_once_are_mapped_by_their_own_maps():
    found = self_train(check_domains(X, y, Xt), n_components=3)
    mixed, domain = np.concatenate([X[:4], Xt[:3]]), np.array([0, 0, 0, 0, 1, 1, 1])
    wanted = [both_spaces(X[:4], found.plain, found.ils, 0)]
    wanted.append(both_spaces(Xt[:3], found.plain, found.ils, 1))
    met = both_spaces(mixed, found.plain, found.ils, domain)
    np.testing.assert_allclose(met, np.concatenate(wanted), atol=1e-12)


def test_a_labelled_target_row_weighs_three_and_a_selected_one_half(spied):
    self_train(check_domains(X, y, Xt, SOME), n_components=3)
    for weights in spied.weights:
        np.testing.assert_array_equal(
            weights, np.r_[np.ones(45), np.full(6, 3.0), np.full(34, 0.5)]
        )


def test_sample_weights_multiply_them(spied):
    own = np.random.default_rng(0).uniform(0.5, 2.0, 85)
    self_train(check_domains(X, y, Xt, SOME, sample_weight=own), n_components=3)
    factors = np.r_[np.ones(45), np.full(6, 3.0), np.full(34, 0.5)]
    np.testing.assert_allclose(spied.weights[0], own * factors)
    for domains in spied.fits:
        np.testing.assert_array_equal(domains.target.weights, own[45:])


def test_the_weight_of_the_target_matters_and_rows_of_weight_zero_are_gone():
    def scores(weights, rows: Any = slice(None)):
        domains = check_domains(X, y, Xt[rows], np.array(SOME)[rows], sample_weight=weights)
        found = self_train(domains, n_components=3, random_state=0)
        return found.expansion.scores(both_spaces(Xt, found.plain, found.ils, 1))

    plain = scores(None)
    np.testing.assert_allclose(scores(np.ones(85)), plain, atol=1e-7)
    heavy = scores(np.r_[np.ones(45), np.full(40, 2.0)])
    assert np.abs(heavy - plain).max() > 1e-3
    some = np.ones(85)
    some[[50, 70]] = 0.0
    left = np.delete(np.arange(40), [5, 25])
    np.testing.assert_allclose(scores(some), scores(np.ones(83), left), atol=1e-9)
    assert np.abs(scores(some) - plain).max() > 1e-3


# -- collapse ------------------------------------------------------------------------------------


def test_a_collapse_in_round_one_goes_back_to_the_known_labels(spied, monkeypatch, capsys):
    collapse_in(monkeypatch, 1)
    found = self_train(check_domains(X, y, Xt, SOME), n_components=3, verbose=1)
    assert [each.kept for each in found.rounds] == [False]
    assert found.rounds[0].n_selected > 10
    assert len(spied.fits) == 2
    np.testing.assert_array_equal(spied.fits[1].target.codes, SOME)
    assert found.ils is spied.maps[1]
    assert found.expansion is spied.found[2].expansion
    assert "; undone, since a class was left without predictions\n" in capsys.readouterr().err


def test_a_collapse_in_round_two_goes_back_to_round_one(spied, monkeypatch):
    collapse_in(monkeypatch, 2)
    found = self_train(check_domains(X, y, Xt), n_rounds=3, n_components=3)
    assert [each.kept for each in found.rounds] == [True, False]
    assert found.rounds[1].n_selected > found.rounds[0].n_selected
    assert len(spied.fits) == 2
    assert found.ils is spied.maps[0]
    assert found.expansion is spied.found[1].expansion


def test_the_inverse_temperature_is_that_of_the_kept_round(spied, monkeypatch):
    collapse_in(monkeypatch, 2)
    asked = []
    fake = lambda ridge, *_, **__: asked.append(ridge) or 2.5  # noqa: E731
    monkeypatch.setattr(rounds, "held_out_inverse_temperature", fake)
    found = self_train(check_domains(X, y, Xt), n_components=3)
    np.testing.assert_array_equal(asked[0].rows, spied.rows[1])
    assert found.inverse_temperature == 2.5


# -- messages ------------------------------------------------------------------------------------


def test_lines_on_standard_error(capsys):
    found = self_train(check_domains(X, y, Xt), n_components=3, verbose=1, name="Mine")
    lines = [line for line in capsys.readouterr().err.splitlines() if "round" in line]
    assert lines == [
        f"[Mine] round {number} of 2: {each.n_selected} predictions selected, "
        f"{each.changed:.1%} changed"
        for number, each in enumerate(found.rounds, 1)
    ]
    self_train(check_domains(X, y, Xt), n_components=3)
    assert capsys.readouterr().err == ""


# -- unusual inputs ------------------------------------------------------------------------------


def test_where_all_target_rows_have_labels_one_round_is_enough(spied):
    found = self_train(check_domains(X, y, Xt, yt), n_rounds=3, n_components=3)
    assert len(spied.fits) == 1
    np.testing.assert_array_equal(spied.fits[0].target.codes, yt)
    assert found.rounds[0][:2] == (0, 0.0)
    assert found.rounds[0].kept


def test_sparse_rows_give_what_dense_ones_give():
    shape = [np.where(np.abs(rows) > 1, rows, 0.0) for rows in (X, Xt)]
    scores = []
    for source, target in (shape, [sparse.csr_matrix(each) for each in shape]):
        found = self_train(check_domains(source, y, target, SOME), n_components=3, random_state=0)
        scores.append(found.expansion.scores(both_spaces(target, found.plain, found.ils, 1)))
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-7)


def test_domains_of_different_columns(spied):
    domains = check_domains(X[:, :5], y, Xt, SOME)
    found = self_train(domains, n_components=3)
    assert [each.kept for each in found.rounds] == [True, True]
    assert [rows.shape for rows in spied.rows] == [(85, 5), (85, 8), (85, 8)]
    predicted = spied.found[-1].codes[45:]
    assert np.mean(predicted == yt) > 0.9


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries(library):
    xp = pytest.importorskip(library)
    scores = []
    for make in (np.asarray, lambda rows: xp.asarray(rows.copy())):
        domains = check_domains(make(X), y, make(Xt), SOME)
        found = self_train(domains, n_components=3, random_state=0)
        scores.append(found.expansion.scores(both_spaces(make(Xt), found.plain, found.ils, 1)))
        rule = train_rule(found.ils, domains, np.random.default_rng(0))
        scores.append(rule.expansion.scores(both_spaces(make(Xt), rule.plain, rule.ils, 1)))
    assert type(scores[2]) is not np.ndarray
    for met, wanted in zip(scores[2:], scores[:2], strict=True):
        np.testing.assert_allclose(np.asarray(met), wanted, atol=1e-6)


# -- many rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_most", "n_source", "n_target"), [(20, 10, 10), (31, 15, 15), (50, 25, 25), (84, 44, 40)]
)
def test_the_rule_is_trained_on_a_sample(spied, monkeypatch, n_most, n_source, n_target):
    monkeypatch.setattr(rounds, "TRAINING_ROWS", n_most)
    found = self_train(check_domains(X, y, Xt, SOME), n_components=3, random_state=0)
    codes = spied.codes[0]
    assert len(codes) == n_source + n_target
    assert (codes[:n_source] >= 0).all()
    # the labelled rows of the target are all there
    assert np.count_nonzero(codes[n_source:] >= 0) == 6
    target = codes[n_source:]
    np.testing.assert_array_equal(target[target >= 0], yt[:6])
    # what is selected are predictions for just these rows
    last = spied.fits[-1].target.codes
    assert np.count_nonzero(last >= 0) == n_target
    np.testing.assert_array_equal(last[:6], yt[:6])
    assert np.mean(last[last >= 0] == yt[last >= 0]) > 0.9
    assert found.rounds[-1].n_selected == n_target - 6


def test_labels_that_are_more_than_the_sample(spied, monkeypatch):
    monkeypatch.setattr(rounds, "TRAINING_ROWS", 20)
    labels = np.r_[yt[:30], np.full(10, -1)]
    self_train(check_domains(X, y, Xt, labels), n_components=3, random_state=0)
    target = spied.codes[0][10:]
    assert np.count_nonzero(target >= 0) == 10
    assert np.count_nonzero(target < 0) == 1  # a row without a label is there in any case
    for domains in spied.fits:
        np.testing.assert_array_equal(domains.target.codes[:30], yt[:30])


def test_a_sample_holds_every_class(spied, monkeypatch):
    monkeypatch.setattr(rounds, "TRAINING_ROWS", 20)
    rare = y.copy()
    rare[[7, 30]] = 3, 4  # one row each
    labels = np.where(np.arange(40) < 30, yt, -1)
    labels[11] = 3
    for seed in range(5):
        self_train(check_domains(X, rare, Xt, labels), n_components=3, random_state=seed)
    for codes in spied.codes:
        assert len(codes) == 21
        assert set(codes[:10].tolist()) == {0, 1, 2, 3, 4}
        assert set(codes[10:].tolist()) == {-1, 0, 1, 2, 3}


def test_more_classes_than_rows_in_a_sample(monkeypatch):
    monkeypatch.setattr(rounds, "TRAINING_ROWS", 4)
    found = self_train(check_domains(X, y, Xt), n_components=3, random_state=0)
    assert found.expansion.landmarks.shape[0] == 4


def test_half_is_for_the_sources_together(spied, monkeypatch):
    monkeypatch.setattr(rounds, "TRAINING_ROWS", 40)
    domains = check_domains(X, y, Xt)
    parts = [replace(domains.sources[0], X=X[s], codes=y[s]) for s in (slice(30), slice(30, 45))]
    rows = rounds.TrainingRows(replace(domains, sources=tuple(parts)), np.random.default_rng(0))
    assert [len(each) for each in rows.samples] == [13, 6, 20]


def test_the_expansion_has_no_more_landmarks_than_allowed(monkeypatch):
    monkeypatch.setattr(rounds, "LANDMARKS", 25)
    found = self_train(check_domains(X, y, Xt), n_components=3, random_state=0)
    assert found.expansion.landmarks.shape == (25, 9)
    scores = found.expansion.scores(both_spaces(Xt, found.plain, found.ils, 1))
    assert np.mean(scores.argmax(axis=1) == yt) > 0.9


@pytest.mark.parametrize(("solver", "n_selected"), [("conjugate-gradient", 15), ("adam", 40)])
def test_a_fit_over_all_pairs_has_no_more_rows_than_allowed(spied, monkeypatch, solver, n_selected):
    monkeypatch.setattr(rounds, "PAIR_ROWS", 60)
    options = {"solver": solver, "max_iter": 3, "batch_size": 32}
    found = self_train(check_domains(X, y, Xt), n_components=3, random_state=0, **options)
    assert found.rounds[-1].n_selected == n_selected
    assert np.count_nonzero(spied.fits[-1].target.codes >= 0) == n_selected


def test_a_few_are_selected_however_many_labels_are_known(spied, monkeypatch):
    monkeypatch.setattr(rounds, "PAIR_ROWS", 45)
    found = self_train(check_domains(X, y, Xt), n_components=3, random_state=0)
    assert [each.n_selected for each in found.rounds] == [9, 9]


@pytest.mark.parametrize("limit", ["TRAINING_ROWS", "LANDMARKS", "PAIR_ROWS"])
def test_samples_are_those_of_the_random_state(monkeypatch, limit):
    monkeypatch.setattr(rounds, limit, 30 if limit == "LANDMARKS" else 60)
    if limit == "PAIR_ROWS":
        monkeypatch.setattr(rounds, "PAIR_ROWS", 50)

    def scores(seed):
        found = self_train(check_domains(X, y, Xt), n_components=3, random_state=seed)
        return found.expansion.scores(both_spaces(Xt, found.plain, found.ils, 1))

    first = scores(3)
    assert scores(3).tobytes() == first.tobytes()
    assert np.abs(scores(4) - first).max() > 1e-6


def test_without_samples_the_random_state_does_not_matter():
    found = [
        self_train(check_domains(X, y, Xt), n_components=3, random_state=seed) for seed in (0, 1)
    ]
    one, other = (each.expansion.coefficients for each in found)
    assert one.tobytes() == other.tobytes()


# -- the rule alone ------------------------------------------------------------------------------


def test_the_rule_alone_learns_from_known_labels_only(spied):
    domains = check_domains(X, y, Xt, SOME)
    ils = fit_ils(domains, n_components=3)
    found = train_rule(ils, domains, np.random.default_rng(0))
    assert found.rounds == ()
    assert found.ils is ils
    assert spied.fits == []
    rows = spied.rows[0]
    weights = np.r_[np.ones(45), np.full(6, 3.0), np.zeros(34)]
    masses = np.array([weights[np.r_[y, SOME] == c].sum() for c in range(3)])
    codes = np.r_[y, SOME]
    weights = np.where(codes >= 0, weights * masses.mean() / masses[codes], 0)
    targets = 1.5 * np.eye(3)[codes] - 0.5
    wanted, scores = rounds.laplacian_ridge(rows, 100, np.random.default_rng(0)).fit(
        weights, targets
    )
    np.testing.assert_allclose(found.expansion.coefficients, wanted.coefficients, atol=1e-9)
    np.testing.assert_allclose(spied.found[0].scores, scores, atol=1e-9)


def test_the_rule_alone_in_one_domain():
    domains = check_domains(X, y)
    found = train_rule(fit_ils(domains, n_components=3), domains, np.random.default_rng(0))
    scores = found.expansion.scores(both_spaces(X, found.plain, found.ils, 0))
    assert np.mean(scores.argmax(axis=1) == y) > 0.95
    assert len(found.plain.maps) == 1
    assert found.inverse_temperature > 1


# -- the plain space -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["tall", "wide", "mixed"])
def test_the_plain_space_is_that_of_the_principal_axes_of_both_domains(shape, weighted):
    rng = np.random.default_rng(4)
    d, n, nt = {"tall": (6, 45, 40), "wide": (150, 45, 140), "mixed": (60, 90, 30)}[shape]
    rows = rng.standard_normal((n, d)) * np.linspace(3, 1, d)
    target = rng.standard_normal((nt, d)) * np.linspace(1, 2, d) + 1
    labels = np.arange(n) % 3
    repeats = rng.integers(1, 3, n + nt) if weighted else np.ones(n + nt, int)
    domains = check_domains(
        rows, labels, target, sample_weight=repeats.astype(float) if weighted else None
    )
    met = plain_map(domains)
    # rows of weight 2 are rows that come twice
    both = [np.repeat(a, r, axis=0) for a, r in ((rows, repeats[:n]), (target, repeats[n:]))]
    centred = np.concatenate([each - each.mean(axis=0) for each in both])
    q = min(100, d)
    pca = PCA(q, svd_solver="full").fit(centred)
    for mean, mapping, each in zip(met.means, met.maps, both, strict=True):
        np.testing.assert_allclose(mean, each.mean(axis=0), atol=1e-12)
        assert mapping.shape == (d, q)
        np.testing.assert_allclose(np.abs(pca.components_ @ mapping), np.eye(q), atol=1e-6)


def test_of_many_columns_the_first_hundred_axes():
    rng = np.random.default_rng(5)
    domains = check_domains(
        rng.standard_normal((160, 130)), np.arange(160) % 2, rng.standard_normal((150, 130))
    )
    assert [each.shape for each in plain_map(domains).maps] == [(130, 100)] * 2
    narrow = check_domains(rng.standard_normal((9, 130)), np.arange(9) % 2, np.eye(130)[:7])
    # no more axes than one of the domains has
    assert [each.shape for each in plain_map(narrow).maps] == [(130, 8)] * 2


def test_one_domain_has_its_own_axes():
    met = plain_map(check_domains(X, y))
    assert len(met.maps) == 1
    np.testing.assert_allclose(np.abs(PCA().fit(X).components_ @ met.maps[0]), np.eye(6), atol=1e-8)


@pytest.mark.parametrize("d", [4, 30])
def test_the_plain_space_of_different_columns(d):
    rng = np.random.default_rng(6)
    rows = 7 * X @ rng.standard_normal((6, d)) + rng.standard_normal((45, d))
    wide = np.hstack([Xt, 0.3 * rng.standard_normal((40, 25))])
    met = plain_map(check_domains(rows, y, wide, SOME))
    q = min(d, 20)
    source, target = met.maps
    assert source.shape == (d, q)
    # 20 principal axes of the target
    axes = PCA(q, svd_solver="full").fit(wide).components_
    np.testing.assert_allclose(np.abs(axes @ target), np.eye(q), atol=1e-8)
    # an orthonormal basis of the source, times the factor that makes its class means as large
    gain = np.linalg.norm(source[:, 0])
    np.testing.assert_allclose(source.T @ source / gain**2, np.eye(q), atol=1e-9)
    means = [
        np.stack([(each - each.mean(axis=0))[labels == c].mean(axis=0) for c in range(3)])
        for each, labels in ((rows, y), (wide, np.array(SOME)))
    ]
    sizes = [np.linalg.norm(a @ b) for a, b in zip(means, met.maps, strict=True)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-9)

    # no other basis brings the class means nearer together
    def overlap(basis):
        return np.sum((means[0] @ basis) * (means[1] @ target))

    best = overlap(source / gain)
    for _ in range(20):
        turned = np.linalg.qr(source / gain + 0.1 * rng.standard_normal(source.shape))[0]
        turned = turned * np.sign(np.sum(turned * source, axis=0))
        assert overlap(turned) < best
