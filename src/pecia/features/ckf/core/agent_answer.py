"""A package as agents meet it: an outline with a handle; a section, a slice or all on request.

Pure. Runs in compute workers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pecia.features.ckf.core.compile import compile_package
from pecia.features.ckf.core.packages import run_slice
from pecia.features.ckf.model import SourceText
from pecia.features.ckf.package.archive import PackedPackage, pack_package
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.fields import ALL_SECTIONS, SECTION_BY_KEY
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package, normalize
from pecia.features.ckf.package.outline import render_outline, select_sections
from pecia.features.ckf.tools.arguments import parse_document_argument, parse_package_argument
from pecia.features.ckf.tools.inputs import (
    AnswerShape,
    CompileForAgent,
    PackageParse,
    SerializeForAgent,
    SliceInput,
)
from pecia.kernel.errors import InvalidEnum
from pecia.kernel.text.tokens import estimate_tokens

ALL = "all"
MIN_SLICE_TOKENS = 50
NEXT = (
    "More: ckf.slice(package, query) gives what a question needs, ckf.serialize(package, sections) "
    "sections or all of it, ckf.verify(package) checks every quotation; package is {handle}."
)


@dataclass(frozen=True, slots=True)
class PackageAnswer:
    """The text of an answer, and the package that its handle names."""

    text: str
    packed: PackedPackage


def compile_for_agent(
    source: SourceText, ask: CompileForAgent, report: Callable[[int, int], None]
) -> PackageAnswer:
    """The package of a text, in the shape that was asked for."""
    check_sections(ask.sections)
    package = compile_package(source, ask, report)
    return answer_package(package, ask.format, ask, source.uri, len(source.text))


def parse_for_agent(ask: PackageParse) -> PackageAnswer:
    check_sections(ask.sections)
    found = parse_document_argument(ask.document, ask.format, ask.filename)
    return answer_package(normalize(found.body), found.format, ask)


def serialize_for_agent(ask: SerializeForAgent) -> str:
    check_sections(ask.sections)
    return render_sections(parse_package_argument(ask.package), ask.format, ask.sections)


def answer_package(
    package: Package,
    format: PackageFormat,
    shape: AnswerShape,
    uri: str = "",
    source_chars: int = 0,
) -> PackageAnswer:
    """The package in the shape that was asked for, with a handle of its own."""
    packed = pack_package(package, uri)
    return PackageAnswer(render_answer(package, packed.handle, format, shape, source_chars), packed)


def render_answer(
    package: Package, handle: str, format: PackageFormat, shape: AnswerShape, source_chars: int = 0
) -> str:
    if shape.query:
        return _render_slice(package, handle, shape.query, shape.max_tokens)
    if shape.sections:
        return render_sections(package, format, shape.sections)
    foot = NEXT.format(handle=handle)
    return render_outline(package, f"Package {handle}", foot, shape.max_tokens, source_chars)


def render_sections(package: Package, format: PackageFormat, sections: list[str]) -> str:
    """These sections in full; the whole package for `all` or none."""
    wanted = package if ALL in sections or not sections else select_sections(package, sections)
    return encode_package(Package(compact_package(wanted)), format)


def check_sections(sections: list[str]) -> None:
    for it in sections:
        if it != ALL and it not in SECTION_BY_KEY:
            raise InvalidEnum(
                f'Field "sections" holds {it[:100]!r}, which is no section',
                field="sections",
                got=it[:100],
                allowed=[ALL, *(known.key for known in ALL_SECTIONS)],
            )


def _render_slice(package: Package, handle: str, query: str, max_tokens: int) -> str:
    """A slice as text within the budget, counted as models count."""
    budget = max_tokens
    while True:
        found = run_slice(SliceInput(package=package.body, query=query, budget_tokens=budget))
        named = ", ".join(found.left_out)
        left = f"{found.left_out_count} relevant items did not fit: {named}"
        notes = [found.note, left if found.left_out_count else "", f"Package {handle}"]
        text = "\n".join([found.document, *(it for it in notes if it)]).lstrip("\n")
        if estimate_tokens(text) <= max_tokens or budget <= MIN_SLICE_TOKENS:
            return text
        budget = max(MIN_SLICE_TOKENS, budget * 4 // 5)
