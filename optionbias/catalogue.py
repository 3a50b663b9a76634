"""Which analyses, tables and figures there are: one line each.

Read by the workflow, so it imports nothing of the package.
"""

from __future__ import annotations

from typing import NamedTuple


class Analysis(NamedTuple):
    """A statistic that reads sweeps: its module, and the readouts and option counts it reads."""

    module: str
    readouts: tuple[str, ...] = ("first-token",)
    least_k: int = 2
    most_k: int = 26

    def reads(self, readout: str, k: int) -> bool:
        """Whether it reads the sweeps of a readout on benchmarks of K options."""
        return readout in self.readouts and self.least_k <= k <= self.most_k


# name -> what computes results/statistics/{name}.parquet from sweeps
ANALYSES: dict[str, Analysis] = {
    "margins": Analysis("optionbias.margins"),
    "strengths": Analysis("optionbias.strengths"),
    "transitions": Analysis("optionbias.transitions", least_k=3),
    "injections": Analysis("optionbias.injections", least_k=4, most_k=4),
    "changes": Analysis("optionbias.changes"),
    "folds": Analysis("optionbias.folds", ("first-token", "all-orderings")),
    "closed": Analysis("optionbias.closed", ("closed",)),
    "designs": Analysis("optionbias.designs", ("all-orderings",), least_k=3),
    "balanced_sets": Analysis("optionbias.balanced_sets", ("all-orderings",), least_k=4, most_k=4),
}

# number -> (module:function that returns a Table, the statistics files it reads)
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "1": ("optionbias.tables.identities:table1", ("cells", "identities")),
    "2": ("optionbias.tables.operations:table2", ("comparison",)),
    "3": ("optionbias.tables.description:table3", ("sweeps",)),
    "4": ("optionbias.tables.description:table4", ("cells",)),
    "5": ("optionbias.tables.margins:table5", ("cells", "priors", "margins")),
    "6": ("optionbias.tables.strengths:table6", ("strengths",)),
    "7": ("optionbias.tables.margins:table7", ("cells", "margins")),
    "8": ("optionbias.tables.variance_shares:table8", ("cells",)),
    "9": ("optionbias.tables.reliability:table9", ("cells", "halves")),
    "10": ("optionbias.tables.second_prior:table10", ("cells", "priors")),
    "11": ("optionbias.tables.cap_null:table11", ("cells",)),
    "12": ("optionbias.tables.disjoint:table12", ("cells", "folds")),
    "13": ("optionbias.tables.closed:table13", ("cells", "closed")),
    "14": ("optionbias.tables.transitions:table14", ("transitions",)),
    "15": ("optionbias.tables.transitions:table15", ("transitions",)),
    "16": ("optionbias.tables.changes:table16", ("cells", "changes")),
    "17": ("optionbias.tables.designs:table17", ("designs",)),
    "18": ("optionbias.tables.balanced_sets:table18", ("balanced_sets",)),
    "19": ("optionbias.tables.designs:table19", ("designs",)),
    "20": ("optionbias.tables.designs:table20", ("designs",)),
    "21": ("optionbias.tables.definitions:table21", ()),
    # Made where the noise floor is measured (config key `noise_floor`).
    "noise": ("optionbias.tables.noise:table_noise", ("cells", "noise")),
    "text": (
        "optionbias.tables.text:table_text",
        ("cells", "comparison", "pair_reversals", "priors", "identities", *ANALYSES),
    ),
}

# The numbers of the prose: functions that return a Block each, in the order of the paper.
TEXTS: tuple[str, ...] = (
    "optionbias.tables.panel:text_1",
    "optionbias.tables.panel:text_4",
    "optionbias.tables.margins:text_5",
    "optionbias.tables.operations:text_6",
    "optionbias.tables.panel:text_a1",
    "optionbias.tables.variance_shares:text_a3",
    "optionbias.tables.variance_shares:text_a5",
    "optionbias.tables.placement:text_b2",
    "optionbias.tables.panel:text_b3",
    "optionbias.tables.placement:text_b4",
    "optionbias.tables.closed:text_c2",
    "optionbias.tables.strengths:text_d1",
    "optionbias.tables.strengths:text_d2",
    "optionbias.tables.transitions:text_d4",
    "optionbias.tables.changes:text_d5",
    "optionbias.tables.designs:text_e1",
    "optionbias.tables.balanced_sets:text_e2",
    "optionbias.tables.designs:text_e3",
)

# number -> (module that draws it from its CSV, module that computes the CSV, the files that reads)
FIGURES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "1": ("optionbias.figures.overview", "optionbias.figures.overview_data", ("comparison",)),
    "2": ("optionbias.figures.identity", "optionbias.figures.identity_data", ()),
    "3": ("optionbias.figures.factor_plane", "optionbias.figures.factor_plane_data", ("cells",)),
    "4": ("optionbias.figures.strengths", "optionbias.figures.strengths_data", ("strengths",)),
    "5": (
        "optionbias.figures.operation_moves",
        "optionbias.figures.operation_moves_data",
        ("comparison",),
    ),
    "6": ("optionbias.figures.injections", "optionbias.figures.injections_data", ("injections",)),
    "7": ("optionbias.figures.gap_bins", "optionbias.figures.gap_bins_data", ("margins",)),
    "8": ("optionbias.figures.cap_null", "optionbias.figures.cap_null_data", ("cells",)),
    "9": ("optionbias.figures.changes", "optionbias.figures.changes_data", ("cells", "changes")),
}
