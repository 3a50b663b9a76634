"""Hand-worked examples of the slow reference implementation itself."""

import math

import pytest

from slow import factors, operations, orderings, resampling

CYCLIC2 = orderings.cyclic(2)
CYCLIC4 = orderings.cyclic(4)


def close(expected):
    """Approximate equality at numerical precision."""
    return pytest.approx(expected, abs=1e-13, rel=1e-13)


def logs(*probabilities):
    """A row of log-probabilities."""
    return [math.log(p) if p > 0 else -math.inf for p in probabilities]


def test_cyclic_and_reversal():
    # pi_1[j] = (j + 1) mod 4; its reversal is 3 - pi_1[j].
    assert CYCLIC4[1] == (1, 2, 3, 0)
    assert orderings.reversal(CYCLIC4[1]) == (2, 1, 0, 3)
    # For K >= 3 no reversal of a cyclic ordering is cyclic; for K = 2 it is the other one.
    assert all(orderings.reversal(pi) not in CYCLIC4 for pi in CYCLIC4)
    assert orderings.reversal(CYCLIC2[0]) == CYCLIC2[1]


def test_enumerations():
    assert orderings.all_orderings(3) == [
        (0, 1, 2),
        (0, 2, 1),
        (1, 0, 2),
        (1, 2, 0),
        (2, 0, 1),
        (2, 1, 0),
    ]
    # Latin squares of order K as sets of rows: 2/2! = 1, 12/3! = 2, 576/4! = 24.
    assert [len(orderings.latin_square_sets(K)) for K in (2, 3, 4)] == [1, 2, 24]
    # K = 2: the one set holds both an ordering and its reversal. K = 4: twelve (E.2).
    assert [len(orderings.balanced_reversal_free_sets(K)) for K in (2, 3, 4)] == [0, 2, 12]
    assert sorted(CYCLIC4) in orderings.balanced_reversal_free_sets(4)
    with pytest.raises(ValueError):
        orderings.all_orderings(7)
    with pytest.raises(ValueError):
        orderings.latin_square_sets(5)


def test_design_histograms():
    # {AB, AB, BA}: content 0 is first in two of three; std((2/3, 1/3)) = 1/6.
    design = [(0, 1), (0, 1), (1, 0)]
    assert orderings.u(design, 2) == [close([2 / 3, 1 / 3]), close([1 / 3, 2 / 3])]
    assert orderings.M(design, 2) == close(1 / 6)
    # Balanced: u_j is uniform, so M = 0 exactly.
    assert orderings.u(CYCLIC4, 4) == [[0.25] * 4] * 4
    assert orderings.M(CYCLIC4, 4) == 0.0


def test_example_of_b4():
    # Contents (0,1,0,1) under pi_0..pi_3 land at (j + s) mod 4 = 0, 2, 2, 0: g = (1/2,0,1/2,0).
    s = factors.statistics([[0, 1, 0, 1]], [CYCLIC4], [0], 4)
    assert s["flip_rate"] == 1.0
    assert s["g"] == s["f"] == [0.5, 0.0, 0.5, 0.0]
    assert s["skew"] == s["pooled_sd"] == 0.25  # every entry is 1/4 from 1/4
    assert s["kl"] == s["per_item_kl"] == close(1.0)  # 2 * (1/2) * log2(2)
    assert s["choice_entropy"] == close(1.0)  # contents split half and half
    assert s["pairwise_disagreement"] == close(2 / 3)  # 2 * 2 of the 6 pairs differ
    assert s["fluctuation_rate"] == 0.0  # pi_0 and pi_2 both choose content 0
    # Correct content 0: pi_s shows it at letter s, right for s = 0 and 2: A_j = (1,0,1,0).
    assert s["accuracy_by_letter"] == s["h"] == [1.0, 0.0, 1.0, 0.0]
    assert s["placement_range"] == s["range_h"] == 1.0
    assert s["balanced_rstd"] == s["std_h"] == 0.5
    # Accuracy 1/2, so the cap is min(1, 4 * 1/2) = 1 and the scaled flip rate 1.
    assert (s["accuracy"], s["flip_cap"], s["scaled_flip_rate"]) == (0.5, 1.0, 1.0)
    # Correct content 2: never right.
    wrong = factors.statistics([[0, 1, 0, 1]], [CYCLIC4], [2], 4)
    assert wrong["placement_range"] == 0.0
    assert wrong["g"] == s["g"]


