"""A request's body or query as the arguments of a tool. What is valid, the tool itself says."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from pecia.doors.http.errors import Refused
from pecia.kernel.errors import InvalidFormat, InvalidInput, InvalidRequest, Json, ParseError

JSON = "application/json"

_CONTENT_TYPE = re.compile(
    r'application/(?:json|[\w.+-]+\+json)\s*(?:;\s*charset="?utf-?8"?\s*)?', re.IGNORECASE
)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


async def from_body(request: Request) -> dict[str, Json]:
    """The JSON object of the body."""
    given = request.headers.get("content-type", "")
    if not _CONTENT_TYPE.fullmatch(given):
        raise Refused(
            InvalidFormat(
                f"the body must be {JSON} in UTF-8; {given[:100] or 'no content type'} came",
                field="Content-Type",
                expected=JSON,
                got=given[:100],
            ),
            415,
        )
    body = await request.body()
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ParseError(f"the body is not JSON: {error.msg}", position=error.pos) from None
    if not isinstance(found, dict):
        raise InvalidRequest("the body is JSON, but not an object", expected="object")
    return cast(dict[str, Json], found)


def from_query(query: str, schema: Mapping[str, Any]) -> dict[str, Json]:
    """The parameters of a query, each as the type its property has; arrays by repetition.

    What does not look like its type stays text, so that validation names it and says why.
    """
    found: dict[str, Json] = {}
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, text in parse_qsl(query, keep_blank_values=True):
        wanted = _resolved(properties.get(name, {}), schema)
        if wanted.get("type") == "array":
            items = _resolved(wanted.get("items", {}), schema)
            cast(list[Json], found.setdefault(name, [])).append(_value(text, items))
        elif name in found:
            raise InvalidInput(f'Field "{name}" came more than once', field=name, got="repeated")
        else:
            found[name] = _value(text, wanted)
    return found


def _value(text: str, schema: Mapping[str, Any]) -> Json:
    match schema.get("type"):
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text):
            return float(text)
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case _:
            return text


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that counts: behind a reference, and of `X or null` the X."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        return _resolved(root.get("$defs", {}).get(name, {}), root)
    choices = cast(Sequence[Mapping[str, Any]], schema.get("anyOf", ()))
    real = [it for it in choices if it.get("type") != "null"]
    return _resolved(real[0], root) if len(real) == 1 else schema
