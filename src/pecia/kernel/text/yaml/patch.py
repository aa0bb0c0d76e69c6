"""Changes to a YAML mapping that leave every other character of the text alone. Pure.

Comments, blank lines, quotes and the layout of lists stay, except inside a value that is replaced.
Every result is read back and compared with what was wanted before it leaves.
"""

import json
import re
from collections.abc import Iterator, Mapping

from pecia.kernel.errors import InvalidFormat, Json, Unprocessable
from pecia.kernel.text.span import Edit, Span, apply_edits
from pecia.kernel.text.yaml import writer as write
from pecia.kernel.text.yaml.reader import (
    DEFAULT_LIMITS,
    DEFAULT_SOURCE,
    YamlLimits,
    YamlNode,
    YamlSource,
    compose_yaml,
    load_yaml,
)


def merge_patch(value: Json, patch: Mapping[str, Json]) -> dict[str, Json]:
    """RFC 7396: null removes a key, a mapping goes into a mapping, all else replaces."""
    result = dict(value) if isinstance(value, dict) else {}
    for key, wanted in patch.items():
        if wanted is None:
            result.pop(key, None)
        elif isinstance(wanted, dict):
            result[key] = merge_patch(result.get(key), wanted)
        else:
            result[key] = wanted
    return result


def patch_yaml(
    text: str,
    patch: Mapping[str, Json],
    source: YamlSource = DEFAULT_SOURCE,
    limits: YamlLimits = DEFAULT_LIMITS,
) -> str:
    """The text after the merge patch; the text itself when it says all that already."""
    root = compose_yaml(text, source, limits)
    if root and not isinstance(root.value, dict):
        raise InvalidFormat(f"{source.name} has no keys", field=source.name, expected="mapping")
    wanted = merge_patch(root.value if root else {}, patch)
    result = _Editor(text).rewrite(root, wanted)
    if not _says(result, wanted, source, limits):
        raise Unprocessable(f"{source.name} is laid out so that it cannot be changed in place")
    return result


def _says(text: str, wanted: dict[str, Json], source: YamlSource, limits: YamlLimits) -> bool:
    try:
        return _same(load_yaml(text, source, limits).value or {}, wanted)
    except InvalidFormat:
        return False


