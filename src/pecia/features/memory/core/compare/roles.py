"""Whether two statements give the same words the same roles. Pure.

Words in the same order have the same roles. In another order they have them only where the grammar
says so: a phrase put in front (`at 02:00 the backup starts`), what something is said from its other
end (`Helga is the boss of Kai`), the passive. Every statement has a few such orders; two statements
agree if they share one. Any other order is another fact: `A before B` is not `B before A`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pecia.features.memory.core.compare.statement import (
    GUARDS,
    LIGHT,
    NEGATIONS,
    QUANTIFIERS,
    Statement,
    same_word,
    stem,
)
from pecia.features.memory.core.compare.vocabulary import VOCABULARY
from pecia.features.memory.core.compare.voice import BELONGS

# They say when, and `_agrees` counts them; as verbs they have no place of their own.
_TENSES = frozenset(("was", "were", "had"))
COPULAS = frozenset(("is", "are", "am", "was", "were", "be", "ist", "sind", "est", "es"))
_PREPOSITIONS = VOCABULARY["prepositions"]
_CONJUNCTIONS = frozenset(("when", "while", "where"))
_RELATIVES = frozenset(("where", "when", "how", "what", "who", "which"))
_HAVING = frozenset(("has", "have", "there"))
_DEFINITE = frozenset(
    ("the", "this", "these", "my", "our", "your", "his", "her", "its", "their", *_RELATIVES)
)
_EACH = frozenset(("every", "each", "this", "next", "last"))
_TIMES = VOCABULARY["times"] | VOCABULARY["months"]
_MOMENTS = _TIMES | {f"{it}s" for it in VOCABULARY["times"]} | _EACH
_PLACING = frozenset(
    ("in", "on", "at", "during", "im", "am", "um", "auf", "bei", "en", "dans", "chez")
)
# Generic subjects: `somebody reads the gauge` says no more than `the gauge is read`.
_ANYBODY = frozenset(("we", "you", "i", "somebody", "someone", "people", "they"))
_FOREIGN_LEADS = frozenset(
    (
        *("der", "die", "das", "mein", "meine", "unser", "unsere"),
        *("el", "la", "los", "las", "mi", "nuestro", "nuestra"),
    )
)
_JOINED = frozenset(("and", "or", "but", "while", "und", "oder", "y", "o", "et", "ou"))
_NEEDED = frozenset(("need", "needed", "require", "required", "necessary"))
# They would come to stand before another word.
_BINDS_TO = frozenset(("only", "just", "always", "not", "never", "almost"))
_MAX_AMOUNT = 3
_CONTAINERS = VOCABULARY["containers"]
_SAME = {"each": "every", "everybody": "everyone"}


_BREAKS = COPULAS | _PREPOSITIONS | _HAVING | _DEFINITE | _ANYBODY | {"a", "an", "der", "die", "el"}


@dataclass(frozen=True, slots=True)
class _Token:
    """A word that counts. `place` is its place among all words; `led`: behind a preposition."""

    stem: str
    place: int
    led: bool
    binds: bool


def keep_roles(one: Statement, other: Statement) -> bool:
    """Whether the words that both have stand in the same roles."""
    mine, theirs = _with_shared(_tokens(one), _tokens(other))
    if not _agent_agrees(one, other) or not _agent_agrees(other, one):
        return False
    left, right = _stems(mine), _stems(theirs)
    if left == right:
        return True
    # `We test in Bonn and deploy in Graz`: which belongs to what only the order says.
    if _JOINED & {*one.words} and len(_find_adjuncts(one, mine)) > 1:
        return False
    mine, theirs = _without_adjuncts(one, mine, other, theirs)
    left, right = _stems(mine), _stems(theirs)
    if not _leads_agree(one, mine, other, theirs):
        return False
    first = {left, *(_stems(it) for it in _orders(one, other, mine))}
    second = {right, *(_stems(it) for it in _orders(other, one, theirs))}
    return not first.isdisjoint(second)


def _tokens(it: Statement) -> list[_Token]:
    found: list[_Token] = []
    led = False
    for place, word in enumerate(it.words):
        # `As the queue` says what something is, not where.
        if word in _PREPOSITIONS and word != "as":
            led = True
        counts = word not in LIGHT or word in it.anchors or word in _CONJUNCTIONS
        if counts and word not in _TENSES:
            # `May` is a month where it has its capital.
            binds = word in QUANTIFIERS | NEGATIONS | GUARDS and word not in it.anchors
            found.append(_Token(stem(_SAME.get(word, word)), place, led and not binds, binds))
            led = led and binds
    return _genitives(it, found)


def _without_adjuncts(
    one: Statement, mine: Sequence[_Token], other: Statement, theirs: Sequence[_Token]
) -> tuple[list[_Token], list[_Token]]:
    """Without the place, the time and the amount that both have: they may stand anywhere."""
    if (_JOINED | _BINDS_TO) & {*one.words, *other.words}:
        return [*mine], [*theirs]
    for find in (_find_places, _find_times, _find_amounts):
        first, second = find(one, mine), find(other, theirs)
        # Of two places or amounts each belongs to something.
        if len(first) != 1 or len(second) != 1:
            continue
        if find is _find_places and _lead(one, first[0]) != _lead(other, second[0]):
            continue
        shared = 0
        for a, b in zip(first[0], second[0], strict=False):
            if a.stem != b.stem:
                break
            shared += 1
        gone, again = ({at.place for at in side[0][:shared]} for side in (first, second))
        mine = [at for at in mine if at.place not in gone]
        theirs = [at for at in theirs if at.place not in again]
    return [*mine], [*theirs]


def _lead(it: Statement, phrase: Sequence[_Token]) -> str:
    """The preposition of a phrase: what is in the box is not on it."""
    return next((word for word in it.words[phrase[0].place :: -1] if word in _PLACING), "")


def _find_places(it: Statement, tokens: Sequence[_Token]) -> list[list[_Token]]:
    return [at for at in _find_adjuncts(it, tokens) if not _is_moment(it, at)]


def _find_times(it: Statement, tokens: Sequence[_Token]) -> list[list[_Token]]:
    return [at for at in _find_adjuncts(it, tokens) if _is_moment(it, at)]


def _find_adjuncts(it: Statement, tokens: Sequence[_Token]) -> list[list[_Token]]:
    """The words behind `in`, `on`, `at` and `every`, up to the next word that begins something."""
    found: list[list[_Token]] = []
    end = 0
    for place, word in enumerate(it.words):
        is_time = _is_time(it, place)
        if place < end or not (is_time or word in _PLACING):
            continue
        start = place if is_time else place + 1
        begin = next((n for n in range(start, len(it.words)) if it.words[n] not in LIGHT), start)
        end = next(
            (n for n in range(begin + 1, len(it.words)) if it.words[n] in _BREAKS), len(it.words)
        )
        inside = [at for at in sorted(tokens, key=lambda at: at.place) if place <= at.place < end]
        found += [inside] if inside else []
    return found


def _is_moment(it: Statement, phrase: Sequence[_Token]) -> bool:
    words = [it.words[at.place] for at in phrase if not at.binds]
    return bool(words) and (words[0] in _MOMENTS or words[0][:1].isdigit())


def _find_amounts(it: Statement, tokens: Sequence[_Token]) -> list[list[_Token]]:
    """Numbers, each with what is counted; none where two differ by their places alone."""
    found: list[list[_Token]] = []
    for at in sorted(tokens, key=lambda at: at.place):
        if found and found[-1][-1].place == at.place - 1 and len(found[-1]) < _MAX_AMOUNT:
            found[-1].append(at)
        elif it.words[at.place][:1].isdigit():
            found.append([at])
    return found


def _genitives(it: Statement, tokens: list[_Token]) -> list[_Token]:
    """With `the boss of Kai` in the order of `Kai's boss`."""
    for place in (n for n, word in enumerate(it.words) if word == "of"):
        end = _phrase_end(it, place + 1)
        start = _phrase_start(it, place)
        heads = [at for at in tokens if start <= at.place < place]
        owners = [at for at in tokens if place < at.place < end]
        # `A weight of 750 kg` is nobody's.
        is_amount = bool(owners) and any(sign.isdigit() for sign in it.words[owners[0].place])
        # And a tea cup is no cup of tea.
        is_filled = it.words[place - 1].rstrip("s") in _CONTAINERS
        is_owned = not is_amount and not is_filled and not any(at.binds for at in heads)
        if heads and owners and is_owned:
            before = [at for at in tokens if at not in heads and at.place < place]
            behind = [at for at in tokens if at.place >= end]
            tokens = [*before, *owners, *heads, *behind]
    return tokens


def _phrase_start(it: Statement, of: int) -> int:
    """Where the noun before an `of` begins: behind its article or owner, at the begin of a
    sentence, or at the word itself."""
    ends = LIGHT | it.owners
    light = next((n for n in range(of - 1, -1, -1) if it.words[n] in ends), -1)
    is_subject = light < 0 and it.words[_phrase_end(it, of + 1) :][:1] != ()
    return light + 1 if light >= 0 or is_subject else of - 1


def _phrase_end(it: Statement, start: int) -> int:
    """Where a noun's phrase ends: before a verb or a preposition that is known as one."""
    ends = COPULAS | _PREPOSITIONS | _HAVING | {"and", "we", "i", "you"}
    return next((n for n in range(start, len(it.words)) if it.words[n] in ends), len(it.words))