def test_two_items_two_options():
    # Item 0 (correct 0) keeps content 0; item 1 (correct 0) is answered A under both orderings:
    # content 0, then content 1.
    s = factors.statistics([[0, 0], [0, 1]], [CYCLIC2, CYCLIC2], [0, 0], 2)
    assert (s["n_items"], s["m"]) == (2, 2)
    # Item means 1 and 1/2; under pi_0 both are right.
    assert (s["accuracy"], s["canonical_accuracy"]) == (0.75, 1.0)
    # f_0 = (1/2, 1/2), f_1 = (1, 0): f = (3/4, 1/4); g = f_1; 1/4 = 1/2 * 1/2 (eq. 6).
    assert (s["f"], s["g"]) == ([0.75, 0.25], [1.0, 0.0])
    assert (s["pooled_sd"], s["flip_rate"], s["skew"]) == (0.25, 0.5, 0.5)
    assert (s["stable_correct"], s["stable_wrong"]) == (0.5, 0.0)
    # a_0 = (1, 1), a_1 = (1, 0): A = (1, 1/2), h = (1, 0), and A_j = SC + FL h_j (eq. 7).
    assert (s["accuracy_by_letter"], s["h"]) == ([1.0, 0.5], [1.0, 0.0])
    assert (s["balanced_rstd"], s["placement_range"]) == (0.25, 0.5)
    # One of two items changes between pi_0 and pi_1, which is its only pair.
    assert (s["fluctuation_rate"], s["pairwise_disagreement"]) == (0.5, 0.5)
    # KL = 3/4 log2(3/2) + 1/4 log2(1/2) = 3/4 log2(3) - 1.
    assert s["kl"] == close(0.75 * math.log2(3) - 1)
    # Item values (0, 1) for the KL, (0, 1/2) for the SD, (0, 1) for the entropy.
    assert (s["per_item_kl"], s["per_item_sd"], s["choice_entropy"]) == (0.5, 0.25, 0.5)
    # Cap min(1, 2 * 1/4) = 1/2, reached.
    assert (s["flip_cap"], s["scaled_flip_rate"]) == (0.5, 1.0)
    assert (s["b"], s["std_b"], s["design_bound"]) == ([0.0, 0.0], 0.0, 0.0)
    assert s["corrected_sd"] == 0.25


def test_order_of_a_design_does_not_matter():
    # The half rotation of K = 4 sits last here; contents follow their orderings.
    shuffled = [CYCLIC4[1], CYCLIC4[3], CYCLIC4[0], CYCLIC4[2]]
    s = factors.statistics([[1, 1, 0, 2]], [shuffled], [0], 4)
    assert s["canonical_accuracy"] == 1.0  # pi_0 chooses content 0
    assert s["fluctuation_rate"] == 1.0  # pi_0 chooses 0, pi_2 chooses 2
    assert s["flip_cap"] == 1.0  # still the K cyclic orderings; min(1, 4 * 3/4)


def test_unbalanced_design():
    # {AB, AB, BA}: two items keep content 0, f = u_0 = (2/3, 1/3); the third chooses (0, 0, 1),
    # always at A: f = (1, 0). Pooled f = (7/9, 2/9), SD 5/18.
    design = [(0, 1), (0, 1), (1, 0)]
    s = factors.statistics([[0, 0, 0], [0, 0, 0], [0, 0, 1]], [design] * 3, [0, 1, 0], 2)
    assert s["f"] == close([7 / 9, 2 / 9])
    assert s["pooled_sd"] == close(5 / 18)
    # b = 2/3 * (1/6, -1/6) (eq. 9); f - b = (2/3, 1/3), whose SD 1/6 = FL * std(g) = 1/3 * 1/2.
    assert s["b"] == close([1 / 9, -1 / 9])
    assert s["corrected_sd"] == close(1 / 6)
    assert (s["flip_rate"], s["skew"]) == (close(1 / 3), 0.5)
    # std(b) = 1/9 = (1 - FL) M = 2/3 * 1/6: the bound is reached.
    assert (s["std_b"], s["design_bound"]) == (close(1 / 9), close(1 / 6))
    # Not balanced: no accuracy by letter. Not the cyclic set: no cap.
    for key in ("balanced_rstd", "placement_range", "std_h", "range_h", "flip_cap"):
        assert math.isnan(s[key])
    assert all(math.isnan(value) for value in s["accuracy_by_letter"] + s["h"])
    # Both rotations are in the design: the third item changes between them.
    assert s["fluctuation_rate"] == close(1 / 3)
    # One item has 2 differing pairs of 3.
    assert s["pairwise_disagreement"] == close(2 / 9)


