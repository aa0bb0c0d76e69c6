"""The compiler that needs no key: text in, package out. Pure, deterministic, and cannot fail.

Linear in the length of the text; nothing here reads a clock, a file or the network.
"""

from pecia.rooms.ckf.heuristic.aids import describe_chunks, triggers
from pecia.rooms.ckf.heuristic.answers import source_answers
from pecia.rooms.ckf.heuristic.assemble import add_items
from pecia.rooms.ckf.heuristic.candidate import Candidate
from pecia.rooms.ckf.heuristic.cues.grammar import grammar_of, lower_in_place
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.flows import procedures
from pecia.rooms.ckf.heuristic.frame import (
    agent_instructions,
    core_intent,
    domain_map,
    knowledge_limits,
    metadata,
)
from pecia.rooms.ckf.heuristic.language import language_of
from pecia.rooms.ckf.heuristic.level import LEVELS, Level
from pecia.rooms.ckf.heuristic.links import Rules
from pecia.rooms.ckf.heuristic.passages import chunks, statements
from pecia.rooms.ckf.heuristic.reading import Reading, read_text
from pecia.rooms.ckf.heuristic.rules import DUTIES, is_exception, rules_of
from pecia.rooms.ckf.heuristic.select import select
from pecia.rooms.ckf.heuristic.terms import concepts, entities
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.model import Item, Package, empty_body
from pecia.rooms.ckf.package.normal import compact, normalize
from pecia.rooms.ckf.package.quality import Circumstances, quality


def compile_text(source: SourceText, options: CompileOptions) -> Package:
    """The package of a text: the same bytes for the same text and options, on any day."""
    lowered = lower_in_place(source.text)
    language = language_of(source, lowered)
    reading = read_text(source.text, lowered, grammar_of(language))
    level = LEVELS[options.compression_level]
    answers = source_answers(reading)
    body = empty_body()
    header = metadata(source, options, reading, language, level)
    body["metadata"] = header
    body["core_intent"] = core_intent(reading, level)
    body["domain_map"] = domain_map(reading, level, header["domain"])
    asked = [str(it.fields["question"]) for it in answers]
    body["agent_instructions"] = agent_instructions(reading, level, asked)
    body["knowledge_limits"] = knowledge_limits(reading, level)
    candidates = _candidates(reading, level, answers)
    chosen = select(candidates, level, _spare_chars(body, source, level))
    if level.aids:
        describe_chunks(reading, chosen)
        chosen += triggers(reading, chosen)
    add_items(body, chosen, reading, level)
    return rated(normalize(body), len(reading.parts))


def _spare_chars(body: Item, source: SourceText, level: Level) -> float:
    """What the budget leaves for items when the frame is paid for."""
    if level.budget is None:
        return 0
    frame = Package(compact(normalize(body)))
    return level.budget * len(source.text) - max(len(encode(frame, it)) for it in Format)


def rated(package: Package, parts: int) -> Package:
    """The package with its two scores, which depend on everything in it."""
    found = quality(package, Circumstances(chunks=parts))
    for name in ("human_readability", "ai_utility_score"):
        package.metadata[name] = found[name]
    return package


def _candidates(reading: Reading, level: Level, answers: list[Candidate]) -> list[Candidate]:
    defined = concepts(reading)
    found = [
        *entities(reading),
        *defined,
        *_rules(reading, defined),
        *procedures(reading),
        *answers,
        *chunks(reading, level.chunk_chars),
    ]
    if level.statements:
        found += statements(reading, every=level.every_statement)
    return found


def _rules(reading: Reading, defined: list[Candidate]) -> list[Candidate]:
    """Rules and exceptions in the order of the text, each exception tied to what came before it."""
    found: list[Candidate] = []
    rules = Rules(reading.grammar, reading.parts)
    concept_at = {it.lines[0].span.start: it for it in defined}
    for line in reading.lines:
        if not line.tells or not line.kinds:
            continue
        concept = concept_at.get(line.span.start)
        made = rules_of(line, reading.grammar) if not concept or line.has(*DUTIES) else []
        if is_exception(line):
            made.append(rules.exception(line))
        if Kind.OPINION in line.own:
            for it in made:
                it.basis = "author_opinion"
        if made or concept:
            rules.remember(line, made[0] if made else concept_at[line.span.start])
        found += made
    return found