def _with_shared(
    one: Sequence[_Token], other: Sequence[_Token]
) -> tuple[list[_Token], list[_Token]]:
    """The tokens that both have, as many times as both have them, under one name."""
    theirs = {it.stem for it in other}
    mine = {it.stem for it in one}
    named = {
        word: next((it for it in sorted(mine - theirs) if same_word(word, it)), word)
        for word in theirs - mine
    }
    again = [_Token(named.get(it.stem, it.stem), it.place, it.led, it.binds) for it in other]
    count, counted = (Counter(it.stem for it in side) for side in (one, again))
    same = {it for it in count if counted[it] == count[it]}
    return [it for it in one if it.stem in same], [it for it in again if it.stem in same]


def _stems(tokens: Sequence[_Token]) -> tuple[str, ...]:
    return tuple(it.stem for it in tokens)


def _agent_agrees(one: Statement, other: Statement) -> bool:
    """Whether who did something by one statement does not suffer it by the other."""
    if "by" not in one.words or "by" in other.words or not COPULAS & {*one.words}:
        return True
    behind = one.words[one.words.index("by") + 1 :]
    agent = next((it for it in behind if it not in LIGHT or it in one.anchors), None)
    if agent is None or agent not in other.words:
        return True
    place = other.words.index(agent)
    before = [it for it in other.words[:place] if it not in LIGHT and it in one.words]
    led = any(it in _PREPOSITIONS or it in COPULAS for it in other.words[:place])
    return led or not before


