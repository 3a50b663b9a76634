"""Repairs: each touches the planted rows and no other, on or off, and does what it says."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import faults
from optionbias.benchmarks.source import Row
from optionbias.provenance import ROOT
from optionbias.repairs import DEFAULTS, REPAIRS, Context, repaired
from optionbias.seeds import DEFAULT_SEED
from published_rows import OFF, QUICK, only, planted, row_lists, sound, with_option

TOY = Context("toy", gold_first=False, seed=DEFAULT_SEED)
HELLASWAG = Context("hellaswag", gold_first=False, seed=DEFAULT_SEED)
GOLD_FIRST = Context("toy", gold_first=True, seed=DEFAULT_SEED)
DROPPING = ("drop_empty", "drop_identical_options", "drop_duplicates", "drop_referring_options")
# Those that move or strip texts and change no other character.
KEEPING = ("letter_order", "strip_blanks", "shuffle_gold_first")
CHANGING = tuple(name for name in REPAIRS if name not in DROPPING)
# The repair of each planted fault.
MENDS = {
    "identical options": "drop_identical_options",
    "stray blanks on options": "strip_blanks",
    "stray blanks on the gold": "strip_blanks",
    "stray blanks on the gold alone": "strip_blanks",
    "options out of letter order": "letter_order",
    "mis-keyed when read by line": "letter_order",
    "options that lost their letter": "moved_letters",
    "mojibake": "fix_mojibake",
    "empty fields": "drop_empty",
    "options that refer to others": "drop_referring_options",
    "markup": "remove_markup",
}


def apply(name: str, rows: list[Row], context: Context = TOY) -> list[Row]:
    """One repair alone."""
    return REPAIRS[name].apply(rows, context)


@pytest.mark.parametrize("fault", MENDS)
def test_a_repair_touches_the_planted_rows_whether_on_or_off(fault: str) -> None:
    """Rows 2 and 4 of six; of all repairs one touches them, and only switched on."""
    rows = planted(fault)
    name = MENDS[fault]
    context = HELLASWAG if name == "remove_markup" else TOY
    expected = {other: ["r2", "r4"] if other == name else [] for other in REPAIRS}
    same, touched = repaired(rows, OFF, context)
    assert (same, touched) == (rows, expected)
    for switches in (only(name), dict.fromkeys(REPAIRS, True)):
        after, touched = repaired(rows, switches, context)
        assert touched == expected
        others = [row for row in rows if row.id not in ("r2", "r4")]
        assert [row for row in after if row.id not in ("r2", "r4")] == others
        mended = [row for row in after if row.id in ("r2", "r4")]
        assert len(mended) == (0 if name in DROPPING else 2)
        assert not any(row in rows for row in mended)


@pytest.mark.parametrize("on", [False, True])
def test_repeated_items_and_a_constant_gold(on: bool) -> None:
    first = sound("r0", answer=0)
    rows = [first, sound("r1", answer=0), replace(first, id="r2", options=first.options[::-1])]
    after, touched = repaired(rows, OFF | {"drop_duplicates": on}, TOY)
    assert touched["drop_duplicates"] == ["r2"]
    assert [row.id for row in after] == (["r0", "r1"] if on else ["r0", "r1", "r2"])
    assert touched["shuffle_gold_first"] == []  # not declared of this source: never shuffled
    after, touched = repaired(rows, OFF | {"shuffle_gold_first": on}, GOLD_FIRST)
    shuffled = apply("shuffle_gold_first", rows, GOLD_FIRST)
    moved = [new.id for new, old in zip(shuffled, rows, strict=True) if new != old]
    assert touched["shuffle_gold_first"] == moved != []
    assert (after == rows) == (not on)


def test_only_hellaswag_has_markup() -> None:
    """Brackets are part of the text everywhere else, and in rows without a mark also there."""
    rows = planted("markup")
    assert apply("remove_markup", rows) == rows
    row = sound("r", question="Who [laughs] at  this?")
    assert apply("remove_markup", [row], HELLASWAG) == [row]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[header] How to wait [title] Put it off.", "How to wait. Put it off."),
        ("Sit. [step] Stand [substeps] up.", "Sit. Stand up."),
        ("[step] Wait", " Wait"),
        (" Nothing here ", "Nothing here"),
    ],
)
def test_markup_is_removed_as_harnesses_do(text: str, plain: str) -> None:
    """Strip, ` [title]` to `. `, every bracket out, double blanks to one, in this order.

    A text that begins with a mark keeps the blank after it, which `strip_blanks` takes.
    """
    marked = with_option(sound("r", question=text, passage=text), 0, "x [step]")
    (after,) = apply("remove_markup", [with_option(marked, 1, text)], HELLASWAG)
    expected = plain if not text.startswith("[header]") else f" {plain}"
    assert [after.question, after.passage, after.options[1]] == [expected] * 3
    assert after.options[0] == "x "
    (clean,) = apply("strip_blanks", [after])
    assert clean.question == plain.strip()


def test_options_are_put_in_the_order_of_their_letters() -> None:
    """A, C, B, D with gold B: after it the gold is where its letter says."""
    row = sound("r", options=("one", "three", "two", "four"), letters=("A", "C", "B", "D"))
    (after,) = apply("letter_order", [row])
    assert (after.options, after.letters) == (("one", "two", "three", "four"), tuple("ABCD"))
    assert after.answer == row.answer == 1
    assert after.options[1] == row.options[faults.gold_line(row) or 0] == "two"


def test_a_moved_letter_goes_back() -> None:
    """Options 1 and 3 lost theirs, which stand in the text; the first `A.` of it is taken out."""
    row = Row(
        "r",
        "Which?",
        ("Rome A.is old", "Bern", "Oslo", "Lima A.D.was founded"),
        3,
        letters=(None, "B", "C", None),
    )
    (after,) = apply("moved_letters", [row])
    assert after.options == ("Rome is old", "Bern", "Oslo", "Lima A.was founded")
    assert after.letters == tuple("ABCD")
    assert apply("moved_letters", [after]) == [after]


def test_a_lost_letter_that_no_text_holds_stays_lost() -> None:
    row = sound("r", letters=("A", None, "C", "D"))
    assert apply("moved_letters", [row]) == [row]
    # Two letters are lost and both stand in the text: nobody knows which is its own.
    both = with_option(sound("r", letters=("A", None, None, "D")), 1, "B.x C.y")
    assert apply("moved_letters", [both]) == [both]
    assert apply("letter_order", [both]) == [both]


def test_a_letter_that_came_back_takes_part_in_the_order() -> None:
    row = Row("r", "Which?", ("x C.y", "b", "a", "d"), 0, letters=(None, "B", "A", "D"))
    (after,), touched = repaired([row], only("moved_letters", "letter_order"), TOY)
    assert after.options == ("a", "b", "x y", "d")
    assert touched["moved_letters"] == touched["letter_order"] == ["r"]
    # Without the first the second sees no order to restore.
    assert repaired([row], only("letter_order"), TOY)[0] == [row]


def test_blanks_are_stripped_from_every_text() -> None:
    row = sound("r", question=" Which one?\n", passage="\tRead this. ")
    (after,) = apply("strip_blanks", [with_option(row, 1, "\N{NO-BREAK SPACE}a  b ")])
    assert (after.question, after.passage, after.options[1]) == ("Which one?", "Read this.", "a  b")
    assert apply("strip_blanks", [sound("s")]) == [sound("s")]


def test_mojibake_is_undone_and_accents_are_not() -> None:
    rows = [
        sound("r", question="The cafÃ© – itâ€™s late"),
        sound("s", question="Café, “naïve” – so"),
    ]
    after = apply("fix_mojibake", rows)
    assert [row.question for row in after] == ["The café – it’s late", "Café, “naïve” – so"]


def test_the_first_of_repeated_items_is_kept() -> None:
    row = sound("r0")
    again = [replace(row, id=f"r{i}", options=row.options[i:] + row.options[:i]) for i in (1, 2, 3)]
    assert apply("drop_duplicates", [row, *again, sound("s")]) == [row, sound("s")]
    assert apply("drop_duplicates", [again[2], row]) == [again[2]]


def test_an_option_becomes_empty_when_it_is_stripped() -> None:
    """Touched by both; a blank option is as empty before."""
    row = with_option(sound("r"), 0, "  ")
    after, touched = repaired([row, sound("s")], only("strip_blanks", "drop_empty"), TOY)
    assert after == [sound("s")]
    assert touched["strip_blanks"] == touched["drop_empty"] == ["r"]


def test_what_the_paper_presumably_did_is_what_the_config_prints() -> None:
    """`name: ours   # [paper] ...` in config.yaml."""
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    told = dict(re.findall(r"^  (\w+): \w+ +# \[(true|false)\]", text, re.MULTILINE))
    assert told == {name: str(repair.paper).lower() for name, repair in REPAIRS.items()}
    assert {name: repair.ours for name, repair in REPAIRS.items()} == DEFAULTS


CONTEXTS = st.sampled_from([TOY, HELLASWAG, GOLD_FIRST])


@given(row_lists(), st.sampled_from(CHANGING), CONTEXTS)
@QUICK
def test_repairs_that_do_not_drop_keep_rows_and_their_order(
    rows: list[Row], name: str, context: Context
) -> None:
    after = apply(name, rows, context)
    assert [(row.id, len(row.options)) for row in after] == [(r.id, len(r.options)) for r in rows]
    for old, new in zip(rows, after, strict=True):
        assert (new.split, new.subject) == (old.split, old.subject)
        if name in KEEPING:
            assert Counter(o.strip() for o in new.options) == Counter(
                o.strip() for o in old.options
            )
            assert Counter(new.letters or "") == Counter(old.letters or "")


@given(row_lists(), st.sampled_from(DROPPING))
@QUICK
def test_repairs_that_drop_change_no_other_row(rows: list[Row], name: str) -> None:
    """What is left is a part of the rows in their order, and dropping again drops nothing."""
    after = apply(name, rows)
    left = {row.id for row in after}
    assert after == [row for row in rows if row.id in left]
    assert apply(name, after) == after


@given(row_lists())
@QUICK
def test_letter_order_and_strip_are_idempotent(rows: list[Row]) -> None:
    for name in ("letter_order", "strip_blanks", "moved_letters"):
        once = apply(name, rows)
        assert apply(name, once) == once
    assert not any(faults.out_of_letter_order(row) for row in apply("letter_order", rows))


@given(row_lists())
@QUICK
def test_letter_order_keeps_the_gold_text(rows: list[Row]) -> None:
    for old, new in zip(rows, apply("letter_order", rows), strict=True):
        lines = faults.gold_line(old), faults.gold_line(new)
        assert old.options[lines[0] or 0] == new.options[lines[1] or 0]
        if new != old:
            assert lines[1] == new.answer


@given(row_lists(), st.integers(0, 2**40), st.data())
@QUICK
def test_the_shuffle_of_an_item_is_its_own(rows: list[Row], seed: int, data: st.DataObject) -> None:
    """It keeps the gold text, whatever else is shuffled and in whatever order."""
    context = replace(GOLD_FIRST, seed=seed)
    plain = [replace(row, letters=None) for row in rows]
    after = {row.id: row for row in apply("shuffle_gold_first", plain, context)}
    for row in plain:
        assert row.options[row.answer or 0] == after[row.id].options[after[row.id].answer or 0]
        assert Counter(row.options) == Counter(after[row.id].options)
    some = data.draw(st.permutations(plain))[: data.draw(st.integers(1, len(plain)))]
    assert apply("shuffle_gold_first", some, context) == [after[row.id] for row in some]


def test_shuffles_are_even_and_depend_on_seed_benchmark_and_id() -> None:
    """2,400 ids, 24 orders: 100 each, chi-squared of 23 degrees below its 99.9% point, 49.7."""
    rows = [sound(f"r{i}", options=("a", "b", "c", "d"), answer=0) for i in range(2400)]

    def orders(**changes: object) -> list[tuple[str, ...]]:
        context = replace(GOLD_FIRST, **changes)
        return [row.options for row in apply("shuffle_gold_first", rows, context)]

    counts = Counter(orders())
    assert len(counts) == 24
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 49.7
    for other in (orders(seed=DEFAULT_SEED + 1), orders(benchmark="other")):
        same = sum(a == b for a, b in zip(orders(), other, strict=True))
        assert 50 < same < 150  # 100 are expected of independent orders
    assert orders() == orders()


@given(row_lists(), CONTEXTS, st.sets(st.sampled_from(sorted(REPAIRS))))
@QUICK
def test_a_repair_that_is_off_touches_nothing_in_the_rows(
    rows: list[Row], context: Context, names: set[str]
) -> None:
    """The result is that of the switched-on repairs applied by hand, in the order of the list."""
    by_hand, changed = list(rows), {}
    for name in REPAIRS:
        before = {row.id: row for row in by_hand}
        after = {row.id: row for row in apply(name, by_hand, context)}
        changed[name] = [i for i in before if i not in after or after[i] != before[i]]
        if name in names:
            by_hand = list(after.values())
    assert repaired(rows, only(*names), context) == (by_hand, changed)
    assert repaired(rows, OFF, context)[0] == rows
