"""Which tables and figures there are: one line each. Read by the workflow, so it imports nothing."""

from __future__ import annotations

# number -> (module:function that returns a Table, the statistics files it reads)
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "2": ("optionbias.tables.operations:table2", ("comparison",)),
    "3": ("optionbias.tables.description:table3", ("sweeps",)),
    "4": ("optionbias.tables.description:table4", ("cells",)),
    "9": ("optionbias.tables.reliability:table9", ("cells", "halves")),
}

# number -> (module that draws it from its CSV, module that computes the CSV, the files that reads)
FIGURES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "3": (
        "optionbias.figures.factor_plane",
        "optionbias.figures.factor_plane_data",
        ("cells",),
    ),
    "5": (
        "optionbias.figures.operation_moves",
        "optionbias.figures.operation_moves_data",
        ("comparison",),
    ),
}
