"""The page of the data audit says what the audit counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from optionbias.audit import FAULTS, MEANINGS, Audited, audit_rows, rows_of_items
from optionbias.audit_page import LISTED_IDS, page
from optionbias.item import Item
from optionbias.items import digest
from optionbias.published import Reading
from optionbias.repairs import DEFAULTS, REPAIRS
from published_rows import OFF, only, planted, read, sound

SWITCHES = only("strip_blanks", "drop_identical_options")


def audited(reading: Reading, title: str = "Toy", **changes: Any) -> Audited:
    """The audit of a reading of four options."""
    rows = audit_rows(title.lower(), reading, 4)
    plain = Audited(title, 4, "here at 1234", "MIT", digest(reading.items), reading.pinned, rows)
    return replace(plain, **changes)


def own(n: int = 3) -> Audited:
    """A benchmark of the user's own: no repair, no split."""
    items = [Item(f"i{i}", f"Which {i}?", ("a", "b", "c", "d"), i) for i in range(n)]
    rows = rows_of_items(items)
    return audited(Reading(rows, rows, items, {}, {}, pinned=False), "Own", origin="a book")


def text(*audits: Audited, switches: dict[str, bool] = SWITCHES) -> str:
    return page("mine", {a.title.lower(): a for a in audits}, switches)


def table(shown: str, heading: str) -> list[list[str]]:
    """The cells of the table of a section, without its head's line."""
    section = shown.split(f"\n## {heading}")[1].split("\n## ")[0]
    lines = [line for line in section.split("\n") if line.startswith("|")]
    assert len({line.count("|") - line.count(r"\|") for line in lines}) <= 1
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [cells[0], *cells[2:]]


def section_of(shown: str, title: str) -> str:
    return shown.split(f"\n### {title}\n")[1].split("\n### ")[0]


def test_the_table_of_items() -> None:
    """Of seven rows one has two options, one lists an option twice: golds B but the last, D."""
    rows = [*planted("identical options", where=(2,), n=5), sound("r5", answer=3)]
    reading = read([*rows, sound("odd", options=("a", "b"))], SWITCHES)
    shown = text(audited(reading), own())
    assert table(shown, "Items")[1:] == [
        ["Toy", "4", "7", "1 (not 4 options), 1 (`drop_identical_options`)", "5", "0 5 0 1", "0 4 0 1"],
        ["Own", "4", "3", "none", "3", "1 1 1 0", "the same"],
    ]  # fmt: skip


def test_large_numbers_are_grouped() -> None:
    rows = [sound(f"r{i}", question=f"{i}?", options=("a", "b")) for i in range(1100)]
    line = table(text(audited(read([*rows, sound("last")], OFF))), "Items")[1]
    assert line[2:5] == ["1,101", "1,100 (not 4 options)", "1"]


def test_repairs_are_not_claimed_for_ones_own() -> None:
    said = "Repairs do not apply to Own: such items are audited as they were read"
    assert said in text(audited(read([sound("a"), sound("b")], OFF)), own())
    assert said not in text(own())


def test_the_table_of_faults_has_a_column_for_each_that_was_found() -> None:
    marked = audited(read(planted("markup"), OFF))
    blank = audited(read(planted("stray blanks on options", where=(1,)), OFF), "Blank")
    shown = text(marked, own(), blank)
    assert table(shown, "Faults") == [
        ["benchmark", "stray blanks on options", "markup"],
        ["Toy", "", "2"],
        ["Blank", "1", ""],
    ]
    assert "Without any of them: Own." in shown
    others = [name for name in FAULTS if name not in ("stray blanks on options", "markup")]
    assert f"Looked for and not found anywhere: {', '.join(others)}." in shown
    for name, meaning in MEANINGS.items():
        assert (f"\n- {name}: {meaning}\n" in shown) == (name not in others)


def test_no_fault_of_any_kind() -> None:
    shown = text(own())
    assert "None of any kind." in shown
    assert "Without any" not in shown
    assert "Looked for" not in shown


