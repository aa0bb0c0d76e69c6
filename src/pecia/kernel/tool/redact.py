"""Which arguments of a call the audit log keeps: those not declared secret. Pure."""

from collections.abc import Mapping

from pecia.kernel.errors import Json
from pecia.kernel.tool.model import AnyTool, ForeignTool
from pecia.kernel.tool.validate import secret_fields

HIDDEN = "•••"


def redact_arguments(tool: AnyTool | None, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Declared arguments as they came; of undeclared ones only the name.

    A key put in the wrong field must not end up in the audit log. Secrets inside declared ones,
    and overlong values, are removed by the record itself.
    """
    declared = _declared(tool)
    secret = secret_fields(tool) if tool else frozenset[str]()
    return {
        name[:100]: HIDDEN if name in secret or name not in declared else value
        for name, value in list(arguments.items())[:50]
    }


def _declared(tool: AnyTool | None) -> frozenset[str]:
    if tool is None:
        return frozenset()
    if isinstance(tool, ForeignTool):
        return frozenset(tool.input_schema.get("properties", {}))
    return frozenset(it.alias or name for name, it in tool.takes.model_fields.items())
