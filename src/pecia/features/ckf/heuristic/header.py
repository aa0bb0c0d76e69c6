"""Builds the header and the four object sections. Pure."""

import hashlib
from collections.abc import Iterable
from itertools import islice

from pecia.features.ckf.heuristic.cues.advice import NO_CUES_NOTE, advice_for
from pecia.features.ckf.heuristic.cues.domain import detect_domain
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.level import CompressionProfile
from pecia.features.ckf.heuristic.parse.clauses import trim_clause
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence, TextSection, clean_title
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import PROTOCOL, SPEC_VERSION, Item
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.text.markdown.frontmatter import read_frontmatter
from pecia.kernel.text.slug import name_slug

COMPILER_VERSION = "heuristic-1"
MAX_NOTE_CHARS = 240
MAX_SUBDOMAINS = 12
MAX_TITLE_LINE_CHARS = 60
PREVIEW_CHARS = 200
SHORT_PREVIEW_CHARS = 40


def build_metadata(
    source: SourceText,
    options: CompileOptions,
    parsed: ParsedText,
    language: str,
    level: CompressionProfile,
) -> Item:
    digest = hashlib.sha256(source.text.encode("utf-8", "replace")).hexdigest()
    named = _frontmatter(source.text)
    title = source.title.strip() or named.get("title", "") or _title(parsed)
    header: Item = {
        "package_id": f"{name_slug(title)[:60].strip('-') or 'source'}-{digest[:8]}",
        "protocol_version": PROTOCOL,
        "source_type": options.source_type or "article",
        "source_title": title,
        "source_author": source.author.strip() or named.get("author", "") or "unknown",
        "domain": detect_domain(parsed.lowered),
        "subdomains": [],
        "language": language,
        "created_at": options.created_at,
        "compression_level": options.compression_level,
        "human_readability": 0,
        "ai_utility_score": 0,
        "source_sha256": digest,
        "compiler_version": COMPILER_VERSION,
        "spec_version": SPEC_VERSION,
    }
    manifest = _manifest(source, parsed, level)
    if manifest:
        header["source_manifest"] = manifest
    return header


def _frontmatter(text: str) -> dict[str, str]:
    """Title and author that the text gives at its head."""
    if not text.startswith("---"):
        return {}
    try:
        values = read_frontmatter(text).values
    except InvalidFormat:
        return {}
    found = {it: values.get(it) for it in ("title", "author")}
    return {key: " ".join(it.split()) for key, it in found.items() if isinstance(it, str)}


def _manifest(source: SourceText, parsed: ParsedText, level: CompressionProfile) -> list[Json]:
    """The source manifest. A spare package has one only if its source has a URI."""
    if not level.spare:
        return [_entry(it, source, parsed, whole=False) for it in parsed.parts]
    return [_entry(it, source, parsed, whole=True) for it in parsed.parts[: bool(source.uri)]]


def build_core_intent(parsed: ParsedText, level: CompressionProfile) -> Item:
    """Purpose and scope, verbatim from the source; empty if it states none."""
    body = [it for it in parsed.lines if it.is_statement]
    purpose = next((it for it in body[:40] if CueKind.PURPOSE in it.own), None)
    scope = next((it for it in body[:40] if CueKind.SCOPE in it.own), None)
    # The number of a section may stand alone.
    first = purpose or next((it for it in body if any(map(str.isalpha, it.text))), None)
    return {
        "primary_purpose": _note(first) if first else "",
        "intended_user": "",
        "intended_agent_use": "",
        "transformation_goal": _after_cue(purpose) if purpose and not level.spare else "",
        "key_value": _note(scope) if scope and scope is not first and not level.spare else "",
    }


def build_domain_map(parsed: ParsedText, level: CompressionProfile, domain: Json) -> Item:
    """The subdomains are the titles of the source."""
    titles = dict.fromkeys(it.title for it in parsed.parts if it.title)
    limit = 0 if level.spare else MAX_SUBDOMAINS
    subdomains: list[Json] = [{"name": it} for it in list(titles)[:limit]]
    return {
        "main_domain": domain,
        "subdomains": subdomains,
        "adjacent_domains": [],
        "excluded_domains": [],
    }


