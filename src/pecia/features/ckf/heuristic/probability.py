"""How probably a sentence states a rule, an exception, a definition, a step or a fact. Pure.

Two logistic models per kind over what the parser knows: cues, block, marks, length, forms and
frames of words (`cues/forms.py`, `cues/signs.py`, `cues/modality.py`) and frequent words. What the
first says is then corrected by whether the kind is the main one. `bench/ckf_weights.py` fits both,
one set for all languages.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

from pecia.features.ckf.heuristic.cues.forms import (
    ABILITY,
    ALIAS,
    APPLIES,
    CONTRARY_FIRST,
    COPULA,
    DEFINITIONS_TITLE,
    DEONTIC,
    DEONTIC_WORDS,
    ENTRY_BELOW,
    ENTRY_BESIDE,
    EXAMPLE_FIRST,
    EXCEPTIONS_TITLE,
    EXEMPTS,
    FRAMES,
    FUTURE_ENDINGS,
    GLOSS,
    HEADWORD,
    I_OR_AUTHOR,
    IS_TO,
    MAY_EXEMPT,
    MAY_HAPPEN,
    MEANS,
    MIN_STEM_CHARS,
    OPTION,
    RELATIVE,
    RELATIVE_WORDS,
    SAYS_WHAT_IS,
    UNLESS,
    VERB_FIRST,
    WE,
    instructs_inside,
)
from pecia.features.ckf.heuristic.cues.grammar import Grammar
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.cues.modality import iter_modal_signs
from pecia.features.ckf.heuristic.cues.signs import (
    INSTRUCTION,
    PAST,
    PAST_PARTICIPLE,
    PERFECT,
    PRESENT,
    PRETERITE,
    PRETERITE_ENDINGS,
    PRETERITE_WORDS,
    REFERENCE,
    SECOND_PERSON,
    STATIVE,
)
from pecia.features.ckf.heuristic.cues.stems import STEM_CHARS, STEMS_BY_SIGN
from pecia.features.ckf.heuristic.parse.blocks import BlockShape, is_section_label
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence
from pecia.features.ckf.heuristic.shape_signs import iter_shape_signs
from pecia.features.ckf.heuristic.term_signs import iter_term_signs

WEIGHTS = Path(__file__).with_name("probability.json")
CALIBRATION = Path(__file__).with_name("calibration.json")
KINDS = ("rule", "exception", "definition", "step", "fact", "none")


@dataclass(frozen=True, slots=True)
class KindChances:
    """How probably a sentence states each kind, and which kind is its main one.

    The probabilities need not add up to one: a rule can state its exception too.
    """

    stated: dict[str, float]
    home: str


def estimate_kinds(parsed: ParsedText) -> Iterator[KindChances]:
    """For every sentence, in order."""
    weights, bias = _load_weights()
    calibration = _load_calibration()
    for features in iter_features(parsed, _load_vocabulary()):
        if "ends:?" in features:
            yield _QUESTION
            continue
        rows = [row for name in features if (row := weights.get(name))]
        totals = [sum(column) for column in zip(bias, *rows, strict=True)]
        homes = totals[len(KINDS) :]
        home = homes.index(max(homes))
        stated: dict[str, float] = {}
        for at, kind in enumerate(KINDS):
            shift, slope = calibration[kind][at != home]
            stated[kind] = 1 / (1 + math.exp(-max(-30.0, min(30.0, shift + slope * totals[at]))))
        yield KindChances(stated, KINDS[home])


def iter_features(
    parsed: ParsedText, vocabulary: frozenset[str] | None = None
) -> Iterator[set[str]]:
    """The signs of every sentence; of its words those in `vocabulary`, or all."""
    lists = _count_list_items(parsed.lines)
    texts = [
        set(_text_features(it.text, it.span.of(parsed.lowered), parsed.grammar, vocabulary))
        for it in parsed.lines
    ]
    entries = [tuple(_entry_features(it)) for it in parsed.lines]
    genre = _genre_features(parsed, texts, entries)
    titles = {it.number: set(_title_features(it.title)) for it in parsed.parts}
    subjects = {it.number: _title_words(it.title, parsed.grammar) for it in parsed.parts}
    nearby = _local_features(parsed.lines, texts)
    before: Sentence | None = None
    for line, items, own, near, entry, terms in zip(
        parsed.lines, lists, texts, nearby, entries, iter_term_signs(parsed), strict=True
    ):
        found = own | near
        found.update(entry)
        found.update(terms)
        found.update(iter_shape_signs(line, line.span.of(parsed.lowered), before))
        found.update(_cue_features(line))
        found.update(_definition_features(line, parsed.grammar))
        found.update(_block_features(line, items))
        if before and before.text.endswith(":"):
            found.add("after_colon")
        if line.block.shape is BlockShape.ITEM:
            found |= {f"item&{it}" for it in found & _IN_ITEMS}
        found |= titles[line.part]
        found.update(_place_features(line, before, subjects[line.part]))
        found.update(_pair_features(found))
        found |= {f"{one}&{other}" for other in found & _BY_GENRE for one in genre}
        yield found | genre
        before = line


def _title_features(title: str) -> Iterator[str]:
    lowered = title.lower()
    if is_section_label(title):
        yield "in_article"
    if DEFINITIONS_TITLE.search(lowered):
        yield "under:definitions"
    if EXCEPTIONS_TITLE.search(lowered):
        yield "under:exceptions"


def _title_words(title: str, grammar: Grammar) -> frozenset[str]:
    return frozenset(it for it in _WORD.findall(title.lower()) if it not in grammar.stopwords)


def _place_features(
    line: Sentence, before: Sentence | None, subject: frozenset[str]
) -> Iterator[str]:
    """A section often opens with what its title names: `# Gateway`, `A gateway is …`"""
    if not line.is_statement:
        return
    first = before is not None and before.title
    if first:
        yield "first_in_part"
    if _ARTICLE_FIRST.match(line.text):
        if first:
            yield "article_first&first_in_part"
        if COPULA.match(line.text.lower()):
            yield "article_first&copula"
    if subject and len(subject) <= MAX_TERM_WORDS:
        opening = _WORD.findall(line.text[:MAX_SUBJECT_CHARS].lower())
        if subject <= {*opening[: len(subject) + 2]}:
            yield "title_is_subject"


def _pair_features(found: set[str]) -> Iterator[str]:
    """Signs that tell more together than each on its own."""
    for one, other in _PAIRS:
        if one in found and other in found:
            yield f"{one}&{other}"
    for ones, others in _CROSSED:
        if not ones.isdisjoint(found):
            yield from (f"{one}&{other}" for one in found & ones for other in found & others)


def _genre_features(
    parsed: ParsedText, texts: list[set[str]], entries: list[tuple[str, ...]]
) -> set[str]:
    """The genre: a plain sentence is a rule in a statute and a fact in an article."""
    lines = [pair for pair in zip(parsed.lines, texts, strict=True) if pair[0].is_statement]
    count = max(1, len(lines))
    duties = sum(not it.own.isdisjoint(_DUTIES) for it, _ in lines) / count
    past = sum(not signs.isdisjoint(_PAST_SIGNS) for _, signs in lines) / count
    told = sum("you" in signs for _, signs in lines) / count
    opening = sum(it.opens_block for it, _ in lines)
    share = sum(map(bool, entries)) / max(1, opening)
    labels = sum(is_section_label(it.title) for it in parsed.parts) / max(1, len(parsed.parts))
    found = {f"duties:{min(3, int(8 * duties))}", f"past:{min(3, int(8 * past))}"}
    found.add(f"told:{min(3, int(10 * told))}")
    found.add(f"entries:{min(3, int(6 * share))}")
    if labels > LEGAL_SHARE:
        found.add("legal")
    return found


def _local_features(lines: list[Sentence], texts: list[set[str]]) -> Iterator[set[str]]:
    """What the sentences around are like: a statute may begin with pages of reasons."""
    states = [it.is_statement for it in lines]
    stated = _running_sums(states)
    duties = _running_sums(
        own and not it.own.isdisjoint(_DUTIES) for own, it in zip(states, lines, strict=True)
    )
    past = _running_sums(
        own and not it.isdisjoint(_PAST_SIGNS) for own, it in zip(states, texts, strict=True)
    )
    for at in range(len(lines)):
        first, end = max(0, at - NEAR), min(len(lines), at + NEAR + 1)
        count = max(1, stated[end] - stated[first])
        yield {
            f"near_duty:{min(3, 5 * (duties[end] - duties[first]) // count)}",
            f"near_past:{min(2, 4 * (past[end] - past[first]) // count)}",
        }


def _running_sums(values: Iterable[bool]) -> list[int]:
    return [0, *accumulate(int(it) for it in values)]


def _cue_features(line: Sentence) -> Iterator[str]:
    for kind in line.own:
        yield _OWN[kind]
    for kind in line.kinds - line.own:
        yield _INHERITED[kind]
    if line.time is not None:
        yield "time"
    if line.cues and line.cues[0].start - line.span.start <= 2:
        for kind in line.cues[0].kinds:
            yield f"leads:{kind.value}"
    yield from _duty_features(line)


def _duty_features(line: Sentence) -> Iterator[str]:
    if not line.cues:
        yield "no_cue"
    duty, condition = line.own & _DUTIES, line.own & _CONDITIONS
    if duty:
        yield "duty&condition" if condition else "duty"
    elif condition:
        yield "condition_alone"
    elif line.own and line.own <= _SOFT:
        yield "soft"


def _definition_features(line: Sentence, grammar: Grammar) -> Iterator[str]:
    """`means` and `is called` define; `is a` and `is the` only may."""
    cue = next((it for it in line.cues if CueKind.DEFINITION in it.kinds), None)
    if cue is None:
        return
    weak = all(it in grammar.stopwords for it in cue.words.split())
    short = len(line.text[: cue.start - line.span.start].split()) <= MAX_TERM_WORDS
    if short and cue is line.cues[0]:
        yield "may_define" if weak else "defines"


def _block_features(line: Sentence, items: int) -> Iterator[str]:
    yield f"shape:{line.block.shape.value}"
    if line.title:
        yield "title"
    if line.asked:
        yield "asked"
    if line.opens_block:
        yield "opens"
    if line.block.ordinal:
        numbered = line.opens_block
        yield f"ordinal:{min(items, 3)}:{'opens' if numbered else 'goes_on'}"


def _entry_features(line: Sentence) -> Iterator[str]:
    """Signs that a block is an entry: a term, and what it means."""
    if not (line.opens_block and line.is_statement):
        return
    forms = [name for name, pattern in _ENTRIES if pattern.match(line.text)]
    yield from forms
    if forms:
        yield "entry"


def _text_features(
    text: str, lowered: str, grammar: Grammar, vocabulary: frozenset[str] | None
) -> Iterator[str]:
    words = _WORD.findall(lowered)
    size = len(words)
    yield f"words:{next((it for it in _SIZES if size <= it), 99)}"
    yield f"ends:{text[-1] if text[-1] in '.:,;?!' else 'other'}"
    first = text[0]
    yield f"starts:{_first_shape(first)}"
    common = sum(map(grammar.stopwords.__contains__, words))
    yield f"common:{min(4, 10 * common // max(1, size))}"
    if len(_NO_LETTER.findall(text)) > 0.2 * len(text):
        yield "few_letters"
    if words:
        yield from _opening_features(words[0], grammar)
    distinct = set(words)
    yield from _pattern_features(text, lowered, {it[:STEM_CHARS] for it in distinct})
    yield from _tense_features([it for it in distinct if it.endswith(_TENSE_ENDINGS)])
    if instructs_inside(text, distinct):
        yield "instructs_inside"
    yield from (name for name, known in _WORD_SIGNS if not known.isdisjoint(distinct))
    yield from iter_modal_signs(text, lowered, words, distinct)
    for it in distinct if vocabulary is None else distinct & vocabulary:
        yield f"{WORD_PREFIX}{it}"


def _opening_features(opening: str, grammar: Grammar) -> Iterator[str]:
    if opening in grammar.stopwords:
        yield "opens_common"
    if opening in grammar.anaphora:
        yield "points_back"
    if opening in grammar.openers:
        yield "opens_phrase"


def _pattern_features(text: str, lowered: str, stems: set[str]) -> Iterator[str]:
    for name, pattern, needed in _SIGNS:
        if (needed is None or not needed.isdisjoint(stems)) and pattern.search(text):
            yield name
    for name, pattern, needed in _LOWER_SIGNS:
        if (needed is None or not needed.isdisjoint(stems)) and pattern.search(lowered):
            yield name


def _tense_features(inflected: list[str]) -> Iterator[str]:
    if any(it.endswith(PRETERITE_ENDINGS) and len(it) > MIN_VERB_CHARS for it in inflected):
        yield "preterite"
    if any(it.endswith(FUTURE_ENDINGS) and _is_future(it) for it in inflected):
        yield "future"


def _is_future(word: str) -> bool:
    """Whether enough of the word stands before the ending."""
    return any(word.endswith(it) and len(word) >= len(it) + MIN_STEM_CHARS for it in FUTURE_ENDINGS)


def _first_shape(first: str) -> str:
    if first.isupper():
        return "upper"
    if first.islower():
        return "lower"
    return "digit" if first.isdecimal() else "quote" if first in _QUOTES else "mark"


def _count_list_items(lines: list[Sentence]) -> list[int]:
    """For each sentence, how many numbered items its list has."""
    found = [0] * len(lines)
    run: list[int] = []
    blocks = 0
    for at, line in enumerate(lines):
        if line.block.shape is BlockShape.ITEM and line.block.ordinal:
            if run and lines[run[-1]].part != line.part:
                run, blocks = [], 0
            blocks += line.opens_block
            run.append(at)
            for it in run if len(run) <= 2 * _ENOUGH_ITEMS else run[-1:]:
                found[it] = min(blocks, _ENOUGH_ITEMS)
        elif line.block.shape is not BlockShape.ITEM:
            run, blocks = [], 0
    return found


@cache
def _load_weights() -> tuple[dict[str, list[float]], list[float]]:
    found: dict[str, list[float]] = json.loads(WEIGHTS.read_text("utf-8"))
    return found, found.pop("")


@cache
def _load_vocabulary() -> frozenset[str]:
    names = _load_weights()[0]
    return frozenset(it[len(WORD_PREFIX) :] for it in names if it.startswith(WORD_PREFIX))


@cache
def _load_calibration() -> dict[str, list[list[float]]]:
    """By kind: shift and slope of the logit where it is the main kind, and where it is not."""
    found: dict[str, list[list[float]]] = json.loads(CALIBRATION.read_text("utf-8"))
    return found


def _with_stems(
    *signs: tuple[str, re.Pattern[str]],
) -> tuple[tuple[str, re.Pattern[str], frozenset[str] | None], ...]:
    return tuple((name, pattern, STEMS_BY_SIGN.get(name)) for name, pattern in signs)


WORD_PREFIX = "word="
_TENSE_ENDINGS = (*PRETERITE_ENDINGS, *FUTURE_ENDINGS)
_OWN = {kind: f"own:{kind.value}" for kind in CueKind}
_INHERITED = {kind: f"inherited:{kind.value}" for kind in CueKind}
# A question states nothing.
_QUESTION = KindChances({kind: float(kind == "none") for kind in KINDS}, "none")
_ENOUGH_ITEMS = 3
_SIZES = (2, 4, 7, 12, 20, 35)
_QUOTES = "\"'“‘«„`*_"
_WORD = re.compile(r"[^\W\d_]+")
_ARTICLE_FIRST = re.compile(r"(?:An?|Eine?|Une?|Un[ao]?|Uma?)\s")
_NO_LETTER = re.compile(r"[^\S ]|[^\w\s]|[\d_]")
LEGAL_SHARE = 0.3
# How many sentences before and after tell what kind of passage it is.
NEAR = 5
MIN_VERB_CHARS = 3
MAX_TERM_WORDS = 6
MAX_SUBJECT_CHARS = 80
# Signs that are single words, in lower case.
_WORD_SIGNS = (
    ("past", PAST),
    ("is", PRESENT),
    ("stative", STATIVE),
    ("author", I_OR_AUTHOR),
    ("ability", ABILITY),
    ("we", WE),
    ("deontic", DEONTIC_WORDS),
    ("relative", RELATIVE_WORDS),
    ("preterite", PRETERITE_WORDS),
)
_SIGNS = _with_stems(
    ("year", re.compile(r"\b1[0-9]\d\d\b|\b20[0-4]\d\b")),
    ("address", re.compile(r"https?://|www\.|\S@\S|@\w")),
    ("code", re.compile(r"[={}$|\\<>]|\w/\w|--\w")),
    ("quoted", re.compile(r"[\"“«„][^\"”»“]{2,40}[\"”»“]")),
    ("quoted_first", re.compile(r"^[*_\s]{0,3}[\"“«„][^\"”»“]{2,60}[\"”»“]")),
    ("glossary", re.compile(r"^[*_`]{0,2}[^:.\n]{2,48}:[*_`]{0,2}\s")),
    ("polite", re.compile(r"^[A-ZÄÖÜ][a-zäöüß]+n Sie\b")),
    ("you", SECOND_PERSON),
    ("instructs", INSTRUCTION),
    ("refers", REFERENCE),
    ("capitals_first", re.compile(r"^[A-ZÀ-ÖØ-Þ]{4,}\b(?=.*[a-zß-ÿ])", re.DOTALL)),
    ("markup", re.compile(r"\{\{|\{%|^\.\. |</?[a-z]+>|`")),
    ("infinitive", re.compile(r"^[A-ZÉÀÊÂ][a-zéèêçà]+(?:er|ir|re|ez|ar|se)\s")),
    ("title_case", re.compile(r"^(?:[A-Z][\w-]*\s){2,}[A-Z]\w*$")),
    ("two_sentences", re.compile(r"[;] ")),
    ("number", re.compile(r"\d")),
    ("parenthesis", re.compile(r"\([^)]{1,60}\)")),
    ("negated", re.compile(r"\b(?:not|no|nicht|kein\w{0,2}|ne|pas|não|nada|sin|ohne)\b")),
)
_ENTRIES = (
    ("entry_below", ENTRY_BELOW),
    ("entry_beside", ENTRY_BESIDE),
    ("option", OPTION),
    ("headword", HEADWORD),
)
# Signs that are sought in lower case.
_LOWER_SIGNS = _with_stems(
    ("participle", PAST_PARTICIPLE),
    ("means", MEANS),
    ("copula", COPULA),
    ("relative", RELATIVE),
    ("alias", ALIAS),
    ("gloss", GLOSS),
    ("exempts", EXEMPTS),
    ("may_exempt", MAY_EXEMPT),
    ("may_happen", MAY_HAPPEN),
    ("is_to", IS_TO),
    ("applies", APPLIES),
    ("example_first", EXAMPLE_FIRST),
    ("says_what_is", SAYS_WHAT_IS),
    ("contrary_first", CONTRARY_FIRST),
    ("unless", UNLESS),
    ("deontic", DEONTIC),
    ("verb_first", VERB_FIRST),
    ("preterite", PRETERITE),
    ("perfect", PERFECT),
    *FRAMES,
)
_DUTIES = frozenset({CueKind.OBLIGATION, CueKind.PROHIBITION, CueKind.PERMISSION})
_CONDITIONS = frozenset({CueKind.CONDITION, CueKind.PRECONDITION})
# Kinds of cue that say little about duty on their own.
_SOFT = frozenset(
    {
        CueKind.SCOPE,
        CueKind.ORDER,
        CueKind.ORDINAL,
        CueKind.TEMPORAL,
        CueKind.CONTRAST,
        CueKind.NEGATION,
        CueKind.CASE,
        CueKind.SEQUENCE,
        CueKind.TENDENCY,
        CueKind.CAUSE,
        CueKind.RESULT,
    }
)
_PAST_SIGNS = frozenset({"past", "preterite"})
_BY_GENRE = frozenset(
    {"no_cue", "soft", "duty", "condition_alone", "is", "shape:item", "ability", "future", "we"}
    | {"entry", "gloss"}
)
_PAIRS = (
    ("quoted_first", "means"),
    ("quoted", "means"),
    ("means", "no_cue"),
    ("gloss", "under:definitions"),
    ("contrary_first", "own:condition"),
    ("may_happen", "you"),
    ("copula", "relative"),
    ("copula", "opens"),
    ("means", "under:definitions"),
    ("copula", "under:definitions"),
    ("gloss", "shape:item"),
    ("contrary_first", "points_back"),
    ("contrary_first", "own:permission"),
    ("contrary_first", "duty"),
    ("exempts", "own:override"),
    ("means", "shape:paragraph"),
    ("copula", "no_cue"),
    ("ability", "you"),
    ("future", "own:obligation"),
    ("first_in_part", "copula"),
    ("title_is_subject", "copula"),
    ("stative", "no_cue"),
    ("stative", "soft"),
    ("is", "no_cue"),
)
# Every sign of the first set with every one of the second.
_CROSSED = (
    (
        frozenset({"releases", "excludes", "turns_first", "replaces", "saves"})
        | {"exempts", "may_exempt", "unless"},
        frozenset({"duty", "after_duty", "points_back", "contrary_first", "negated"})
        | {"own:condition", "opens", "no_cue", "near_duty:2", "near_duty:3"},
    ),
    (
        frozenset({"names", "deems"}),
        frozenset({"opens", "duty", "title_is_subject", "first_in_part", "quoted", "means"})
        | {"copula", "announced", "genus"},
    ),
    (
        frozenset({"verbless"}),
        frozenset({"opens", "below_term", "announced", "after_colon", "entries:3"})
        | {"first_in_part", "no_cue", "genus"},
    ),
    (frozenset({"after_duty"}), frozenset({"contrary_first", "points_back", "negated"})),
)
_IN_ITEMS = frozenset({"no_cue", "ends:.", "ends:other", "starts:lower", "starts:upper"})
