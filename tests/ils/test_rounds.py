"""Rounds of self-training: what a fit learns from, what the rule sees, when a round is undone."""

from math import ceil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from shifted import shifted
from sklearn.decomposition import PCA

from ilspace.domains import check_domains
from ilspace.ils import fit_ils, ridge_rule, rounds
from ilspace.ils.ridge_rule import both_spaces
from ilspace.ils.rounds import self_train
from ilspace.optimizers import Status

DATA = shifted(1, n=45, nt=40)
X, y, Xt, yt = DATA
SOME = DATA.marked(-1, 6)
FREE, KNOWN = np.arange(6, 40), np.arange(6)


@pytest.fixture
def spied(monkeypatch):
    """What self-training hands to its parts, and what they give back."""
    seen = SimpleNamespace(fits=[], options=[], maps=[], rows=[], weights=[], codes=[], found=[])
    ridge, rule = ridge_rule.laplacian_ridge, ridge_rule.selective_ridge

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
    monkeypatch.setattr(ridge_rule, "laplacian_ridge", spy_ridge)
    monkeypatch.setattr(ridge_rule, "selective_ridge", spy_rule)
    return seen


def collapse_in(monkeypatch, *calls):
    """Let some predictions be of one class only; 0 are those in the plain space."""
    rule, counts = ridge_rule.selective_ridge, []

    def collapsed(ridge, codes, *others, **options):
        found = rule(ridge, codes, *others, **options)
        counts.append(len(counts))
        if counts[-1] not in calls:
            return found
        return found._replace(codes=np.where(codes < 0, 0, codes))

    monkeypatch.setattr(ridge_rule, "selective_ridge", collapsed)


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
    assert found.rule.expansion is spied.found[-1].expansion


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
        seen = both_spaces(rows, found.rule.plain, found.ils, position)
        np.testing.assert_allclose(seen, spied.rows[-1][part], atol=1e-12)
    met = found.rule.expansion.scores(both_spaces(Xt, found.rule.plain, found.ils, 1))
    np.testing.assert_allclose(met, spied.found[-1].scores[45:], atol=1e-9)


def test_rows_of_both_domains_at_once_are_mapped_by_their_own_maps():
    found = self_train(check_domains(X, y, Xt), n_components=3)
    mixed, domain = np.concatenate([X[:4], Xt[:3]]), np.array([0, 0, 0, 0, 1, 1, 1])
    wanted = [both_spaces(X[:4], found.rule.plain, found.ils, 0)]
    wanted.append(both_spaces(Xt[:3], found.rule.plain, found.ils, 1))
    met = both_spaces(mixed, found.rule.plain, found.ils, domain)
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
        return found.rule.expansion.scores(both_spaces(Xt, found.rule.plain, found.ils, 1))

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
    assert found.rule.expansion is spied.found[2].expansion
    assert "; undone, since a class was left without predictions\n" in capsys.readouterr().err


def test_a_collapse_in_round_two_goes_back_to_round_one(spied, monkeypatch):
    collapse_in(monkeypatch, 2)
    found = self_train(check_domains(X, y, Xt), n_rounds=3, n_components=3)
    assert [each.kept for each in found.rounds] == [True, False]
    assert found.rounds[1].n_selected > found.rounds[0].n_selected
    assert len(spied.fits) == 2
    assert found.ils is spied.maps[0]
    assert found.rule.expansion is spied.found[1].expansion


def test_the_inverse_temperature_is_that_of_the_kept_round(spied, monkeypatch):
    collapse_in(monkeypatch, 2)
    asked = []
    fake = lambda ridge, *_, **__: asked.append(ridge) or 2.5  # noqa: E731
    monkeypatch.setattr(ridge_rule, "held_out_inverse_temperature", fake)
    found = self_train(check_domains(X, y, Xt), n_components=3)
    np.testing.assert_array_equal(asked[0].rows, spied.rows[1])
    assert found.rule.inverse_temperature == 2.5


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
        scores.append(
            found.rule.expansion.scores(both_spaces(target, found.rule.plain, found.ils, 1))
        )
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
        scores.append(
            found.rule.expansion.scores(both_spaces(make(Xt), found.rule.plain, found.ils, 1))
        )
    assert type(scores[1]) is not np.ndarray
    np.testing.assert_allclose(np.asarray(scores[1]), scores[0], atol=1e-6)


# -- many rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_most", "n_source", "n_target"), [(20, 10, 10), (31, 15, 15), (50, 25, 25), (84, 44, 40)]
)
def test_the_rule_is_trained_on_a_sample(spied, monkeypatch, n_most, n_source, n_target):
    monkeypatch.setattr(ridge_rule, "TRAINING_ROWS", n_most)
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
    monkeypatch.setattr(ridge_rule, "TRAINING_ROWS", 20)
    labels = np.r_[yt[:30], np.full(10, -1)]
    self_train(check_domains(X, y, Xt, labels), n_components=3, random_state=0)
    target = spied.codes[0][10:]
    assert np.count_nonzero(target >= 0) == 10
    assert np.count_nonzero(target < 0) == 1  # a row without a label is there in any case
    for domains in spied.fits:
        np.testing.assert_array_equal(domains.target.codes[:30], yt[:30])


def test_a_sample_holds_every_class(spied, monkeypatch):
    monkeypatch.setattr(ridge_rule, "TRAINING_ROWS", 20)
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
    monkeypatch.setattr(ridge_rule, "TRAINING_ROWS", 4)
    found = self_train(check_domains(X, y, Xt), n_components=3, random_state=0)
    assert found.rule.expansion.landmarks.shape[0] == 4


def test_the_expansion_has_no_more_landmarks_than_allowed(monkeypatch):
    monkeypatch.setattr(ridge_rule, "LANDMARKS", 25)
    found = self_train(check_domains(X, y, Xt), n_components=3, random_state=0)
    assert found.rule.expansion.landmarks.shape == (25, 9)
    scores = found.rule.expansion.scores(both_spaces(Xt, found.rule.plain, found.ils, 1))
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


@pytest.mark.parametrize(
    ("limit", "most"), [("TRAINING_ROWS", 60), ("LANDMARKS", 30), ("PAIR_ROWS", 50)]
)
def test_samples_are_those_of_the_random_state(monkeypatch, limit, most):
    module = rounds if limit == "PAIR_ROWS" else ridge_rule
    monkeypatch.setattr(module, limit, most)

    def scores(seed):
        found = self_train(check_domains(X, y, Xt), n_components=3, random_state=seed)
        return found.rule.expansion.scores(both_spaces(Xt, found.rule.plain, found.ils, 1))

    first = scores(3)
    assert scores(3).tobytes() == first.tobytes()
    assert np.abs(scores(4) - first).max() > 1e-6


def test_without_samples_the_random_state_does_not_matter():
    found = [
        self_train(check_domains(X, y, Xt), n_components=3, random_state=seed) for seed in (0, 1)
    ]
    one, other = (each.rule.expansion.coefficients for each in found)
    assert one.tobytes() == other.tobytes()