def test_the_table_of_repairs_has_each_with_its_settings_and_what_it_touches() -> None:
    reading = read(planted("stray blanks on options"), SWITCHES)
    shown = text(audited(reading), own(), audited(read(planted("markup"), SWITCHES), "Other"))
    head, *lines = table(shown, "Repairs")
    assert head == ["repair", "mends", "this run", "ours", "paper", "items touched"]
    assert [line[0] for line in lines] == [f"`{name}`" for name in REPAIRS]
    for line, (name, repair) in zip(lines, REPAIRS.items(), strict=True):
        now = "on" if SWITCHES[name] else "off"
        expected = now if SWITCHES[name] == repair.ours else f"**{now}**"
        ours, paper = ("on" if value else "off" for value in (repair.ours, repair.paper))
        assert line[1:5] == [repair.fault, expected, ours, paper]
        assert line[5] == ("Toy 2" if name == "strip_blanks" else "none")
    assert "**" not in text(audited(reading), switches=DEFAULTS)


def test_only_published_benchmarks_are_repaired() -> None:
    assert "## Repairs" not in text(own())


def test_a_source_is_described() -> None:
    reading = read(planted("markup", where=(1,)), OFF)
    toy = audited(reading, split="test", subjects=("art", "law"), citation="A. Toy. 2020.")
    shown = section_of(text(toy, own()), "Toy")
    sha256 = digest(reading.items)
    assert shown.split("\n")[1] == (
        f"here at 1234. Split: test. Subjects: art, law. Licence: MIT. SHA-256 of the items: "
        f"`{sha256}`, compared with none: none is known of this source under these repairs and this "
        f"seed."
    )
    assert "\nCite: A. Toy. 2020.\n" in shown and "Cite" not in section_of(text(own()), "Own")
    assert "\n- markup: 1 (`r1`)\n" in shown
    pinned = section_of(text(replace(toy, pinned=True)), "Toy")
    assert f"`{sha256}`, the known digest of this source.\n" in pinned
    # A user's own has no split to name and no digest to compare with.
    assert section_of(text(own()), "Own").split("\n")[1] == (
        f"a book. Licence: MIT. SHA-256 of the items: `{own().digest}`."
    )


@pytest.mark.parametrize(
    ("n", "listed"),
    [
        (LISTED_IDS, "12 (`r1`, `r2`, `r3`, `r4`, `r5`, `r6`, `r7`, `r8`, `r9`, `r10`, `r11`, `r12`)"),
        (LISTED_IDS + 1, "13 (`r1`, `r2`, `r3`, `r4`, `r5`, `r6`, `r7`, `r8`, `r9`, `r10`, `r11`, `r12` and 1 more)"),
    ],
)  # fmt: skip
def test_many_ids_are_cut(n: int, listed: str) -> None:
    rows = planted("markup", where=range(1, n + 1), n=n + 1)
    assert f"\n- markup: {listed}\n" in text(audited(read(rows, OFF)))


def test_a_fault_of_all_rows_lists_none() -> None:
    shown = text(audited(read(planted("markup", where=range(6)), OFF)))
    assert "\n- markup: all 6\n" in shown
    assert "`r1`" not in shown


@pytest.mark.parametrize(
    ("pool", "told"), [("f" * 64, f" of a pool with SHA-256 `{'f' * 64}`"), (None, "")]
)
def test_exemplars_with_their_answers(pool: str | None, told: str) -> None:
    """Thirty, as of six subjects: all are listed."""
    items = [Item(f"e{i}", "Which?", ("a", "b", "c", "d"), i % 4) for i in range(30)]
    shown = text(replace(own(), exemplars=(items, pool)))
    assert (
        f"\n- exemplars{told}, with their answers: `e0` A, `e1` B, `e2` C, `e3` D, `e4` A," in shown
    )
    assert shown.endswith(" `e29` B\n")
    assert "exemplars" not in text(own())


def test_a_bar_in_a_title_breaks_no_table() -> None:
    assert r"| A \| B |" in text(replace(own(), title="A | B"))
