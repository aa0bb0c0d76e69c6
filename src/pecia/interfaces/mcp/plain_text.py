"""Data as compact text for a model: no braces, no quotes, nothing that is empty. Pure."""

from collections.abc import Iterator

from pecia.kernel.errors import Json

INDENT = "  "
MAX_LINE_CHARS = 160


def to_plain_text(value: Json) -> str:
    """The value in lines; every key and value that is not empty is in it."""
    return "\n".join(_lines(value, "")) or "Nothing."


def _lines(value: Json, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, it in value.items():
            if not _is_empty(it):
                yield from _entry(f"{indent}{key}:", it, indent)
    elif isinstance(value, list):
        for it in value:
            first, *rest = [*_lines(it, indent + INDENT)] or [""]
            if (line := _one_line(it)) is not None:
                yield f"{indent}- {line}"
            else:
                yield f"{indent}- {first.lstrip()}"
                yield from rest
    else:
        yield from (f"{indent}{line}" for line in _scalar(value).splitlines())


def _entry(label: str, value: Json, indent: str) -> Iterator[str]:
    if not isinstance(value, dict | list):
        first, *rest = _scalar(value).splitlines() or [""]
        yield f"{label} {first}"
        yield from (f"{indent}{INDENT}{line}" for line in rest)
    elif (line := _one_line(value)) is not None and len(line) <= MAX_LINE_CHARS:
        yield f"{label} {line}"
    else:
        yield label
        yield from _lines(value, indent + INDENT)


def _one_line(value: Json) -> str | None:
    """A flat value on one line; None if it is nested or has several lines."""
    if isinstance(value, dict):
        parts = [(f"{key}: ", it) for key, it in value.items() if not _is_empty(it)]
    elif isinstance(value, list):
        parts = [("", it) for it in value]
    else:
        parts = [("", value)]
    if any(isinstance(it, dict | list) or "\n" in str(it) for _, it in parts):
        return None
    return ("; " if isinstance(value, dict) else ", ").join(
        f"{label}{_scalar(it)}" for label, it in parts
    )


def _scalar(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _is_empty(value: Json) -> bool:
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    return value is None or value == "" or value == []
