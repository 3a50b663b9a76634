"""What is wrong with published rows, each fault counted by loops over characters and words.

Nothing here is taken from the package but the form of a row.
"""

from collections.abc import Callable, Sequence

from optionbias.benchmarks.source import Row

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MARKS = ("header", "title", "step", "substep", "substeps", "sub-steps")
QUANTIFIERS = ("all", "none", "both", "neither", "any", "either", "some", "two", "three")
ADJECTIVES = ("given", "listed", "other", "answer")
NOUNS = (
    "above these those them options choices answers others preceding foregoing".split()
)  # and `statements above`
JOINING = ("and", "or", "nor", "&")


def bare(text: str) -> str:
    """The text without white space at its edges."""
    start, end = 0, len(text)
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return text[start:end]


def shown(row: Row) -> list[str]:
    """Every text of a row."""
    found = list(row.options)
    found.append(row.question)
    if row.passage is not None:
        found.append(row.passage)
    return found


def same_question(a: Row, b: Row) -> bool:
    """The same passage and question; no passage is an empty one."""
    return bare(a.passage or "") == bare(b.passage or "") and bare(a.question) == bare(b.question)


def same_item(a: Row, b: Row) -> bool:
    """... and each option of the one is an option of the other."""
    left, right = [bare(o) for o in a.options], [bare(o) for o in b.options]
    return same_question(a, b) and all(o in right for o in left) and all(o in left for o in right)


def has_earlier(rows: Sequence[Row], same: Callable[[Row, Row], bool]) -> list[str]:
    """Rows for which some earlier row is the same."""
    found = []
    for i, row in enumerate(rows):
        for earlier in rows[:i]:
            if same(earlier, row):
                found.append(row.id)
                break
    return found


def listed_twice(row: Row) -> bool:
    """Some pair of options is equal."""
    for i in range(len(row.options)):
        for j in range(i):
            if bare(row.options[i]) == bare(row.options[j]):
                return True
    return False


def gold_place(row: Row) -> int:
    """The line of the gold option: that of its letter, else its number."""
    assert row.answer is not None
    for line, letter in enumerate(row.letters or ()):
        if letter == ALPHABET[row.answer]:
            return line
    return row.answer


def lines_with_blanks(row: Row) -> list[int]:
    """Options that begin or end in white space (an option of white space alone as well)."""
    return [i for i, o in enumerate(row.options) if o and (o[0].isspace() or o[-1].isspace())]


def letters_in_disorder(row: Row) -> bool:
    """Some letter is not the one of its line, and none is lost."""
    if row.letters is None:
        return False
    disorder = False
    for line, letter in enumerate(row.letters):
        if letter is None:
            return False
        disorder = disorder or letter != ALPHABET[line]
    return disorder


def wrong_key(row: Row) -> bool:
    """Taking the gold letter for a line number gives another option."""
    return letters_in_disorder(row) and gold_place(row) != row.answer


def wrongly_decoded(text: str) -> bool:
    """Two to four characters whose bytes in Windows' Latin encoding are one UTF-8 character."""
    for i in range(len(text)):
        if ord(text[i]) == 0xFFFD:
            return True
        for length in (2, 3, 4):
            try:
                raw = text[i : i + length].encode("cp1252")
                character = raw.decode("utf-8")
            except UnicodeError:
                continue
            if len(raw) == length and len(character) == 1:
                return True
    return False


def marked(text: str) -> bool:
    """One of the marks stands in brackets."""
    return any(text.count("[" + mark + "]") > 0 for mark in MARKS)


def words_of(text: str) -> list[str]:
    """Words in lower case, without what stands around them."""
    parts = [part.strip(".,;:!?()").lower() for part in text.split(" ")]
    return [part for part in parts if part]


def refers_in_words(text: str) -> bool:
    """`all of the above`, `none of these answers is right`, `all above`."""
    words = words_of(text)
    if len(words) < 2:
        return False
    if words[0] in ("all", "none", "both", "neither"):
        after = words[2:] if words[1] == "the" else words[1:]
        if after and after[0] == "above":
            return True
    if words[:3] == ["more", "than", "one"]:
        words = ["some", *words[3:]]
    if words[0] not in QUANTIFIERS or words[1] != "of":
        return False
    rest = words[2:]
    if rest and rest[0] == "the":
        rest = rest[1:]
    if len(rest) > 1 and rest[0] in ADJECTIVES:
        rest = rest[1:]
    if rest[:2] == ["statements", "above"]:
        rest = rest[1:]
    if not rest or rest[0] not in NOUNS:
        return False
    return len(rest) <= 4 or rest[1] == "except"


def refers_by_letters(text: str, k: int) -> bool:
    """`A and B`, `both (A) and (C)`, `neither a nor b`: two or more different letters."""
    words = text.removesuffix(".").replace(",", " , ").split()
    either_case = False
    if words and words[0].lower() in ("both", "either", "neither"):
        words, either_case = words[1:], True
    elif words and words[0].lower() == "only":
        words = words[1:]
    elif [word.lower() for word in words[:2]] == ["all", "of"]:
        words = words[2:]
    if words and words[-1].lower() in ("only", "both"):
        words = words[:-1]
    elif words and words[-1].lower() in ("correct", "true", "right") and "are" in words:
        words = words[: words.index("are")]
    letters, expects_letter = [], True
    for word in words:
        if word == ",":
            if expects_letter:
                return False
            expects_letter = True
        elif word.lower() in JOINING:
            expects_letter = True
        else:
            plain = word.removeprefix("(").removesuffix(")")
            letter = plain.upper() if either_case else plain
            if not expects_letter or len(letter) != 1 or letter not in ALPHABET[:k]:
                return False
            letters.append(letter)
            expects_letter = False
    distinct = all(letters.count(letter) == 1 for letter in letters)
    return len(letters) >= 2 and distinct and not expects_letter


def refers(row: Row) -> bool:
    """Some option refers to others."""
    for option in row.options:
        text = bare(option)
        if refers_in_words(text) or refers_by_letters(text, len(row.options)):
            return True
    return False


def faults(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Ids of the rows that have each fault, by the name that the audit gives it."""
    constant = len(rows) >= 2 and sum(row.answer == 0 for row in rows) == len(rows)
    found: dict[str, list[str]] = {
        "questions asked again": has_earlier(rows, same_question),
        "items repeated": has_earlier(rows, same_item),
        "gold always first": [row.id for row in rows] if constant else [],
    }

    def each(name: str, has: Callable[[Row], bool]) -> None:
        found[name] = []
        for row in rows:
            if has(row):
                found[name].append(row.id)

    each("identical options", listed_twice)
    each("stray blanks on options", lambda row: len(lines_with_blanks(row)) > 0)
    each("stray blanks on the gold", lambda row: gold_place(row) in lines_with_blanks(row))
    each("stray blanks on the gold alone", lambda row: lines_with_blanks(row) == [gold_place(row)])
    each("options out of letter order", letters_in_disorder)
    each("mis-keyed when read by line", wrong_key)
    each("options that lost their letter", lambda row: None in (row.letters or ()))
    each("mojibake", lambda row: any(wrongly_decoded(text) for text in shown(row)))
    each("empty fields", lambda row: any(bare(text) == "" for text in shown(row)))
    each("options that refer to others", refers)
    each("markup", lambda row: any(marked(text) for text in shown(row)))
    return found
