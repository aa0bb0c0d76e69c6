"""YAML 1.2, read safely: plain values only, bounded work, errors that say where. Never writes.

Dates stay strings. Numbers that JSON cannot carry (infinities, more than 64 bits) stay strings too.
Only the standard tags are understood, so no tag can build an object. A document larger, deeper or
longer than `YamlLimits` is refused while it is being read, not after.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge
from pecia.kernel.text.span import Position, Span
from pecia.kernel.text.yaml.events import YamlEvent, YamlEventKind, YamlProblem, read_events
from pecia.kernel.text.yaml.fast_reader import parse_scalar, read_plain_yaml


@dataclass(frozen=True, slots=True)
class YamlLimits:
    """How much one document may hold. `nodes` counts what an alias stands for, every time."""

    size_bytes: int = 64 * 1024
    depth: int = 32
    nodes: int = 20_000


@dataclass(frozen=True, slots=True)
class YamlSource:
    """What errors call the document, and the line of the file on which it starts."""

    name: str = "yaml"
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A key that its mapping had already. The last one counts."""

    key: str
    at: Position


@dataclass(frozen=True, slots=True)
class LoadedYaml:
    value: Json
    repeated: tuple[RepeatedKey, ...] = ()


@dataclass(slots=True)
class YamlNode:
    """A value with its place in the text. `style` is the quote of a scalar, nothing when plain."""

    span: Span
    value: Json
    size: int = 1
    style: str = ""
    flow: bool = False
    entries: "list[tuple[YamlNode, YamlNode]]" = field(
        default_factory=lambda: list[tuple[YamlNode, YamlNode]]()
    )
    items: "list[YamlNode]" = field(default_factory=lambda: list[YamlNode]())


DEFAULT_LIMITS = YamlLimits()
DEFAULT_SOURCE = YamlSource()


def load_yaml(
    text: str, source: YamlSource = DEFAULT_SOURCE, limits: YamlLimits = DEFAULT_LIMITS
) -> LoadedYaml:
    """The one document in `text`; a text without any is null."""
    _check_size(text, source, limits)
    plain = read_plain_yaml(text)
    if plain is not None:
        return LoadedYaml(plain)
    composer = _Composer(text, source, limits)
    root = composer.compose()
    return LoadedYaml(root.value if root else None, tuple(composer.repeated))


def compose_yaml(
    text: str, source: YamlSource = DEFAULT_SOURCE, limits: YamlLimits = DEFAULT_LIMITS
) -> YamlNode | None:
    """The document with the place of every value in it."""
    _check_size(text, source, limits)
    return _Composer(text, source, limits).compose()


