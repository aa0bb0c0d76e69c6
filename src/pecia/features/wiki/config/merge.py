"""Merges two files into one configuration, and applies a patch to the right one. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import ValidationError

from pecia.features.wiki.config import problem
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.config.schema import (
    LEAVES,
    REMOVED_KEYS,
    ConfigPath,
    ConfigScope,
    SpaceConfig,
)
from pecia.features.wiki.core.names import split_extension
from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.text.yaml.patch import merge_patch, patch_yaml
from pecia.kernel.text.yaml.reader import YamlLimits, YamlSource, load_yaml

YAML_LIMITS = YamlLimits(size_bytes=512 * 1024)
HEADER = "# The settings of this space. They are described in docs/wiki.md.\n"
AGENT_PATHS = tuple(path for path, it in LEAVES.items() if it.is_agent_settable)


@dataclass(frozen=True, slots=True)
class ConfigTexts:
    """The texts of both files; empty where there is no file."""

    project: str = ""
    user: str = ""

    def text_for(self, scope: ConfigScope) -> str:
        return self.project if scope == "project" else self.user

    def with_text(self, scope: ConfigScope, text: str) -> "ConfigTexts":
        return replace(self, project=text) if scope == "project" else replace(self, user=text)


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """The effective configuration. `warnings` name what was ignored of the user's file."""

    config: SpaceConfig
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigPatch:
    scope: ConfigScope
    applied: tuple[str, ...]
    text: str
    current: SpaceConfig


@lru_cache(maxsize=64)
def merge_config(files: ConfigTexts) -> EffectiveConfig:
    """Defaults, overridden by the user's file, overridden by the project's.

    The project's file must be valid. An invalid user's file is ignored with a warning. LRU, 64
    entries: every call of a tool asks, and parsing YAML takes longer than most of them.
    """
    project = _load_values(files.project, "project")
    _require_known(project)
    warnings: list[str] = []
    try:
        user = _in_scope(_load_values(files.user, "user"), "user")
        _validate_config(user, "user")
    except InvalidConfig as error:
        user = {}
        warnings.append(f"the user's configuration is ignored: {error.problem.message}")
    merged = merge_patch(_without_suggest(user), _in_scope(project, "project"))
    return EffectiveConfig(_validate_config(merged, "project"), tuple(warnings))


def _without_suggest(values: dict[str, Json]) -> dict[str, Json]:
    """Who may suggest is decided by the project alone."""
    rules = values.get("folders")
    if not isinstance(rules, list):
        return values
    kept: list[Json] = [
        {key: it for key, it in rule.items() if key != "suggest"}
        for rule in rules
        if isinstance(rule, dict)
    ]
    return {**values, "folders": kept}


def patch_config(files: ConfigTexts, patch: Mapping[str, Json]) -> ConfigPatch:
    """Apply the patch to the one file it belongs in; returns the new configuration."""
    leaves = [*_leaves(patch)]
    if not leaves:
        raise InvalidConfig(problem.empty_patch())
    for path in leaves:
        if path not in AGENT_PATHS:
            raise InvalidConfig(problem.not_settable(path, AGENT_PATHS))
    scope = _single_scope(files, leaves)
    return apply_patch(files, patch, scope, leaves)


def apply_patch(
    files: ConfigTexts, patch: Mapping[str, Json], scope: ConfigScope, leaves: list[ConfigPath]
) -> ConfigPatch:
    """Apply the patch to that file."""
    before = _load_values(files.text_for(scope), scope)
    _require_known(before)
    _require_scope(before, scope)
    try:
        text = patch_yaml(files.text_for(scope) or HEADER, patch, YamlSource(scope), YAML_LIMITS)
    except (InvalidFormat, Unprocessable, PayloadTooLarge) as error:
        raise InvalidConfig(problem.unknown(error.message)) from None
    after = _validate_config(_load_values(text, scope), scope)
    if _protections(after) != _protections(_validate_config(before, scope)):
        raise InvalidConfig(problem.protected_rule())
    current = merge_config(files.with_text(scope, text)).config
    return ConfigPatch(scope, tuple(".".join(it) for it in leaves), text, current)


