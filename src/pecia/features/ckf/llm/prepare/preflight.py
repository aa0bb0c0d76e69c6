"""Profiles a source before a model sees it, and rejects unsuitable ones. Pure."""

import json
import math
import re
from dataclasses import dataclass
from typing import cast

import orjson

from pecia.features.ckf.heuristic.cues.grammar import UNKNOWN_LANGUAGE, lowercase_aligned
from pecia.features.ckf.heuristic.parse.language import detect_language
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json

CHUNK_CHARS = 6000
MIN_WORDS = 50
RECORD_TEXTS = ("text", "content", "body", "answer", "resposta")
SAMPLED_LINES = 50


@dataclass(frozen=True, slots=True)
class SourceProfile:
    """`block_reason` says why a compile would be pointless; empty to proceed."""

    chars: int
    words: int
    language: str
    format: str
    records: int
    warnings: tuple[str, ...]
    block_reason: str = ""

    @property
    def has_records(self) -> bool:
        return self.format in ("jsonl_records", "json_array_records")

    def to_json(self) -> Item:
        return {
            "sourceCharCount": self.chars,
            "sourceWordCount": self.words,
            "detectedLanguage": "unknown" if self.language == UNKNOWN_LANGUAGE else self.language,
            "detectedFormat": self.format,
            "recordCount": self.records,
            "estimatedChunks": math.ceil(self.chars / CHUNK_CHARS),
            "hasStructuredRecords": self.has_records,
            "extractionLooksValid": self.words >= 20,
            "warnings": list[Json](self.warnings),
            "blocked": bool(self.block_reason),
            **({"blockedReason": self.block_reason} if self.block_reason else {}),
        }


def profile_source(text: str, filename: str = "") -> SourceProfile:
    words = len(text.split())
    language = detect_language(lowercase_aligned(text))
    format, records = _format(text)
    return SourceProfile(
        len(text),
        words,
        language,
        format,
        records,
        tuple(_warnings(words, language, filename)),
        _block(text.strip()),
    )


def default_mode(profile: SourceProfile) -> str:
    """Records, questions and articles are each worth keeping; running text is not, by span."""
    whole = profile.has_records or profile.format in ("faq", "legal_norm")
    return "complete" if whole else "balanced"


def _block(text: str) -> str:
    if not text:
        return "the source is empty"
    if _HASH.fullmatch(text):
        return "the source is only a hash"
    if _FILE_NAME.fullmatch(text):
        return "the source is only the name of a file"
    return ""


def _warnings(words: int, language: str, filename: str) -> list[str]:
    found: list[str] = []
    if words < MIN_WORDS:
        found.append(f"the source has only {words} words")
    if words < 200 and _HASH.fullmatch(filename.split(".")[0]):
        found.append("the name of the file is a hash, and the source is short")
    if language == UNKNOWN_LANGUAGE and words > 100:
        found.append("the language of the source was not recognised")
    return found


def _format(text: str) -> tuple[str, int]:
    """The format of the source, and its number of records if any."""
    if records := count_json_lines(text):
        return "jsonl_records", records
    if records := _json_array(text):
        return "json_array_records", records
    for name, pattern, least in _MARKS:
        if len(pattern.findall(text)) >= least:
            return name, 0
    return "plain_text", 0


def count_json_lines(text: str) -> int:
    lines = [it for it in text.splitlines() if it.strip()]
    if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
        return 0
    sample = [_object(it) for it in lines[:SAMPLED_LINES]]
    read = [it for it in sample if it is not None]
    textual = [it for it in read if any(name in it for name in RECORD_TEXTS)]
    enough = len(read) >= 0.9 * len(sample) and len(textual) >= 0.5 * len(sample)
    return len(lines) if enough else 0


def _json_array(text: str) -> int:
    if not text.lstrip().startswith("["):
        return 0
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    # JSON that begins with a bracket is a list.
    records = [it for it in cast(list[Json], found) if isinstance(it, dict)]
    textual = [it for it in records if any(name in it for name in RECORD_TEXTS)]
    return len(records) if textual and len(textual) >= 0.5 * len(records) else 0


def _object(line: str) -> Item | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return cast(Item, found) if isinstance(found, dict) else None


_HASH = re.compile(r"[0-9a-fA-F]{40,64}")
_FILE_NAME = re.compile(r"[^\s/\\]{1,200}\.[A-Za-z0-9]{1,5}")
_MARKS = (
    ("faq", re.compile(r"(?im)^\W{0,4}(?:q|question|pergunta|pregunta|frage)\W{0,3}[:.)]"), 2),
    ("legal_norm", re.compile(r"(?im)^\s{0,4}(?:art\.|artigo|article|artículo|§)\s*\d"), 5),
    ("markdown", re.compile(r"(?m)^#{1,6} \S"), 1),
    ("transcript", re.compile(r"(?m)^\W{0,2}\d{1,2}:\d{2}(?::\d{2})?\W"), 3),
)