def test_items_with_designs_of_their_own():
    # Item 0 under AB only, item 1 under AB, BA, AB, BA: only item 1's is balanced.
    s = factors.statistics([[0], [1, 1, 0, 1]], [[(0, 1)], CYCLIC2 * 2], [0, 1], 2)
    assert s["m"] == 4
    assert s["accuracy"] == close((1 + 3 / 4) / 2)  # item means, not answers
    # Item 1 lands at 1, 0, 0, 0: f_1 = (3/4, 1/4); f = ((1, 0) + f_1) / 2.
    assert (s["g"], s["f"]) == ([0.75, 0.25], [0.875, 0.125])
    # Item 0: u_{0,0} - unif = (1/2, -1/2), over N = 2; M is its SD 1/2.
    assert (s["b"], s["design_bound"]) == ([0.25, -0.25], 0.5)
    assert math.isnan(s["fluctuation_rate"])  # item 0 lacks BA
    assert math.isnan(s["pairwise_disagreement"])  # item 0 has no pair
    # Item 0 is right under AB, and so is item 1 under the first of its two ABs.
    assert s["canonical_accuracy"] == 1.0


def test_balanced_multiset():
    # Two copies of {AB, BA}, correct content 0, choices (0, 0, 0, 1): content 0 is at A twice,
    # right twice, and at B twice, right once. a_j = K/m * count = 1/2 * (2, 1).
    s = factors.statistics([[0, 0, 0, 1]], [CYCLIC2 * 2], [0], 2)
    assert s["accuracy_by_letter"] == [1.0, 0.5]
    assert s["placement_range"] == 0.5
    assert math.isnan(s["flip_cap"])  # not exactly the K cyclic orderings


def test_no_flip():
    # All stable and correct: FL = 0, accuracy 1, cap min(1, 2 * 0) = 0.
    s = factors.statistics([[1, 1]], [CYCLIC2], [1], 2)
    assert (s["flip_rate"], s["flip_cap"], s["pooled_sd"]) == (0.0, 0.0, 0.0)
    assert s["accuracy_by_letter"] == [1.0, 1.0]
    for key in ("skew", "std_h", "range_h", "scaled_flip_rate"):
        assert math.isnan(s[key])
    assert all(math.isnan(value) for value in s["g"] + s["h"])


def test_calibration_split():
    # SHA-256 of "7|calibration|toy|a", b and c begins 5dd4, b158 and 9a7d: the order is a, c, b.
    assert operations.calibration_ids(7, "toy", ["c", "b", "a"]) == ["a"]
    # floor(0.05 n + 0.5), at least 1: 29 -> floor(1.95) = 1, 30 -> 2, 49 -> 2, 50 -> 3.
    for n, size in ((1, 1), (29, 1), (30, 2), (49, 2), (50, 3)):
        ids = [str(number) for number in range(n)]
        assert len(operations.calibration_ids(7, "toy", ids)) == size
    ids = [str(number) for number in range(50)]
    assert operations.calibration_ids(7, "toy", ids) == operations.calibration_ids(
        7, "toy", ids[::-1]
    )


