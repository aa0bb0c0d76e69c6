"""Which part of a call's arguments the audit keeps: bounded, and never a secret. Pure."""

from collections.abc import Mapping

import orjson

from pecia.kernel.errors import Json
from pecia.kernel.tool.model import AnyTool, ForeignTool
from pecia.kernel.tool.validate import secret_fields

MAX_TEXT = 500
MAX_BYTES = 2_000
HIDDEN = "•••"


def audited(tool: AnyTool | None, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Declared arguments as they came, long ones cut and marked; of undeclared ones only the name.

    Somebody who puts a key in the wrong field must not find it in the audit.
    """
    declared = _declared(tool)
    secret = secret_fields(tool) if tool else frozenset[str]()
    return {
        name[:100]: HIDDEN if name in secret or name not in declared else _bounded(value)
        for name, value in list(arguments.items())[:50]
    }


def _declared(tool: AnyTool | None) -> frozenset[str]:
    if tool is None:
        return frozenset()
    if isinstance(tool, ForeignTool):
        return frozenset(tool.input_schema.get("properties", {}))
    return frozenset(it.alias or name for name, it in tool.takes.model_fields.items())


def _bounded(value: Json) -> Json:
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}… ({len(value)} characters)"
    if isinstance(value, dict | list):
        size = len(orjson.dumps(value))
        return value if size <= MAX_BYTES else f"({size} bytes of JSON)"
    return value
