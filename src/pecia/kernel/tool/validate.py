"""Arguments in, a validated input out, or an error that names the field. Compiled once per tool.

Also which arguments the audit log keeps: those not declared secret.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError

from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.redaction.url import redact_url
from pecia.kernel.store.audit.record import MAX_DEPTH, is_too_deep
from pecia.kernel.tool.argument_errors import argument_error, schema_error, unserializable_error
from pecia.kernel.tool.integers import coerce_integers
from pecia.kernel.tool.model import AnyTool, DeferredTool, ForeignTool, TextOutput, Tool

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

T = TypeVar("T")
R = TypeVar("R")

# Upstream tools come and go: what is compiled for them must not be kept for ever.
MAX_CACHED_TOOLS = 4096
HIDDEN = "•••"
URL_WITH_SECRETS = "url_with_secrets"
"""Marks an argument in the JSON Schema: the audit log keeps the URL without its keys."""

_SECRET = re.compile(
    r"pass(word|phrase|wd)|secret|token|api[_-]?key|credential|private[_-]?key|authorization", re.I
)
_clear_caches: list[Callable[[], None]] = []


def cached_per_tool(function: Callable[[T], R]) -> Callable[[T], R]:
    """The function, its results kept by tool, which keeps the tool and all that it refers to."""
    cached: Any = lru_cache(MAX_CACHED_TOOLS)(function)
    _clear_caches.append(cached.cache_clear)
    return cached


def forget_tools() -> None:
    """A tool refers to its app, with indexes and models: no closed one is kept for its schemas."""
    for clear in _clear_caches:
        clear()


def validate_arguments(tool: AnyTool, arguments: Mapping[str, Json]) -> Any:
    """The input of that tool: a model, or for a foreign tool the arguments as they came."""
    _check_depth(arguments)
    if isinstance(tool, ForeignTool):
        return _validate_by_schema(tool, arguments)
    try:
        return _parse_model(tool.takes, arguments)
    except ValidationError as error:
        raise argument_error(error, tool.takes) from None
    except TypeError as error:
        raise unserializable_error(tool.takes, arguments, error) from None


def _check_depth(arguments: Mapping[str, Json]) -> None:
    """Refuse what encoders, validators and upstreams would each fail on in a way of their own."""
    for name, value in arguments.items():
        if is_too_deep(value):
            shown = name[:100]
            raise InvalidInput(
                f'Field "{shown}" is nested too deeply: at most {MAX_DEPTH} levels; flatten it',
                field=shown,
                max=MAX_DEPTH,
            )


@cached_per_tool
def input_schema(tool: AnyTool) -> Mapping[str, Any]:
    """The JSON Schema a client is shown."""
    if isinstance(tool, ForeignTool):
        return tool.input_schema
    return _plain(tool.takes.model_json_schema())


@cached_per_tool
def output_schema(tool: AnyTool) -> Mapping[str, Any] | None:
    if isinstance(tool, ForeignTool):
        return tool.output_schema
    if tool.gives is TextOutput:
        return None
    return _plain(tool.gives.model_json_schema(mode="serialization"))


@cached_per_tool
def secret_fields(tool: AnyTool) -> frozenset[str]:
    """Arguments that no log and no audit may hold: declared with `secret`, or `unaudited`.

    An upstream tool declares neither: `format: password`, `writeOnly` and telling names count.
    """
    if isinstance(tool, ForeignTool):
        schemas: Any = tool.input_schema.get("properties")
        named = cast(dict[str, Any], schemas) if isinstance(schemas, dict) else {}
        return frozenset(name for name, it in named.items() if _looks_secret(name, it))
    if isinstance(tool, DeferredTool):
        return tool.secret_fields
    return _marked_fields(tool, {"secret", "unaudited"})


def _marked_fields(tool: Tool[Any, Any] | DeferredTool, marks: set[str]) -> frozenset[str]:
    fields = tool.takes.model_fields.items()
    return frozenset(name for name, it in fields if marks & {*_extra(it.json_schema_extra)})


def redact_arguments(tool: AnyTool | None, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Declared arguments as they came; of undeclared ones only the name.

    A key put in the wrong field must not end up in the audit log. Secrets inside declared ones,
    and overlong values, are removed by the record itself.
    """
    declared = _declared_fields(tool)
    secret = secret_fields(tool) if tool else frozenset[str]()
    has_model = isinstance(tool, Tool | DeferredTool)
    urls = _marked_fields(tool, {URL_WITH_SECRETS}) if has_model else frozenset[str]()
    return {
        name[:100]: HIDDEN
        if name in secret or name not in declared
        else redact_url(value)
        if name in urls and isinstance(value, str)
        else value
        for name, value in list(arguments.items())[:50]
    }


@cached_per_tool
def _declared_fields(tool: AnyTool | None) -> frozenset[str]:
    if tool is None:
        return frozenset()
    if isinstance(tool, ForeignTool):
        return frozenset(tool.input_schema.get("properties", {}))
    return frozenset(it.alias or name for name, it in tool.takes.model_fields.items())


def _looks_secret(name: str, schema: object) -> bool:
    if _SECRET.search(name):
        return True
    properties = cast(dict[str, Any], schema) if isinstance(schema, dict) else {}
    return properties.get("format") == "password" or properties.get("writeOnly") is True


def _parse_model(takes: type[BaseModel], arguments: Mapping[str, Json]) -> BaseModel:
    """The model. JSON in strict mode: "5" is not 5, yet an enum may be given by its value."""
    try:
        return takes.model_validate_json(orjson.dumps(arguments), strict=True)
    except ValidationError as error:
        mended = coerce_integers(arguments, error)
        if mended is None:
            raise
        return takes.model_validate_json(mended, strict=True)


def _validate_by_schema(tool: ForeignTool, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    errors = sorted(_validator(tool).iter_errors(arguments), key=lambda it: [*map(str, it.path)])  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType, reportUnknownArgumentType] - the library is untyped here
    if errors:
        raise schema_error(errors[0])
    return arguments


@cached_per_tool
def _validator(tool: ForeignTool) -> "Draft202012Validator":
    # Lazy import: few servers have such a tool.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(tool.input_schema)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without titles that pydantic derives from names: they cost tokens, say nothing."""
    return cast(dict[str, Any], _without_titles(schema))


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        items = cast(dict[str, Any], node).items()
        return {
            name: _properties(value) if name == "properties" else _without_titles(value)
            for name, value in items
            if not (name == "title" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_titles(it) for it in cast(list[Any], node)]
    return node


def _properties(node: Any) -> Any:
    """A property may itself be called `title`; only its inside is cleaned."""
    return {name: _without_titles(value) for name, value in cast(dict[str, Any], node).items()}


def _extra(extra: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], extra) if isinstance(extra, dict) else {}