def build_agent_instructions(
    parsed: ParsedText, level: CompressionProfile, questions: Iterable[str]
) -> Item:
    """Fixed instructions in the package's language. Nothing here is taken from the source."""
    if level.spare:
        return {}
    behaviour, reasoning, response = advice_for(parsed.grammar.language)
    preferred: list[Json] = [*islice(dict.fromkeys(questions), 3)]
    return {
        "behavior_rules": behaviour,
        "reasoning_rules": reasoning,
        "response_rules": response,
        "forbidden_behaviors": [],
        "preferred_questions": preferred,
        "tool_usage_guidance": [],
    }


def build_knowledge_limits(parsed: ParsedText, level: CompressionProfile) -> Item:
    """Sentences in which the source states a limit, grouped by kind."""
    found: dict[str, list[Json]] = {name: [] for _, name in _LIMITS}
    found["needs_human_review"] = []
    if parsed.grammar.cues is None:
        found["missing_context"].append(NO_CUES_NOTE)
    for line in parsed.lines:
        if not line.is_statement:
            continue
        for kind, name in _LIMITS:
            if kind in line.own and len(found[name]) < level.max_notes:
                found[name].append(_note(line))
    return {**found}


def _title(parsed: ParsedText) -> str:
    """The title line above everything; else the first heading; else the first sentence."""
    above = _title_line(parsed.lines[0]) if parsed.lines else ""
    first = above or next((it.title for it in parsed.parts if it.title), "")
    if first:
        return first
    words = clean_title(parsed.lines[0].text) if parsed.lines else ""
    return words or "Untitled"


def _title_line(first: Sentence) -> str:
    """The first line of a text that begins with its name, version and owner, a line each."""
    name, _, below = first.text.partition("\n")
    below = below.lstrip()
    # `From: …` is a field, not a name.
    if (
        not below
        or ": " in name
        or len(name) > MAX_TITLE_LINE_CHARS
        or name.rstrip()[-1] in ".,;:!?"
    ):
        return ""
    # A wrapped sentence goes on with any word, and is a whole line long.
    return clean_title(name) if below[0].isupper() or below[0].isdecimal() else ""


def _entry(part: TextSection, source: SourceText, parsed: ParsedText, *, whole: bool) -> Item:
    """One entry of the manifest; with `whole` the ref covers the whole text."""
    start, end = part.place, (parsed.parts[-1] if whole else part).place
    text = parsed.text[start.span.start : end.span.end]
    entry: Item = {
        "source_id": part.ref,
        "source_type": "markdown_section" if part.title and not whole else "document",
        "path": source.uri or source.filename or part.path or "text",
        "text_preview": _preview(text, SHORT_PREVIEW_CHARS if whole else PREVIEW_CHARS),
        "line_start": start.first_line,
        "line_end": end.last_line,
        "char_start": start.span.start,
        "char_end": end.span.end,
    }
    if part.title and not whole:
        entry["heading"] = part.path
    for name, value in (("uri", source.uri), ("revision", source.revision)):
        if value:
            entry[name] = value
    return entry


def _preview(text: str, size: int) -> str:
    return " ".join(text[: 2 * size].split())[:size].strip() or "-"


def _note(line: Sentence) -> str:
    words = " ".join(line.text.split())
    if len(words) <= MAX_NOTE_CHARS:
        return words
    return words[
        : words.rfind(" ", 0, MAX_NOTE_CHARS) if " " in words[:MAX_NOTE_CHARS] else MAX_NOTE_CHARS
    ]


def _after_cue(line: Sentence) -> str:
    cue = line.first(CueKind.PURPOSE)
    words = line.text[cue.start - line.span.start :] if cue else ""
    return " ".join(trim_clause(words).split())[:MAX_NOTE_CHARS].strip()


_LIMITS = (
    (CueKind.GAP, "missing_context"),
    (CueKind.HEDGE, "weakly_supported_claims"),
    (CueKind.OPINION, "weakly_supported_claims"),
    (CueKind.ASSUMPTION, "assumptions_detected"),
    (CueKind.DISPUTE, "possible_biases"),
    (CueKind.OUTDATED, "outdated_sections"),
)
