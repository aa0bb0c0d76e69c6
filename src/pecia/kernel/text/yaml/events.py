"""The events of a YAML text, typed. The one place that touches the untyped parser."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from io import StringIO
from typing import Any

from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from pecia.kernel.text.span import Position, Span, find_position


class YamlEventKind(Enum):
    STREAM = "stream"
    DOCUMENT = "document"
    SCALAR = "scalar"
    ALIAS = "alias"
    LIST = "list"
    MAPPING = "mapping"
    END = "end"
    """The end of a list, of a mapping or of the document."""
    OVER = "over"


@dataclass(frozen=True, slots=True)
class YamlEvent:
    """`name` is that of an anchor or alias, `style` the quote of a scalar, nothing when plain."""

    kind: YamlEventKind
    span: Span
    at: Position
    value: str
    style: str
    flow: bool
    tag: str
    name: str


class YamlProblem(Exception):
    """The text is not YAML, and where that was noticed."""

    def __init__(self, problem: str, at: Position) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at


def read_events(text: str) -> Iterator[YamlEvent]:
    """Events as the text is read, so that a reader who has seen enough can stop it early."""
    parser: Any = YAML(typ="safe", pure=True)
    try:
        for event in parser.parse(StringIO(text)):
            yield _event(event)
    except (YAMLError, ValueError) as error:
        raise _problem(text, error) from error


def _event(event: Any) -> YamlEvent:
    start, end = event.start_mark, event.end_mark
    return YamlEvent(
        _KINDS[type(event)],
        Span(start.index, end.index),
        Position(start.line + 1, start.column + 1),
        value=getattr(event, "value", ""),
        style=getattr(event, "style", None) or "",
        flow=bool(getattr(event, "flow_style", False)),
        tag=str(getattr(event, "ctag", None) or ""),
        name=getattr(event, "anchor", None) or "",
    )


def _problem(text: str, error: Any) -> YamlProblem:
    if isinstance(error, ReaderError):
        details: Any = error
        return YamlProblem(str(details.reason), find_position(text, int(details.position)))
    mark: Any = getattr(error, "problem_mark", None)
    if isinstance(error, MarkedYAMLError) and mark:
        details = error
        return YamlProblem(str(details.problem), Position(mark.line + 1, mark.column + 1))
    return YamlProblem(str(error).split("\n", 1)[0], Position(1, 1))


_KINDS: dict[type[Any], YamlEventKind] = {
    events.StreamStartEvent: YamlEventKind.STREAM,
    events.DocumentStartEvent: YamlEventKind.DOCUMENT,
    events.ScalarEvent: YamlEventKind.SCALAR,
    events.AliasEvent: YamlEventKind.ALIAS,
    events.SequenceStartEvent: YamlEventKind.LIST,
    events.MappingStartEvent: YamlEventKind.MAPPING,
    events.SequenceEndEvent: YamlEventKind.END,
    events.MappingEndEvent: YamlEventKind.END,
    events.DocumentEndEvent: YamlEventKind.END,
    events.StreamEndEvent: YamlEventKind.OVER,
}
