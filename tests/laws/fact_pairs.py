"""Pairs of sentences that differ in what makes them two facts, and ways to say one fact again.

Only meaning is stated here: nothing in this file knows how the code compares.
"""

import unicodedata
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

# What a place in a sentence may hold. Any two of a row are two different things.
FILLS: dict[str, tuple[str, ...]] = {
    "host": ("alpha01", "alpha02", "db-7.fra", "db-8.fra", "kronos", "hermes"),
    "name": ("Maria", "Mario", "O'Brien", "O'Bryan", "Weiß", "Weiss", "Jone", "Jones"),
    "city": ("Frankfurt", "Freiburg", "Berlin", "Köln"),
    "product": ("PostgreSQL", "MySQL", "C", "C++", "C#", ".NET", "NET"),
    "version": ("15", "15.2", "v1.9.0", "v1.90", "16"),
    "number": ("64", "46", "6.4", "-64", "64k"),
    "date": ("2024-03-01", "2024-01-03", "March", "May", "3/1"),
    "unit": ("GB", "Gb", "GiB", "MB", "TB"),
    "sign": ("<=", ">=", "<", "=", "!="),
    "amount": ("All", "Some", "No", "Most", "Two"),
    "often": ("always", "never", "often", "not"),
    "day_de": ("Montag", "Freitag", "24. Mai", "25. Mai"),
    "city_ru": ("Москве", "Казани", "Минске"),
    "city_ja": ("東京", "京都", "大阪"),
    "number_ja": ("三", "四", "64"),
    "time_ar": ("الاثنين", "الجمعة", "الأحد"),
}

SHAPES: tuple[tuple[str, ...], ...] = (
    (
        *("Server ", "{host}", " in the ", "{city}", " data centre runs ", "{product}", " "),
        *("{version}", " with ", "{number}", " ", "{unit}", " of memory."),
    ),
    ("{name}", " owns the ", "{product}", " build since ", "{date}", "."),
    ("The service on ", "{host}", " is ", "{often}", " restarted by hand."),
    ("{amount}", " of the hosts in ", "{city}", " are backed up at night."),
    ("Retry while attempts ", "{sign}", " ", "{number}", " and the answer is late."),
    ("- owner: ", "{name}", "\n- host: ", "{host}", "\n- since: ", "{date}"),
    ("Der Dienst auf ", "{host}", " wird am ", "{day_de}", " in ", "{city}", " gewartet."),
    ("Le serveur ", "{host}", " est géré par ", "{name}", " depuis ", "{date}", "."),
    ("Сервер ", "{host}", " стоит в ", "{city_ru}", " с ", "{number}", " ", "{unit}", " памяти."),
    ("サーバー", "{host}", "は", "{city_ja}", "にあり、", "{number_ja}", "台です。"),
    ("يعمل الخادم ", "{host}", " يوم ", "{time_ar}", " فقط."),
)

# A word that turns a sentence into another one, and where it goes.
TURNS: tuple[tuple[str, str], ...] = (
    ("The nightly job {}deletes old logs of the tenant.", "never "),
    ("We {}deploy the API on Fridays.", "do not "),
    ("{}servers of the cluster restart after an update.", "Some "),
    ("{}all requests to the gateway are logged.", "Not "),
    ("The key is rotated {}every month by the operator.", "at most "),
    ("Wir verschlüsseln {}die Sicherungen der Kunden.", "nicht "),
    ("Nous {}gardons les journaux pendant un an{}.", "ne "),
    ("We use PostgreSQL {}for the ledger.", "16 "),
    ("The office in {}Petersburg closes at noon.", "St. "),
)


@dataclass(frozen=True, slots=True)
class Twins:
    """Two facts. `swapped` says that a word stands for another, not beside it."""

    one: str
    other: str
    swapped: bool = True


