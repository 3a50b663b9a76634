"""A small simulated cohort through the whole workflow: marked everywhere, the same in any order."""

from __future__ import annotations
