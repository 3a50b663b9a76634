"""Prior correction at several strengths: rows of cells, and their means over common cells."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import strengths
from optionbias.analysis import Settings
from optionbias.cell import answer_cell
from optionbias.design import Design
from optionbias.factors import cell_statistics, contents_of
from optionbias.identities import IdentityError
from optionbias.operations import apply
from optionbias.orderings import cyclic_and_reversals
from optionbias.priors import divide_out, permuted_priors, pride_prior
from optionbias.resampling import weighted_mean
from optionbias.strength_effects import mean_estimates, strength_effects
from optionbias.strengths import (
    ALPHAS,
    BATCH_VARIANTS,
    analyse,
    factors,
    letter_preference,
    log_batch_prior,
    symmetric_share,
)
from strategies import SEED, build_sweep, choose, letter_logits, sweep_of
from synthetic import FEW, NAN, key_of, score_run, standard

STATISTICS = ("flip_rate", "skew", "accuracy")


# --- a cell ----------------------------------------------------------------------------------


def test_factors_by_hand() -> None:
    # K = 2. Item 0 keeps content 0 (letter A, then B); items 1 and 2 keep letter A and flip.
    # FL = 2/3; flipping answers all at A: g = (1, 0), SD 1/2. Gold 0: item 0 is right twice, the
    # others once each: 4 of 6. The second way keeps content 0 throughout.
    positions = np.array([[[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [1, 1, 1]]], dtype=np.uint8)
    fl, skew, accuracy = factors(positions, np.zeros(3, dtype=np.int8), "")
    assert fl.tolist() == [2 / 3, 0]
    assert (skew[0], accuracy.tolist()) == (0.5, [2 / 3, 1])
    assert math.isnan(skew[1])


def test_a_broken_identity_names_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    # Were the SD of the flipping answers' shares twice what it is, the product would be too.
    plain = strengths.row_sd
    sds = iter([2.0, 1.0])
    monkeypatch.setattr(strengths, "row_sd", lambda shares: next(sds) * plain(shares))
    positions = np.zeros((1, 2, 1), dtype=np.uint8)
    with pytest.raises(IdentityError, match=r"first-token/toy/m: pooling identity fails by 0\.5"):
        factors(positions, np.zeros(1, dtype=np.int8), "first-token/toy/m")


@pytest.mark.parametrize(
    ("b", "share"),
    [
        # Appendix D.2: a preference for A alone keeps (1, -1, -1, 1), SD 1 of SD sqrt(3).
        ([3, -1, -1, -1], 1 / math.sqrt(3)),
        # A steady drift and an alternation cancel, outer over inner passes through.
        ([3, 1, -1, -3], 0),
        ([1, -1, 1, -1], 0),
        ([1, -1, -1, 1], 1),
        # Three letters: (1, 0, 0) keeps (1/2, 0, 1/2), SD 1/sqrt(18) of sqrt(2)/3.
        ([1, 0, 0], 1 / 2),
        ([0.25, 0.25, 0.25, 0.25], NAN),
        ([1, 1 + 1e-15, 1], NAN),
        ([0, -math.inf, 1], NAN),
    ],
)
def test_the_share_that_mirroring_keeps_by_hand(b: list[float], share: float) -> None:
    assert symmetric_share(b) == pytest.approx(share, abs=1e-15, nan_ok=True)


def test_the_prior_from_log_probabilities_by_hand() -> None:
    # Geometric means of (.8, .2) and (.5, .5): 2 : 1. The letter preference is their logs' mean.
    logp = np.log([[[0.8, 0.2], [0.5, 0.5]]])
    assert log_batch_prior(logp) == pytest.approx([2 / 3, 1 / 3])
    assert letter_preference(logp) == pytest.approx(np.log([0.4, 0.1]) / 2)


@FEW
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=9), st.floats(0.5, 3), st.floats(-4, 4))
def test_scale_shift_and_mirror_do_not_change_the_share(
    b: list[float], scale: float, shift: float
) -> None:
    values = np.array(b)
    if np.std(values) < 1e-3:
        return
    share = symmetric_share(values)
    assert -1e-12 <= share <= 1 + 1e-12
    for other in (scale * values, values + shift, values[::-1], -values):
        assert symmetric_share(other) == pytest.approx(share, abs=1e-9)


def test_rows_are_the_operations_on_evaluation_items() -> None:
    # Cells with K = 4, 10 and 2 by `operations` and `cell_statistics`, exactly.
    run = standard()
    rows = run.analysis("strengths").set_index(["checkpoint", "benchmark"])
    for checkpoint, benchmark in (("Alpha-1B", "other"), ("Beta_2B", "ten"), ("Beta_2B", "two")):
        (sweep,) = [s for s in run.sweeps if key_of(s) == ("first-token", benchmark, checkpoint)]
        cell = answer_cell(sweep, benchmark, SEED, operations=())
        assert cell is not None
        logp, kept = cell.queries.logp, ~cell.calibration
        prior = pride_prior(logp[cell.calibration])
        design, row = Design.of(cell.queries.orderings), rows.loc[(checkpoint, benchmark)]
        assert (row["K"], row["n_items"]) == (sweep.k, kept.sum())

        def expected(positions, cell=cell, kept=kept, design=design):
            contents = contents_of(positions[kept], design.orderings)
            s = cell_statistics(contents, cell.gold[kept], design)
            # A mean of the items' means is rounded otherwise than a share of all answers.
            return [s.flip_rate, s.skew, pytest.approx(s.accuracy, abs=1e-14)]

        def found(column, entry, row=row):
            return [row[f"{column}_{s}"][entry] for s in STATISTICS]

        for alpha in (0.0, 0.25, 1.0, 1.5):
            a = ALPHAS.index(alpha)
            positions = apply("pride", cell.queries, alpha).positions
            assert found("estimated", a) == expected(positions)
            others = permuted_priors(prior, SEED)
            for p, other in enumerate(others):
                positions, _ = choose(divide_out(logp, other, alpha))
                assert found("permuted", a * len(others) + p) == expected(positions)
        assert found("batch", 0) == expected(apply("batch", cell.queries).positions)


def test_rows_agree_with_the_scored_cells() -> None:
    # `cells` holds none, PriDe and batch of the same items.
    run = standard()
    cells = run.inputs().cells
    rows = run.analysis("strengths")
    assert len(rows) == 19
    one = ALPHAS.index(1.0)
    columns = {"none": ("estimated", 0), "pride": ("estimated", one), "batch": ("batch", 0)}
    for operation, (column, entry) in columns.items():
        scored = cells[
            (cells["readout"] == "first-token")
            & (cells["operation"] == operation)
            & (cells["subset"] == "evaluation")
        ].sort_values(["benchmark", "checkpoint"])
        for statistic in STATISTICS:
            found = [values[entry] for values in rows[f"{column}_{statistic}"]]
            expected = scored[statistic].to_numpy()
            assert np.allclose(
                np.array(found, dtype=float), expected, rtol=0, atol=1e-14, equal_nan=True
            )


def test_a_cell_of_one_item_or_without_probabilities_has_no_row() -> None:
    assert score_run([sweep_of("m", n=1)]).analysis("strengths").empty
    assert score_run([sweep_of("m", generated=True)]).analysis("strengths").empty


@FEW
@given(st.sampled_from([2, 3, 4, 5]), st.integers(0, 999))
def test_a_pure_letter_preference_is_removed_at_full_strength(k: int, seed: int) -> None:
    # PriDe's model: one letter preference on top of the contents. The prior is that preference, so
    # at alpha 1 no answer depends on the order, and so with the prior from log-probabilities.
    rng, pi = np.random.default_rng(seed), cyclic_and_reversals(k)
    letters = rng.normal(size=k)
    logits = letter_logits(rng.normal(size=(12, k)), pi, letters)
    sweep = build_sweep(pi, logits, rng.integers(k, size=12))
    (row,) = analyse("toy", [sweep], Settings(SEED, 0, 0))
    assert row["estimated_flip_rate"][ALPHAS.index(1.0)] == 0
    assert row["batch_flip_rate"][BATCH_VARIANTS.index("mean log-probability")] == 0
    assert row["symmetric_share"] == pytest.approx(symmetric_share(letters), abs=1e-5)
    # Nothing is corrected at alpha 0, whatever the prior.
    permutations = len(permuted_priors(np.ones(k), SEED))
    assert row["permuted_flip_rate"][:permutations] == row["estimated_flip_rate"][:1] * permutations


# --- means over cells ------------------------------------------------------------------------


def row_of(
    checkpoint: str, skews: tuple[float, float, float], benchmark: str = "x", k: int = 2
) -> dict:
    """A two-option cell: skew before, and at every strength by the prior and by its swap.

    Flip rate 1/2 throughout; accuracy 1/2, then 3/4 and 1/4.
    """
    later = len(ALPHAS) - 1
    return {
        "checkpoint": checkpoint, "benchmark": benchmark, "K": k, "n_items": 8,
        "estimated_flip_rate": [0.5] * 7, "permuted_flip_rate": [0.5] * 7,
        "estimated_skew": [skews[0], *[skews[1]] * later],
        "permuted_skew": [skews[0], *[skews[2]] * later],
        "estimated_accuracy": [0.5, *[0.75] * later],
        "permuted_accuracy": [0.5, *[0.25] * later],
        "batch_flip_rate": [0.5, 0.25, 0.125], "batch_skew": [skews[1]] * 3,
        "batch_accuracy": [0.5] * 3, "symmetric_share": 0.5,
    }  # fmt: skip


def test_common_cells_and_means_by_hand() -> None:
    # m0 halves and doubles its skew, m1 keeps and quadruples it; m2 reaches 0 under the swap and
    # m3 has none before: neither is common. Accuracy counts all four.
    frame = pd.DataFrame(
        [
            row_of("m0", (0.2, 0.1, 0.4)),
            row_of("m1", (0.1, 0.1, 0.4)),
            row_of("m2", (0.2, 0.1, 0.0)),
            row_of("m3", (NAN, 0.1, 0.4)),
        ]
    )
    effects = strength_effects(frame, 30, SEED)
    two = math.log(2)
    expected = {"estimated": -two / 2, "permuted": 3 * two / 2, "difference": -2 * two}
    for prior, value in expected.items():
        found = effects.by_strength("skew", prior)
        assert (found[1.0].value, found[1.0].n) == (pytest.approx(value), 2)
        # Before correction nothing has changed, on the three cells that have a skew.
        assert (found[0.0].value, found[0.0].n) == (0, 3)
    for prior, value in {"estimated": 0.25, "permuted": -0.25, "difference": 0.5}.items():
        found = effects.by_strength("accuracy", prior)[0.5]
        assert (found.value, found.interval.low, found.n) == (value, value, 4)
    # Variants: the flip rate falls by 0, log 2 and 2 log 2 everywhere; a skew before is needed.
    variants = effects.by_variant("flip_rate")
    assert [variants[v].value for v in BATCH_VARIANTS] == pytest.approx([0, -two, -2 * two])
    assert effects.by_variant("skew")["batch"].n == 3


def test_permutations_are_averaged_within_a_cell() -> None:
    # Three permutations with skews 0.1, 0.2 and 0.8 of 0.2: logs -log 2, 0 and 2 log 2.
    row = row_of("m", (0.2, 0.2, 0.2))
    row["permuted_skew"] = [0.2] * 3 + [0.1, 0.2, 0.8] * 6
    found = strength_effects(pd.DataFrame([row]), 10, SEED).by_strength("skew", "permuted")
    assert found[1.5].value == pytest.approx(math.log(2) / 3)
    # One permutation without a skew takes the cell out, at its own strength alone.
    row["permuted_skew"] = [0.2] * 3 + [0.1, 0.2, NAN] + [0.1, 0.2, 0.8] * 5
    found = strength_effects(pd.DataFrame([row]), 10, SEED).by_strength("skew", "estimated")
    assert [found[a].n for a in ALPHAS] == [1, 0, 1, 1, 1, 1, 1]


@FEW
@given(st.integers(0, 999), st.randoms(use_true_random=False))
def test_the_difference_is_that_of_the_means_in_any_row_order(seed: int, random) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        row_of(f"m{i}", tuple(rng.choice([0.0, 0.1, 0.2, 0.4, NAN], size=3)), f"b{j}")
        for i in range(3)
        for j in range(2)
    ]
    effects = strength_effects(pd.DataFrame(rows), 20, SEED)
    shuffled = strength_effects(pd.DataFrame(random.sample(rows, len(rows))), 20, SEED)
    for statistic in STATISTICS:
        means = {p: effects.by_strength(statistic, p) for p in ("estimated", "permuted")}
        found = effects.by_strength(statistic, "difference")
        other = shuffled.by_strength(statistic, "difference")
        for alpha in ALPHAS:
            value = means["estimated"][alpha].value - means["permuted"][alpha].value
            assert found[alpha].value == pytest.approx(value, abs=1e-12, nan_ok=True)
            assert other[alpha].value == pytest.approx(value, abs=1e-12, nan_ok=True)
            ends = [(e[alpha].interval.low, e[alpha].interval.high) for e in (found, other)]
            assert ends[0] == pytest.approx(ends[1], abs=1e-12, nan_ok=True)


@FEW
@given(st.integers(0, 999))
def test_columns_at_once_are_the_mean_of_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((6, 4)) < 0.3, NAN, rng.normal(size=(6, 4)))
    weights = rng.integers(0, 3, size=(25, 6))
    for estimate, column in zip(mean_estimates(values, weights), values.T, strict=True):
        draws = weighted_mean(column, weights)
        defined = draws[~np.isnan(draws)]
        ends = np.quantile(defined, [0.025, 0.975]) if len(defined) else [NAN, NAN]
        found = (estimate.interval.low, estimate.interval.high)
        assert found == pytest.approx(tuple(ends), abs=1e-12, nan_ok=True)
        assert estimate.interval.left_out == pytest.approx(np.isnan(draws).mean())
        assert estimate.n == (~np.isnan(column)).sum()
