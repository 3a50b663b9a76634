"""The clone that runs: its commit, and whether its code differs from it."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from optionbias.provenance import ROOT

# What can change a number. Cohort files and workflow/data.lock are told by their own digests.
CODE = ("Snakefile", "workflow/rules", "scripts", "optionbias", "paper/paper.typ", "paper/reported")
UNKNOWN = "unknown"


@cache
def state(root: Path = ROOT) -> dict[str, Any]:
    """`commit`, and `uncommitted`: whether files of code were changed, added or removed since.

    Both are `unknown` where there is no git, `root` is not the top of a clone, or git refuses it
    (another user's folder, unless `safe.directory` names it).
    """
    try:
        prefix, commit = _git(root, "rev-parse", "--show-prefix", "HEAD").split("\n")[:2]
        if prefix:
            return {"commit": UNKNOWN, "uncommitted": UNKNOWN}
        # Said by name: a user may have told git to show no files that it does not track.
        changed = _git(root, "status", "--porcelain", "--untracked-files=normal", "--", *CODE)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return {"commit": UNKNOWN, "uncommitted": UNKNOWN}
    return {"commit": commit, "uncommitted": bool(changed.strip())}


def _git(root: Path, *arguments: str) -> str:
    """What git prints about `root`, whatever repository the environment names (a hook's does)."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(root), *arguments],
        env=env, capture_output=True, check=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    return done.stdout
