"""Templates: documents that new ones begin as, with variables filled in. Pure.

Variables are those of Obsidian: `{{title}}`, `{{date}}`, `{{time}}`, the last two with a format of
moment.js (`{{date:YYYY-MM-DD}}`). Beside them `{{author}}`, `{{name}}`, `{{folder}}`, and what the
caller gives.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from pecia.kernel.text.markdown.frontmatter import split_document
from pecia.kernel.text.yaml.writer import dump_flow, dump_scalar

DATE_FORMAT, TIME_FORMAT = "YYYY-MM-DD", "HH:mm"
DATE, TIME, CONTENT = "date", "time", "content"
BUILT_IN = frozenset(("title", "name", "folder", "author", DATE, TIME, CONTENT))


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """What the variables of a new document are. Names are in lower case."""

    name: str
    """The document's."""
    title: str
    author: str
    now: datetime
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the caller; before those of ours but date and time."""

    def find(self, name: str, form: str | None) -> str | None:
        if name in (DATE, TIME):
            default = DATE_FORMAT if name == DATE else TIME_FORMAT
            return format_moment(self.now, form or default)
        if form is not None:
            return None
        folder, _, last = self.name.rpartition("/")
        own = {"title": self.title, "name": last, "folder": folder, "author": self.author}
        return self.given.get(name, own.get(name))


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """`unfilled` are variables that nobody gave; they stay as they are."""

    text: str
    unfilled: tuple[str, ...]


_ValueOf: TypeAlias = Callable[[re.Match[str]], str | None]
_Quote: TypeAlias = Callable[[str], str]


def find_variables(text: str) -> list[str]:
    """Variables that a caller has to give, in order."""
    found = dict.fromkeys(it["name"].lower() for it in _VARIABLE.finditer(text))
    return [it for it in found if it not in BUILT_IN]


def fill_template(text: str, values: TemplateValues, content: str | None = None) -> FilledTemplate:
    """The text of a new document. `content` replaces `{{content}}`, else it follows the text.

    A value never contains a variable, and in the frontmatter it is quoted where YAML needs it.
    """
    parts = split_document(text)
    missing: dict[str, None] = {}

    def value_of(found: re.Match[str]) -> str | None:
        name, form = found["name"].lower(), found["form"]
        if name == CONTENT and form is None:
            return content or ""
        value = values.find(name, form)
        if value is None:
            missing[name] = None
        return value

    def in_body(found: re.Match[str]) -> str:
        value = value_of(found)
        return found[0] if value is None else value

    yaml = "".join(_fill_line(it, value_of) for it in parts.yaml.splitlines(keepends=True))
    body = _VARIABLE.sub(in_body, parts.body)
    if content is not None and not _CONTENT.search(parts.body):
        body = f"{body.rstrip()}\n\n{content}" if body.strip() else content
    made = parts.mark + parts.opening + yaml + parts.closing + body
    return FilledTemplate(made, tuple(missing))


def _fill_line(line: str, value_of: _ValueOf) -> str:
    """One line of the frontmatter."""
    if not _VARIABLE.search(line):
        return line
    split = _YAML_LINE.match(line)
    assert split is not None, "every line matches"
    head, value, end = split["head"], split["value"], split["end"]
    names = [it["name"].lower() for it in _VARIABLE.finditer(value)]
    if value[:1] in ('"', "'"):
        return head + _sub(value, value_of, _QUOTED[value[0]]) + end
    if value[:1] == "[" or _FLOW_MAPPING.match(value):
        return head + _sub(value, value_of, lambda it: dump_flow([it])[1:-1]) + end
    if not head.strip() or all(it in (DATE, TIME) for it in names):
        # A line of a longer text, or a date that stays one.
        return head + _sub(value, value_of, lambda it: it.replace("\n", " ")) + end
    # A variable without a value stays as it is, and would be a mapping without quotes.
    return head + dump_scalar(_sub(value, value_of, lambda it: it)) + end


def _sub(text: str, value_of: _ValueOf, quoted: _Quote) -> str:
    def one(found: re.Match[str]) -> str:
        value = value_of(found)
        return found[0] if value is None else quoted(value)

    return _VARIABLE.sub(one, text)


def format_moment(at: datetime, form: str) -> str:
    """A time in a format of moment.js, with English names; text in brackets stays."""

    def one(found: re.Match[str]) -> str:
        token = found[0]
        return token[1:-1] if token.startswith("[") else _format_token(at, token)

    return _TOKEN.sub(one, form)


def _format_token(at: datetime, token: str) -> str:
    year, week, weekday = at.isocalendar()
    hour = at.hour % 12 or 12
    zone = at.strftime("%z")
    values: dict[str, str] = {
        "YYYY": f"{at.year:04}",
        "YY": f"{at.year % 100:02}",
        "Q": str((at.month + 2) // 3),
        "MMMM": _MONTHS[at.month - 1],
        "MMM": _MONTHS[at.month - 1][:3],
        "MM": f"{at.month:02}",
        "M": str(at.month),
        "DDDD": f"{at.timetuple().tm_yday:03}",
        "DDD": str(at.timetuple().tm_yday),
        "DD": f"{at.day:02}",
        "Do": _ordinal(at.day),
        "D": str(at.day),
        "dddd": _DAYS[at.weekday()],
        "ddd": _DAYS[at.weekday()][:3],
        "dd": _DAYS[at.weekday()][:2],
        "d": str(weekday % 7),
        "E": str(weekday),
        "GGGG": f"{year:04}",
        "WW": f"{week:02}",
        "W": str(week),
        "HH": f"{at.hour:02}",
        "H": str(at.hour),
        "hh": f"{hour:02}",
        "h": str(hour),
        "mm": f"{at.minute:02}",
        "m": str(at.minute),
        "ss": f"{at.second:02}",
        "s": str(at.second),
        "A": "AM" if at.hour < 12 else "PM",
        "a": "am" if at.hour < 12 else "pm",
        "ZZ": zone,
        "Z": f"{zone[:3]}:{zone[3:5]}" if zone else "",
        "X": str(int(at.timestamp())),
    }
    return values[token]


def _ordinal(day: int) -> str:
    if day % 100 in (11, 12, 13):
        return f"{day}th"
    return f"{day}{_ENDINGS.get(day % 10, 'th')}"


_VARIABLE = re.compile(r"\{\{[ \t]*(?P<name>[^\W\d][\w-]*)[ \t]*(?::(?P<form>[^{}\n]+))?\}\}")
_CONTENT = re.compile(r"\{\{[ \t]*content[ \t]*\}\}", re.IGNORECASE)
_YAML_LINE = re.compile(
    r"(?P<head>\s*(?:-[ ]+)*(?:[^\s:#\"'\[{][^:{\n]*:[ ]+)?)(?P<value>.*?)(?P<end>[ \t]*\r?\n?)\Z"
)
_FLOW_MAPPING = re.compile(r"\{(?!\{)")
_TOKEN = re.compile(
    r"\[[^\]]*\]|YYYY|YY|Q|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|dddd|ddd|dd|d|E|GGGG|WW|W|HH|H|hh|h|mm|m"
    r"|ss|s|A|a|ZZ|Z|X"
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_QUOTED: Mapping[str, _Quote] = {
    '"': lambda it: dump_scalar(it, '"')[1:-1],
    "'": lambda it: it.replace("'", "''").replace("\n", " "),
}