@st.composite
def swapped(draw: st.DrawFn) -> Twins:
    """The same sentence with one place filled otherwise, or several."""
    shape = draw(st.sampled_from(SHAPES))
    slots = [it for it in shape if it.startswith("{")]
    held = {it: draw(st.sampled_from(FILLS[it[1:-1]])) for it in slots}
    changed = draw(st.sets(st.sampled_from(slots), min_size=1, max_size=min(3, len(slots))))
    others = {
        it: draw(st.sampled_from([fill for fill in FILLS[it[1:-1]] if fill != held[it]]))
        for it in sorted(changed)
    }
    one = "".join(held.get(it, it) for it in shape)
    other = "".join({**held, **others}.get(it, it) for it in shape)
    return Twins(one, other)


@st.composite
def turned(draw: st.DrawFn) -> Twins:
    """A sentence with and without the word that turns it, either of them first."""
    shape, word = draw(st.sampled_from(TURNS))
    plain, turned_ = shape.replace("{}", ""), shape.replace("{}", word, 1).replace("{}", "")
    pair = (plain, turned_) if draw(st.booleans()) else (turned_, plain)
    return Twins(*pair, swapped=False)


# Signs that make another name, number, version, path or option of what they stand in.
SIGNS = "+-%#.~/_*$@&:,!?'()\"<>=|^"


def _changed_in_a_sign(draw: st.DrawFn, text: str) -> str:
    """With one sign more, one less, or another one in its place."""
    sign = draw(st.sampled_from(SIGNS))
    held = [n for n, it in enumerate(text) if it in SIGNS]
    if held and draw(st.booleans()):
        at = draw(st.sampled_from(held))
        return text[:at] + draw(st.sampled_from(("", sign))) + text[at + 1 :]
    at = draw(st.integers(0, len(text)))
    return text[:at] + sign + text[at:]


def _changed_in_case(draw: st.DrawFn, text: str) -> str:
    """With the case of one letter, or of all, turned."""
    letters = [n for n, it in enumerate(text) if it.swapcase() != it]
    at = draw(st.sampled_from(letters or [0]))
    one = text[:at] + text[at].swapcase() + text[at + 1 :]
    return draw(st.sampled_from((one, text.swapcase(), text.upper(), text.lower())))


@st.composite
def marked(draw: st.DrawFn) -> Twins:
    """A sentence in which one name or number differs in a sign or in case alone."""
    shape = draw(st.sampled_from(SHAPES))
    places = [n for n, it in enumerate(shape) if it.startswith("{") and it != "{amount}"]
    at = draw(st.sampled_from(places or [0]))
    parts = [draw(st.sampled_from(FILLS[it[1:-1]])) if it.startswith("{") else it for it in shape]
    change = draw(st.sampled_from((_changed_in_a_sign, _changed_in_case)))
    one = "".join(parts)
    other = "".join((*parts[:at], change(draw, parts[at]), *parts[at + 1 :]))
    # White space and the full stop at the end of a text say nothing.
    assume(other.split() != one.split() and other.rstrip(".。") != one.rstrip(".。"))
    return Twins(*((one, other) if draw(st.booleans()) else (other, one)))


# Two things, and two things that are said of them: whatever is exchanged, it is another fact.
PARTS: tuple[tuple[str, str], ...] = (
    ("red", "blue"),
    ("north", "south"),
    ("first", "second"),
    ("primary", "spare"),
    ("public", "private"),
)
THINGS = ("valve", "gate", "floor", "key", "server", "account")
STATES: tuple[tuple[str, str], ...] = (
    ("open", "closed"),
    ("heated", "cooled"),
    ("locked", "tested"),
    ("painted", "sealed"),
)
# `{a}` and `{b}` are exchanged, `{thing}`, `{x}` and `{y}` are not.
EXCHANGES: tuple[str, ...] = (
    "The {a} {thing} is {x} and the {b} {thing} is {y}.",
    "The {a} {thing} is {x} and the {b} {thing} {y}.",
    "The {a} {thing} must be {x} before the {b} {thing} is {y}.",
    "The {a} {thing} is {x} after the {b} {thing}.",
    "After the {a} {thing} is {x}, the {b} {thing} is {y}.",
    "If the {a} {thing} is {x}, the {b} {thing} is {y}.",
    "The {a} {thing} is {x} unless the {b} {thing} is {y}.",
    "The {a} {thing} is {x} in the office and the {b} {thing} in the safe.",
    "The {a} {thing} is in front of the {b} {thing}.",
    "The {a} {thing} is {x} by the {b} {thing}.",
    "The {a} {thing} is safer than the {b} {thing}.",
    "The {a} {thing} is the copy of the {b} {thing}.",
    "The {a} {thing} is {x} with the {b} {thing}.",
    "The {a} {thing} has a {b} {thing}.",
)
ONLY: tuple[str, ...] = (
    "{only}managers can {only}approve {only}refunds.",
    "{only}the night shift may {only}open {only}the gate.",
    "{only}servers in Berlin are {only}restarted {only}by hand.",
)


