"""Prepares a source before a model is called. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.heuristic.cues.grammar import (
    UNKNOWN_LANGUAGE,
    load_grammar,
    lowercase_aligned,
)
from pecia.features.ckf.heuristic.parse.text import ParsedText, parse_text
from pecia.features.ckf.llm.finish.coverage import CoverageMode
from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.prepare.baseline import list_heuristic_items
from pecia.features.ckf.llm.prepare.bibliography import Bibliography, extract_bibliography, is_pdf
from pecia.features.ckf.llm.prepare.preflight import SourceProfile, default_mode, profile_source
from pecia.features.ckf.llm.prepare.segment import SourceChunk, SourceSegments, segment_source
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Package
from pecia.kernel.errors import Unprocessable
from pecia.kernel.text.language import normalize_language_tag, primary_language


@dataclass(frozen=True, slots=True)
class CompileOrder:
    """Options of a compile: a mode, or none to choose by profile, and the model's timeout."""

    options: CompileOptions
    mode: CoverageMode | None
    chunk_timeout_s: float
    budget_s: float
    share: Hashable = None
    """The compute pool's fairness key."""


@dataclass(frozen=True, slots=True)
class PreparedSource:
    """Everything derived from the source before a model is called.

    `language` is the package's language; `is_source_language`: it is also the source's, so that
    verbatim passages may fill gaps.
    """

    source: SourceText
    options: CompileOptions
    profile: SourceProfile
    mode: CoverageMode
    language: str
    is_source_language: bool
    reading: ParsedText
    segments: SourceSegments
    chunks: list[SourceChunk]
    heuristic_package: Package
    heuristic_items: list[ExtractedItem]
    bibliography: Bibliography | None = None


def prepare_source(source: SourceText, order: CompileOrder) -> PreparedSource:
    """Preflight and segmentation; an unusable source is refused here, before it costs anything."""
    profile = profile_source(source.text, source.filename)
    if profile.block_reason:
        raise Unprocessable(
            profile.block_reason, section="text", line=1, hint="Send the text itself, not its name."
        )
    pdf = is_pdf(source.filename, source.uri)
    printed = extract_bibliography(source.text) if pdf else None
    if printed:
        profile = replace(profile, format=printed.format, records=0)
    stored = normalize_language_tag(source.stored_language)
    spoken = profile.language
    if spoken == UNKNOWN_LANGUAGE:
        spoken = source.language or stored or UNKNOWN_LANGUAGE
    language = source.language or spoken
    reading = parse_text(source.text, lowercase_aligned(source.text), load_grammar(spoken))
    segments = segment_source(reading, profile)
    # The baseline always uses the level that keeps quotations and statements.
    options = replace(order.options, compression_level="standard")
    plain = compile_text(replace(source, language=spoken), options)
    return PreparedSource(
        source,
        order.options,
        profile,
        order.mode or CoverageMode(default_mode(profile)),
        language,
        primary_language(language) == primary_language(spoken),
        reading,
        segments,
        segments.chunks(),
        plain,
        list_heuristic_items(plain),
        printed,
    )
