"""The table writer: numbers, tidy rows, and text that survives Markdown, LaTeX and Typst."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
import typst
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from optionbias.tables import table as writer
from optionbias.tables.table import Block, Entry, Table, write_table
from synthetic import FEW, NAN

SPECIAL = list("|&%_#$\\\"'[](){}@*~^<>`+-=!;:/?")
NASTY = ["a|b", "50% & more", "#1 $x$_y", "[a] (b) {c}", "@me *you* **x** _z_", '"q" \'r\' `s`', "C:\\dir", "\\|", "a\\", "<b>x</b>", "~^", "- x", "1. x", "&amp;", "\\n", "a_b_c", "](x)"]  # fmt: skip
names = st.text(alphabet=[*SPECIAL, "a", "B", "7", " "], min_size=1, max_size=12).map(
    lambda text: f"x{' '.join(text.split())}y"
)


def one(row: str, value: object = 0.5, column: str = "col", **options) -> Table:
    """A table of one entry."""
    return Table("2", "Caption.", [Block("", [Entry(row, column, value, **options)])])


# --- reading the formats back ----------------------------------------------------------------


def read_markdown(text: str) -> tuple[list[list[str]], str]:
    """Cells of every row as a GitHub reader would see them, and the text outside tables."""
    rows, outside, row = [], [], None
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        if token.type == "tr_open":
            row = []
            rows.append(row)
        elif token.type == "tr_close":
            row = None
        elif token.type == "inline":
            for child in token.children:
                assert child.type in ("text", "text_special", "softbreak", "strong_open", "strong_close", "em_open", "em_close"), f"{child.type} in {token.content!r}"  # fmt: skip
                if row is not None:
                    assert child.type.startswith("text"), f"{child.type} in {token.content!r}"
            said = "".join(" " if c.type == "softbreak" else c.content for c in token.children)
            (outside if row is None else row).append(said)
    return rows, "\n".join(outside)


COMMANDS = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "lbrack": "[",
    "textbar": "|", "textquotedbl": '"', "textless": "<", "textgreater": ">", "ast": "*",
    "textasteriskcentered": "*", "emph": "",
}  # fmt: skip


def read_latex(text: str) -> str:
    """The text that a piece of LaTeX sets; fails on anything that would not set itself."""
    out, i, depth = "", 0, 0
    text = text.replace("$-$", "-")
    while i < len(text):
        ch = text[i]
        if ch == "\\" and text[i + 1].isalpha():
            end = i + 1
            while end < len(text) and text[end].isalpha():
                end += 1
            out += COMMANDS[text[i + 1 : end]]
            # TeX swallows the spaces after a control word.
            i = len(text) - len(text[end:].lstrip(" "))
            continue
        if ch == "\\":
            assert text[i + 1] in "&%_#${}", f"control symbol at {text[i : i + 9]!r}"
            out, i = out + text[i + 1], i + 2
            continue
        assert ch not in "&%_#$~^", f"bare {ch!r} in {text!r}"
        depth += (ch == "{") - (ch == "}")
        assert depth >= 0, f"a brace too many in {text!r}"
        out += "" if ch in "{}" else ch
        i += 1
    assert depth == 0, f"a brace left open in {text!r}"
    return out


def latex_rows(text: str) -> list[list[str]]:
    """Cells of every row of the tabular, headings of blocks left out."""
    body = text[text.index("\\toprule") : text.index("\\bottomrule")]
    # After these TeX looks for a star or an optional argument, over the line's end.
    assert not re.search(r"(\\\\|\\toprule|\\midrule)\s*[\[*]", body), body
    lines = [line for line in body.split("\n") if line.endswith(" \\\\")]
    return [
        [read_latex(cell) for cell in re.split(r"(?<!\\) & ", line.removesuffix(" \\\\"))]
        for line in lines
        if not line.startswith("\\multicolumn")
    ]


def latex_caption(text: str) -> str:
    """What the caption sets."""
    line = next(line for line in text.split("\n") if line.startswith("\\caption{"))
    return read_latex(line.removeprefix("\\caption"))


def spoken(node: object) -> str:
    """The text of a piece of Typst content."""
    if isinstance(node, list):
        return "".join(map(spoken, node))
    if not isinstance(node, dict):
        return ""
    if node.get("func") == "space":
        return " "
    return str(node.get("text", "")) + spoken(node.get("body")) + spoken(node.get("children"))


def read_typst(text: str) -> tuple[list[str], str]:
    """Texts of all cells in order, and the caption."""
    children = json.loads(typst.query(text.encode(), "table", field="children", one=True))
    caption = json.loads(typst.query(text.encode(), "figure", field="caption", one=True))
    # The first block's headings lie in the header, which repeats on every page.
    flat = [c for child in children for c in child.get("children", [child])]
    cells = [spoken(child) for child in flat if child["func"] == "cell"]
    plain = [cell.replace("\u2212", "-").replace("\u00a0", " ") for cell in cells]
    return plain, re.sub(r"^Table \S+ ", "", spoken(caption["body"]))


# --- numbers and tidy rows -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "interval", "decimals", "expected"),
    [
        (0.5, (), 2, "0.50"),
        (-0.375, (-0.5, 0.25), 3, "-0.375 [-0.500, 0.250]"),
        (16.7, (15.04, 18.06), 1, "16.7 [15.0, 18.1]"),
        (1838, (), 0, "1,838"),
        (-12345.678, (), 1, "-12,345.7"),
        (None, (), 2, ""),
        (NAN, (), 2, ""),
        (NAN, (0.1, 0.2), 2, ""),
        (0.5, (NAN, NAN), 2, "0.50"),
        ("post-trained", (), 2, "post-trained"),
        ("", (), 2, ""),
        (-0.0, (-0.0, 0.0), 2, "0.00 [0.00, 0.00]"),
        (-0.004, (-0.0049, -0.001), 2, "0.00 [0.00, 0.00]"),
        (2.8e-17, (-1e-18, 3e-16), 2, "0.00 [0.00, 0.00]"),
        (-0.4, (-0.2, -0.1), 0, "0 [0, 0]"),
        (-0.006, (), 2, "-0.01"),
    ],
)
def test_numbers_as_they_are_printed(value, interval, decimals, expected) -> None:
    entry = Entry("r", "c", value, *interval)
    table = Table("2", "", [Block("", [entry])], {"c": decimals})
    assert table.text(entry) == expected
    assert read_markdown(writer.markdown(table))[0][1] == ["r", expected]
    assert latex_rows(writer.latex(table))[1] == ["r", expected]
    assert read_typst(writer.typst(table))[0][2:] == ["r", expected]


def test_rounding_errors_are_printed_as_powers_of_ten() -> None:
    entries = [Entry("r", "relative residual", 2.8e-17), Entry("s", "relative residual", 0.1571)]
    table = Table("19", "", [Block("", entries)], {"relative residual": 3})
    assert [table.text(e) for e in entries] == ["2.8e-17", "0.157"]
    exact = Table("1", "", [], {"largest difference": 18})
    assert exact.text(Entry("r", "largest difference", 0.0)) == "0"


def test_two_decimals_unless_said() -> None:
    assert one("r", 0.12345).text(Entry("r", "other", 0.12345)) == "0.12"
    assert one("r").text(None) == ""


def test_tidy_rows_by_hand(tmp_path: Path) -> None:
    table = Table(
        "2",
        "Caption.",
        [
            Block("Top", [Entry("PriDe", "d accuracy", 0.5, 0.25, 0.75, "pp", 12, "few")]),
            Block("", [Entry('a, "b"', "K", 4), Entry("c", "K", None)]),
        ],
    )
    write_table(table, [tmp_path / "deep" / "table2.csv"])
    text = (tmp_path / "deep" / "table2.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == "table,row,column,value,ci_low,ci_high,unit,n,note"
    assert "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0].values())[:6] == ["2", "PriDe", "d accuracy", "0.5", "0.25", "0.75"]
    assert (rows[0]["unit"], rows[0]["note"]) == ("pp", "few")
    assert [row["row"] for row in rows] == ["PriDe", 'a, "b"', "c"]
    assert [float(row["value"]) for row in rows[:2]] == [0.5, 4]
    assert list(rows[2].values()) == ["2", "c", "K", "", "", "", "", "", ""]


def test_counts_stay_whole_where_some_are_missing() -> None:
    entries = [Entry("a", "x", 0.5, n=12), Entry("b", "x", None)]
    tidy = Table("2", "", [Block("", entries)]).tidy()
    rows = list(csv.DictReader(io.StringIO(tidy.to_csv(index=False))))
    assert [row["n"] for row in rows] == ["12", ""]


def blocks() -> Table:
    """Two blocks of different columns, an entry missing, units and repeated notes."""
    top = [
        Entry("a", "x", 1.0, unit="%", note="few"),
        Entry("a", "y", 2.0),
        Entry("b", "y", 3.0, note="other"),
    ]
    bottom = [Entry("c", "z", -1.0, -2.0, -0.5, note="few")]
    return Table("9", "What it shows.", [Block("Top", top), Block("Bottom", bottom)], corner="Row")


def test_layout_by_hand() -> None:
    table = blocks()
    assert table.notes() == ["few", "b, y: other"]
    rows, outside = read_markdown(writer.markdown(table))
    grid = [["Row", "x (%)", "y"], ["a", "1.00", "2.00"], ["b", "", "3.00"]]
    assert rows == [*grid, ["Row", "z"], ["c", "-1.00 [-2.00, -0.50]"]]
    assert outside.startswith("Table 9. What it shows.\nTop")
    assert "Note: few." in outside
    tex = writer.latex(table)
    assert latex_rows(tex) == rows
    assert "\\begin{tabular}{lrr}" in tex
    assert latex_caption(tex) == "What it shows. Note: few. Note: b, y: other."
    assert tex.count("\\begin") == tex.count("\\end") == 2
    for rule in ("\\toprule", "\\bottomrule"):
        assert tex.count(rule) == 1
    cells, caption = read_typst(writer.typst(table))
    # Rows of the narrower block are filled up to the table's three columns.
    padded = [["Top"], *grid, ["Bottom"], ["Row", "z", ""], ["c", "-1.00 [-2.00, -0.50]", ""]]
    assert cells == [cell for row in padded for cell in row]
    assert caption == "What it shows. Note: few. Note: b, y: other."


# --- special characters ----------------------------------------------------------------------


def everywhere(text: str) -> Table:
    """A table that holds a text at every place a name can reach."""
    entries = [Entry(text, text, text, unit="u"), Entry("b", text, 0.5, note=text)]
    return Table("2", f"About {text} here.", [Block("", entries)], corner="c")


def check(form: str, text: str) -> None:
    """The text comes back unchanged from one format."""
    table = everywhere(text)
    said = f"About {text} here."
    grid = [["c", f"{text} (u)"], [text, text], ["b", "0.50"]]
    if form == "md":
        rows, outside = read_markdown(writer.markdown(table))
        assert rows == grid
        assert outside == f"Table 2. {said}\nNote: {text}."
    elif form == "tex":
        tex = writer.latex(table)
        assert latex_rows(tex) == grid
        assert latex_caption(tex) == f"{said} Note: {text}."
    else:
        cells, caption = read_typst(writer.typst(table))
        assert cells == [cell for row in grid for cell in row]
        assert caption == f"{said} Note: {text}."


@pytest.mark.parametrize("ch", SPECIAL)
@pytest.mark.parametrize("form", ["md", "tex"])
def test_a_special_character_is_itself(form: str, ch: str) -> None:
    for text in (f"a{ch}b", f"{ch}a{ch}", f"a {ch} b", f"a {ch}b{ch} c"):
        check(form, text)


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("form", ["md", "tex"])
def test_a_name_full_of_special_characters_is_itself(form: str, text: str) -> None:
    check(form, text)


def test_typst_shows_every_special_character() -> None:
    check("typ", " ".join([*SPECIAL, *NASTY]))


@pytest.mark.parametrize("form", ["md", "tex"])
@FEW
@given(text=names)
def test_any_name_is_itself(form: str, text: str) -> None:
    check(form, text)


@settings(FEW, max_examples=3)
@given(found=st.lists(names, min_size=20, max_size=20))
def test_typst_shows_any_names(found: list[str]) -> None:
    entries = [Entry(f"{i} {name}", "c", name) for i, name in enumerate(found)]
    table = Table("2", "".join(found), [Block("", entries)])
    cells, caption = read_typst(writer.typst(table))
    assert cells[2:] == [text for e in entries for text in (e.row, e.value)]
    assert caption == "".join(found)
    assert typst.compile(writer.typst(table).encode()).startswith(b"%PDF")


@pytest.mark.parametrize("text", ["two\nlines", "ends so\n", "a\n\nb"])
def test_a_line_break_stays_inside_its_cell(text: str) -> None:
    table = Table("4", "Caption.", [Block("", [Entry("exam", "licence", text)])])
    rows, _ = read_markdown(writer.markdown(table))
    assert len(rows) == 2
    assert rows[1][1].split() == text.split()
    assert "\n\n" not in writer.latex(table)


def test_names_that_tex_would_take_for_an_argument() -> None:
    for name in ("[new] exam", "*exam"):
        entries = [Entry(name, "K", 4), Entry(name + " 2", "K", 2)]
        table = Table("4", "Caption.", [Block("", entries)], {"K": 0}, corner=name)
        rows = latex_rows(writer.latex(table))
        assert rows == [[name, "K"], [name, "4"], [name + " 2", "2"]]


def test_every_format_is_whole_or_absent(tmp_path: Path) -> None:
    paths = [tmp_path / f"table9.{ending}" for ending in ("csv", "md", "tex", "typ")]
    write_table(blocks(), paths)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(p.name for p in paths)
    assert all(p.read_text(encoding="utf-8").endswith("\n") for p in paths)
