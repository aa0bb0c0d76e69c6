"""Packages as Markdown: a header for people, then each section as a block of YAML.

Older parsers know only the header. If it cannot represent the metadata exactly, a block does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.package.codec.header import parse_header, render_header
from pecia.features.ckf.package.codec.yaml import render_mapping
from pecia.features.ckf.package.codec.yaml_reader import DecodedMapping, parse_mapping
from pecia.features.ckf.package.field import SectionKind
from pecia.features.ckf.package.fields import METADATA, SECTION_BY_KEY, SECTIONS
from pecia.features.ckf.package.model import Item, Package
from pecia.kernel.errors import Json, Unprocessable

TITLE = "# CKF — KNOWLEDGE CONTEXT PACKAGE"
NONE = "[]  # none extracted"


def encode_markdown(package: Package) -> str:
    lines = render_header(package.metadata)
    pieces = [TITLE, "\n".join(lines) or "(no header)", "---"]
    if parse_header(lines) != package.body["metadata"]:
        pieces += _render_section(
            METADATA.number, METADATA.title, METADATA.key, package.body["metadata"]
        )
    for it in SECTIONS:
        pieces += _render_section(it.number, it.title, it.key, package.body[it.key])
    others = [key for key in package.body if key not in SECTION_BY_KEY]
    for number, key in enumerate(others, start=len(SECTIONS) + 1):
        pieces += _render_section(number, "EXTENSION", key, package.body[key])
    return "\n\n".join(pieces) + "\n"


def decode_markdown(text: str) -> DecodedMapping:
    """Decode all blocks; the metadata comes from the header if no block has it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    body: Item = {}
    warnings: list[str] = []
    for block in _iter_blocks(lines):
        found = parse_mapping(block.text, block.section, block.line)
        if twice := body.keys() & found.value.keys():
            key = min(twice)
            raise _unprocessable(f"the section {key} is given twice", key, block.line)
        body.update(found.value)
        warnings += found.warnings
    header = parse_header(_header(lines))
    if header and "metadata" not in body:
        body["metadata"] = header
    return DecodedMapping(body, tuple(warnings))


def has_blocks(text: str) -> bool:
    return bool(_OPENING.search(text))


@dataclass(frozen=True, slots=True)
class _Block:
    section: str
    line: int
    text: str


def _render_section(number: int, title: str, key: str, value: Json) -> Iterator[str]:
    yield f"## {number}. {title}"
    section = SECTION_BY_KEY.get(key)
    if value == [] and section and section.kind is SectionKind.ARRAY:
        body = f"{key}: {NONE}"
    else:
        body = "\n".join(render_mapping({key: value}, 0))
    yield f"```yaml\n{body}\n```"


def _header(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line.strip() == "---" or line.startswith(("## ", "```")):
            break
        found.append(line)
    return found


def _iter_blocks(lines: list[str]) -> Iterator[_Block]:
    heading = "document"
    at = 0
    while at < len(lines):
        if lines[at].startswith("## "):
            heading = lines[at].lstrip("#").strip()
        if not _OPENING.fullmatch(lines[at]):
            at += 1
            continue
        start = at + 1
        at = _find_closing_fence(lines, start, heading)
        block = lines[start:at]
        # The line end before the fence belongs to the block: a text may end in one.
        yield _Block(_section(block, heading), start + 1, "".join(f"{it}\n" for it in block))
        at += 1


def _find_closing_fence(lines: list[str], start: int, heading: str) -> int:
    # An indented fence is part of a text in the block.
    for at in range(start, len(lines)):
        if lines[at].rstrip() == "```":
            return at
    raise _unprocessable("the block is never closed", heading, start)


def _section(block: list[str], heading: str) -> str:
    key = _KEY.match(block[0]) if block else None
    return key[1] if key else heading


def _unprocessable(problem: str, section: str, line: int) -> Unprocessable:
    return Unprocessable(f"{section}, line {line}: {problem}", section=section, line=line)


_OPENING = re.compile(r"^```ya?ml[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):")
