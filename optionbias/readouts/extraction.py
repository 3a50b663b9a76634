r"""Which letter a generated text answers with (A.3).

Chain of thought: the latest valid explicit answer of the trace or, where there is none, its last
valid standalone letter. Direct answer: the letter that the text opens with, else the same rule.
Only the first min(K, 4) letters are valid. What counts, and why, is listed in docs/readouts.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from optionbias.orderings import LETTERS
from optionbias.prompts import COT_LETTERS, cot_letters, named_letters

KINDS = ("explicit", "opening", "fallback", "none")


@dataclass(frozen=True)
class Extraction:
    """The answer of a text.

    Attributes:
        position: of the letter, 0 to min(K, 4) - 1; -1 where there is no valid answer.
        kind: `explicit`, `opening`, `fallback` (a standalone letter) or `none`.
    """

    position: int
    kind: str


NO_ANSWER = Extraction(-1, "none")

# A capital that is not part of a word, an abbreviation (D.C., U.S.A), a unit (°C), a name (C++,
# B12, A-level, D'Arcy): letters and digits of any script count as parts of a word, `_` does not.
_ALONE = (
    rf"(?<![^\W_])(?<![^\W_][-.'’])(?<![°º])(?P<letter>[{LETTERS[:COT_LETTERS]}])"
    r"(?![^\W_])(?!['’+#-][^\W_]|\+|\#|\.[A-Z](?![^\W_]))"
)
_LETTER = re.compile(_ALONE)
_MARKUP = r"[\s*_`\"'“”‘’(\[{<$]*"
_OPENING = re.compile(rf"{_MARKUP}(?:\\boxed\{{\s*)?{_ALONE}")

# No answer: "A or B", "A, B, or C", unless the next letter begins a clause ("B, A is wrong").
_ONE = r"(?![^\w\n.]{0,3}(?:,|/|&|\bor\b|\band\b)\W{0,4}(?:or |and )?[A-Z](?![^\W_])(?!\s+[a-z]))"
# Words between `answer` and `is`: none that turns or weakens what is said.
_BETWEEN = r"(?:\s+(?!(?:not|never|cannot|can|could|may|might|whether|if|unless|[A-Z])\b)\w+){0,6}?"
_IS = r"(?:\s+(?i:is|was|be)\b|\s*(?:[:=→–—-]|->))"
_THE_OPTION = (
    r"(?:[\s,:*_]*\b(?i:the|option|choice|answer|letter|therefore|thus|then|indeed|clearly|definitely"
    r"|probably|most|likely|still|simply)\b)*[,:]?"
)
_EXPLICIT = (
    # The answer is [B]. The correct option is (B). **Answer:** B. The answer must be option B.
    re.compile(
        rf"(?<![^\W_])(?i:answer|option|choice)(?![^\W_])[*_\"'”)\]]*{_BETWEEN}{_IS}{_THE_OPTION}{_MARKUP}{_ALONE}{_ONE}"
    ),
    # \boxed{B}, \boxed{\text{(B)}}
    re.compile(rf"\\boxed\s*\{{\s*(?:\\[a-z]+\s*\{{)?{_MARKUP}{_ALONE}\W*\}}"),
    # B is the correct answer. (B) is correct. **B** is the best choice.
    re.compile(
        rf"{_ALONE}[)\]}}*_`\"'”.]*\s+is\s+(?:(?:indeed|clearly|therefore|thus|also)\s+)?"
        r"(?:correct(?![-\w])|(?:the\s+)?(?:(?:most|correct|right|best|final|appropriate|accurate|only|true)\s+)*"
        r"(?:answer|option|choice)\b)"
    ),
)
# What comes right before a statement and takes it back: "I don't think the answer is B",
# "if option B is correct".
_TAKEN_BACK = re.compile(
    r"(?i:\b(?:if|whether|unless|suppos\w+|assum\w+)|(?:n['’]t|\bnot)\s+(?:think|believe|mean|say|sure"
    r"|certain|true|the case))(?:[ ]+(?i:that|if|the|my|our|this|correct|right|best|final|option|choice"
    r"|answer))*[^\w\n.!?]*\Z"
)
_LOOK_BACK = 80
# Words that follow the letter A but not the article: "A is", "A and", "A because".
_AFTER_A = frozenset(
    "is isn't was wasn't has had does doesn't can cannot can't could would should must may might will"
    " and or but because since as if seems says states gives makes means matches fits refers describes".split()
)
_WORD_AFTER = re.compile(r"[ \t]+([a-z0-9][\w'’]*)")


def extract(readout: str, text: str, k: int) -> Extraction:
    """The answer of a generated text of a benchmark with `k` options."""
    return direct_answer(text, k) if readout == "direct-answer" else chain_of_thought(text, k)


def chain_of_thought(trace: str, k: int) -> Extraction:
    """The latest valid explicit answer of a trace, else its last valid standalone letter."""
    # The prompt's own list of letters, repeated by a model, is nobody's answer.
    trace = trace.replace(named_letters(k), " ")
    explicit = [
        (found.start("letter"), found["letter"])
        for pattern in _EXPLICIT
        for found in pattern.finditer(trace)
        if _valid(found, trace, k)
        and not _TAKEN_BACK.search(trace[max(0, found.start() - _LOOK_BACK) : found.start()])
    ]
    if explicit:
        return Extraction(LETTERS.index(max(explicit)[1]), "explicit")
    alone = [found["letter"] for found in _LETTER.finditer(trace) if _valid(found, trace, k)]
    return Extraction(LETTERS.index(alone[-1]), "fallback") if alone else NO_ANSWER


def direct_answer(text: str, k: int) -> Extraction:
    """The letter that a text opens with, else the rule for a chain of thought."""
    found = _OPENING.match(text)
    if found and _valid(found, text, k):
        return Extraction(LETTERS.index(found["letter"]), "opening")
    return chain_of_thought(text, k)


def _valid(found: re.Match[str], text: str, k: int) -> bool:
    return found["letter"] in LETTERS[: cot_letters(k)] and not _is_article(
        text, found.start("letter")
    )


def _is_article(text: str, at: int) -> bool:
    """Whether the capital at `at` is the article that begins a sentence: "A dog barks"."""
    before = text[max(0, at - _LOOK_BACK) : at].rstrip(" \t\"'“‘*_")
    after = _WORD_AFTER.match(text, at + 1)
    begins = not before or before[-1] in ".!?:\n-([{"
    return text[at] == "A" and begins and after is not None and after[1] not in _AFTER_A
