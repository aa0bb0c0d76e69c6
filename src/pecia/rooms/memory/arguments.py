"""What the arguments of many tools of the room are made of, and where they end."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pecia.kernel.errors import Json, PayloadTooLarge
from pecia.kernel.tool.model import Input
from pecia.rooms.memory.lean import lean

LONGEST_TEXT = 100_000
MOST_TEXTS = 50
LARGEST_FACTS = 20_000
# The words of a memory are in one place, so that they can be removed from it.
UNAUDITED: dict[str, JsonValue] = {"unaudited": True}

Words = Annotated[str, Field(max_length=LONGEST_TEXT)]
Name = Annotated[str, Field(max_length=100)]


class Closed(Input):
    """A part of the arguments, all of whose fields are named."""

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra=lean)


class Open(BaseModel):
    """A part of the arguments that may hold more than is named here."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow", frozen=True, json_schema_extra=lean
    )


class Context(Open):
    sessionId: Name | None = None
    userId: Name | None = None
    projectId: Name | None = None


def bounded(field: str, value: Mapping[str, Any]) -> dict[str, Json]:
    """Facts of the caller's own choosing, refused where they are larger than they should be."""
    size = len(orjson.dumps(value))
    if size > LARGEST_FACTS:
        raise PayloadTooLarge(
            f'Field "{field}" has {size} bytes (max {LARGEST_FACTS})',
            field=field,
            max=LARGEST_FACTS,
        )
    return dict(value)
