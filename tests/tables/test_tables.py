"""Tables 2, 3, 4 and 9: texts, every entry of Table 2, cohorts that lack things."""

import itertools
import math

import numpy as np
import pytest

from optionbias.resampling import draw_weights
from optionbias.tables.description import table3, table4
from optionbias.tables.operations import table2
from slow import operations as slow_operations
from slow import orderings as slow_orderings
from slow import resampling as slow
from strategies import SEED
from synthetic import DRAWS, NAN, ODD, OPERATION_TEXTS, Run, answers, odd, score_run, standard

SIX = ("none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal")
COLUMNS = {
    "flip_rate": ("dlog flip rate", ""),
    "skew": ("dlog skew", ""),
    "placement_range": ("placement range", "pp"),
    "rank": ("rank reversals", "% of pairs"),
    "accuracy": ("d accuracy", "pp"),
    "stable_wrong": ("d stable-wrong", "pp"),
}
PAIRS = (
    ("reversal", "pride"),
    ("reversal", "batch"),
    ("pride+reversal", "pride"),
    ("pride+reversal", "reversal"),
    ("batch+reversal", "batch"),
    ("batch+reversal", "reversal"),
    ("pride+batch", "pride"),
    ("pride+batch", "batch"),
)


# --- Table 2 against a literal loop ----------------------------------------------------------


def slow_factors(contents: list[list[int]], gold: list[int], orderings: list) -> dict[str, float]:
    """The statistics of Table 2 for the items of one cell, counted one by one."""
    n, k = len(contents), len(orderings[0])
    landed, right = [0] * k, [0] * k
    flips = stable_wrong = 0
    for z, c in zip(contents, gold, strict=True):
        flips += len(set(z)) > 1
        stable_wrong += set(z) == {z[0]} and z[0] != c
        for content, pi in zip(z, orderings, strict=True):
            landed[pi[content]] += len(set(z)) > 1
            right[pi[c]] += content == c
    shares = [c / sum(landed) for c in landed] if flips else []
    return {
        "flip_rate": flips / n,
        "skew": slow_orderings.population_sd(shares) if flips else NAN,
        "placement_range": (max(right) - min(right)) / n,
        "accuracy": sum(right) / (n * k),
        "stable_wrong": stable_wrong / n,
    }


def slow_answers(sweep, benchmark: str) -> tuple[dict, dict[str, int], list]:
    """Contents of each operation on the evaluation items usable under all, their gold, orderings."""
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    pis = slow_orderings.cyclic(sweep.k)
    forward = [stored.index(pi) for pi in pis]
    backward = [stored.index(slow_orderings.reversal(pi)) for pi in pis]
    choice, logp = sweep.choice.tolist(), sweep.logp.tolist()
    kept = [q for q in range(len(choice)) if min(choice[q][s] for s in forward) >= 0]
    ids = [sweep.items[q] for q in kept]
    held_out = set(slow_operations.calibration_ids(SEED, benchmark, ids))
    whole = {q for q in kept if min(choice[q][s] for s in backward) >= 0}
    # An item that misses a reversed answer is scored by no operation: any row will do.
    mirrored = [[logp[q][s] for s in (backward if q in whole else forward)] for q in kept]
    scored = [i for i, q in enumerate(kept) if q in whole and ids[i] not in held_out]
    found = {}
    for operation in OPERATION_TEXTS:
        positions, _ = slow_operations.apply(
            operation,
            [[logp[q][s] for s in forward] for q in kept],
            mirrored,
            [[choice[q][s] for s in forward] for q in kept],
            pis,
            [i for i, item in enumerate(ids) if item in held_out],
        )
        found[operation] = {
            ids[i]: [pi.index(r) for r, pi in zip(positions[i], pis, strict=True)] for i in scored
        }
    return found, {ids[i]: int(sweep.gold[kept[i]]) for i in scored}, pis


