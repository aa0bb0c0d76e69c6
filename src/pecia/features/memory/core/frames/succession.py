"""Whether somebody or something took the place of another, in a statement that is built otherwise
than the older one. Pure.

`Tomas is now the owner of the billing service`, `we moved from Mattermost to Zulip for our chat`,
`I have moved to Cardiff`. Only what one person or thing is or has at a time is ended by such a
statement, and only where it tells nothing else: every word of both has to have its place.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pecia.features.memory.core.compare.phrases import (
    PhraseLanguage,
    PhraseWord,
    drop_light,
    drop_phrases,
    find_phrases,
    phrase_places,
    split_phrase_words,
)

SUCCESSIONS = ("switched", "moved_me", "moved_on", "new", "becomes")
"""Kinds of phrases that tell of it by themselves."""
MAX_NAME_WORDS = 3
MAX_THING_WORDS = 4
_BEGINNINGS = ("wrong", "now", "since")
"""Kinds of phrases that say from when something holds, or that something was wrong."""
_CLEFT = (("c", "est"), "qui")
"""`C'est Anne qui est …`"""


@dataclass(frozen=True, slots=True)
class _Holder:
    """Somebody, and what only one has or does at a time."""

    name: tuple[str, ...]
    role: Counter[str]


def succeeds(new: str, old: str, language: PhraseLanguage) -> bool:
    words = split_phrase_words(new, language)
    left, found = drop_phrases(words, language, _BEGINNINGS)
    if any(find_phrases(left, language, it) for it in ("also", "unsure", "contrast", "denied")):
        return False
    was, _ = drop_phrases(split_phrase_words(old, language), language, _BEGINNINGS)
    if find_phrases(was, language, "denied") or find_phrases(was, language, "unsure"):
        return False
    left, is_begun = _with_copula(left, language)
    is_new = is_begun or bool(found) or any(it.low in language.words["new"] for it in left)
    return (
        (is_new and _takes_over(left, was, language))
        or _switches(left, was, language)
        or _has_new_home(left, was, language)
    )


def _with_copula(
    words: Sequence[PhraseWord], language: PhraseLanguage
) -> tuple[Sequence[PhraseWord], bool]:
    """`Became the owner` as `is the owner`."""
    for start, end in find_phrases(words, language, "becomes"):
        copula = replace(words[start], low=min(language.words["be"]))
        return [*words[:start], copula, *words[end:]], True
    return words, False


def _takes_over(
    new: Sequence[PhraseWord], old: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    new = [it for it in new if it.low not in language.words["new"]]
    one, other = _read_holder(new, language), _read_holder(old, language)
    if one is None or other is None:
        return False
    # `Mr Funk` and `Mr Lenz`; but `Ada` and `Ada Funk` may be one.
    is_other = not {*one.name} <= {*other.name} and not {*other.name} <= {*one.name}
    return one.role == other.role and is_other and one.name[-1] != other.name[-1]


def _read_holder(words: Sequence[PhraseWord], language: PhraseLanguage) -> _Holder | None:
    words = _without_cleft(words)
    for start, end in _name_spans(words, language):
        before, behind = words[:start], words[end:]
        if before and before[-1].low in language.words["articles"]:
            before = before[:-1]
        if not behind and _is_role_first(before, language):
            role = before
        elif not before and (_is_led(behind, language) or _is_role(behind, language)):
            role = behind
        elif _is_inverted(before, behind, language) or _has_sole_last(before, behind, language):
            role = [*before, *behind]
        else:
            continue
        kept = Counter(
            _role_names(language).get(it.low, it.plain) for it in _content(role, language)
        )
        return _Holder(tuple(it.plain for it in words[start:end]), kept)
    return None


def _content(words: Sequence[PhraseWord], language: PhraseLanguage) -> list[PhraseWord]:
    return [it for it in drop_light(words, language) if it.low not in language.words["be"]]


def _without_cleft(words: Sequence[PhraseWord]) -> Sequence[PhraseWord]:
    lows = [it.low for it in words]
    begin, relative = _CLEFT
    if tuple(lows[:2]) == begin and relative in lows[2 : 3 + MAX_NAME_WORDS]:
        place = lows.index(relative)
        return [*words[2:place], *words[place + 1 :]]
    return words


def _name_spans(words: Sequence[PhraseWord], language: PhraseLanguage) -> Iterator[tuple[int, int]]:
    """Where names begin and end: words with capitals, and no article before them."""
    place = 0
    while place < len(words):
        end = place
        while end < len(words) and _is_name(words[end], language):
            end += 1
        articles = language.words["articles"] | language.words["conditions"]
        is_bare = not place or words[place - 1].low not in articles
        # Portuguese names have an article: `é o Olek`.
        is_named = language.code == "pt" and words[place - 1].low in language.words["articles"]
        is_bare = is_bare or is_named
        if is_bare and 0 < end - place <= MAX_NAME_WORDS:
            yield place, end
        place = max(end, place + 1)


def _is_name(word: PhraseWord, language: PhraseLanguage) -> bool:
    other = language.light | language.words["leads"] | language.words["be"]
    return word.is_capital and word.low not in other and word.low.isalpha()


def _is_led(behind: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    """`Leads the data team`."""
    has_object = len(behind) > 1 and behind[1].low in language.words["articles"]
    return has_object and behind[0].low in language.words["leads"]


def _is_inverted(
    before: Sequence[PhraseWord], behind: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`Since today leads Marek the data team`, as it is said in German."""
    return len(before) == 1 and bool(behind) and _is_led([*before, *behind], language)