class _Composer:
    def __init__(self, text: str, source: YamlSource, limits: YamlLimits) -> None:
        self.text = text
        self.source = source
        self.limits = limits
        self.count = 0
        self.anchors: dict[str, YamlNode] = {}
        self.repeated: list[RepeatedKey] = []
        self.events: Iterator[YamlEvent] = read_events(text)

    def compose(self) -> YamlNode | None:
        try:
            return self._document()
        except YamlProblem as error:
            raise self._invalid(error.problem, error.at) from error

    def _document(self) -> YamlNode | None:
        next(self.events)
        if next(self.events).kind is not YamlEventKind.DOCUMENT:
            return None
        root = self._node(next(self.events), 1)
        next(self.events)
        after = next(self.events)
        if after.kind is not YamlEventKind.OVER:
            raise self._invalid("a second document starts here", after.at)
        return root

    def _node(self, event: YamlEvent, depth: int) -> YamlNode:
        if depth > self.limits.depth:
            raise self._invalid(f"nested deeper than {self.limits.depth}", event.at)
        if event.kind is YamlEventKind.ALIAS:
            return self._alias(event)
        self._charge(1, event)
        if event.kind is YamlEventKind.SCALAR:
            node = self._scalar(event)
        elif event.kind is YamlEventKind.LIST:
            node = self._list(event, depth)
        else:
            node = self._mapping(event, depth)
        if event.name:
            self.anchors[event.name] = node
        return node

    def _alias(self, event: YamlEvent) -> YamlNode:
        meant = self.anchors.get(event.name)
        if meant is None:
            raise self._invalid(f"no complete anchor {event.name!r} above", event.at)
        self._charge(meant.size, event)
        return YamlNode(event.span, deepcopy(meant.value), meant.size, style="*")

    def _scalar(self, event: YamlEvent) -> YamlNode:
        if any("\ud800" <= it <= "\udfff" for it in event.value):
            raise self._invalid("half of a surrogate pair", event.at)
        plain = self._tag(event) != "str" and not event.style
        value = parse_scalar(event.value) if plain else event.value
        return YamlNode(event.span, value, style=event.style)

    def _list(self, event: YamlEvent, depth: int) -> YamlNode:
        self._tag(event)
        node = YamlNode(event.span, None, flow=event.flow)
        while (found := next(self.events)).kind is not YamlEventKind.END:
            node.items.append(self._node(found, depth + 1))
        node.value = [it.value for it in node.items]
        return _close_node(node, found, node.items)

    def _mapping(self, event: YamlEvent, depth: int) -> YamlNode:
        self._tag(event)
        node = YamlNode(event.span, None, flow=event.flow)
        values: dict[str, Json] = {}
        while (found := next(self.events)).kind is not YamlEventKind.END:
            key = self._key(found, values)
            value = self._node(next(self.events), depth + 1)
            if not value.span.size:
                # An absent value is reported at the next token: its place is after the colon.
                value.span = _after_colon(self.text, key.span.end)
            node.entries.append((key, value))
            values[found.value] = value.value
        node.value = values
        return _close_node(node, found, [it for _, it in node.entries])

    def _key(self, event: YamlEvent, known: dict[str, Json]) -> YamlNode:
        if event.kind is not YamlEventKind.SCALAR:
            raise self._invalid("a key must be a word or a text", event.at)
        self._charge(1, event)
        self._scalar(event)
        if event.value in known:
            self.repeated.append(RepeatedKey(event.value, self._in_file(event.at)))
        return YamlNode(event.span, event.value, style=event.style)

    def _charge(self, nodes: int, event: YamlEvent) -> None:
        self.count += nodes
        if self.count > self.limits.nodes:
            raise self._invalid(f"more than {self.limits.nodes} values", event.at)

    def _tag(self, event: YamlEvent) -> str:
        kind = event.tag.removeprefix("tag:yaml.org,2002:")
        if kind and kind not in _TAGS:
            raise self._invalid(f"the tag {event.tag!r} is not allowed", event.at)
        return kind

    def _in_file(self, at: Position) -> Position:
        return Position(at.line + self.source.first_line - 1, at.column)

    def _invalid(self, problem: str, at: Position) -> InvalidFormat:
        where = self._in_file(at)
        return InvalidFormat(
            f"{self.source.name}, line {where.line}, column {where.column}: {problem}",
            field=self.source.name,
            line=where.line,
            column=where.column,
        )


def _check_size(text: str, source: YamlSource, limits: YamlLimits) -> None:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.size_bytes:
        raise PayloadTooLarge(
            f"{source.name} has {size} bytes, at most {limits.size_bytes} are read",
            field=source.name,
            max=limits.size_bytes,
        )


def _close_node(node: YamlNode, end: YamlEvent, children: list[YamlNode]) -> YamlNode:
    # The end of a block is only noticed at the next token, past comments and blank lines.
    last = end.span.end if node.flow or not children else children[-1].span.end
    node.span = Span(node.span.start, last)
    node.size = 1 + sum(it.size for it in children)
    return node


def _after_colon(text: str, key_end: int) -> Span:
    colon = _COLON.match(text, key_end)
    at = colon.end() if colon else key_end
    return Span(at, at)


_COLON = re.compile(r"\s*:")
# A timestamp is allowed, and stays the text that it is.
_TAGS = frozenset(["str", "int", "float", "bool", "null", "seq", "map", "timestamp"])
