"""Compiles sources that are too long for one pass: piece by piece, then merged.

Pure but for the progress callback `report`. References between pieces are not linked.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from pecia.features.ckf.heuristic.compile import add_scores, compile_text
from pecia.features.ckf.heuristic.cues.grammar import lowercase_aligned
from pecia.features.ckf.heuristic.extract.passages import is_numeric
from pecia.features.ckf.heuristic.parse.language import resolve_language
from pecia.features.ckf.heuristic.reduce import CompiledPiece, reduce_pieces
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Package
from pecia.kernel.text.span import Span

CHUNK_CHARS = 100_000
MAX_SINGLE_PASS_CHARS = 200_000


def compile_long_text(
    source: SourceText,
    options: CompileOptions,
    report: Callable[[int, int], None] = lambda done, total: None,
    piece_chars: int = CHUNK_CHARS,
    whole_chars: int = MAX_SINGLE_PASS_CHARS,
) -> Package:
    """Compile a text of any length; `report` receives characters done and in total.

    Up to `whole_chars` characters are compiled in one pass.
    """
    total = len(source.text)
    if total <= whole_chars:
        return compile_text(source, options)
    language = resolve_language(source, lowercase_aligned(source.text[:piece_chars]))
    pieces: list[CompiledPiece] = []
    lines = 0
    for span in split_at_blocks(source.text, piece_chars):
        part = replace(source, text=span.of(source.text), language=language)
        pieces.append(CompiledPiece(compile_text(part, options), span.start, lines))
        lines += len(_LINE_END.findall(source.text, span.start, span.end))
        report(span.end, total)
    return add_scores(reduce_pieces(pieces, source), len(pieces))


def split_at_blocks(text: str, size: int) -> Iterator[Span]:
    """Split into pieces of at most `size` characters, at blank lines where possible."""
    start = 0
    while len(text) - start > size:
        cut = _best_cut(text, start + size // 2, start + size)
        yield Span(start, cut)
        start = cut
    if start < len(text):
        yield Span(start, len(text))


def _best_cut(text: str, start: int, end: int) -> int:
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, start, end)
        if found >= 0:
            return found + len(mark)
    while end < len(text) and is_numeric(text[end - 1]) and is_numeric(text[end]):
        end += 1
    return end


_LINE_END = re.compile(r"\r\n|[\r\n]")