def _is_role(behind: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    """`Is the owner of the house`, `is responsible for it`."""
    if len(behind) < 2 or behind[0].low not in language.words["be"]:
        return False
    if phrase_places(behind, language, "sole"):
        return len(_content(behind, language)) > 1
    return (
        behind[1].low in language.words["articles"]
        and behind[min(2, len(behind) - 1)].low in language.words["roles"]
    )


def _is_role_first(before: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    """`The owner of the house is`."""
    return (
        len(before) > 2
        and before[0].low in language.words["articles"]
        and before[1].low in language.words["roles"]
        and before[-1].low in language.words["be"]
    )


def _has_sole_last(
    before: Sequence[PhraseWord], behind: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`Für den Bau ist Karin zuständig`."""
    return (
        len(before) > 2
        and before[0].low in language.words["conditions"]
        and before[-1].low in language.words["be"]
        and len(behind) == 1
        and behind[0].low in language.words["sole"]
    )


def _role_names(language: PhraseLanguage) -> dict[str, str]:
    """The words of one role, as one of them."""
    ways = (way for ways in language.phrases["roles"].values() for way in ways)
    return {word: way[0] for way in ways for word in way}


def _switches(
    new: Sequence[PhraseWord], old: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`We moved from Jenkins to Drone for our builds`, of `our builds run on Jenkins`."""
    switched = phrase_places(new, language, "switched")
    if not switched:
        return False
    for away, onto, end in _find_switches(new, language):
        was = [it.plain for it in new[away + 1 : onto]]
        size = len(was)
        if [it.plain for it in old[-size:]] != was:
            # German has its verb behind them.
            size += 1
            is_last = old and old[-1].low in language.words["carries"]
            if not is_last or [it.plain for it in old[-size:-1]] != was:
                continue
        rest = [it for n, it in enumerate(new) if n not in switched and not away <= n < end]
        told = Counter(it.plain for it in _content(rest, language))
        thing = [it for it in old[:-size] if it.low not in language.words["carries"]]
        if told and told == Counter(it.plain for it in _content(thing, language)):
            return True
    return False


def _find_switches(
    words: Sequence[PhraseWord], language: PhraseLanguage
) -> Iterator[tuple[int, int, int]]:
    """Where `from` stands, where `to` does, and where what follows may end."""
    sources, targets = language.words["away"], language.words["onto"]
    for away, it in enumerate(words):
        if it.low not in sources:
            continue
        for onto in range(away + 2, min(away + 2 + MAX_THING_WORDS, len(words) - 1)):
            if words[onto].low in targets:
                for size in range(1, MAX_THING_WORDS + 1):
                    if onto + 1 + size <= len(words):
                        yield away, onto, onto + 1 + size


def _has_new_home(
    new: Sequence[PhraseWord], old: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`I have moved to Cardiff`, of `I live in Bristol`; `Tom …`, of Tom."""
    for was, moved in (("dwell_me", "moved_me"), ("dwell", "moved_on")):
        is_me = moved == "moved_me"
        here, there = _read_home(new, moved, language), _read_home(old, was, language)
        if here is None or there is None or here[1] == there[1] or here[0] != there[0]:
            continue
        if bool(here[0]) is not is_me:
            return True
    return False


def _read_home(
    words: Sequence[PhraseWord], kind: str, language: PhraseLanguage
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Who, and where: names alone."""
    places = sorted(phrase_places(words, language, kind))
    if not places:
        return None
    who = [it for it in words[: places[0]] if it.low not in language.words["speaker"]]
    where = [it for n, it in enumerate(words) if n > places[0] and n not in places]
    if not 0 < len(where) <= MAX_NAME_WORDS or len(who) > MAX_NAME_WORDS:
        return None
    if not all(_is_name(it, language) for it in (*who, *where)):
        return None
    return tuple(it.plain for it in who), tuple(it.plain for it in where)
