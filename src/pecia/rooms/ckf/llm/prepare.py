"""What is known of a source before a model is asked. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from pecia.kernel.errors import Unprocessable
from pecia.kernel.text.language import language_tag, primary_language
from pecia.rooms.ckf.heuristic.compile import compile_text
from pecia.rooms.ckf.heuristic.cues.grammar import UNKNOWN, grammar_of, lower_in_place
from pecia.rooms.ckf.heuristic.reading import Reading, read_text
from pecia.rooms.ckf.llm.bibliography import Bibliography, bibliography, is_pdf
from pecia.rooms.ckf.llm.coverage import Mode
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.llm.own import stock
from pecia.rooms.ckf.llm.preflight import Profile, default_mode, preflight
from pecia.rooms.ckf.llm.segment import Chunk, Segments, segment
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.package.model import Package


@dataclass(frozen=True, slots=True)
class Order:
    """What is wanted: a mode, or none to have it chosen, and how long the model may take."""

    options: CompileOptions
    mode: Mode | None
    chunk_timeout_s: float
    within_s: float
    share: Hashable = None
    """Whose part of the compute workers it takes."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that is known of the source before a model is asked.

    `language` is what the package is written in; `own` whether that is the source's language, so
    that its own words may fill gaps.
    """

    source: SourceText
    options: CompileOptions
    profile: Profile
    mode: Mode
    language: str
    own: bool
    reading: Reading
    segments: Segments
    chunks: list[Chunk]
    plain: Package
    stock: list[Found]
    printed: Bibliography | None = None


def prepared(source: SourceText, order: Order) -> Prepared:
    """Preflight and segmentation; a source that is none is refused here, before it costs."""
    profile = preflight(source.text, source.filename)
    if profile.blocked:
        raise Unprocessable(
            profile.blocked, section="text", line=1, hint="Send the text itself, not its name."
        )
    pdf = is_pdf(source.filename, source.uri)
    printed = bibliography(source.text) if pdf else None
    if printed:
        profile = replace(profile, format=printed.format, records=0)
    stored = language_tag(source.stored_language)
    spoken = profile.language
    if spoken == UNKNOWN:
        spoken = source.language or stored or UNKNOWN
    language = source.language or spoken
    reading = read_text(source.text, lower_in_place(source.text), grammar_of(spoken))
    segments = segment(reading, profile)
    # The stock is always read at the level that keeps quotations and statements.
    options = replace(order.options, compression_level="standard")
    plain = compile_text(replace(source, language=spoken), options)
    return Prepared(
        source,
        order.options,
        profile,
        order.mode or Mode(default_mode(profile)),
        language,
        primary_language(language) == primary_language(spoken),
        reading,
        segments,
        segments.chunks(),
        plain,
        stock(plain),
        printed,
    )
