"""Packages as JSON: two spaces, keys in schema order. Reads strictly: no NaN, no repeated name."""

import json
from typing import NoReturn

import orjson

from pecia.features.ckf.package.codec.yaml_reader import DecodedMapping
from pecia.features.ckf.package.model import Item, Package
from pecia.kernel.errors import Json, Unprocessable


def encode_json(package: Package) -> str:
    return orjson.dumps(package.body, option=orjson.OPT_INDENT_2).decode() + "\n"


def decode_json(text: str) -> DecodedMapping:
    """Decode a JSON object."""
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Json]]) -> Item:
        value = dict(found)
        if len(value) != len(found):
            names = [name for name, _ in found]
            repeated.extend(sorted({it for it in names if names.count(it) > 1}))
        return value

    try:
        value: Json = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise _unprocessable(f"{error.msg}, column {error.colno}", error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise _unprocessable("a number or a nesting beyond any use", 1) from error
    if not isinstance(value, dict):
        raise _unprocessable("an object was expected", 1)
    return DecodedMapping(value, tuple(f"{it!r} given again, the last counts" for it in repeated))


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _unprocessable(problem: str, line: int) -> Unprocessable:
    return Unprocessable(f"document, line {line}: {problem}", section="document", line=line)