class SlowTable2:
    """Every entry of Table 2 from the sweeps, by replicating checkpoints."""

    def __init__(self, run: Run) -> None:
        self.statistics, self.correct = {}, {}
        cells: dict[str, dict] = {}
        for sweep in run.sweeps:
            name, benchmark = sweep.metadata["checkpoint"], sweep.metadata["benchmark"]
            if sweep.metadata["readout"] == "first-token" and sweep.k > 2:
                cells.setdefault(benchmark, {})[name] = slow_answers(sweep, benchmark)
        for benchmark, here in cells.items():
            for name, (found, gold, pis) in here.items():
                shared = [item for item in gold if all(item in g for _, g, _ in here.values())]
                for operation, contents in found.items():
                    key = (name, benchmark, operation)
                    self.statistics[key] = slow_factors(
                        [contents[item] for item in gold], list(gold.values()), pis
                    )
                    self.correct[key] = [
                        sum(contents[item][s] == gold[item] for item in shared)
                        for s in range(len(pis))
                    ]
        self.cells = sorted({key[:2] for key in self.statistics})
        self.checkpoints = sorted({c for c, _ in self.cells})
        name = "table2/checkpoints/draws"
        self.draws = [
            [c for c, w in zip(self.checkpoints, row, strict=True) for _ in range(w)]
            for row in draw_weights(len(self.checkpoints), DRAWS, SEED, name).tolist()
        ]

    def value(self, cell: tuple, statistic: str, operation: str, minus: str | None) -> float | None:
        """A cell's value or paired difference; None where it does not count."""
        if statistic not in ("flip_rate", "skew"):
            found = self.statistics[*cell, operation][statistic]
            base = "none" if minus is None and statistic != "placement_range" else minus
            return found - self.statistics[*cell, base][statistic] if base else found
        group = SIX
        if "pride+batch" in (operation, minus):
            group = ("none", "pride", "batch", "pride+batch")
        factor = {op: self.statistics[*cell, op][statistic] for op in group}
        if not all(value > 0 for value in factor.values()):
            return None
        return math.log(factor[operation]) - math.log(factor[minus or "none"])

    def level(self, copies: list[str], operation: str) -> float:
        """Reversing pairs of copies over all pairs; two copies of a checkpoint are no pair."""
        reversing = pairs = 0
        for benchmark in sorted({b for _, b in self.cells}):
            here = [c for c in copies if (c, benchmark) in self.cells]
            for a, b in itertools.combinations(here, 2):
                if a != b:
                    counts = [self.correct[c, benchmark, operation] for c in (a, b)]
                    reversing += slow_operations.rank_reversals(counts)[0]
                    pairs += 1
        return reversing / pairs if pairs else NAN

    def entry(self, copies: list[str], statistic: str, operation: str, minus: str | None) -> float:
        """An entry for a list of checkpoints, some of them copies."""
        if statistic == "rank":
            level = self.level(copies, operation)
            return level if minus is None else level - self.level(copies, minus)
        found = [
            self.value(cell, statistic, operation, minus)
            for checkpoint in copies
            for cell in self.cells
            if cell[0] == checkpoint
        ]
        values = [v for v in found if v is not None]
        return math.fsum(values) / len(values) if values else NAN


def test_every_entry_of_table_2_is_the_slow_loops() -> None:
    loop = SlowTable2(standard())
    tidy = table2(standard().inputs()).tidy().set_index(["row", "column"])
    rows = [(OPERATION_TEXTS[op], op, None) for op in OPERATION_TEXTS]
    rows += [
        (f"{OPERATION_TEXTS[op]} minus {OPERATION_TEXTS[minus]}", op, minus) for op, minus in PAIRS
    ]
    assert list(tidy.index) == [(r, c) for r, _, _ in rows for c, _ in COLUMNS.values()]
    for (row, operation, minus), statistic in itertools.product(rows, COLUMNS):
        column, unit = COLUMNS[statistic]
        where, entry = f"{row}, {column}", tidy.loc[(row, column)]
        assert entry["unit"] == unit
        found = entry[["value", "ci_low", "ci_high"]].astype(float)
        if operation == "vote" and statistic in ("flip_rate", "skew"):
            assert found.isna().all(), where
            continue
        drawn = [loop.entry(copies, statistic, operation, minus) for copies in loop.draws]
        defined = [v for v in drawn if not math.isnan(v)]
        ends = [slow.percentile(defined, q) for q in (2.5, 97.5)]
        if operation == "none" and column.startswith("d"):
            # The baseline differs from itself by nothing, for certain: no interval is given.
            assert set(drawn) == {0.0}
            ends = [NAN, NAN]
        expected = np.array([loop.entry(loop.checkpoints, statistic, operation, minus), *ends])
        scale = 1 if statistic in ("flip_rate", "skew") else 100
        assert np.allclose(found, scale * expected, rtol=0, atol=1e-10, equal_nan=True), where
        assert ("undefined in" in entry["note"]) == (len(defined) < 0.99 * DRAWS), where


# --- texts and values ------------------------------------------------------------------------


def test_table_2_is_laid_out_as_the_paper_does() -> None:
    table = table2(standard().inputs())
    assert [b.heading for b in table.blocks] == ["Operations", "Paired differences"]
    assert [len(b.entries) for b in table.blocks] == [8 * 6, 8 * 6]
    # Five checkpoints: said at every interval.
    few = "rests on 5 checkpoints, so intervals over checkpoints are only indicative"
    notes = table.tidy().set_index(["row", "column"])["note"]
    assert notes["PriDe", "dlog skew"].startswith(few)