class _Editor:
    def __init__(self, text: str) -> None:
        self.text = text
        self.line_end = "\r\n" if "\r\n" in text else "\n"

    def rewrite(self, root: YamlNode | None, wanted: dict[str, Json]) -> str:
        if root:
            return apply_edits(self.text, self._mapping(root, wanted))
        lines = write.block_lines(wanted, 0) if wanted else []
        return apply_edits(self.text, self._insert(len(self.text), lines))

    def _mapping(self, node: YamlNode, wanted: dict[str, Json]) -> Iterator[Edit]:
        if _same(node.value, wanted):
            return
        if node.flow or not node.entries:
            yield Edit(node.span, write.dump_flow(wanted))
            return
        for key, value in node.entries:
            if key.value not in wanted:
                yield Edit(self._lines(key, value), "")
            elif not _same(value.value, wanted[str(key.value)]):
                yield from self._value(key, value, wanted[str(key.value)])
        known = {str(key.value) for key, _ in node.entries}
        indent = self._column(node.entries[0][0])
        new = [
            line
            for key, value in wanted.items()
            if key not in known
            for line in write.entry_lines(key, value, indent)
        ]
        yield from self._insert(self._lines(*node.entries[-1]).end, new)

    def _value(self, key: YamlNode, node: YamlNode, wanted: Json) -> Iterator[Edit]:
        if isinstance(wanted, dict) and wanted and node.entries and not node.flow:
            yield from self._mapping(node, wanted)
        elif isinstance(wanted, list) and self._is_simple(node, wanted):
            yield from self._list(node, wanted)
        elif isinstance(wanted, list) and _has_same_keys(node, wanted):
            for item, value in zip(node.items, wanted, strict=True):
                if isinstance(value, dict):
                    yield from self._mapping(item, value)
        elif node.flow and isinstance(wanted, (dict, list)):
            yield Edit(node.span, write.dump_flow(wanted))
        elif self._is_inline(node) and write.fits_one_line(wanted):
            gap = "" if node.span.size else " "
            yield Edit(node.span, gap + _inline(wanted, node.style))
        else:
            yield Edit(self._after_key(key, node), self._below(key, wanted))

    def _below(self, key: YamlNode, wanted: Json) -> str:
        """What follows the colon: the same line, or a block of lines under the key."""
        if write.fits_one_line(wanted):
            return " " + _inline(wanted, "")
        lines = write.block_lines(wanted, self._column(key) + 2)
        return "".join(self.line_end + it for it in lines)

    def _list(self, node: YamlNode, wanted: list[Json]) -> Iterator[Edit]:
        """Only the items between the common beginning and the common end change."""
        start, stop = _common_ends(node.value, wanted)
        old, new = node.items[start : len(node.items) - stop], wanted[start : len(wanted) - stop]
        for item, value in zip(old, new, strict=False):
            yield Edit(item.span, _inline(value, item.style))
        for item in old[len(new) :]:
            yield Edit(self._lines(item, item), "")
        indent = self._prefix(node.items[0]).index("-")
        lines = [it for value in new[len(old) :] for it in write.item_lines(value, indent)]
        yield from self._insert(self._item_place(node, start + len(old)), lines)

    def _item_place(self, node: YamlNode, number: int) -> int:
        """Where the line of an item with that number would start."""
        if number == 0:
            return self._lines(node.items[0], node.items[0]).start
        return self._lines(node.items[number - 1], node.items[number - 1]).end

    def _is_simple(self, node: YamlNode, wanted: list[Json]) -> bool:
        """A block list of scalars, each on its own line after its dash, now and after."""
        return (
            bool(node.items and wanted)
            and not node.flow
            and all(_DASH.fullmatch(self._prefix(it)) and self._is_inline(it) for it in node.items)
            and not any(it.items or it.entries for it in node.items)
            and not any(isinstance(it, (dict, list)) for it in wanted)
        )

    def _is_inline(self, node: YamlNode) -> bool:
        """Whether the value starts and ends on one line, so that a comment may follow it."""
        return (node.flow or not (node.items or node.entries)) and node.style not in ("|", ">")

    def _after_key(self, key: YamlNode, node: YamlNode) -> Span:
        colon = self.text.index(":", key.span.end)
        return Span(colon + 1, len(self.text[: node.span.end].rstrip()))

    def _lines(self, first: YamlNode, last: YamlNode) -> Span:
        """The whole lines from one node to another."""
        start = first.span.start - len(self._prefix(first))
        end = last.span.end
        if end and self.text[end - 1] in "\r\n":
            return Span(start, end)
        line_end = _LINE_END.search(self.text, end)
        return Span(start, line_end.end() if line_end else len(self.text))

    def _prefix(self, node: YamlNode) -> str:
        """What stands before the node on its line."""
        start = node.span.start
        line_start = max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1
        return self.text[line_start:start]

    def _column(self, node: YamlNode) -> int:
        return len(self._prefix(node))

    def _insert(self, at: int, lines: list[str]) -> Iterator[Edit]:
        if not lines:
            return
        lead = self.line_end if at and self.text[at - 1] not in "\r\n" else ""
        yield Edit(Span(at, at), lead + "".join(it + self.line_end for it in lines))


def _inline(value: Json, style: str) -> str:
    return write.dump_scalar(value, style) if isinstance(value, str) else write.dump_flow(value)


def _has_same_keys(node: YamlNode, wanted: list[Json]) -> bool:
    """Whether only values inside of the items of a block list differ, all of them mappings."""
    return (
        not node.flow
        and bool(wanted)
        and len(node.items) == len(wanted)
        and all(
            isinstance(it.value, dict)
            and bool(it.entries)
            and isinstance(value, dict)
            and it.value.keys() == value.keys()
            for it, value in zip(node.items, wanted, strict=True)
        )
    )


def _common_ends(old: Json, new: list[Json]) -> tuple[int, int]:
    """How many items are the same at the beginning, and how many at the end."""
    items = old if isinstance(old, list) else []
    most = min(len(items), len(new))
    start = next((i for i in range(most) if not _same(items[i], new[i])), most)
    most -= start
    stop = next((i for i in range(most) if not _same(items[-1 - i], new[-1 - i])), most)
    return start, stop


def _same(one: Json, other: Json) -> bool:
    # To Python, 1, 1.0 and True are equal.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


_DASH = re.compile(r" *- +")
_LINE_END = re.compile(r"\r\n|[\r\n]")
