"""What is shown around a hit: its chunk and its neighbours, bounded. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pecia.kernel.text.span import Span

MAX_WINDOW_CHARS = 1800
NEIGHBOUR_REACH = 1


class WindowSlice(Protocol):
    """As much of a chunk as a window needs. Slices follow each other without a gap."""

    @property
    def seq(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def prefix(self) -> str: ...


@dataclass(frozen=True, slots=True)
class WindowSize:
    """At most `limit` characters, out of the hit and `reach` chunks on either side of it."""

    limit: int = MAX_WINDOW_CHARS
    reach: int = NEIGHBOUR_REACH


@dataclass(frozen=True, slots=True)
class TextWindow:
    """`text` is the text at `span` exactly. `truncated` says that the chunks held more."""

    first_seq: int
    last_seq: int
    span: Span
    text: str
    prefix: str
    truncated: bool

    @property
    def readable(self) -> str:
        """The text with the header of the table that it starts in."""
        return self.prefix + self.text


DEFAULT_WINDOW_SIZE = WindowSize()


def build_window(
    chunks: Sequence[WindowSlice],
    seq: int,
    size: WindowSize = DEFAULT_WINDOW_SIZE,
    focus: Span | None = None,
) -> TextWindow:
    """The window around the chunk with that `seq`, which is one of `chunks`.

    The hit comes first: it is kept whole if it fits, else from a little before `focus`, the match
    itself. What is left of the limit goes to both neighbours, more to one if the other needs less.
    """
    number = next(i for i, it in enumerate(chunks) if it.seq == seq)
    around = chunks[max(0, number - size.reach) : number + size.reach + 1]
    offset = around[0].start
    text = "".join(it.text for it in around)
    hit_start = chunks[number].start - offset
    hit = Span(hit_start, hit_start + len(chunks[number].text))
    wish = focus.start - offset if focus else hit.start
    kept = _fit_window(text, hit, wish, size.limit)
    inside = [it for it in around if _meets(it, offset, kept)] or [chunks[number]]
    return TextWindow(
        inside[0].seq,
        inside[-1].seq,
        Span(offset + kept.start, offset + kept.end),
        kept.of(text),
        inside[0].prefix,
        truncated=kept.size < len(text),
    )


def _fit_window(text: str, hit: Span, wish: int, limit: int) -> Span:
    if len(text) <= limit:
        return Span(0, len(text))
    if hit.size > limit:
        start = max(hit.start, min(wish - limit // 4, hit.end - limit))
        return trim_to_words(text, Span(start, start + limit), Span(wish, wish))
    spare = limit - hit.size
    after = min(len(text) - hit.end, spare - min(hit.start, spare // 2))
    before = min(hit.start, spare - after)
    return trim_to_words(text, Span(hit.start - before, hit.end + after), hit)


def trim_to_words(text: str, span: Span, core: Span) -> Span:
    """The span without the halves of words at its ends, as long as the core stays in it."""
    start, end = span.start, span.end
    if start and not text[start - 1].isspace():
        gap = _GAP.search(text, start, max(start, core.start))
        start = gap.end() if gap else start
    if end < len(text) and not text[end].isspace():
        gaps = list(_GAP.finditer(text, max(core.end, end - _MAX_WORD_CHARS), end))
        end = gaps[-1].start() if gaps else end
    return Span(start, end)


def _meets(chunk: WindowSlice, offset: int, kept: Span) -> bool:
    start = chunk.start - offset
    return start < kept.end and start + len(chunk.text) > kept.start


_GAP = re.compile(r"\s+")
_MAX_WORD_CHARS = 100
