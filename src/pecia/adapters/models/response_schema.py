"""The form an answer must have: a schema for the model, and a check for what comes back. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import orjson
from jsonschema import Draft202012Validator
from jsonschema import ValidationError as SchemaMisfit

from pecia.kernel.errors import Json

T = TypeVar("T")


class SchemaMismatch(Exception):
    """The answer does not have the form. The text says where and why, and repeats no answer."""


@dataclass(frozen=True, slots=True)
class ResponseSchema(Generic[T]):
    """`name` is the tool the model calls; `check` validates its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]
    check: Callable[[Json], T]


def schema_of_json(
    name: str, schema: Mapping[str, Any], *, description: str = ""
) -> ResponseSchema[dict[str, Json]]:
    """The form of a JSON schema for an object; the value is that object."""
    validator = Draft202012Validator(schema)

    def check(answer: Json) -> dict[str, Json]:
        try:
            # The stubs leave open the type of what is checked.
            validator.validate(answer)  # pyright: ignore[reportUnknownMemberType]
        except SchemaMisfit as problem:
            raise SchemaMismatch(f"{problem.json_path}: {_reason(problem)}") from None
        if not isinstance(answer, dict):
            raise SchemaMismatch("$: is not an object")
        return answer

    return ResponseSchema(name, description, schema, check)


def _reason(problem: SchemaMisfit) -> str:
    # Of all messages this one has no words of the answer in it, and says which field to add.
    if problem.validator == "required":
        return problem.message
    return f"does not fit {problem.validator!r}"


def parse_json_object(text: str) -> Json:
    """The JSON object in a text, for models that answer in words though asked to call."""
    start, end = text.find("{"), text.rfind("}")
    try:
        # What orjson reads is JSON by construction.
        return cast(Json, orjson.loads(text[start : end + 1]))
    except orjson.JSONDecodeError:
        raise SchemaMismatch("$: there is no JSON object in the answer") from None
