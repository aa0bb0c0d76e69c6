"""Entities (names) and concepts (defined terms), all verbatim from the source. Pure."""

import re
from dataclasses import dataclass, field

from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.cues.forms import (
    ENTRY_BELOW,
    ENTRY_BESIDE,
    HEADWORD,
    MEANS,
    QUOTED_TERM,
    RELATIVE_WORDS,
    TERM_AFTER,
    TERM_BEFORE,
)
from pecia.features.ckf.heuristic.cues.grammar import build_trie, lowercase_aligned
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.cues.openers import INNER_WORDS
from pecia.features.ckf.heuristic.cues.term_forms import (
    BARE_TERM_FIRST,
    INDEFINITE_FIRST,
    MARKED_TERM_FIRST,
    QUOTED_TERM_FIRST,
)
from pecia.features.ckf.heuristic.parse.blocks import BlockShape
from pecia.features.ckf.heuristic.parse.clauses import trim_clause
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence, clean_title
from pecia.features.ckf.heuristic.rate import KindEstimate
from pecia.features.ckf.heuristic.term_signs import announces_terms, heads_meaning
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

MAX_LABEL_WORDS = 6
MIN_NAMES = 8
CHARS_PER_NAME = 600


def extract_concepts(parsed: ParsedText, estimate: KindEstimate) -> list[ItemCandidate]:
    """Terms that the source defines; the label is always a part of the definition."""
    found: list[ItemCandidate] = []
    seen: dict[str, str] = {}
    before: Sentence | None = None
    for line in parsed.lines:
        label = "" if announces_terms(line) else _find_label(line, before, parsed, estimate)
        before = line
        # A second definition of a term is quoted beside the first.
        if label and (label.lower() not in seen or estimate.states(line.span.start, "definition")):
            label = seen.setdefault(label.lower(), label)
            fields: dict[str, Json] = {"label": label, "definition": line.text}
            found.append(ItemCandidate("concepts", label, fields, (line,)))
    _link_dependencies(found)
    return found


def _find_label(
    line: Sentence, before: Sentence | None, parsed: ParsedText, estimate: KindEstimate
) -> str:
    """The term that a sentence defines: in the sentence, or alone on the line above."""
    label = _find_defined_term(line, parsed)
    sought = line.is_statement and estimate.may_be(line.span.start, "definition")
    if not label and sought:
        is_main = estimate.home(line.span.start) == "definition"
        label = _find_term_by_form(line.text, parsed, is_main=is_main)
        if not label and is_main and parsed.grammar.language == "de":
            label = _find_bare_term(line.text)
    label = _clean_label(label, line.text)
    if label and _names_a_term(label, parsed):
        return _find_titled_term(line, before) or label
    first = _FIRST_WORD.search(line.text)
    denied = bool(label) and label.lower().split()[-1] in _DENIALS
    if denied or (first and first[0].lower() in parsed.grammar.anaphora):
        return ""
    described = INDEFINITE_FIRST.match(line.text.lstrip(": ")) is not None
    described = described or estimate.states(line.span.start, "definition")
    if sought and described and line.opens_block and before is not None and heads_meaning(before):
        return _clean_label(clean_title(before.text), "")
    return ""


def _find_titled_term(line: Sentence, before: Sentence | None) -> str:
    """The words of the title just above, where they stand in the sentence: `### Format CoNLL`"""
    if before is None or not before.title or not heads_meaning(before):
        return ""
    title = lowercase_aligned(_BRACKETS.sub("", clean_title(before.text)))
    pattern = rf"(?<!\w){re.escape(title)}(?!\w)"
    found = re.search(pattern, lowercase_aligned(line.text)) if title else None
    return line.text[found.start() : found.end()] if found else ""


def _clean_label(label: str, text: str) -> str:
    """Without its number, the address of a link, and what a colon divides from it.

    Of `The term “berth”` the quoted part.
    """
    if not _QUOTES.isdisjoint(label) and QUOTED_TERM_FIRST.match(text):
        quoted = QUOTED_TERM.search(text)
        return quoted[1].strip(_TERM_MARKS) if quoted else ""
    named = _LINK.sub(r"\1", label).partition(" :")[0].partition(": ")[0]
    return _ELIDED.sub("", _NUMBER_FIRST.sub("", named)).strip(_TERM_MARKS)


