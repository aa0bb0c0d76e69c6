"""Property filters. Pure."""

from collections.abc import Mapping
from typing import cast

from pecia.kernel.errors import InvalidFormat, Json

BOUND_OPERATORS = ("gte", "gt", "lte", "lt")
LIST_OPERATORS = ("any", "all")


def matches_filter(properties: Mapping[str, Json], wanted: Mapping[str, Json]) -> bool:
    """Equal, in range, any of, or all of; an absent property never matches."""
    return all(
        name in properties and matches_value(properties[name], it) for name, it in wanted.items()
    )


def require_filter(wanted: Mapping[str, Json], field: str) -> None:
    """Refuse a malformed filter."""
    for name, it in wanted.items():
        if not isinstance(it, dict) or not {*it} & {*BOUND_OPERATORS, *LIST_OPERATORS}:
            continue
        strange = [word for word in it if word not in (*BOUND_OPERATORS, *LIST_OPERATORS)]
        wrong = [word for word in LIST_OPERATORS if word in it and not isinstance(it[word], list)]
        if strange or wrong:
            raise InvalidFormat(
                f'Field "{field}.{name}" is not a valid filter',
                field=f"{field}.{name}",
                expected="a value, {gte, gt, lte, lt}, {any: []} or {all: []}",
            )


def matches_value(value: Json, wanted: Json) -> bool:
    if not isinstance(wanted, dict) or not {*wanted} & {*BOUND_OPERATORS, *LIST_OPERATORS}:
        return value == wanted
    held = value if isinstance(value, list) else [value]
    if "any" in wanted and not any(it in held for it in _list(wanted["any"])):
        return False
    if "all" in wanted and not all(it in held for it in _list(wanted["all"])):
        return False
    return all(
        _is_within_bound(value, word, wanted[word]) for word in BOUND_OPERATORS if word in wanted
    )


def _is_within_bound(value: Json, word: str, bound: Json) -> bool:
    """Numbers against numbers and strings against strings: a date is a string that sorts."""
    if isinstance(value, bool) or isinstance(bound, bool):
        return False
    if isinstance(value, int | float) and isinstance(bound, int | float):
        return _holds((value > bound) - (value < bound), word)
    if isinstance(value, str) and isinstance(bound, str):
        return _holds((value > bound) - (value < bound), word)
    return False


def _holds(sign: int, word: str) -> bool:
    return sign in {"gte": (0, 1), "gt": (1,), "lte": (0, -1), "lt": (-1,)}[word]


def _list(value: Json) -> list[Json]:
    return cast(list[Json], value) if isinstance(value, list) else []
