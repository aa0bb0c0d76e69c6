"""Toolsets that were renamed: their old names are accepted everywhere and listed nowhere. Pure."""

from collections.abc import Mapping

CURRENT_NAMES: Mapping[str, str] = {"office": "admin"}


def current_toolset(name: str) -> str:
    """The name that a toolset has now."""
    return CURRENT_NAMES.get(name, name)


def former_toolsets(name: str) -> tuple[str, ...]:
    """The names that a toolset had before."""
    return tuple(old for old, new in CURRENT_NAMES.items() if new == name)


def current_tool_name(name: str) -> str:
    """`admin.add_user` for `office.add_user`, also with `__` or `/`; other names as they are."""
    for separator in (".", "__", "/"):
        toolset, found, tool = name.partition(separator)
        if found and toolset in CURRENT_NAMES:
            return f"{CURRENT_NAMES[toolset]}{separator}{tool}"
    return name


def former_tool_names(name: str) -> tuple[str, ...]:
    """`office.add_user` for `admin.add_user`."""
    toolset, found, tool = name.partition(".")
    return tuple(f"{old}.{tool}" for old in former_toolsets(toolset)) if found else ()
