"""Query parameters of the routes. Pure."""

from collections.abc import Mapping

import orjson

from pecia.kernel.errors import InvalidInput, Json, MissingField
from pecia.kernel.feature import FeaturePage


def parse_parameters(
    query: Mapping[str, str], required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> Mapping[str, str]:
    """The query, if it has what is required and nothing unknown."""
    allowed = [*required, *optional]
    for name in query:
        if name not in allowed:
            raise InvalidInput(
                f'Field "{name[:100]}" is unknown', field=name[:100], allowed=[*allowed]
            )
    for name in required:
        if not query.get(name):
            raise MissingField(f"{name} is required", field=name)
    return query


def json_page(fields: Mapping[str, Json]) -> FeaturePage:
    headers = (("cache-control", "no-store"),)
    return FeaturePage(orjson.dumps(dict(fields)), "application/json", headers=headers)
