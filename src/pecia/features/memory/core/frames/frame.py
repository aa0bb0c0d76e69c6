"""A short English statement as who does what to whom, and where, when and how: the same frame
whichever way it is said. Pure.

`The window of the kitchen faces south` and `the kitchen window faces south`, `logs older than 30
days are deleted` and `we delete logs that are older than 30 days`. Every word has its place in a
frame; a statement with a word that has none is not read. Two statements with an equal frame are one
fact only if what tells facts apart agrees too (`relation.py`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from pecia.features.memory.core.compare.vocabulary import VOCABULARY
from pecia.features.memory.core.frames.verbs import DOERS, FORMS, SAME

MAX_FRAME_WORDS = 24


@dataclass(frozen=True, slots=True)
class Frame:
    """`phrases` are what stands behind a preposition, with it, and times; in any order."""

    verb: str
    subject: tuple[str, ...]
    object: tuple[str, ...]
    phrases: frozenset[tuple[str, ...]]
    mood: tuple[str, ...] = ()
    """Tense, modal verbs and negations."""


def share_frame(one: str, other: str) -> bool:
    """Whether both can be read as one frame. The texts are in plain words (`plain_words.py`)."""
    mine = read_frames(one)
    return bool(mine) and not mine.isdisjoint(read_frames(other))


@lru_cache(4096)
def read_frames(text: str) -> frozenset[Frame]:
    """The frames of a statement: one for each way to read it."""
    words = _split(text)
    if not 3 <= len(words) <= MAX_FRAME_WORDS or not _UNREADABLE.isdisjoint(words):
        return frozenset()
    found: set[Frame] = set()
    for lead, clause in _split_lead(words):
        for start, end, verb, mood in _verb_groups(clause):
            subject, rest = clause[:start], clause[end:]
            frame = _read(verb, mood, subject, rest)
            if frame is None:
                continue
            for it in _restate(frame):
                phrases = [*it.phrases, *lead]
                if len({*phrases}) == len(phrases):
                    found.add(replace(it, phrases=frozenset(phrases)))
    return frozenset(found)


# Statements of several clauses, comparisons of them and questions.
_UNREADABLE = frozenset(
    (
        *("if", "unless", "because", "but", "while", "when", "whenever", "although", "so", "which"),
        *("who", "whose", "what", "where", "why", "how", "whether", "or", "either", "neither"),
        *("except", "instead", "used"),
    )
)
_DETERMINERS = frozenset(("the", "a", "an", "my", "our", "this", "these", "that", "those"))
_OTHER_OWNERS = frozenset(("his", "her", "its", "their", "your"))
_PREPOSITIONS = (
    VOCABULARY["prepositions"] - {"as", "because", "if", "unless", "except", "instead"}
) | {"like", "up", "down", "off", "out", "across", "beyond", "toward", "towards"}
_CONTAINERS = VOCABULARY["containers"]
_BE = {
    **dict.fromkeys(("is", "are", "am", "be", "being"), "present"),
    **dict.fromkeys(("was", "were", "been"), "past"),
}
_HAVE = {"has": "present", "have": "present", "had": "past"}
_DO = {"do": "present", "does": "present", "did": "past"}
_GET = {"get": "present", "gets": "present", "got": "past"}
_MODALS = frozenset(("can", "could", "may", "might", "must", "should", "would", "will", "shall"))
_TENSES = {**_BE, **_HAVE, **_DO, **_GET}
_AUXILIARIES = frozenset((*_BE, *_HAVE, *_DO, *_MODALS))
_NOT = frozenset(("not", "never"))
_PASSED_OVER = frozenset(("currently", "also"))
_ADVERBS = frozenset(
    ("only", "always", "usually", "often", "rarely", "still", "already", "just", "probably")
)
_EVERY = frozenset(("every", "each", "next", "last", "this", "twice", "once"))
_MOMENTS = VOCABULARY["times"] | VOCABULARY["months"]
_SUBJECT_PRONOUNS = frozenset(("we", "they", "i", "he", "she", "it"))
_PERSONS = {"me": "i", "us": "we", "him": "he", "them": "they"}


_IDENTIFIER = re.compile(r"[a-z]+(?:[-_.][a-z\d]+)+")

_REWRITES = tuple(
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"\b(?:nobody|no one|none) (?:but|except) ", "only "),
        (r"\b(likes?) (.+) (?:better|more) than (?=\w+\W*$)", r"prefer \2 over "),
        (
            r"(?:\bwould|'d) rather (?:use |have |drink |eat )?(.+) than (?=\w+\W*$)",
            r" prefer \1 over ",
        ),
        (r"\bprefers?\b(.+) to (?=\w+\W*$)", r"prefer\1 over "),
        (r"\b(?:made|took) (?:the|a) decision to ", "decided to "),
        (r"\b(?:is|are) out of ", "has no "),
        (r"\bresigned from ", "left "),
    )
)


def _split(text: str) -> tuple[str, ...]:
    """Lower-case words, the sign of a genitive and commas apart."""
    for pattern, plain in _REWRITES:
        text = pattern.sub(plain, text)
    words: list[str] = []
    for raw in text.replace("’", "'").split():
        word = raw.rstrip(".!;:").lower()
        comma = word.endswith(",")
        word = word.rstrip(",")
        if word.endswith("'s"):
            words += [word[:-2], "'s"]
        elif word.endswith("s'"):
            words += [word[:-1], "'s"]
        else:
            words.append(word)
        words += [","] if comma else []
    return tuple(it for it in words if it)


def _split_lead(
    words: tuple[str, ...],
) -> Iterator[tuple[list[tuple[str, ...]], tuple[str, ...]]]:
    """What stands before the subject, as phrases, and the clause; nothing may stand there."""
    if "," not in words:
        yield [], words
    if words[0] not in _PREPOSITIONS and words[0] not in _EVERY:
        return
    ends = [words.index(",")] if words.count(",") == 1 else []
    if "," not in words:
        begins = _DETERMINERS | _SUBJECT_PRONOUNS
        ends = sorted({2, 3, *(n for n, it in enumerate(words) if n > 1 and it in begins)})
    for end in ends:
        phrases = _read_phrases(words[:end])
        rest = words[end + 1 :] if words[end : end + 1] == (",",) else words[end:]
        if phrases is not None and len(rest) > 1:
            yield phrases, rest


def _verb_groups(
    words: tuple[str, ...],
) -> Iterator[tuple[int, int, str, tuple[str, ...]]]:
    """From where to where a verb with its auxiliaries stands; its base, `+` in front of one in the
    passive; its mood."""
    for start in range(1, len(words)):
        if words[start] in _GET:
            yield from _auxiliary_group(words, start)
        if words[start] in _AUXILIARIES:
            yield from _auxiliary_group(words, start)
        elif words[start - 1] not in _DETERMINERS | _PREPOSITIONS | {"'s", "and"} | _OTHER_OWNERS:
            forms, several = FORMS.get(words[start], {}), _is_several(words[:start])
            for kind, base in forms.items():
                if (kind == "s" and not several) or (
                    # `The teams cut costs` is of now or of then.
                    kind == "base" and several and "past" not in forms
                ):
                    yield start, start + 1, base, ("present",)
                elif kind == "past" and not (several and "base" in forms):
                    yield start, start + 1, base, ("past",)


def _is_several(subject: Sequence[str]) -> bool:
    """Whether a verb behind it is in its base form: `we`, `the teams`, `Ann and Ben`."""
    last = subject[-1]
    plural = last.endswith("s") and not last.endswith("ss") and last != "'s"
    return "and" in subject or plural or last in ("i", "we", "you", "they", "people", "children")


def _auxiliary_group(
    words: tuple[str, ...], start: int
) -> Iterator[tuple[int, int, str, tuple[str, ...]]]:
    tense = _TENSES.get(words[start], "present")
    mood = [words[start]] if words[start] in _MODALS else []
    seen = [words[start]]
    at = start + 1
    while at < len(words) and (
        words[at] in _BE
        or words[at] in _HAVE
        or words[at] in _NOT
        or words[at] in _ADVERBS
        or words[at] in _PASSED_OVER
    ):
        if words[at] in _NOT or words[at] in _ADVERBS:
            mood.append(words[at])
        else:
            seen.append(words[at])
        at += 1
    verb = words[at] if at < len(words) else ""
    forms = FORMS.get(verb, {})
    last = next((it for it in reversed(seen) if it not in _PASSED_OVER), seen[0])
    if last in _BE and "participle" in forms:
        is_perfect = any(it in _HAVE for it in seen[:-1])
        yield start, at + 1, f"+{forms['participle']}", ("past" if is_perfect else tense, *mood)
    if "participle" in forms and at == start + 1 and words[start] in _GET:
        yield start, at + 1, f"+{forms['participle']}", (_GET[words[start]], *mood)
    if last in _BE and "ing" in forms:
        yield from _progressive(words, start, at, forms["ing"], (tense, *mood))
    if last in _HAVE and "participle" in forms and last != "had":
        yield start, at + 1, forms["participle"], ("past", *mood)
    if (last in _MODALS or last in _DO) and "base" in forms:
        yield start, at + 1, forms["base"], (tense, *mood)
    # The last one is the verb itself.
    if last in _BE:
        yield start, at, "be", (tense, *mood)
    elif last in _HAVE:
        yield start, at, "have", (tense, *mood)


def _progressive(
    words: tuple[str, ...], start: int, at: int, verb: str, mood: tuple[str, ...]
) -> Iterator[tuple[int, int, str, tuple[str, ...]]]:
    behind = words[at + 2 : at + 3]
    base = FORMS.get(behind[0], {}).get("base") if behind else None
    if verb == "go" and words[at + 1 : at + 2] == ("to",) and base:
        yield start, at + 3, base, (mood[0], "will", *mood[1:])
    else:
        yield start, at + 1, verb, mood


def _read(
    verb: str, mood: tuple[str, ...], subject: Sequence[str], rest: Sequence[str]
) -> Frame | None:
    """The frame of a clause; None where a word has no place in it."""
    if verb in ("come", "go") and rest[:1] and mood:
        verb, rest = _skip_motion(verb, rest)
    who, inside = _read_noun(subject), _phrases_inside(subject)
    end = next((n for n in range(len(rest)) if _begins_phrase(rest, n)), len(rest))
    what, phrases = _read_noun(rest[:end]), _read_phrases(rest[end:])
    if who is None or what is None or phrases is None or not who:
        return None
    if inside is not None:
        # `The wifi in the attic is slow`: said of where it is slow; `requests without a token are
        # refused by the API`: it refuses them.
        if (verb != "be" or phrases or not what) and not verb.startswith("+"):
            return None
        who, phrases = inside[0], [*inside[1], *phrases]
    if len({*phrases}) != len(phrases):
        return None
    is_passive = verb.startswith("+")
    base = SAME.get(verb.lstrip("+"), verb.lstrip("+"))
    if not is_passive:
        subject_ = () if who in {(it,) for it in ("we", "they", "people")} else who
        return Frame(base, subject_, what, frozenset(phrases), tuple(sorted(mood)))
    by = [it for it in phrases if it[0] == "by"]
    if what or len(by) > 1 or (by and by[0][1] in _MOMENTS):
        return None
    agent = by[0][1:] if by else ()
    others = frozenset(it for it in phrases if it[0] != "by")
    if "only" in mood and agent:
        # `Can only be deleted by admins`: only they can delete it.
        agent, mood = ("only", *agent), tuple(it for it in mood if it != "only")
    return Frame(base, agent, who, others, tuple(sorted(mood)))


def _skip_motion(verb: str, rest: Sequence[str]) -> tuple[str, Sequence[str]]:
    """`Goes swimming`, `goes for a swim`, `comes to visit`."""
    if verb == "go" and tuple(rest[:2]) == ("for", "a") and rest[2:3] and rest[2] in _OUTINGS:
        return rest[2], rest[3:]
    forms = FORMS.get(rest[0], {})
    if verb == "go" and "ing" in forms:
        return forms["ing"], rest[1:]
    if rest[0] == "to" and len(rest) > 1 and "base" in (then := FORMS.get(rest[1], {})):
        return then["base"], rest[2:]
    return verb, rest


_OUTINGS = frozenset(("swim", "walk", "run", "ride", "drive", "jog", "hike"))


def _begins_phrase(words: Sequence[str], at: int) -> bool:
    word = words[at]
    if word == "of":
        return False
    if word in _PREPOSITIONS:
        return True
    return word in _EVERY and any(_moment(it) for it in words[at + 1 : at + 4])


def _moment(word: str) -> bool:
    return word in _MOMENTS or word.rstrip("s") in _MOMENTS


def _phrases_inside(
    words: Sequence[str],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]] | None:
    """A noun and what stands behind prepositions in it; None where there is none."""
    at = next((n for n, it in enumerate(words) if n and it in _PREPOSITIONS and it != "of"), None)
    if at is None or "than" in words:
        return None
    noun, phrases = _read_noun(words[:at]), _read_phrases(words[at:])
    return (noun, phrases) if noun and phrases else None


def _read_phrases(words: Sequence[str]) -> list[tuple[str, ...]] | None:
    """Each preposition with its noun; times stand without one."""
    if not words:
        return []
    starts = [n for n in range(len(words)) if _begins_phrase(words, n)]
    if not starts or starts[0]:
        return None
    phrases: list[tuple[str, ...]] = []
    skip = False
    for start, end in pairwise([*starts, len(words)]):
        if skip:
            skip = False
            continue
        lead, inside = words[start], words[start + 1 : end]
        if not inside:
            return None
        if lead in _EVERY:
            phrases.append(("every" if lead == "each" else lead, *_singulars(inside)))
            continue
        noun = _read_noun(inside)
        if not noun:
            return None
        if lead == "on" and len(noun) == 1 and _moment(noun[0]) and noun[0].endswith("s"):
            phrases.append(("every", noun[0].rstrip("s")))
        else:
            phrases.append((_ALIKE.get(lead, lead), *noun))
    return phrases


_ALIKE = {"beneath": "under", "below": "under", "each": "per"}


def _singulars(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(it for it in words if it not in _DETERMINERS)


def _read_noun(words: Sequence[str]) -> tuple[str, ...] | None:
    """A noun with what belongs to it before it: `the lid of the pot` as `pot lid`. A list in its
    order of letters. None where it cannot be read."""
    words = [it for it in words if it not in _PASSED_OVER]
    if "and" in words:
        return _read_list(words)
    if "of" in words:
        at = words.index("of")
        head, owner = words[:at], words[at + 1 :]
        if not head or not owner:
            return None
        if (
            head[-1].rstrip("s") in _CONTAINERS
            or head[0] in ("a", "an")
            or "of" in owner
            or not _DETERMINERS.isdisjoint(owner[1:])
            or any(it[:1].isdigit() for it in owner)
        ):
            return tuple(it for it in words if it not in _DETERMINERS)
        words = [*owner, *head]
    words = [it for n, it in enumerate(words) if not _is_relative(words, n)]
    if len(words) > 1 and _IDENTIFIER.fullmatch(words[-2]) and words[-1].isalpha():
        # `The acme-logs bucket` is the bucket acme-logs.
        words = [*words[:-2], words[-1], words[-2]]
    return tuple(_PERSONS.get(it, it) for it in words if it not in _DETERMINERS and it != "'s")


def _is_relative(words: Sequence[str], at: int) -> bool:
    """The words `that are` in `logs that are older`."""
    if words[at] == "that":
        return at > 0 and words[at + 1 : at + 2] != [] and words[at + 1] in ("is", "are")
    return words[at] in ("is", "are") and at > 1 and words[at - 1] == "that"


def _read_list(words: Sequence[str]) -> tuple[str, ...] | None:
    """`Korean and Japanese`; not of more words, where it is open what belongs to what."""
    if words.count("and") != 1:
        return None
    at = words.index("and")
    one, other = words[:at], words[at + 1 :]
    if len(one) != 1 or len(other) != 1:
        return tuple(it for it in words if it not in _DETERMINERS)
    return ("and", *sorted((one[0], other[0])))


def _restate(frame: Frame) -> Iterator[Frame]:
    """The frame, and the others that say the same."""
    yield frame
    for rule in (_doer, _identity, _attribute, _trade, _receipt, _lack):
        yield from rule(frame)


def _doer(frame: Frame) -> Iterator[Frame]:
    """`Priya is the lead of the team` and `the team's lead is Priya`: she leads the team."""
    if frame.verb != "be" or "not" in frame.mood:
        return
    for who, role in ((frame.subject, frame.object), (frame.object, frame.subject)):
        verb = DOERS.get(role[-1]) if len(role) > 1 else None
        if verb and len(who) <= 2 and not _OTHER_OWNERS & {*role}:
            mood = ("past",) if verb in _ONCE else frame.mood
            yield Frame(SAME.get(verb, verb), who, role[:-1], frame.phrases, mood)


# Who has done it once is called so ever after.
_ONCE = frozenset(("write", "found", "invent", "win"))


def _identity(frame: Frame) -> Iterator[Frame]:
    """`Ravel is Mina's favourite composer` and the other way round."""
    if frame.verb == "be" and frame.object and frame.subject and frame.mood == ("present",):
        longer, shorter = sorted((frame.subject, frame.object), key=len, reverse=True)
        if len(longer) > 1 and len(shorter) <= 2:
            yield Frame("is", longer, shorter, frame.phrases, frame.mood)


def _attribute(frame: Frame) -> Iterator[Frame]:
    """`The pot has a broken lid` and `the lid of the pot is broken`; `the attic has slow wifi`."""
    if frame.verb == "have" and len(frame.object) == 2 and not frame.object[0][:1].isdigit():
        adjective, noun = frame.object
        yield Frame("be", (*frame.subject, noun), (adjective,), frame.phrases, frame.mood)
    if frame.verb == "be" and len(frame.phrases) == 1 and len(frame.object) == 1:
        [phrase] = frame.phrases
        if phrase[0] == "in" and not _moment(phrase[1]) and not phrase[1][:1].isdigit():
            subject = (*phrase[1:], *frame.subject)
            yield Frame("be", subject, frame.object, frozenset(), frame.mood)


def _trade(frame: Frame) -> Iterator[Frame]:
    """`Karim bought it from Lena`: she sold it to him."""
    seller = [it for it in frame.phrases if it[0] == "from"]
    if frame.verb == SAME["buy"] and len(seller) == 1 and frame.subject and frame.object:
        rest = (frame.phrases - {*seller}) | {("to", *frame.subject)}
        yield Frame("sell", seller[0][1:], frame.object, frozenset(rest), frame.mood)


def _receipt(frame: Frame) -> Iterator[Frame]:
    """`The report is sent to Nadia every month`: she receives it. What was sent once may be under
    way."""
    to = [it for it in frame.phrases if it[0] == "to"]
    is_usual = frame.mood == ("present",)
    if frame.verb == "send" and is_usual and not frame.subject and len(to) == 1 and frame.object:
        rest = frame.phrases - {*to}
        yield Frame(SAME["receive"], to[0][1:], frame.object, rest, frame.mood)


def _lack(frame: Frame) -> Iterator[Frame]:
    """`There is no toner in the printer`: it has none."""
    if frame.verb == "be" and frame.subject == ("there",) and len(frame.phrases) == 1:
        [phrase] = frame.phrases
        if phrase[0] == "in":
            yield Frame("have", phrase[1:], frame.object, frozenset(), frame.mood)