def test_priors():
    # Item 0: sqrt(.8 * .5) : sqrt(.2 * .5) = 2 : 1, so (2/3, 1/3). Item 1: (1/2, 1/2).
    items = [[logs(0.8, 0.2), logs(0.5, 0.5)], [logs(0.5, 0.5), logs(0.5, 0.5)]]
    assert operations.pride_prior(items) == close([7 / 12, 5 / 12])
    # Arithmetic: (.8 + .5 + .5 + .5) / 4.
    assert operations.batch_prior(items) == close([0.575, 0.425])
    # A zero probability becomes 1e-12, then the row is renormalised.
    total = 1 + 1e-12
    floored = operations.pride_prior([[logs(1, 0), logs(1, 0)]])
    assert floored == close([1 / total, 1e-12 / total])
    assert floored[1] == pytest.approx(1e-12, rel=1e-9)


def test_correction():
    # (1/2, 1/2) / (2/3, 1/3) = (3/4, 3/2), renormalised (1/3, 2/3).
    assert operations.correct(logs(0.5, 0.5), [2 / 3, 1 / 3], 1.0) == close(logs(1 / 3, 2 / 3))
    # alpha = 1/2: odds 1 : sqrt(2).
    odds = math.sqrt(2)
    expected = logs(1 / (1 + odds), odds / (1 + odds))
    assert operations.correct(logs(0.5, 0.5), [2 / 3, 1 / 3], 0.5) == close(expected)


def test_tie_rule():
    assert operations.choose([0.0, 5e-10]) == 0  # within 1e-9 of the largest
    assert operations.choose([0.0, 2e-9]) == 1
    # Only the distance to the largest counts: index 0 is 1.6e-9 away, index 1 is 0.8e-9 away.
    assert operations.choose([0.0, 0.8e-9, 1.6e-9]) == 1


def test_apply_letter_only_model():
    # Three options, every query (and reversed query) has letter probabilities (.5, .3, .2).
    three = orderings.cyclic(3)
    row = logs(0.5, 0.3, 0.2)
    logp = [[row] * 3] * 2
    choice = [[0, 0, 0]] * 2
    positions, corrected = operations.apply("none", logp, logp, choice, three, [0])
    assert positions == choice
    assert corrected[1][2] == close(row)
    # Content at letter r is at letter 2 - r in the reversal: (.5*.2, .3*.3, .2*.5), A and C tie.
    positions, corrected = operations.apply("reversal", logp, logp, choice, three, [0])
    assert positions == choice
    assert corrected[0][1] == close(logs(10 / 29, 9 / 29, 10 / 29))
    # The prior is the row itself, so correction leaves (1/3, 1/3, 1/3) and ties go to A.
    for operation in ("pride", "batch", "pride+reversal", "batch+reversal", "pride+batch"):
        positions, corrected = operations.apply(operation, logp, logp, choice, three, [0])
        assert positions == choice
        assert corrected[1][1] == close(logs(1 / 3, 1 / 3, 1 / 3))


def test_apply_uses_the_reversed_query_of_each_content():
    # Forward, under pi_1 = (1, 2, 0): letters (.2, .5, .3) are contents 2, 0, 1. The reversal is
    # (1, 0, 2): letters (.6, .1, .3) are contents 1, 0, 2. Products by content: 0: .5 * .1 = .05,
    # 1: .3 * .6 = .18, 2: .2 * .3 = .06; content 1 is shown at letter C.
    forward = [[logs(0.2, 0.5, 0.3)]]
    backward = [[logs(0.6, 0.1, 0.3)]]
    positions, corrected = operations.apply("reversal", forward, backward, [[1]], [(1, 2, 0)], [0])
    assert positions == [[2]]
    assert corrected[0][0] == close(logs(6 / 29, 5 / 29, 18 / 29))


