"""Argument types that the memory tools share, and their bounds."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, cast

import orjson
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from pecia.kernel.errors import Json, PayloadTooLarge
from pecia.kernel.tool.model import Input


def compact_schema(schema: dict[str, Any]) -> None:
    """Shrink a model's JSON Schema in place. It accepts the same values, except nulls."""
    for it in cast(dict[str, dict[str, Any]], schema.get("properties", {})).values():
        choices = [one for one in it.get("anyOf", ()) if one != {"type": "null"}]
        if len(choices) == 1 and len(it["anyOf"]) == 2:
            del it["anyOf"]
            it.update(choices[0])
        if it.get("default", ...) is None:
            del it["default"]


MAX_TEXT_CHARS = 100_000
MAX_TEXTS = 50
MAX_FACTS_BYTES = 20_000
# A memory's text is stored in one place, so that it can be purged.
UNAUDITED: dict[str, JsonValue] = {"unaudited": True}


def _read_moment(value: object) -> object:
    """A time without a zone is UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def _read_as_of(value: object) -> object:
    """What held on a day is what held at its end: what was said on it counts."""
    if isinstance(value, str) and _DAY.fullmatch(value.strip()):
        found = _read_moment(value.strip())
        return found + _LAST_MOMENT if isinstance(found, datetime) else value
    return _read_moment(value)


_DAY = re.compile(r"\d{4}-?\d\d-?\d\d")
_LAST_MOMENT = timedelta(days=1, microseconds=-1)

Moment = Annotated[AwareDatetime, BeforeValidator(_read_moment)]
"""RFC 3339, or a date."""
AsOf = Annotated[AwareDatetime, BeforeValidator(_read_as_of)]
"""The same; a date is its end."""
MemoryText = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
ShortName = Annotated[str, Field(max_length=100)]


class ClosedArguments(Input):
    """Nested arguments without additional properties."""

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra=compact_schema)


class OpenArguments(BaseModel):
    """Nested arguments with additional properties."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow", frozen=True, json_schema_extra=compact_schema
    )


class CallContext(OpenArguments):
    sessionId: ShortName | None = None
    userId: ShortName | None = None
    projectId: ShortName | None = None


def require_bounded(field: str, value: Mapping[str, Any]) -> dict[str, Json]:
    """Free-form facts from the caller; refused above the size limit."""
    size = len(orjson.dumps(value))
    if size > MAX_FACTS_BYTES:
        raise PayloadTooLarge(
            f'Field "{field}" has {size} bytes (max {MAX_FACTS_BYTES})',
            field=field,
            max=MAX_FACTS_BYTES,
        )
    return dict(value)
