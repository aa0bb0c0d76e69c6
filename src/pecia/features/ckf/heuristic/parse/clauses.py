"""Splits a sentence at a cue: condition and consequence, cause and effect. Pure.

Every clause is a slice of the sentence, trimmed of outer punctuation; nothing is rewritten.
"""

import re
from dataclasses import dataclass

from pecia.features.ckf.heuristic.cues.connectives import (
    asks_whether,
    belongs_before,
    cut_result,
    ends_in_result,
    is_ellipsis,
    is_link,
    strip_link,
)
from pecia.features.ckf.heuristic.cues.forms import RELATIVE_WORDS, opens_instruction
from pecia.features.ckf.heuristic.cues.grammar import Cue, Grammar
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.cues.openers import (
    RELATIVE_PLACES,
    opens_cause,
    opens_clause,
)
from pecia.features.ckf.heuristic.parse.cuts import (
    begins_inside,
    follows_clause,
    is_reflexive,
    is_whole,
)
from pecia.features.ckf.heuristic.parse.text import Sentence


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clause that the cue opens, and the main clause.

    Not `certain`: the sentence may be cut elsewhere than between two clauses.
    """

    opened: str
    main: str
    certain: bool = True


def split_condition(line: Sentence, grammar: Grammar) -> Clauses | None:
    """Condition and consequence; `None` if the sentence has no condition."""
    cue = _first_condition(line)
    required = line.first(CueKind.PRECONDITION)
    if required and (_before_time(line, required) or _is_asked(line, required)):
        required = None
    leads = cue is not None and _is_leading(line, cue, grammar)
    if required and not leads and _is_leading(line, required, grammar):
        return _split_leading(line, required, grammar) or _split_at(line, cue or required, grammar)
    if cue and leads:
        return _split_leading(line, cue, grammar) or _split_at(line, cue, grammar)
    if cue:
        return _split_at(line, cue, grammar)
    phrase = extract_opening_phrase(line, grammar)
    return phrase or (_split_at(line, required, grammar) if required else None)


def _first_condition(line: Sentence) -> Cue | None:
    """The first cue of a condition that does not ask `whether` or compare."""
    return next(
        (
            it
            for it in line.cues
            if not it.names
            and CueKind.CONDITION in it.kinds
            and not asks_whether(line.text, _offset(line, it))
            and not is_reflexive(it, line.text, _offset(line, it))
            and not belongs_before(it.words, line.text, _offset(line, it))
        ),
        None,
    )


def _is_asked(line: Sentence, cue: Cue) -> bool:
    """Whether it stands in what is asked: `determine if you need …`"""
    return any(
        it.start < cue.start
        and CueKind.CONDITION in it.kinds
        and asks_whether(line.text, _offset(line, it))
        for it in line.cues
    )


def extract_limit_phrase(
    line: Sentence, place: int, grammar: Grammar, *, opens: bool
) -> Clauses | None:
    """A limit at the start or end of the sentence, and the rest; else its subject and its duty.

    In the middle of a sentence a limit cannot be cut out, so there the rule is split at its verb,
    and its subject is only possibly a condition. `opens`: a conjunction or preposition is there.
    """
    at = place - line.span.start
    comma = _first_comma(line.text, at)
    if at <= MAX_LEADING_CHARS:
        end = comma or _limit_end(line)
        certain = opens and comma is not None and not _has_finite_verb(line, comma)
        return _leading_clauses(line.text[:end], line.text[end:], grammar, certain) if end else None
    if _VERB_FRAME.search(line.text) and not _VERB_FRAME.search(line.text[:at]):
        return None
    if comma is None and len(line.text[at:].split()) <= MAX_LIMIT_WORDS:
        inside = grammar.language == "de" and _MODAL_FRAME.search(line.text) is not None
        certain = opens and not inside and not _has_verb(line, at)
        found = _clauses(line.text[at:], line.text[:at], grammar, certain)
        if found:
            return found
    verb = _first_verb(line)
    if verb is None:
        return _clauses(line.text[at:], line.text[:at], grammar, certain=False)
    return _clauses(line.text[:verb], line.text[verb:], grammar, certain=False)


def _has_verb(line: Sentence, at: int) -> bool:
    """Whether a verb of duty stands after an offset: the limit is then in front of its rule."""
    return any(not it.kinds.isdisjoint(_ADVISES) for it in line.cues if _offset(line, it) >= at)


def split_order(line: Sentence, grammar: Grammar) -> tuple[str, str] | None:
    """The two acts that a sentence puts in order, the earlier one first."""
    for cue in line.cues:
        if cue.names or cue.kinds.isdisjoint(_ORDERS):
            continue
        at, end = _offset(line, cue), cue.end - line.span.start
        if cue.kinds == _ORDINAL and line.text[:at].rstrip()[-1:] not in ",;:":
            continue
        if at <= MAX_LEADING_CHARS:
            stop = _first_comma(line.text, end) or _first_verb(line)
            found = _clauses(line.text[end:stop], line.text[stop:], grammar) if stop else None
        else:
            found = _clauses(line.text[end:], line.text[:at], grammar)
        if found and min(len(found.opened.split()), len(found.main.split())) >= 2:
            opens_earlier = not _AFTER_WORDS.isdisjoint(cue.words.split())
            acts = (found.opened, found.main)
            return acts if opens_earlier else (found.main, found.opened)
    return None


def _first_verb(line: Sentence) -> int | None:
    places = [_offset(line, it) for it in line.cues if not it.kinds.isdisjoint(_VERBS)]
    return next((it for it in places if it > MAX_LEADING_CHARS), None)


def _limit_end(line: Sentence) -> int | None:
    """Where a leading limit without a comma ends: before the verb, or after its date."""
    verb = _first_verb(line)
    if verb is not None:
        return verb
    digits = list(_DIGITS.finditer(line.text, 0, MAX_DATE_CHARS))
    return digits[-1].end() if digits else None


def extract_opening_phrase(line: Sentence, grammar: Grammar) -> Clauses | None:
    """A leading phrase that limits the scope: `For amounts above 10, both must sign.`"""
    word = _FIRST_WORD.match(line.text)
    if not word or word[0].lower() not in grammar.openers:
        return None
    end = _clause_end(line, word.end(), grammar)
    if end is None or end > MAX_PHRASE_CHARS or is_link(line.text[:end]):
        return None
    certain = not _has_finite_verb(line, _first_comma(line.text, 0) or end)
    return _leading_clauses(line.text[:end], line.text[end:], grammar, certain)


def _has_finite_verb(line: Sentence, end: int) -> bool:
    """Whether what looks like a leading phrase is a main clause: `Before the end he must …, …`"""
    words = _FIRST_WORD.findall(line.text[:end].lower())
    inner = next((at for at, it in enumerate(words) if it in RELATIVE_WORDS), len(words))
    return not _FINITE.isdisjoint(words[:inner])


def split_cause(line: Sentence, grammar: Grammar) -> Clauses | None:
    """Cause and effect, whichever of the two the cue opens."""
    cue = line.first(CueKind.CAUSE, CueKind.RESULT)
    if not cue:
        return None
    at, end = _offset(line, cue), cue.end - line.span.start
    before, after = line.text[:at], line.text[end:]
    certain = opens_cause(cue, before)
    if CueKind.CAUSE in cue.kinds:
        if at <= MAX_LEADING_CHARS:
            comma = _clause_end(line, end, grammar)
            if not comma:
                return None
            return _leading_clauses(line.text[end:comma], line.text[comma:], grammar, certain)
        return _clauses(after, before, grammar, certain)
    return _clauses(before, after, grammar, certain)


def split_exception(line: Sentence, grammar: Grammar) -> Clauses | None:
    """The exceptional case, and the rule in the same sentence."""
    cue = line.first(CueKind.EXCEPTION, CueKind.OVERRIDE)
    if not cue or _offset(line, cue) <= MAX_LEADING_CHARS:
        return None
    at = _offset(line, cue)
    return _clauses(line.text[at:], line.text[:at], grammar, opens_clause(cue))


def cut_between_words(words: str, size: int) -> str:
    """At most this many characters, cut at white space where possible."""
    if len(words) <= size:
        return words
    cut = words.rfind(" ", size // 4, size)
    return words[: cut if cut > 0 else size]


def trim_clause(words: str) -> str:
    """Without outer white space, closing punctuation and the comma before it."""
    return words.lstrip(_BEFORE).rstrip(_AFTER_MARKS)


def _split_leading(line: Sentence, cue: Cue, grammar: Grammar) -> Clauses | None:
    end = _clause_end(line, _after_aside(line, cue.end - line.span.start), grammar)
    if end is None:
        return None
    start = _offset(line, cue) if _keeps_cue(cue, grammar) else cue.end - line.span.start
    if is_ellipsis(line.text[start:end]):
        start = _offset(line, cue)
    elif (lead := _leading_phrase(line, cue)) is not None:
        start = lead
    certain = opens_clause(cue) and not _duty_inside(line, cue, end)
    return _leading_clauses(line.text[start:end], line.text[end:], grammar, certain)


def _duty_inside(line: Sentence, cue: Cue, end: int) -> bool:
    """Whether the duty lies before the comma and none after it: the comma is another one."""
    places = [_offset(line, it) for it in line.cues if not it.kinds.isdisjoint(_DUTIES)]
    at = _offset(line, cue)
    if not any(at < it < end for it in places) or any(it >= end for it in places):
        return False
    main = line.text[end:]
    return not opens_instruction(main) and _FINITE.isdisjoint(_FIRST_WORD.findall(main.lower()))


def _after_aside(line: Sentence, at: int) -> int:
    """After an aside that follows a cue at once: `If, for any reason, …`"""
    if line.text[at : at + 1] != ",":
        return at
    return (_first_comma(line.text, at + 1) or at) + 1


def _leading_clauses(
    opened: str, main: str, grammar: Grammar, certain: bool = True
) -> Clauses | None:
    """A leading clause; the main clause after it does not begin with an inner one."""
    return _clauses(opened, main, grammar, certain and follows_clause(main, grammar.language))


def _split_at(line: Sentence, cue: Cue, grammar: Grammar) -> Clauses | None:
    """The text before the cue, back to the last semicolon, and the clause it opens."""
    at = _offset(line, cue)
    opened = cut_result(line.text[at if _keeps_cue(cue, grammar) else cue.end - line.span.start :])
    opened = opened.partition("; ")[0]
    main = line.text[_clause_start(line, at) : at]
    inside = begins_inside(main, grammar.language) and "," not in main.rstrip(" ,")
    certain = opens_clause(cue) and not inside and cue.words not in RELATIVE_PLACES
    certain = certain and not _obliges_again(line, cue, grammar) and not _obliges_late(line, at)
    near = _clauses(opened, main, grammar, certain)
    return near or _clauses(opened, line.text[:at], grammar, certain)


def _obliges_again(line: Sentence, cue: Cue, grammar: Grammar) -> bool:
    """Whether another duty follows the condition: `before you leave, and you should …`"""
    end = cue.end - line.span.start
    for it in line.cues:
        place = _offset(line, it)
        if place > end and not it.kinds.isdisjoint(_DUTIES):
            before = _FIRST_WORD.findall(line.text[max(end, place - MAX_SUBJECT_CHARS) : place])
            if not grammar.conjunctions.isdisjoint(word.lower() for word in before[-3:]):
                return True
    return False


def _obliges_late(line: Sentence, at: int) -> bool:
    """Whether the duty stands after the cue alone: `what was granted before the end shall …`"""
    places = [_offset(line, it) for it in line.cues if not it.kinds.isdisjoint(_DUTIES)]
    return bool(places) and all(it > at for it in places)


def _clause_start(line: Sentence, at: int) -> int:
    """The start of the clause at an offset: after a semicolon or an introducing colon."""
    return max(line.text.rfind("; ", 0, at) + 1, line.text.rfind(": ", 0, at) + 1, 0)


def _keeps_cue(cue: Cue, grammar: Grammar) -> bool:
    """`unless`, `only if` and `before` change the sense of their clause, so they stay in it."""
    return cue.words not in grammar.plain


def _before_time(line: Sentence, cue: Cue) -> bool:
    """Whether a time follows: `before 1 July` is a date, not a condition."""
    return CueKind.ORDER in cue.kinds and line.time is not None and 0 <= line.time - cue.end <= 6


def _is_leading(line: Sentence, cue: Cue, grammar: Grammar) -> bool:
    at = _offset(line, cue)
    start = _clause_start(line, at)
    if at - start <= MAX_LEADING_CHARS or _leads(line, start, at, grammar):
        return True
    return _joins(line.text[:at], grammar) and _clause_end(line, at, grammar) is not None


def _joins(before: str, grammar: Grammar) -> bool:
    """Whether the clause before is at its end: `…, but if …` begins another."""
    word = _LAST_WORD.search(before[-12:].rstrip())
    if word is None or word[0].lower() not in grammar.conjunctions:
        return False
    return before.rstrip()[: -len(word[0])].rstrip().endswith((",", ";"))


def _leads(line: Sentence, start: int, at: int, grammar: Grammar) -> bool:
    """Whether only a phrase stands before: `In an election, if …`, `For example, if …`"""
    before = line.text[start:at].strip()
    if not before.endswith(",") or len(before) > MAX_LEAD_CHARS:
        return False
    first = _FIRST_WORD.match(before)
    if not is_link(before) and not (first and first[0].lower() in grammar.openers):
        return False
    verbs = (_offset(line, it) for it in line.cues if not it.kinds.isdisjoint(_VERBS))
    return not any(start <= it < at for it in verbs) and before.count(",") == 1


def _leading_phrase(line: Sentence, cue: Cue) -> int | None:
    """Where a phrase begins that limits the condition after it; a mere link is left out."""
    at = _offset(line, cue)
    start = _clause_start(line, at)
    before = line.text[start:at].strip()
    if at - start <= MAX_LEADING_CHARS or is_link(before) or not before.endswith(","):
        return None
    return start


def _offset(line: Sentence, cue: Cue) -> int:
    return cue.start - line.span.start


def _clause_end(line: Sentence, start: int, grammar: Grammar) -> int | None:
    """The comma that ends the leading clause: the last one before the main verb.

    A comma before `and`, `or` or an inner clause never ends it; one before an instruction does.
    """
    commas = [it for it in _commas(line.text, start) if not _continues(line.text, it, grammar)]
    if not commas:
        return None
    instructs = next((it for it in commas if opens_instruction(line.text[it:])), None)
    if instructs is not None:
        return instructs
    verbs = [it.start - line.span.start for it in line.cues if not it.kinds.isdisjoint(_VERBS)]
    verb = next((it for it in verbs if it > commas[0]), None)
    if verb is None:
        return commas[0]
    return max(it for it in commas if it < verb)


def _commas(text: str, start: int) -> list[int]:
    found: list[int] = []
    depth = 0
    for it in _MARK.finditer(text, start):
        if it[0] == "(":
            depth += 1
        elif it[0] == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            found.append(it.start())
    return found


def _first_comma(text: str, start: int) -> int | None:
    return next(iter(_commas(text, start)), None)


def _continues(text: str, comma: int, grammar: Grammar) -> bool:
    following = text[comma + 1 : comma + 24].lstrip()
    if not follows_clause(following, grammar.language):
        return True
    word = _FIRST_WORD.match(following)
    return word is not None and word[0].lower() in grammar.conjunctions


def _clauses(opened: str, main: str, grammar: Grammar, certain: bool = True) -> Clauses | None:
    certain = certain and all(is_whole(it, grammar.language) for it in (opened, main))
    opened, main = strip_link(trim_clause(opened)), _strip_connectives(trim_clause(main), grammar)
    certain = certain and " " in main and " " in opened
    certain = certain and opened.lower() not in grammar.kinds_by_cue
    if grammar.language == "de" and _INFINITIVE_LAST.search(opened):
        certain = False
    if _RANGE_FIRST.match(opened) and main[-1:].isdecimal():
        return None
    # A condition that lies inside its consequence was not split from it.
    if not opened or not main or opened in main or main in opened:
        return None
    if is_link(opened) or is_link(main) or ends_in_result(main):
        return None
    if opened.lower() in _NO_CLAUSES:
        return None
    return Clauses(opened, main, certain)


def _strip_connectives(main: str, grammar: Grammar) -> str:
    """Without a leading `then` or a trailing `and`."""
    first, last = _FIRST_WORD.match(main), _LAST_WORD.search(main[-12:])
    if last and last[0].lower() in grammar.conjunctions:
        main = trim_clause(main[: -len(last[0])])
    if first and first[0].lower() in grammar.then:
        return main[first.end() :].lstrip(" ,") or main
    return main


MAX_LEADING_CHARS = 8
MAX_PHRASE_CHARS = 160
MAX_LEAD_CHARS = 60
MAX_LIMIT_WORDS = 12
MAX_SUBJECT_CHARS = 32
MAX_DATE_CHARS = 48
_DIGITS = re.compile(r"\d+\b")
_ORDERS = frozenset({CueKind.ORDER, CueKind.SEQUENCE, CueKind.PRECONDITION, CueKind.ORDINAL})
_ORDINAL = frozenset({CueKind.ORDINAL})
# What they open comes first in time.
_AFTER_LIST = "after once nach nachdem sobald après dès tras después luego após depois when"
_AFTER_WORDS = frozenset(_AFTER_LIST.split())
_VERBS = frozenset(
    {CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION, CueKind.DEFINITION}
)
_DUTIES = frozenset({CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION})
# `if any`, `if not`, `if so`
_NO_CLAUSES = frozenset({"any", "not", "so"})
# Verbs that no phrase has.
_FINITE_WORDS = """
is are was were has have must shall should will would can may
ist sind war hat haben wird werden kann muss soll darf est sont sera ont
doit doivent peut peuvent es son será serán debe deben deberá deberán puede pueden podrá podrán fue
é são será serão deve devem deverá deverão pode podem poderá poderão foi tem têm
"""
_FINITE = frozenset(_FINITE_WORDS.split())
# `§§ 346 bis 348` is a range, and no limit.
_RANGE_FIRST = re.compile(r"(?:bis|to|through|à|hasta|até|a)\s\d", re.IGNORECASE)
_INFINITIVE_LAST = re.compile(r"\bzu \w{3,}(?:en|ern|eln)\Z")
_ADVISES = _VERBS | {CueKind.ADVICE}
# A minus sign or a decimal point may start a number, so neither is trimmed from the start.
_BEFORE = " \t\r\n\f\v,;:—–)"
_AFTER_MARKS = " \t\r\n\f\v.,;:—–-!?("
_MARK = re.compile(r"[()]|[,;](?=\s)")
# The end of a German verb frame, as in `ist bis Freitag zu entrichten`: inside it nothing is cut.
_VERB_FRAME = re.compile(
    r"\b(?:ist|sind|hat|haben)\b.{3,400}\b(?:zu \w{3,}(?:en|ern|eln)|\w{2,}zu\w{3,}en)\W*\Z",
    re.DOTALL,
)
_MODAL_FRAME = re.compile(
    r"\b(?:kann|können|darf|dürfen|muss|müssen|soll|sollen|sollte|sollten|wird|werden)\b"
    r".{3,400}\b\w{2,}(?:en|ern|eln)\W*\Z",
    re.DOTALL,
)
_LAST_WORD = re.compile(r"(?<=\s)[^\W\d_]+\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
