"""Print what a run of a cohort would take, what is done, and what would stop it."""

import argparse
import json
from pathlib import Path

from optionbias import logs
from optionbias.atomic import write_text
from optionbias.cohort import read_cohort
from optionbias.preflight import hub_access
from optionbias.preflight.page import page
from optionbias.preflight.plan import plan

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cohort", type=Path, required=True, help="the cohort file")
parser.add_argument("--config", type=json.loads, required=True, help="the whole config, as JSON")
parser.add_argument("--sweeps", required=True, help="the folder of the cohort's sweeps")
parser.add_argument("--results", type=Path, required=True)
parser.add_argument("--cores", type=int, required=True)
parser.add_argument("--remote", action="store_true", help="jobs run on other machines")
parser.add_argument("--page", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    config = args.config
    cohort = read_cohort(args.cohort, needs_models=config["sweeps"] is None)
    found = plan(cohort, config, args.sweeps, args.results, local=not args.remote)
    sources = [cohort.checkpoints[name].get("source", {}) for name in found.checkpoints(found.jobs)]
    on_hub = [(source["hub"], source["revision"]) for source in sources if "hub" in source]
    token = hub_access.has_token() if on_hub else None
    text = page(found, hub_access.ask(on_hub), token, args.cores)
    write_text(args.page, text)
    print(text, end="")


logs.run(main, args.log)
