"""The data audit as a page for readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from optionbias.audit import FAULTS, MEANINGS, Audited
from optionbias.orderings import LETTERS
from optionbias.repairs import REPAIRS

LISTED_IDS = 12


def page(cohort: str, audits: Mapping[str, Audited], switches: Mapping[str, bool]) -> str:
    """The whole page, as Markdown."""
    published = {name: a for name, a in audits.items() if _has(a, "repair")}
    parts = [
        f"# Data audit of the cohort {cohort}\n",
        "What each benchmark holds, what is wrong with it as published, and what the repairs of "
        "`config.yaml` touch. Statistics are computed on the items after repairs. Faults are counted "
        "in rows with K options and a gold among them, before any repair; `data_audit.csv` lists the "
        "ids of all of them.\n",
        "## Items\n",
        "Gold positions count the rows whose gold letter is A, B, C, ...; of a row whose options are "
        "out of letter order, the letter, not the line.\n",
        _table(
            (
                "benchmark",
                "K",
                "rows",
                "dropped",
                "items",
                "gold positions, published",
                "and of items",
            ),
            [_item_row(a) for a in audits.values()],
        ),
        "## Faults, in rows as published\n",
        _fault_table(audits),
    ]
    if published:
        parts += [
            "## Repairs\n",
            "Items that each repair touches, or, switched off, would touch, after the repairs above it. "
            "*Ours* is the default, and a run that departs from it is in bold; *paper* is what the "
            "paper, which mentions none, presumably did.\n",
            _repair_table(published, switches),
        ]
    own = [a.title for name, a in audits.items() if name not in published]
    if published and own:
        parts.append(
            f"Repairs do not apply to {', '.join(own)}: such items are audited as they were read, "
            "blanks at their edges removed.\n"
        )
    parts += ["## Sources\n", *(_source(a) for a in audits.values())]
    return "\n".join(parts)


def _has(audit: Audited, section: str) -> bool:
    return any(row["section"] == section for row in audit.rows)


def _count(audit: Audited, section: str, name: str) -> int:
    found = [row["count"] for row in audit.rows if (row["section"], row["name"]) == (section, name)]
    return int(str(found[0])) if found else 0


def _item_row(audit: Audited) -> tuple[str, ...]:
    dropped = []
    for row in audit.rows:
        section, _, reason = str(row["name"]).partition("dropped: ")
        if reason and not section:
            shown = f"`{reason}`" if reason in REPAIRS else reason
            dropped.append(f"{int(str(row['count'])):,} ({shown})")
    golds = [
        " ".join(str(_count(audit, "gold", f"{name} {LETTERS[i]}")) for i in range(audit.k))
        for name in ("published", "items")
    ]
    return (
        audit.title,
        str(audit.k),
        f"{_count(audit, 'rows', 'read'):,}",
        ", ".join(dropped) or "none",
        f"{_count(audit, 'rows', 'items'):,}",
        golds[0],
        "the same" if golds[1] == golds[0] else golds[1],
    )


def _fault_table(audits: Mapping[str, Audited]) -> str:
    """Faults down, benchmarks across; rows of zeros are named below instead."""
    seen = [name for name in FAULTS if any(_count(a, "fault", name) for a in audits.values())]
    absent = [name for name in FAULTS if name not in seen]
    with_faults = [a for a in audits.values() if any(_count(a, "fault", name) for name in seen)]
    lines = [
        (a.title, *(f"{n:,}" if (n := _count(a, "fault", name)) else "" for name in seen))
        for a in with_faults
    ]
    text = _table(("benchmark", *seen), lines) if seen else "None of any kind.\n"
    meanings = [f"- {name}: {MEANINGS[name]}" for name in seen]
    sound = [a.title for a in audits.values() if a not in with_faults]
    notes = [f"Without any of them: {', '.join(sound)}."] if sound and seen else []
    notes += [f"Looked for and not found anywhere: {', '.join(absent)}."] if absent and seen else []
    more = [" ".join(notes), "\n".join(meanings)]
    return text + "".join(f"\n{part}\n" for part in more if part)


def _repair_table(audits: Mapping[str, Audited], switches: Mapping[str, bool]) -> str:
    lines = []
    for name, repair in REPAIRS.items():
        touched = [f"{a.title} {n:,}" for a in audits.values() if (n := _count(a, "repair", name))]
        settings = [_on(value) for value in (switches[name], repair.ours, repair.paper)]
        if switches[name] != repair.ours:
            settings[0] = f"**{settings[0]}**"
        lines.append((f"`{name}`", repair.fault, *settings, ", ".join(touched) or "none"))
    return _table(("repair", "mends", "this run", "ours", "paper", "items touched"), lines)


def _on(value: bool) -> str:
    return "on" if value else "off"


def _source(audit: Audited) -> str:
    """A benchmark's origin, the ids of its faults, its exemplars."""
    told = [audit.origin]
    if audit.split is not None:
        told.append(f"Split: {audit.split}")
    if audit.subjects:
        told.append(f"Subjects: {', '.join(audit.subjects)}")
    told += [f"Licence: {audit.licence}", f"SHA-256 of the items: `{audit.digest}`{_known(audit)}"]
    cited = [f"Cite: {audit.citation}\n"] if audit.citation is not None else []
    lines = [f"### {audit.title}\n", ". ".join(told) + ".\n", *cited]
    for row in audit.rows:
        ids = row["ids"]
        if row["section"] == "fault" and isinstance(ids, list) and ids:
            if len(ids) == row["of"]:
                lines.append(f"- {row['name']}: all {len(ids):,}")
            else:
                lines.append(f"- {row['name']}: {len(ids):,} ({_some(ids)})")
    if audit.exemplars is not None:
        items, pool = audit.exemplars
        drawn = f" of a pool with SHA-256 `{pool}`" if pool else ""
        listed = ", ".join(f"`{item.id}` {LETTERS[item.answer]}" for item in items)
        lines.append(f"- exemplars{drawn}, with their answers: {listed}")
    return "\n".join(lines) + "\n"


def _known(audit: Audited) -> str:
    """Whether the digest of a published benchmark's items was compared with a known one."""
    if audit.pinned:
        return ", the known digest of this source"
    if _has(audit, "repair"):
        return (
            ", compared with none: none is known of this source under these repairs and this seed"
        )
    return ""


def _some(ids: Sequence[str]) -> str:
    more = len(ids) - LISTED_IDS
    listed = ", ".join(f"`{i}`" for i in ids[:LISTED_IDS])
    return listed + (f" and {more:,} more" if more > 0 else "")


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in escaped) + "\n"
