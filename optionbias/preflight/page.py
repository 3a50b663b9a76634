"""The page that `snakemake preflight` prints: aligned text, one section a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optionbias.endpoint import Endpoint
from optionbias.preflight import storage
from optionbias.preflight.hub_access import Access
from optionbias.preflight.plan import Plan
from optionbias.preflight.throughput import parameters
from optionbias.preflight.workload import Job, Work
from optionbias.sweep import READOUTS

UNKNOWN = "unknown"
# The hub and the cohort file are taken to agree within this share of the size.
ROUNDING = 0.05
LABELS = (*READOUTS, "noise floor")


def page(plan: Plan, access: Mapping[str, Access], token: bool | None, cores: int) -> str:
    """The page of a plan.

    Args:
        plan: of all jobs of a cohort.
        access: repository -> what the hub said of it.
        token: whether the hub's client has a token; None where no checkpoint is on the hub.
        cores: that the run may use.
    """
    sections = [_head(plan), _work(plan)]
    if plan.runs_models:
        sections += [_compute(plan, cores), _checkpoints(plan, access)]
        if token is not None:
            sections.append(_hub(plan, access, token))
        sections.append(_closed(plan))
    sections += [_disk(plan), _verdict(plan, access)]
    return "\n\n".join(section for section in sections if section) + "\n"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def count(number: float) -> str:
    """A number of tokens or prompts, with a unit where it is long."""
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if number >= size:
            return f"{number / size:,.2f}{unit}"
    return f"{number:,.0f}"


def hours(number: float) -> str:
    """Hours, with as many digits as an estimate has."""
    return (
        f"{number:,.0f}" if number >= 100 else f"{number:,.1f}" if number >= 1 else f"{number:.2f}"
    )


def size(gb: float) -> str:
    """A size in 10^9 bytes as text, in a smaller unit where it is small."""
    if gb < 0.1:
        return f"{1000 * gb:,.0f} MB"
    return f"{gb:,.0f} GB" if gb >= 100 else f"{gb:,.1f} GB"


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def _head(plan: Plan) -> str:
    cohort = plan.cohort
    closed = sum(bool(entry.get("closed")) for entry in cohort.checkpoints.values())
    opened = len(cohort.checkpoints) - closed
    lines = [
        f"# Preflight: cohort {cohort.label}",
        "",
        f"  {opened} open-weight and {closed} closed checkpoint{'s' * (closed != 1)}, "
        f"{len({cell.benchmark for cell in cohort.cells})} benchmarks, {len(cohort.cells):,} cells",
        f"  {len(plan.jobs) - len(plan.left):,} of {len(plan.jobs):,} sweeps are there, "
        f"{len(plan.left):,} are left",
    ]
    if cohort.simulated:
        lines.append("  No model runs: answers are simulated, and no item is read.")
    elif not plan.runs_models:
        lines.append(f"  No model runs: the sweeps of {plan.config['sweeps']} are read.")
    return "\n".join(lines)


def _work(plan: Plan) -> str:
    found = [_title("Work"), _table(plan, plan.works)]
    if plan.left and len(plan.left) < len(plan.works):
        found += ["", "  What is left:", _table(plan, plan.left)]
    if not plan.runs_models:
        return "\n".join(found)
    workload = plan.workload
    estimated = sorted({j.cell.benchmark for j, work in plan.works.items() if work.estimated})
    found += [
        "",
        "  prompts: forward passes of first-token readouts, texts of generated ones, calls of closed",
        "  models. tokens: every prompt whole. run: tokens that forward passes over prompts run, shared",
        "  prefixes once. generated: at most (`max_tokens`; of closed models their own limit).",
        f"  Tokens as the tokeniser of {workload.tokenizer} counts them; another takes some more or less.",
    ]
    if estimated:
        found.append(f"  Estimates, from characters or other items: {', '.join(estimated)}.")
    return "\n".join(found)


def _table(plan: Plan, works: Mapping[Job, Work]) -> str:
    if not plan.runs_models:
        rows = [("", "cells", "answers")]
        rows += [(n, f"{w.jobs:,}", count(w.prompts)) for n, w in _by_label(works).items()]
        return columns(rows)
    unit = "GPU hours" if plan.machine.on_gpu else "core hours"
    full = [("", "cells", "prompts", "tokens", "run", "generated", unit)]
    by_label = _by_label(works)
    of_label = {
        label: plan.hours_of(job for job in works if job.label == label) for label in by_label
    }
    of_label["in all"] = sum(of_label.values())
    for label, work in by_label.items():
        generated = count(work.generated) if work.generated else "-"
        run = count(work.run) if work.run else "-"
        spent = hours(of_label[label]) if work.run else "-"
        full.append(
            (
                label,
                f"{work.jobs:,}",
                count(work.prompts),
                count(work.tokens),
                run,
                generated,
                spent,
            )
        )
    return columns(full)


def _by_label(works: Mapping[Job, Work]) -> dict[str, Work]:
    found = {
        label: sum((work for job, work in works.items() if job.label == label), Work())
        for label in LABELS
    }
    return {label: work for label, work in found.items() if work.jobs} | {
        "in all": sum(works.values(), Work())
    }


def _compute(plan: Plan, cores: int) -> str:
    machine, speed = plan.machine, plan.machine.speed
    unit = 1e12 if machine.on_gpu else 1e9
    named = "TFLOP/s" if machine.on_gpu else "GFLOP/s a core"
    lines = [
        _title("Compute"),
        f"  on      {machine.name}, {machine.memory_gb:,.0f} GB, {plan.dtype()}",
        f"  speed   {speed.prefill / unit:,.1f} {named} on prompts, {speed.decode / unit:,.1f} generating: "
        f"{speed.how}",
    ]
    left = plan.hours_of(plan.left)
    if machine.on_gpu:
        lines.append(f"  GPUs    {machine.found} found here; hours of one, {hours(left)} are left")
        if machine.found > 1:
            lines.append(f"  time    {hours(left / machine.found)} hours on all of them, at best")
    else:
        lines.append(f"  time    {hours(left / cores)} hours left on {cores} cores, at best")
    if machine.note:
        lines.append(f"  note    {machine.note}")
    return "\n".join(lines)


def _checkpoints(plan: Plan, access: Mapping[str, Access]) -> str:
    names = plan.checkpoints(plan.jobs)
    if not names:
        return ""
    unit = "GPU hours" if plan.machine.on_gpu else "core hours"
    head = ["", "parameters", "published", "in memory", "cells left", f"{unit} left"]
    if plan.machine.on_gpu:
        head.append("GPUs needed")
    on_hub = any("hub" in plan.cohort.checkpoints[name].get("source", {}) for name in names)
    if on_hub:
        head += ["download", "here", "gated", "token may read"]
    rows = [head]
    for name in names:
        entry = plan.cohort.checkpoints[name]
        every = [job for job in plan.jobs if job.cell.checkpoint == name]
        own = [job for job in every if job in plan.left]
        largest = max(every, key=plan.weights_gb)
        row = [
            name,
            f"{parameters(entry) / 1e9:,.2f} B",
            entry.get("dtype", "-"),
            size(plan.weights_gb(largest)),
            f"{len(own):,}",
            hours(plan.hours_of(own)),
        ]
        if plan.machine.on_gpu:
            row.append(str(plan.gpus_needed(largest)))
        if on_hub:
            row += _on_hub(entry, access)
        rows.append(row)
    return f"{_title('Checkpoints')}\n{columns(rows)}"


def _on_hub(entry: Mapping[str, object], access: Mapping[str, Access]) -> list[str]:
    source = entry.get("source", {})
    repository = source.get("hub") if isinstance(source, Mapping) else None
    if repository is None:
        return ["-", "-", "-", "-"]
    said = access.get(repository, Access())
    whole = storage.download_gb(entry) if said.weights_gb is None else said.weights_gb
    here = storage.cached_gb(storage.hub_cache(), repository)
    gated = entry.get("gated") if said.gated is None else said.gated
    return [size(whole), size(here), _yes(gated), _yes(said.readable)]


def _yes(value: object) -> str:
    return UNKNOWN if value is None else "yes" if value else "no"


def _hub(plan: Plan, access: Mapping[str, Access], token: bool) -> str:
    names = plan.checkpoints(plan.jobs)
    sources = {n: plan.cohort.checkpoints[n].get("source", {}) for n in names}
    hub = {n: source["hub"] for n, source in sources.items() if "hub" in source}
    found = {n: access.get(repository, Access()) for n, repository in hub.items()}
    gated = [
        n for n, a in found.items()
        if (plan.cohort.checkpoints[n].get("gated") if a.gated is None else a.gated)
    ]  # fmt: skip
    readable = {
        word: sum(_yes(found[n].readable) == word for n in gated) for word in ("yes", "no", UNKNOWN)
    }
    lines = [
        _title("Hugging Face hub"),
        f"  {len(gated)} of {len(hub)} repositories are gated; "
        + ("a token is set" if token else "no token is set (HF_TOKEN, or `hf auth login`)"),
    ]
    if gated:
        told = ", ".join(f"{word} {number}" for word, number in readable.items() if number)
        lines.append(f"  whether the gated ones may be read from here: {told}")
    if all(a == Access() for a in found.values()):
        lines.append("  The hub was not reached: sizes and gating are those of the cohort file.")
    return "\n".join([*lines, *_differences(plan, found)])


def _differences(plan: Plan, found: Mapping[str, Access]) -> list[str]:
    """Where the hub says something else than the cohort file."""
    lines = []
    for name, said in found.items():
        entry = plan.cohort.checkpoints[name]
        told = entry.get("download_gb")
        if told and said.weights_gb and abs(said.weights_gb - told) > ROUNDING * told:
            lines.append(
                f"  {name}: the hub has {said.weights_gb:,.2f} GB of weights, the cohort file says {told:,.2f}"
            )
        if said.gated is not None and said.gated != entry.get("gated", False):
            lines.append(
                f"  {name}: the hub says gated {_yes(said.gated)}, the cohort file {_yes(entry.get('gated', False))}"
            )
    return lines


def _closed(plan: Plan) -> str:
    names = plan.closed(plan.jobs)
    if not names:
        return ""
    keys = plan.keys()
    rows = [["", "calls left", "prompt tokens", "at most USD", "key"]]
    for name in names:
        endpoint = Endpoint.of(plan.cohort.source(name))
        work = sum((w for job, w in plan.left.items() if job.cell.checkpoint == name), Work())
        dollars = "no price given"
        if endpoint.price is not None:
            dollars = f"{endpoint.price.of(round(work.tokens), round(work.generated)):,.2f}"
        missing = keys.get(name)
        key = endpoint.key or "none is needed"
        if endpoint.key:
            told = "is not usable" if endpoint.secret() else "is not set"
            key += f" {told}" if missing else " is set" if name in keys else ""
        rows.append([name, f"{work.prompts:,}", count(work.tokens), dollars, key])
    return f"{_title('Closed models')}\n{columns(rows)}"


def _disk(plan: Plan) -> str:
    rows = [["", "in all", "still to write", "free", "in"]]
    left = {need.what: need.left_gb for need in plan.needs(plan.left)} if plan.left else {}
    rows += [
        [
            need.what,
            size(need.gb),
            size(left.get(need.what, 0.0)),
            size(need.free_gb),
            str(need.folder),
        ]
        for need in plan.needs(plan.works)
    ]
    return f"{_title('Disk')}\n{columns(rows)}"


def _refused(plan: Plan, access: Mapping[str, Access]) -> list[str]:
    """A line for the repositories that the hub does not let this machine read, and what to do."""
    refused: dict[bool, list[str]] = {True: [], False: []}
    for name in plan.checkpoints(plan.left):
        repository = plan.cohort.checkpoints[name].get("source", {}).get("hub")
        said = access.get(repository, Access())
        if said.readable is False and not plan.is_cached(name):
            refused[bool(said.gated)].append(repository)
    told = {
        True: "gated and not readable with this token: accept their terms on the hub",
        False: "not readable: no such repository or revision, or no access to it",
    }
    return [f"{', '.join(names)}: {told[gated]}" for gated, names in refused.items() if names]


def _verdict(plan: Plan, access: Mapping[str, Access]) -> str:
    if not plan.left:
        return "Nothing is left to run: tables and figures can be made from what is there."
    keys = sorted({key for key in plan.keys().values() if key})
    stops = [*plan.faults(), *_refused(plan, access), *keys]
    lines = [f"  {stop}" for stop in stops]
    if lines:
        return "\n".join([_title("What stops this run"), *lines])
    return "Nothing that is known here stops this run."