def test_apply_pride_then_batch():
    # Calibration item: rows (.8, .2) and (.2, .8) have the even geometric mean (1/2, 1/2), so
    # PriDe changes nothing and the batch prior of its rows is (1/2, 1/2) too. With (.8, .2) and
    # (.5, .5): PriDe (2/3, 1/3) turns the rows into odds 2 and 1/2, i.e. (2/3, 1/3), (1/3, 2/3),
    # whose arithmetic mean is even: the second prior changes nothing.
    logp = [[logs(0.8, 0.2), logs(0.5, 0.5)]]
    expected = [close(logs(2 / 3, 1 / 3)), close(logs(1 / 3, 2 / 3))]
    for operation in ("pride", "pride+batch"):
        positions, corrected = operations.apply(operation, logp, None, [[0, 0]], CYCLIC2, [0])
        assert positions == [[0, 1]]
        assert corrected == [expected]
    # Batch alone: (.65, .35): odds .8 * .35 : .2 * .65 = 28 : 13 and .35 : .65.
    positions, corrected = operations.apply("batch", logp, None, [[0, 0]], CYCLIC2, [0])
    assert positions == [[0, 1]]
    assert corrected == [[close(logs(28 / 41, 13 / 41)), close(logs(0.35, 0.65))]]


def test_apply_vote():
    # A twice: content 0 then content 1, a tie, so content 0: at A, then at B.
    assert operations.apply("vote", [], None, [[0, 0]], CYCLIC2, []) == ([[0, 1]], None)
    # K = 4, positions 1, 2, 0, 0 are contents 1, 1, 2, 1: content 1, at (1 + s) mod 4.
    positions, corrected = operations.apply("vote", [], None, [[1, 2, 0, 0]], CYCLIC4, [])
    assert (positions, corrected) == ([[1, 2, 3, 0]], None)


def test_rank_reversals():
    # Differences: (0,1) is +1, -1 and reverses; (0,2) is +1, 0 and (1,2) is 0, +1: zero is no sign.
    assert operations.rank_reversals([[3, 2], [2, 3], [2, 2]]) == (1, 3)


def test_permuted_priors():
    assert operations.permuted_priors([0.7, 0.3]) == [[0.3, 0.7]]
    permuted = operations.permuted_priors([0.5, 0.3, 0.2])
    assert len(permuted) == 5  # 3! - 1
    assert [0.5, 0.3, 0.2] not in permuted
    assert len(operations.permuted_priors([0.4, 0.3, 0.2, 0.1])) == 23


def test_weighted_statistics():
    # Replicated: 1, 2, 10, 10.
    assert resampling.weighted_mean([1, 2, 10], [1, 1, 2]) == 23 / 4
    assert resampling.weighted_median([10, 1, 2], [2, 1, 1]) == 6.0  # between 2 and 10
    assert resampling.weighted_median([1, 2, 10], [1, 1, 3]) == 10.0
    assert math.isnan(resampling.weighted_mean([1.0], [0]))
    assert math.isnan(resampling.weighted_median([1.0], [0]))


def test_weighted_spearman():
    # No ties: 1 - 6 * (0 + 1 + 1) / (3 * 8) = 1/2.
    assert resampling.weighted_spearman([1, 2, 3], [1, 3, 2], [1, 1, 1]) == close(1 / 2)
    # First value twice: ranks (1.5, 1.5, 3, 4) and (1.5, 1.5, 4, 3), centred at 2.5: products
    # 1 + 1 + .75 + .75 = 3.5, squares 1 + 1 + .25 + 2.25 = 4.5 on both sides.
    assert resampling.weighted_spearman([1, 2, 3], [1, 3, 2], [2, 1, 1]) == close(7 / 9)
    assert math.isnan(resampling.weighted_spearman([1, 1], [1, 2], [1, 1]))
    assert math.isnan(resampling.weighted_spearman([1, 2], [1, 2], [3, 0]))


def test_percentile_and_small_helpers():
    # (4 - 1) * 25 / 100 = 0.75 of the way from 1 to 2.
    assert resampling.percentile([4, 3, 2, 1], 25) == 1.75
    assert resampling.percentile([4, 3, 2, 1], 100) == 4.0
    assert resampling.spearman_brown(0.5) == close(2 / 3)
    # The published SHA-256 of "abc", in groups of eight hexadecimal digits.
    assert resampling.generator_words("abc") == (
        0xBA7816BF,
        0x8F01CFEA,
        0x414140DE,
        0x5DAE2223,
        0xB00361A3,
        0x96177A9C,
        0xB410FF61,
        0xF20015AD,
    )
