"""A request's body or query as the arguments of a tool. The tool itself validates them."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request

from pecia.interfaces.http.errors import HttpStatusError
from pecia.kernel.errors import InvalidFormat, InvalidInput, InvalidRequest, Json, ParseError

EXPECTED_TYPE = "application/json"

_CONTENT_TYPE = re.compile(
    r'application/(?:json|[\w.+-]+\+json)\s*(?:;\s*charset="?utf-?8"?\s*)?', re.IGNORECASE
)
# The most digits that Python parses. Whether it is too large, validation says.
_INTEGER = re.compile(r"(-?(?:0|[1-9][0-9]{0,4000}))(?:\.0+)?")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


async def arguments_from_body(request: Request) -> dict[str, Json]:
    """The JSON object of the body."""
    content_type = request.headers.get("content-type", "")
    if not _CONTENT_TYPE.fullmatch(content_type):
        raise _unsupported_type("Content-Type", f"{EXPECTED_TYPE} in UTF-8", content_type)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise _unsupported_type("Content-Encoding", "sent as it is", encoding)
    return parse_json_object(await request.body())


def parse_json_object(body: bytes) -> dict[str, Json]:
    """A JSON object, read strictly: no NaN, no lone surrogates, no duplicate names."""
    try:
        found = orjson.loads(body)
        # orjson silently keeps the last of two equal names; this parser raises.
        json.loads(body, object_pairs_hook=_reject_duplicates)
    except orjson.JSONDecodeError as error:
        raise ParseError(f"the body is not JSON: {error.msg}", position=error.pos) from None
    except RecursionError:
        raise ParseError("the body is nested too deeply") from None
    if not isinstance(found, dict):
        raise InvalidRequest(
            "the body is JSON, but not an object",
            expected="object",
            hint='Send the arguments of the tool by name: {"NAME": VALUE}; without any, {}.',
        )
    return cast(dict[str, Json], found)


def raw_query(request: Request) -> str:
    """The query as it was sent."""
    return request.scope["query_string"].decode("latin-1")


def arguments_from_query(query: str, schema: Mapping[str, Any]) -> dict[str, Json]:
    """The parameters of a query, each as the type its property has; arrays by repetition.

    What cannot be converted stays text, so that validation names it and says why.
    """
    found: dict[str, Json] = {}
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, text in parse_qsl(query, keep_blank_values=True):
        wanted = _resolve_schema(properties.get(name, {}), schema)
        if wanted.get("type") == "array":
            items = _resolve_schema(wanted.get("items", {}), schema)
            cast(list[Json], found.setdefault(name, [])).append(_convert(text, items))
        elif name in found:
            raise _duplicate_error(name)
        else:
            found[name] = _convert(text, wanted)
    return found


def _unsupported_type(header: str, expected: str, value: str) -> HttpStatusError:
    got = value[:100]
    return HttpStatusError(
        InvalidFormat(
            f"the body must be {expected}; {header} was {got!r}",
            field=header,
            expected=expected,
            got=got,
        ),
        415,
    )


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise _duplicate_error(name)
        names.add(name)


def _duplicate_error(name: str) -> InvalidInput:
    return InvalidInput(f'Field "{name[:100]}" is repeated', field=name[:100])


def _convert(text: str, schema: Mapping[str, Any]) -> Json:
    match schema.get("type"):
        case "integer" if whole := _INTEGER.fullmatch(text):
            return int(whole[1])
        case "number" if _NUMBER.fullmatch(text):
            return float(text)
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case _:
            return text


def _resolve_schema(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The effective schema: references resolved, and of `X or null` the X."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        return _resolve_schema(root.get("$defs", {}).get(name, {}), root)
    choices = cast(Sequence[Mapping[str, Any]], schema.get("anyOf", ()))
    real = [it for it in choices if it.get("type") != "null"]
    return _resolve_schema(real[0], root) if len(real) == 1 else schema
