"""What a table says where a statistic is undefined."""

from __future__ import annotations

from math import isnan

CORRELATION = "undefined: too few cells, or equal ranks"
SHARE = "undefined: fewer than two cells of different positive pooled SD"


def why(value: float, reason: str) -> str:
    """The reason if the value is undefined, else nothing."""
    return reason if isnan(value) else ""
