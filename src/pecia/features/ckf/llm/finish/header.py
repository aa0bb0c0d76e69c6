"""The header and the object sections of a package that a model helped to make. Pure.

Agent instructions are fixed, never the model's: it has read untrusted text.
"""

import re

from pecia.features.ckf.llm.extract.extract import ExtractionResult
from pecia.features.ckf.llm.model import ModelName
from pecia.features.ckf.llm.prepare.prepare import PreparedSource
from pecia.features.ckf.package.language import detect_foreign_language
from pecia.features.ckf.package.model import Item, make_empty_body, text_of
from pecia.kernel.errors import Json

COMPILER_VERSION = "1.3.1"
COMPILER_PROFILE = "ckf-v1.3.1-auditable-default"
MAX_SUBDOMAINS = 12
_CHAPTER = re.compile(r"(?i)^(?:chapter|cap[ií]tulo|chapitre|kapitel)\s+[\dIVXLC]+\s*[—–:.-]\s*")
_SECTION_OF = re.compile(r"(?i)\s*\((?:se[çc][ãa]o|secci[óo]n|section)\s[^()]*\)$")


def build_frame(known: PreparedSource, lifted: ExtractionResult, model: ModelName) -> Item:
    """A body without items. Where the languages differ, nothing of the source's wording is kept."""
    plain = known.heuristic_package
    answers = [lifted.accepted[number] for number in sorted(lifted.accepted)]
    body = make_empty_body()
    names = list(dict.fromkeys(name for it in answers for name in it.subdomains))[:MAX_SUBDOMAINS]
    body["metadata"] = _header(known, model)
    body["domain_map"] = {
        **plain.section_object("domain_map"),
        **_subdomains(names, own=known.is_source_language),
    }
    body["core_intent"] = {
        **(plain.section_object("core_intent") if known.is_source_language else {}),
        **_intent([it.intent for it in answers], known.language),
    }
    if known.is_source_language:
        body["agent_instructions"] = plain.section_object("agent_instructions")
        body["knowledge_limits"] = plain.section_object("knowledge_limits")
    return body


def _header(known: PreparedSource, model: ModelName) -> Item:
    manifest: list[Json] = [*known.segments.manifest(known.source)]
    inferred = infer_header(known)
    return {
        **(known.bibliography.merge_header(inferred) if known.bibliography else inferred),
        "language": known.language,
        "compression_level": known.options.compression_level,
        "source_manifest": manifest,
        "compiler_version": COMPILER_VERSION,
        "compiler_profile": COMPILER_PROFILE,
        "compiled_with_provider": model.provider,
        "compiled_with_model": model.name,
    }


def infer_header(known: PreparedSource) -> Item:
    """The header inferred from the text, with chapter numbering removed from the title."""
    plain = known.heuristic_package.metadata
    title = text_of(plain, "source_title")
    cleaned = _SECTION_OF.sub("", _CHAPTER.sub("", title)).strip()
    # A title given by the caller is not changed.
    keep = known.source.title.strip() or not cleaned
    return plain if keep else {**plain, "source_title": cleaned}


def _intent(given: list[Item], language: str) -> Item:
    """For each field, the first value in the package's language."""
    found: Item = {}
    for intent in given:
        for name in intent:
            if name not in found and not detect_foreign_language(text_of(intent, name), language):
                found[name] = intent[name]
    return found


def _subdomains(names: list[str], *, own: bool) -> Item:
    if names:
        return {"subdomains": [{"name": it} for it in names]}
    return {} if own else {"subdomains": []}