def test_table_3_by_hand() -> None:
    table = table3(standard().inputs())
    # By family, then size, then name.
    assert list(dict.fromkeys(table.tidy()["row"])) == [
        "Alpha-1B", "Alpha-1B-it", "Gamma.8B", "Beta_2B", "Zeta-70B",
    ]  # fmt: skip
    tidy = table.tidy().set_index(["row", "column"])
    assert tidy.loc[("Gamma.8B", "parameters"), ["value", "unit"]].tolist() == [0.25, "B"]
    row = tidy.loc["Alpha-1B-it"]["value"]
    assert row.to_dict() == {
        "family": "Alpha",
        "parameters": 1.0,
        "training": "post-trained",
        "base": "Alpha-1B",
        # The first twelve digits of what the sweeps name, once though five sweeps name it.
        "revision": "alpha-1b-it0",
    }
    assert tidy.loc[("Alpha-1B", "training"), "value"] == "base"
    assert tidy.loc[("Alpha-1B", "base"), "value"] == ""


def test_two_revisions_of_a_checkpoint_are_both_named() -> None:
    sweeps = [answers("A", b, 4, revision=r) for b, r in (("x", "b" * 40), ("y", "a" * 40))]
    tidy = table3(score_run(sweeps).inputs()).tidy().set_index(["row", "column"])
    assert tidy.loc[("A", "revision"), "value"] == "aaaaaaaaaaaa, bbbbbbbbbbbb"


def test_a_revision_that_no_sweep_names_is_not_stated() -> None:
    tidy = (
        table3(score_run([answers("A", "x", 4, revision=None)]).inputs())
        .tidy()
        .set_index(["row", "column"])
    )
    assert tidy.loc[("A", "revision"), "value"] == "not stated"


def test_a_revision_that_some_sweeps_name_is_named() -> None:
    sweeps = [answers("A", "x", 4, revision=None), answers("A", "y", 4, revision="abc")]
    tidy = table3(score_run(sweeps).inputs()).tidy().set_index(["row", "column"])
    assert tidy.loc[("A", "revision"), "value"] == "abc"


def test_table_4_by_hand() -> None:
    tidy = table4(standard().inputs()).tidy().set_index(["row", "column"])["value"]
    assert list(dict.fromkeys(row for row, _ in tidy.index)) == [
        "Four & more", "other", "ten", "two",
    ]  # fmt: skip
    # Five cells, four with all 40 items; five-shot and all-orderings sweeps are not counted.
    assert tidy["Four & more"].to_dict() == {
        "K": 4, "items": 40, "models": 5, "split": "test", "source": "a book", "licence": "MIT",
    }  # fmt: skip
    # Four checkpoints were run on it; one item of one of them is unusable.
    assert tidy["other"].tolist()[:3] == [4, 26, 4]
    assert tidy["ten"].tolist()[:3] == [10, 22, 5]
    assert tidy["two"].tolist() == [2, 30, 5, "not stated", "not stated", "not stated"]


def test_modal_items_on_a_tie_are_the_largest() -> None:
    run = score_run([answers("A", "x", 4), answers("B", "x", 4, unanswered=[(0, 0)])])
    tidy = table4(run.inputs()).tidy().set_index("column")["value"]
    assert run.inputs().first_token["n_items"].tolist() == [30, 29]
    assert tidy["items"] == 30


def test_few_checkpoints_note() -> None:
    inputs = standard().inputs()
    assert inputs.few_checkpoints_note(["a", "a"]).startswith("rests on 1 checkpoint, ")
    assert inputs.few_checkpoints_note("abcdefghi").startswith("rests on 9 checkpoints, ")
    assert inputs.few_checkpoints_note("abcdefghij") == ""


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ODD))
def test_cohorts_that_leave_statistics_undefined(name: str) -> None:
    tidy = table2(odd(name).inputs()).tidy()
    if name in ("two options only", "no reversals", "no first-token readout"):
        assert len(tidy) == 1
        assert "at least three options" in tidy["note"][0]
    if name in ("one checkpoint", "one cell"):
        level = tidy[(tidy["column"] == "rank reversals")]
        assert level["value"].isna().all()
    if name == "no cell flips":
        changes = tidy[tidy["column"].isin(["dlog flip rate", "dlog skew"])]
        assert changes["value"].isna().all()
        assert (tidy.loc[tidy["column"] == "placement range", "value"] == 0).all()