@st.composite
def exchanged(draw: st.DrawFn) -> Twins:
    """A sentence of two parts, and the same words with the two exchanged."""
    shape = draw(st.sampled_from(EXCHANGES))
    a, b = draw(st.sampled_from(PARTS))
    x, y = draw(st.sampled_from(STATES))
    thing = draw(st.sampled_from(THINGS))
    one = shape.format(a=a, b=b, x=x, y=y, thing=thing)
    by_state = "{y}" in shape and draw(st.booleans())
    swap = {"a": a, "b": b, "x": y, "y": x} if by_state else {"a": b, "b": a, "x": x, "y": y}
    return Twins(one, shape.format(thing=thing, **swap))


@st.composite
def clauses(draw: st.DrawFn) -> Twins:
    """Condition and consequence, earlier and later, cause and effect, exchanged."""
    said = ("the alarm rings", "the door is locked", "the pump runs", "the light is green")
    one, other = draw(st.permutations(said))[:2]
    word = draw(st.sampled_from(("if", "before", "after", "unless", "because", "until", "when")))
    if draw(st.booleans()):
        return Twins(f"{word.capitalize()} {one}, {other}.", f"{word.capitalize()} {other}, {one}.")
    first, second = (f"{it} {word} " for it in (one, other))
    return Twins(f"{first.capitalize()}{other}.", f"{second.capitalize()}{one}.")


@st.composite
def limited(draw: st.DrawFn) -> Twins:
    """The same words with `only` before another of them."""
    shape = draw(st.sampled_from(ONLY))
    one, other = draw(st.permutations(range(3)))[:2]
    parts = shape.split("{only}")[1:]
    texts = [
        "".join(("only " * (n == at)) + it for n, it in enumerate(parts)) for at in (one, other)
    ]
    first, second = (it[0].upper() + it[1:] for it in texts)
    return Twins(first, second)


rearranged = st.one_of(exchanged(), clauses(), limited())
twins = st.one_of(swapped(), turned(), marked())
sentences = st.one_of(swapped(), turned()).map(lambda it: it.one)

# First words that are nobody's name: their capital says that a sentence begins.
FIRST = ("The ", "We ", "All ", "Some ", "Der ", "Wir ", "Le ", "Nous ")


@st.composite
def restated(draw: st.DrawFn) -> tuple[str, str]:
    """A sentence, and the same again but for blanks, the way its signs are composed, the capital of
    its first word and the full stop at its end."""
    text = draw(sentences)
    again = unicodedata.normalize(draw(st.sampled_from(("NFC", "NFD"))), text)
    if again.startswith(FIRST) and draw(st.booleans()):
        again = again[0].lower() + again[1:]
    # Behind a number a full stop may be a part of it.
    if again.rstrip(".。")[-2:].isalpha() and draw(st.booleans()):
        again = again.rstrip(".。")
    blank = draw(st.sampled_from((" ", "  ", "\n", "\t ")))
    return text, draw(st.sampled_from(("{}", " {} ", "\n{}\n"))).format(blank.join(again.split()))
