"""What is a fault of a published row and what is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from optionbias import faults
from optionbias.benchmarks.source import Row
from published_rows import NOT_REFERRING, REFERRING, sound, with_option


def lettered(letters: str, answer: int = 1) -> Row:
    """A row with these letters before its options; `.` is one that is lost."""
    return sound("r", letters=tuple(None if x == "." else x for x in letters), answer=answer)


@pytest.mark.parametrize("k", [2, 4, 10])
@pytest.mark.parametrize("text", REFERRING)
def test_an_option_that_refers_to_others(text: str, k: int) -> None:
    plain = tuple(f"option {i}" for i in range(k))
    for place in (0, k - 1):
        options = (*plain[:place], f" {text}\n", *plain[place + 1 :])
        assert faults.has_referring_option(Row("r", "Which?", options, 0))


@pytest.mark.parametrize("k", [2, 4, 10])
@pytest.mark.parametrize("text", NOT_REFERRING)
def test_an_option_that_speaks_for_itself(text: str, k: int) -> None:
    options = (text, *(f"option {i}" for i in range(1, k)))
    assert not faults.has_referring_option(Row("r", "Which?", options, 0))


def test_only_letters_of_the_items_own_options_are_references() -> None:
    """`B and D` refers among four options and is vitamins, blood or grades among three."""
    assert faults.has_referring_option(with_option(sound("r"), 0, "B and D"))
    three = Row("r", "Which?", ("B and D", "A", "K"), 0)
    assert not faults.has_referring_option(three)


def test_a_question_may_speak_of_the_options() -> None:
    assert not faults.has_referring_option(sound("r", question="Which of the above?"))


@pytest.mark.parametrize(
    ("letters", "lost", "disorder"),
    [
        ("ABCD", False, False),
        ("ACBD", False, True),
        ("DCBA", False, True),
        ("BCDE", False, True),
        ("A.CD", True, False),
        # With a letter lost the order of the others is not judged.
        ("CA.D", True, False),
        ("....", True, False),
    ],
)
def test_letters_lost_and_out_of_order(letters: str, lost: bool, disorder: bool) -> None:
    row = lettered(letters)
    assert (faults.lost_letter(row), faults.out_of_letter_order(row)) == (lost, disorder)


def test_a_source_that_prints_no_letters_has_none_to_lose() -> None:
    row = sound("r")
    assert row.letters is None
    assert not faults.lost_letter(row)
    assert not faults.out_of_letter_order(row)
    assert not faults.miskeyed_by_line(row)


@pytest.mark.parametrize(
    ("letters", "answer", "line", "miskeyed"),
    [
        # A, C, B, D: B stands on line 2, C on line 1; A and D are where their number says.
        *(("ACBD", answer, line, answer != line) for answer, line in enumerate([0, 2, 1, 3])),
        ("ABCD", 3, 3, False),
        # The letter of the gold is lost: what is left is its number.
        ("A.CD", 1, 1, False),
        ("B.CD", 1, 0, False),
    ],
)
def test_the_line_of_the_gold(letters: str, answer: int, line: int, miskeyed: bool) -> None:
    row = lettered(letters, answer)
    assert faults.gold_line(row) == line
    assert faults.miskeyed_by_line(row) == miskeyed


def test_the_line_of_the_gold_without_letters_or_without_a_gold() -> None:
    assert faults.gold_line(sound("r", answer=2)) == 2
    assert faults.gold_line(sound("r", answer=None)) is None
    assert faults.gold_line(replace(lettered("ACBD"), answer=None)) is None


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\r", "\N{NO-BREAK SPACE}", "\u3000"])
@pytest.mark.parametrize("side", ["{blank}{text}", "{text}{blank}", "{blank}{text}{blank}"])
def test_stray_blanks(side: str, blank: str) -> None:
    """(any, on the gold, on the gold alone) for a blank on another option, the gold, both."""

    def blanks(*places: int) -> tuple[bool, bool, bool]:
        row = sound("r", answer=1)
        for place in places:
            row = with_option(row, place, side.format(blank=blank, text=row.options[place]))
        return (
            faults.stray_blank(row),
            faults.stray_blank_on_gold(row),
            faults.stray_blank_on_gold_alone(row),
        )

    assert blanks() == (False, False, False)
    assert blanks(0) == blanks(0, 2, 3) == (True, False, False)
    assert blanks(1) == (True, True, True)
    assert blanks(1, 3) == blanks(0, 1, 2, 3) == (True, True, False)


def test_a_stray_blank_is_on_the_gold_by_its_letter() -> None:
    """A, C, B, D with gold B: the gold is on line 2, and the blank on line 1 is another's."""
    row = lettered("ACBD")
    other, gold = (with_option(row, i, row.options[i] + " ") for i in (1, 2))
    assert not faults.stray_blank_on_gold(other)
    assert faults.stray_blank_on_gold(gold)
    assert faults.stray_blank_on_gold_alone(gold)