def _names_a_term(label: str, parsed: ParsedText) -> bool:
    """Not a function word, a clause, or what a thing is denied to be: `X is not a Y`."""
    words = label.lower().split()
    grammar = parsed.grammar
    if not words or words[-1] in _DENIALS or _ODD_QUOTES.search(label):
        return False
    if len(words) == 1:
        return words[0] not in grammar.stopwords and words[0] not in _POINTERS
    opening = words[0]
    inner = opening in INNER_WORDS.get(grammar.language, ()) or opening in grammar.openers
    return not (inner or opening in grammar.anaphora or not RELATIVE_WORDS.isdisjoint(words))


def extract_entities(parsed: ParsedText) -> list[ItemCandidate]:
    """The most frequent names, their number bounded by the length, in document order."""
    names: dict[str, _Name] = {}
    for line in parsed.lines:
        if line.is_statement or line.block.shape is BlockShape.ROW:
            _names_in(line, parsed, names)
    kept = [it for it in names.values() if it.count > it.at_start or it.sure]
    limit = max(MIN_NAMES, len(parsed.text) // CHARS_PER_NAME)
    kept.sort(key=lambda it: (-it.count, it.line.span.start, it.name))
    chosen = sorted(kept[:limit], key=lambda it: (it.line.span.start, it.name))
    return [_entity(it) for it in chosen]


@dataclass(slots=True)
class _Name:
    name: str
    line: Sentence
    start: int
    sure: bool
    count: int = 0
    at_start: int = 0
    aliases: list[Json] = field(default_factory=list[Json])


def _names_in(line: Sentence, parsed: ParsedText, names: dict[str, _Name]) -> None:
    # German capitalises every noun, so one capitalised word is no name there.
    one_is_enough = parsed.grammar.language != "de"
    for it in _NAME.finditer(line.text):
        words, start = it[1], line.span.start + it.start()
        if it.start() == 0:
            first, _, rest = words.partition(" ")
            if first.lower() in parsed.grammar.stopwords:
                words, start = rest, start + len(first) + 1
        several = " " in words or bool(_ACRONYM.fullmatch(words))
        if len(words) < 2 or not (several or one_is_enough):
            continue
        if words.lower() in parsed.grammar.kinds_by_cue or _is_numbered(line.text, it):
            continue
        name = names.get(words)
        if name is None:
            name = names[words] = _Name(words, line, start, several and it.start() > 0)
        name.count += 1
        name.at_start += it.start() == 0 and words == it[1]
        if it[2] and it[2] not in name.aliases:
            name.aliases.append(it[2])


def _is_numbered(text: str, match: re.Match[str]) -> bool:
    """Whether it is a number with a noun, as `Section 2` and `30 June`, and no name."""
    before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
    return " " not in match[1] and (before.isdecimal() or after.isdecimal())


def _entity(name: _Name) -> ItemCandidate:
    kind = "acronym" if _ACRONYM.fullmatch(name.name) else "name"
    fields: dict[str, Json] = {"name": name.name, "type": kind, "description": name.line.text}
    if name.aliases:
        fields["aliases"] = name.aliases
    place = Span(name.start, name.start + len(name.name))
    named = Sentence(name.name, place, name.line.block, False, False, name.line.part)
    return ItemCandidate("entities", name.name, fields, (named,))


def _find_defined_term(line: Sentence, parsed: ParsedText) -> str:
    if line.block.shape is BlockShape.ITEM and line.opens_block and line.is_statement:
        glossary = _GLOSSARY.match(line.text)
        if glossary:
            return trim_clause(glossary[1]).strip(_TERM_MARKS)
    if not line.is_statement or CueKind.DEFINITION not in line.own:
        return ""
    cue = line.cues[0]
    if CueKind.DEFINITION not in cue.kinds:
        return ""
    label = trim_clause(line.text[: cue.start - line.span.start])
    words = label.split()
    if not words or len(words) > MAX_LABEL_WORDS or "," in label:
        return ""
    if words[0].lower() in parsed.grammar.stopwords:
        if words[0].lower() in parsed.grammar.anaphora or len(words) == 1:
            return ""
        label = label[len(words[0]) :]
    return label.strip(" \"'“”‘’«»*_`")


def _find_term_by_form(text: str, parsed: ParsedText, *, is_main: bool) -> str:
    """The term of a probable definition without a cue.

    It heads an entry, is a link, marked or quoted, or stands before a copula, after `Als`, or
    before a colon.
    """
    link = _LINKED_TERM.match(text)
    if link:
        return trim_clause(link[1]).strip(_TERM_MARKS)
    marked = MARKED_TERM_FIRST.match(text)
    if marked:
        return trim_clause(marked[2]).strip(_TERM_MARKS)
    entry = next((it for form in _ENTRIES if (it := form.match(text))), None)
    if entry:
        return trim_clause(entry[1]).strip(_TERM_MARKS)
    # A colon alone divides a rule from its name too.
    gloss = _GLOSSARY.match(text) if is_main else None
    for pattern in (QUOTED_TERM, TERM_BEFORE, TERM_AFTER):
        found = pattern.search(text)
        if found is None or len(found[1].split()) > MAX_LABEL_WORDS:
            continue
        if pattern is QUOTED_TERM and (
            (gloss and gloss.end() <= found.start()) or _points_back(text, found.start(), parsed)
        ):
            continue
        return trim_clause(found[1]).strip(_TERM_MARKS)
    if gloss and len(gloss[1].split()) <= MAX_LABEL_WORDS:
        return trim_clause(gloss[1]).strip(_TERM_MARKS)
    return ""


def _points_back(text: str, quoted: int, parsed: ParsedText) -> bool:
    """Whether it explains what was said before, and only mentions what it quotes."""
    first = _FIRST_WORD.match(text)
    opening = first[0].lower() if first else ""
    if opening not in parsed.grammar.anaphora and opening not in _EXPLAINS:
        return False
    return MEANS.search(text[:quoted].lower()) is None or "," in text[:quoted]


def _find_bare_term(text: str) -> str:
    """The term of an entry of a German statute, where no mark divides it from its meaning."""
    found = BARE_TERM_FIRST.match(text)
    return trim_clause(found[1]).strip(_TERM_MARKS) if found else ""


def _link_dependencies(found: list[ItemCandidate]) -> None:
    """A definition that uses another label depends on it."""
    by_label = {str(it.fields["label"]).lower(): it for it in found}
    if len(by_label) < 2:
        return
    pattern = re.compile(rf"(?<!\w){build_trie(by_label)}(?!\w)")
    for it in found:
        for match in pattern.finditer(it.lines[0].text.lower()):
            other = by_label.get(match[0])
            if other:
                it.link("depends_on", other)


_NAME = re.compile(
    r"(?<![\w.-])((?:[A-ZÀ-ÖØ-Þ][\w&'’-]*)(?:[ ](?:(?:of|the|for|de|da|do|del|la|des|du)[ ])?"
    r"[A-ZÀ-ÖØ-Þ][\w&'’-]*){0,3})(?:\s\(([A-Z][A-Z0-9]{1,7})\))?"
)
_ENTRIES = (HEADWORD, ENTRY_BELOW, ENTRY_BESIDE)
_LINKED_TERM = re.compile(r"(?:[^\W\d_]{1,4}\s)?\[([^\]\n]{2,60})\]\(")
# They point at what was named before.
_POINTING_WORDS = "c former latter letztere ersterer erstere dernier premier último primero"
_POINTERS = frozenset(_POINTING_WORDS.split())
_DENIALS = frozenset({"not", "nicht", "kein", "keine", "ne", "n'", "no", "não"})
_TERM_MARKS = " \"'“”‘’«»„*_`"
_QUOTES = frozenset('"“”„«')
_EXPLAINS = frozenset({"das", "c", "c'est"})
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)?")
# A number before a term: `1.0.1 “Commercial Use”`, `(2) work`.
_NUMBER_FIRST = re.compile(r"\(?(?:§ ?)?\d+(?:\.\d+)*[a-z]?[.)°º]*\s+(?=\W*[^\W\d_])")
_BRACKETS = re.compile(r"\s*\([^)]*\)\Z")
# The article of `L’annotation est …`
_ELIDED = re.compile(r"\A[Ll]['’](?=\w)")
_ODD_QUOTES = re.compile(r"\A[^\"]*\"[^\"]*\Z|\A[^“„”]*[“„][^”“]*\Z|\A[^«»]*«[^»]*\Z")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]{1,9}")
_GLOSSARY = re.compile(r"[*_`]{0,2}([^:*_`\n]{2,48})[*_`]{0,2}:[*_`]{0,2}\s")
