"""The heuristic compiler: text in, package out, no model. Pure, deterministic, never raises.

Linear in the length of the text; nothing here reads a clock, a file or the network.
"""

from pecia.features.ckf.heuristic.assemble import add_items
from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.cues.grammar import load_grammar, lowercase_aligned
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.extract.answers import extract_answers
from pecia.features.ckf.heuristic.extract.exceptions import RuleHistory
from pecia.features.ckf.heuristic.extract.passages import extract_chunks, extract_statements
from pecia.features.ckf.heuristic.extract.procedures import extract_procedures
from pecia.features.ckf.heuristic.extract.retrieval_aids import describe_chunks, extract_triggers
from pecia.features.ckf.heuristic.extract.rules import DUTY_KINDS, extract_rules, is_exception
from pecia.features.ckf.heuristic.extract.terms import extract_concepts, extract_entities
from pecia.features.ckf.heuristic.header import (
    build_agent_instructions,
    build_core_intent,
    build_domain_map,
    build_knowledge_limits,
    build_metadata,
)
from pecia.features.ckf.heuristic.level import PROFILE_BY_LEVEL, CompressionProfile
from pecia.features.ckf.heuristic.parse.language import resolve_language
from pecia.features.ckf.heuristic.parse.text import ParsedText, parse_text
from pecia.features.ckf.heuristic.rate import KindEstimate
from pecia.features.ckf.heuristic.select import select_candidates
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Item, Package, make_empty_body
from pecia.features.ckf.package.normalize import compact_package, normalize
from pecia.features.ckf.package.quality.quality import CompileContext, score_quality
from pecia.features.ckf.package.seal import seal_package


def compile_text(source: SourceText, options: CompileOptions) -> Package:
    """Compile a text. The same text and options always give the same bytes."""
    lowered = lowercase_aligned(source.text)
    language = resolve_language(source, lowered)
    parsed = parse_text(source.text, lowered, load_grammar(language))
    level = PROFILE_BY_LEVEL[options.compression_level]
    answers = extract_answers(parsed)
    body = make_empty_body()
    header = build_metadata(source, options, parsed, language, level)
    body["metadata"] = header
    body["core_intent"] = build_core_intent(parsed, level)
    body["domain_map"] = build_domain_map(parsed, level, header["domain"])
    asked = [str(it.fields["question"]) for it in answers]
    body["agent_instructions"] = build_agent_instructions(parsed, level, asked)
    body["knowledge_limits"] = build_knowledge_limits(parsed, level)
    candidates = _extract_candidates(parsed, level, answers)
    chosen = select_candidates(candidates, level, _spare_chars(body, source, level))
    if level.with_retrieval_aids:
        describe_chunks(parsed, chosen)
        chosen += extract_triggers(parsed, chosen)
    add_items(body, chosen, parsed, level)
    return add_scores(normalize(body), len(parsed.parts))


def _spare_chars(body: Item, source: SourceText, level: CompressionProfile) -> float:
    """The budget in characters that is left for items after header and empty sections."""
    if level.budget is None:
        return 0
    frame = Package(compact_package(normalize(body)))
    return level.budget * len(source.text) - max(
        len(encode_package(frame, it)) for it in PackageFormat
    )


def add_scores(package: Package, parts: int) -> Package:
    """Add the two scores and the seal, which are computed over the whole package."""
    found = score_quality(package, CompileContext(chunks=parts))
    for name in ("human_readability", "ai_utility_score"):
        package.metadata[name] = found[name]
    seal_package(package)
    return package


def _extract_candidates(
    parsed: ParsedText, level: CompressionProfile, answers: list[ItemCandidate]
) -> list[ItemCandidate]:
    estimate = KindEstimate(parsed)
    defined = extract_concepts(parsed, estimate)
    found = [
        *extract_entities(parsed),
        *defined,
        *_extract_rules(parsed, defined, estimate),
        *extract_procedures(parsed),
        *answers,
        *extract_chunks(parsed, level.chunk_chars),
    ]
    if level.statements:
        found += extract_statements(parsed, estimate, every=level.every_statement)
    return estimate.rate(found)


def _extract_rules(
    parsed: ParsedText, defined: list[ItemCandidate], estimate: KindEstimate
) -> list[ItemCandidate]:
    """Rules and exceptions in document order, each exception linked to an earlier rule."""
    found: list[ItemCandidate] = []
    rules = RuleHistory(parsed.grammar, parsed.parts)
    concept_at = {it.lines[0].span.start: it for it in defined}
    for line in parsed.lines:
        exempts = line.is_statement and estimate.may_be(line.span.start, "exception")
        if not line.is_statement or not (line.kinds or exempts):
            continue
        start = line.span.start
        concept = concept_at.get(start)
        defines = concept and estimate.states(start, "definition") and not line.has(*DUTY_KINDS)
        made = [] if defines else extract_rules(line, parsed.grammar)
        if exempts or is_exception(line):
            made.append(rules.make_exception(line))
        if CueKind.OPINION in line.own:
            for it in made:
                it.basis = "author_opinion"
        if made or concept:
            rules.add(line, made[0] if made else concept_at[start])
        found += made
    return found