def _leads_agree(
    one: Statement, mine: Sequence[_Token], other: Statement, theirs: Sequence[_Token]
) -> bool:
    """Whether no word that is behind a preposition in one takes the place of one that is not:
    `the key is in the box` and `the box is in the key`."""
    led, again = ({it.stem for it in side if it.led} for side in (mine, theirs))
    if led - again and again - led:
        return False
    return _may_stand_free(led - again, one, other) and _may_stand_free(again - led, other, one)


def _may_stand_free(words: set[str], one: Statement, other: Statement) -> bool:
    """Whether what is behind a preposition in one may be without it in the other."""
    if not words or (_RELATIVES | _HAVING) & {*other.words} or "by" in one.words:
        return True
    names = {stem(it) for it in (*one.anchors, *other.anchors)}
    return words <= names or not COPULAS & {*other.words}


def _orders(it: Statement, other: Statement, tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """Other orders of a statement's words that give them the same roles."""
    for place, word in enumerate(it.words):
        if word in _PREPOSITIONS or word in _CONJUNCTIONS or _is_time(it, place):
            yield _turn(tokens, _before_modifiers(it, place))
        if word in COPULAS and _is_identity(it, place):
            yield _turn(tokens, place)
        if word in ("a", "an") and place:
            yield from _compound(it, other, tokens, place)
        if word == "of" and _is_doer(it, place):
            # `Is the founder of the firm` in the order of `founded the firm`.
            yield sorted(tokens, key=lambda at: at.place)
    # `Only` and `not` would come to stand before another word.
    by = _find_agent(it)
    if (
        by is not None
        and COPULAS & {*it.words}
        and not it.negations
        and not _BINDS_TO & {*it.words}
    ):
        yield from _active(it, tokens, by)
    if "used" in it.words:
        yield from _instrument(it, tokens)
    subject = next((n for n, word in enumerate(it.words) if word in _ANYBODY), None)
    if subject is not None and COPULAS & {*other.words}:
        yield from _passive(it, tokens, subject)
    if it.words[0] in _PLACING and other.words[0] not in _PLACING and _puts_verb_first(it, tokens):
        # German and Spanish put the verb before who does it.
        yield [*tokens[1:], tokens[0]]
    yield from _owner_first(it, tokens)


def _owner_first(it: Statement, tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """`The module belongs to Marta` and `the owner of the module is Marta` in the order of `Marta
    owns the module`."""
    for place, (word, behind) in enumerate(pairwise(it.words)):
        if word in BELONGS and behind == "to":
            verb = [at for at in tokens if at.place == place]
            owner = [at for at in tokens if at.place > place]
            yield [*owner, *verb, *(at for at in tokens if at.place < place)]
        elif behind == "of" and place < 2 and word.endswith(("er", "or")):
            yield from _doer_first(it, tokens, place + 1)


def _puts_verb_first(it: Statement, tokens: Sequence[_Token]) -> bool:
    """`In Leipzig wohnt meine Schwester`."""
    if len(tokens) < 3:
        return len(tokens) == 2
    behind = it.words[tokens[0].place + 1 : tokens[0].place + 2]
    return bool(behind) and behind[0] in _FOREIGN_LEADS


def _is_doer(it: Statement, of: int) -> bool:
    """Whether somebody is said to be who does something: `is the founder of`."""
    return (
        of > 2
        and it.words[of - 1].endswith(("er", "or"))
        and it.words[of - 2] in ("the", "a", "an")
        and it.words[of - 3] in COPULAS
    )


def _doer_first(it: Statement, tokens: Sequence[_Token], of: int) -> Iterator[list[_Token]]:
    """`The owner of the module is Marta` in the order of `Marta owns the module`."""
    end = _phrase_end(it, of + 1)
    if end < len(it.words) and it.words[end] in COPULAS and _is_identity(it, end):
        doer = [at for at in tokens if at.place > end]
        yield [*doer, *sorted((at for at in tokens if at.place < end), key=lambda at: at.place)]


def _turn(tokens: Sequence[_Token], place: int) -> list[_Token]:
    """What stands from that place on, then what stands before it."""
    return _split(tokens, lambda it: it.place >= place)


def _split(tokens: Sequence[_Token], comes_first: Callable[[_Token], bool]) -> list[_Token]:
    return [
        *(it for it in tokens if comes_first(it)),
        *(it for it in tokens if not comes_first(it)),
    ]


def _before_modifiers(it: Statement, place: int) -> int:
    """`Only on Sundays`: what qualifies a phrase goes with it."""
    while place and it.words[place - 1] in QUANTIFIERS | NEGATIONS:
        place -= 1
    return place


def _is_time(it: Statement, place: int) -> bool:
    return it.words[place] in _EACH and not _TIMES.isdisjoint(it.words[place + 1 : place + 3])


def _is_identity(it: Statement, place: int) -> bool:
    """Whether a copula joins two of which each is one certain thing: `the queue is RabbitMQ`. Not
    `managers are employees`, nor what only, not or every one is."""
    before, behind = it.words[:place], it.words[place + 1 :]
    if not before or not behind or it.negations or it.quantifiers:
        return False
    if {"and", "or"} & {*it.words}:
        return False
    return all(
        side[0] in _DEFINITE or side[0] in it.anchors or _is_name(it, side)
        for side in (before, behind)
    )


def _is_name(it: Statement, side: Sequence[str]) -> bool:
    """A single first word, as long as something certain is on the other side of it."""
    return side[0] == it.words[0] and (len(side) == 1 or not it.owners.isdisjoint(side))


def _find_agent(it: Statement) -> int | None:
    """The `by` of a passive, or the `for` of what is needed for something."""
    if "by" in it.words:
        return it.words.index("by")
    pairs = enumerate(zip(it.words, it.words[1:], strict=False))
    return next((n + 1 for n, (verb, lead) in pairs if verb in _NEEDED and lead == "for"), None)


def _active(it: Statement, tokens: Sequence[_Token], by: int) -> Iterator[list[_Token]]:
    """`The wiki is backed up by Tobias` in the order of `Tobias backs up the wiki`."""
    verb = next(n for n, word in enumerate(it.words) if word in COPULAS)
    end = _phrase_end(it, by + 1)
    if verb < by:
        agent = [at for at in tokens if by < at.place < end]
        done = [at for at in tokens if verb < at.place < by]
        rest = [at for at in tokens if at.place >= end]
        yield [*agent, *done, *(at for at in tokens if at.place < verb), *rest]


def _passive(it: Statement, tokens: Sequence[_Token], subject: int) -> Iterator[list[_Token]]:
    """`We hash passwords with argon2` in the order of `passwords are hashed with argon2`."""
    if any(at.place < subject for at in tokens):
        return
    places = range(subject, len(it.words))
    end = next((n for n in places if it.words[n] in _PREPOSITIONS), len(it.words))
    inside = [at for at in tokens if subject < at.place < end]
    if len(inside) > 1 and not any(at.binds for at in inside):
        yield [*inside[1:], inside[0], *(at for at in tokens if at.place >= end)]


def _instrument(it: Statement, tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """`Argon2 is used to hash passwords` in the order of `passwords are hashed with argon2`."""
    place = it.words.index("used")
    if it.words[place + 1 : place + 2] != ("to",):
        return
    tool = [at for at in tokens if at.place < place]
    done = [at for at in tokens if at.place > place]
    if len(done) > 1 and not any(at.binds for at in tokens):
        yield [*done[1:], done[0], *tool]


def _compound(
    it: Statement, other: Statement, tokens: Sequence[_Token], article: int
) -> Iterator[list[_Token]]:
    """`Is a violin player` in the order of `plays the violin`, and `has a peanut allergy` in that
    of `is allergic to peanuts`."""
    end = _phrase_end(it, article + 1)
    inside = [at for at in tokens if article < at.place < end]
    if len(inside) != 2:
        return
    what, head = inside
    verb = it.words[article - 1]
    is_doer = verb in COPULAS and it.words[head.place].endswith(("er", "or"))
    led = {at.stem for at in _tokens(other) if at.led}
    is_owned = verb in _HAVING and not _HAVING & {*other.words} and what.stem in led
    if is_doer or is_owned:
        before = [at for at in tokens if at.place < article]
        yield [*before, head, what, *(at for at in tokens if at.place >= end)]