def rename_templates(files: ConfigTexts, renamed: Mapping[str, str]) -> ConfigPatch:
    """Folder rules of the project with the new names of their templates; all else stays."""
    rules = _load_values(files.project, "project").get("folders")
    moved: list[Json] = []
    for it in rules if isinstance(rules, list) else ():
        name = it.get("template") if isinstance(it, dict) else None
        new = renamed.get(split_extension(name)[0]) if isinstance(name, str) else None
        moved.append(it if new is None or not isinstance(it, dict) else {**it, "template": new})
    return apply_patch(files, {"folders": moved}, "project", [("folders",)])


def _protections(config: SpaceConfig) -> list[tuple[str, bool, str | None]]:
    """The rules that keep tools from changing documents: a tool does not change them."""
    return [(it.match, it.locked, it.suggest) for it in config.folders if it.locked or it.suggest]


def value_at(value: Json, path: tuple[str, ...]) -> tuple[Json, bool]:
    """The value at a path, and whether it exists."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None, False
        value = value[key]
    return value, True


def _single_scope(files: ConfigTexts, leaves: list[ConfigPath]) -> ConfigScope:
    project, user = _load_values(files.project, "project"), _load_values(files.user, "user")
    scopes: list[tuple[ConfigPath, ConfigScope]] = []
    for path in leaves:
        if value_at(project, path)[1]:
            scopes.append((path, "project"))
        elif value_at(user, path)[1]:
            scopes.append((path, "user"))
        else:
            scopes.append((path, LEAVES[path].default_scope))
    if len({scope for _, scope in scopes}) > 1:
        raise InvalidConfig(problem.mixed_scope(scopes))
    return scopes[0][1]


def _load_values(text: str, scope: ConfigScope) -> dict[str, Json]:
    try:
        loaded = load_yaml(text, YamlSource(f"the {scope} file"), YAML_LIMITS).value
    except (InvalidFormat, PayloadTooLarge) as error:
        raise InvalidConfig(
            problem.bad_yaml(f"The {scope} file", _to_format_error(error))
        ) from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        error = InvalidFormat("it must be a mapping", field=scope)
        raise InvalidConfig(problem.bad_yaml(f"The {scope} file", error))
    return loaded


def _to_format_error(error: InvalidFormat | PayloadTooLarge) -> InvalidFormat:
    return error if isinstance(error, InvalidFormat) else InvalidFormat(error.message, field="file")


def _validate_config(values: dict[str, Json], name: str) -> SpaceConfig:
    try:
        return SpaceConfig.model_validate(values)
    except ValidationError as error:
        raise InvalidConfig(problem.bad_shape(error, f"The {name} file")) from None


def _require_known(values: dict[str, Json]) -> None:
    for path, redirect in REMOVED_KEYS.items():
        if value_at(values, path)[1]:
            raise InvalidConfig(problem.removed_key(path, redirect))


def _require_scope(values: dict[str, Json], scope: ConfigScope) -> None:
    for path, leaf in LEAVES.items():
        if leaf.scope not in (None, scope) and value_at(values, path)[1]:
            raise InvalidConfig(problem.wrong_scope(path, str(leaf.scope), scope))


def _in_scope(values: dict[str, Json], scope: ConfigScope) -> dict[str, Json]:
    """Without keys that have no effect in this scope."""
    for path, leaf in LEAVES.items():
        if leaf.scope not in (None, scope) and value_at(values, path)[1]:
            values = merge_patch(values, _nest(path))
    return values


def _nest(path: ConfigPath) -> dict[str, Json]:
    patch: Json = None
    for key in reversed(path):
        patch = {key: patch}
    assert isinstance(patch, dict)
    return patch


def _leaves(patch: Mapping[str, Json], above: ConfigPath = ()) -> Iterator[ConfigPath]:
    for key, value in patch.items():
        path = (*above, key)
        if isinstance(value, dict) and value and path not in LEAVES:
            yield from _leaves(value, path)
        else:
            yield path
