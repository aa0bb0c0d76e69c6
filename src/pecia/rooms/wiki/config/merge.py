"""Two files made one configuration, and a patch put into the one that it belongs in. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError

from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.text.yaml import YamlLimits, YamlSource, load_yaml
from pecia.kernel.text.yaml_edit import merge_patch, patch_yaml
from pecia.rooms.wiki.config import problem
from pecia.rooms.wiki.config.problem import BadConfig
from pecia.rooms.wiki.config.schema import LEAVES, REMOVED, Config, Path, Scope

LIMITS = YamlLimits(size_bytes=512 * 1024)
HEADER = "# The settings of this space. docs/wiki.md says what each of them is for.\n"
AGENTS = tuple(path for path, it in LEAVES.items() if it.by_agents)


@dataclass(frozen=True, slots=True)
class Files:
    """The texts of both files; nothing where there is no file."""

    project: str = ""
    user: str = ""

    def of(self, scope: Scope) -> str:
        return self.project if scope == "project" else self.user

    def holding(self, scope: Scope, text: str) -> "Files":
        return replace(self, project=text) if scope == "project" else replace(self, user=text)


@dataclass(frozen=True, slots=True)
class Effective:
    """What counts. `warnings` name what was left out of the user's file."""

    config: Config
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patched:
    scope: Scope
    applied: tuple[str, ...]
    text: str
    current: Config


def effective(files: Files) -> Effective:
    """Defaults, the user's file over them, the project's over that.

    The project's file must be right. A user's file that is not is left out, which is told.
    """
    project = _values(files.project, "project")
    _require_known(project)
    warnings: list[str] = []
    try:
        user = _in_scope(_values(files.user, "user"), "user")
        _validated(user, "user")
    except BadConfig as error:
        user = {}
        warnings.append(f"the user's configuration is left out: {error.problem.message}")
    merged = merge_patch(user, _in_scope(project, "project"))
    return Effective(_validated(merged, "project"), tuple(warnings))


def patched(files: Files, patch: Mapping[str, Json]) -> Patched:
    """The patch in the one file that it belongs in, and the configuration that comes of it."""
    leaves = [*_leaves(patch)]
    if not leaves:
        raise BadConfig(problem.empty_patch())
    for path in leaves:
        if path not in AGENTS:
            raise BadConfig(problem.not_settable(path, AGENTS))
    scope = _one_scope(files, leaves)
    return applied(files, patch, scope, leaves)


def applied(files: Files, patch: Mapping[str, Json], scope: Scope, leaves: list[Path]) -> Patched:
    """The patch in that file."""
    before = _values(files.of(scope), scope)
    _require_known(before)
    _require_scope(before, scope)
    try:
        text = patch_yaml(files.of(scope) or HEADER, patch, YamlSource(scope), LIMITS)
    except (InvalidFormat, Unprocessable, PayloadTooLarge) as error:
        raise BadConfig(problem.unknown(error.message)) from None
    _validated(_values(text, scope), scope)
    current = effective(files.holding(scope, text)).config
    return Patched(scope, tuple(".".join(it) for it in leaves), text, current)


def value_at(value: Json, path: tuple[str, ...]) -> tuple[Json, bool]:
    """What stands at a path, and whether anything does."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None, False
        value = value[key]
    return value, True


def _one_scope(files: Files, leaves: list[Path]) -> Scope:
    project, user = _values(files.project, "project"), _values(files.user, "user")
    scopes: list[tuple[Path, Scope]] = []
    for path in leaves:
        if value_at(project, path)[1]:
            scopes.append((path, "project"))
        elif value_at(user, path)[1]:
            scopes.append((path, "user"))
        else:
            scopes.append((path, LEAVES[path].lands))
    if len({scope for _, scope in scopes}) > 1:
        raise BadConfig(problem.mixed_scope(scopes))
    return scopes[0][1]


def _values(text: str, scope: Scope) -> dict[str, Json]:
    try:
        loaded = load_yaml(text, YamlSource(f"the {scope} file"), LIMITS).value
    except (InvalidFormat, PayloadTooLarge) as error:
        raise BadConfig(problem.bad_yaml(f"The {scope} file", _as_format(error))) from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        error = InvalidFormat("it must hold keys with values", field=scope)
        raise BadConfig(problem.bad_yaml(f"The {scope} file", error))
    return loaded


def _as_format(error: InvalidFormat | PayloadTooLarge) -> InvalidFormat:
    return error if isinstance(error, InvalidFormat) else InvalidFormat(error.message, field="file")


def _validated(values: dict[str, Json], name: str) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise BadConfig(problem.bad_shape(error, f"The {name} file")) from None


def _require_known(values: dict[str, Json]) -> None:
    for path, redirect in REMOVED.items():
        if value_at(values, path)[1]:
            raise BadConfig(problem.removed_key(path, redirect))


def _require_scope(values: dict[str, Json], scope: Scope) -> None:
    for path, leaf in LEAVES.items():
        if leaf.scope not in (None, scope) and value_at(values, path)[1]:
            raise BadConfig(problem.wrong_scope(path, str(leaf.scope), scope))


def _in_scope(values: dict[str, Json], scope: Scope) -> dict[str, Json]:
    """Without what does not count where it stands."""
    for path, leaf in LEAVES.items():
        if leaf.scope not in (None, scope) and value_at(values, path)[1]:
            values = merge_patch(values, _nested(path))
    return values


def _nested(path: Path) -> dict[str, Json]:
    patch: Json = None
    for key in reversed(path):
        patch = {key: patch}
    assert isinstance(patch, dict)
    return patch


def _leaves(patch: Mapping[str, Json], above: Path = ()) -> Iterator[Path]:
    for key, value in patch.items():
        path = (*above, key)
        if isinstance(value, dict) and value and path not in LEAVES:
            yield from _leaves(value, path)
        else:
            yield path