def test_a_row_without_a_gold_has_no_blank_on_it() -> None:
    row = with_option(sound("r", answer=None), 0, "Red ")
    assert faults.stray_blank(row)
    assert not faults.stray_blank_on_gold(row)
    assert not faults.stray_blank_on_gold_alone(row)


@pytest.mark.parametrize(
    ("changes", "empty"),
    [
        ({}, False),
        ({"question": ""}, True),
        ({"question": " \n"}, True),
        ({"options": ("a", "", "c", "d")}, True),
        ({"options": ("a", "\N{NO-BREAK SPACE}", "c", "d")}, True),
        ({"passage": ""}, True),
        ({"passage": None}, False),
        ({"passage": "Read."}, False),
    ],
)
def test_empty_fields(changes: dict[str, object], empty: bool) -> None:
    assert faults.has_empty_field(sound("r", **changes)) == empty


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("The cafÃ© is open", True),
        ("itâ€™s late", True),
        ("\ufffd was lost", True),
        ("poses‚Äîrigidly", True),
        ("Café, naïve, Ærø, Ångström, 5 µm, 3 × 4, 20 °C, «so», “so”, it’s – done", False),
        ("北京市, Ωμέγα, ещё", False),
    ],
)
def test_mojibake_in_any_text(text: str, bad: bool) -> None:
    places = (
        sound("r", question=text),
        sound("r", passage=text),
        with_option(sound("r"), 3, text),
    )
    assert [faults.has_mojibake(row) for row in places] == [bad] * 3


@pytest.mark.parametrize("mark", ["header", "title", "step", "substep", "substeps", "sub-steps"])
def test_marks_in_any_text(mark: str) -> None:
    text = f"First [{mark}] then"
    places = (
        sound("r", question=text),
        sound("r", passage=text),
        with_option(sound("r"), 3, text),
    )
    assert all(faults.has_markup(row) for row in places)


@pytest.mark.parametrize(
    "text", ["[laughs]", "step", "(step)", "[ step ]", "[]", "[steps]", "[Step]"]
)
def test_other_brackets_are_text(text: str) -> None:
    assert not faults.has_markup(sound("r", question=f"Who said {text}?"))


def test_identical_options_are_equal_but_for_blanks_at_the_edges() -> None:
    row = sound("r", options=("a", "b", "c", "d"))
    assert not faults.has_identical_options(row)
    assert faults.has_identical_options(with_option(row, 3, "a"))
    assert faults.has_identical_options(with_option(row, 3, " a\n"))
    assert not faults.has_identical_options(with_option(row, 3, "A"))
    assert not faults.has_identical_options(with_option(row, 3, "a a"))


def test_the_content_of_an_item_is_passage_question_and_set_of_options() -> None:
    row = sound("r", passage="Read.")
    same = replace(row, id="s", options=row.options[::-1], answer=0, subject="art", split="dev")
    assert faults.content(row) == faults.content(same)
    blank = replace(row, passage=" Read.", question=row.question + "\n")
    assert faults.content(row) == faults.content(blank)
    assert faults.content(sound("r")) == faults.content(sound("r", passage=""))
    for other in (
        replace(row, passage="Look."),
        replace(row, question="Who?"),
        with_option(row, 0, "x"),
    ):
        assert faults.content(row) != faults.content(other)


def test_the_third_of_three_repeats_is_counted_too() -> None:
    rows = [replace(sound("r"), id=name) for name in "abc"]
    assert faults.duplicated_items(rows) == faults.duplicated_questions(rows) == ["b", "c"]
    assert faults.duplicated_items([]) == []
