"""Input that adds or changes a source, and the resulting configuration. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from croniter import croniter
from pydantic import Field, create_model

from pecia.features.lake.model import SourceConfig, SourceId
from pecia.kernel.corpus.catalog.catalog import validate_source_name
from pecia.kernel.corpus.connector_kind import ConnectorKind
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.errors import InvalidFormat, InvalidInput, Json, MissingField
from pecia.kernel.tool.model import Input

TrimMode = Literal["per_file", "source_only", "open"]


class NewSource(Input):
    source_id: SourceId


class AddSource(NewSource):
    """The arguments for sources of every kind. `build_add_input` adds those of each kind."""

    include: list[str] = Field(default_factory=list[str], max_length=100, description="Globs.")
    exclude: list[str] = Field(default_factory=list[str], max_length=100, description="Globs.")
    most_bytes: int = Field(default=200_000_000, ge=1, le=10_000_000_000)
    schedule: str | None = Field(default=None, max_length=100, description="A cron line, in UTC.")
    posix: bool = Field(default=False, description="Mode and owner of a file decide who reads it.")
    hybrid: bool = Field(default=True, description="Semantic search too.")
    trim_mode: TrimMode = "per_file"
    protocol: str | None = None


class SetSource(Input):
    source_id: SourceId
    trim_mode: TrimMode | None = None
    enabled: bool | None = None
    include: list[str] | None = Field(default=None, max_length=100)
    exclude: list[str] | None = Field(default=None, max_length=100)
    most_bytes: int | None = Field(default=None, ge=1, le=10_000_000_000)
    schedule: str | None = Field(
        default=None, max_length=100, description="A cron line, in UTC; `never` ends it."
    )
    hybrid: bool | None = None


def build_add_input(kinds: Sequence[ConnectorKind]) -> type[AddSource]:
    """The input of `add_source`: the options of every kind, and what all of them have."""
    options: dict[str, Any] = {
        name: (info.annotation, info)
        for kind in kinds
        if kind.options
        for name, info in kind.options.model_fields.items()
    }
    names = tuple(it.name for it in kinds)
    described = "Default: by the origin. " + " ".join(f"{it.name}: {it.summary}" for it in kinds)
    # The names are known at run time only.
    choice: Any = Literal[names]
    protocol: Any = (choice | None, Field(default=None, description=described))
    bases: Any = (AddSource, create_model("SourceOptions", __base__=NewSource, **options))
    return cast(type[AddSource], create_model("AddSource", __base__=bases, protocol=protocol))


def build_config(ask: AddSource, kinds: Sequence[ConnectorKind]) -> SourceConfig:
    """The configuration; an error names the invalid field."""
    validate_source_name(ask.source_id, field="source_id")
    schedule = _schedule(ask.schedule)
    kind = _select_kind(ask, kinds)
    if ask.posix and not kind.has_posix:
        able = " or ".join(it.name for it in kinds if it.has_posix)
        raise InvalidInput(
            f'Field "posix" goes with {able}, not with {kind.name}', field="posix", got=kind.name
        )
    return SourceConfig(
        origin=_build_origin(ask, kind),
        include=_globs(ask.include, "include") or ("**",),
        exclude=_globs(ask.exclude, "exclude"),
        most_bytes=ask.most_bytes,
        schedule=schedule,
        hybrid=ask.hybrid,
        posix=ask.posix,
    )


def _select_kind(ask: AddSource, kinds: Sequence[ConnectorKind]) -> ConnectorKind:
    """The kind of the one origin that was given, with its options checked."""
    given = {it.name: _given_options(ask, it) for it in kinds}
    addresses = [name for name, options in given.items() if name in options]
    if len(addresses) > 1:
        raise InvalidInput(
            f"a source has one origin, not {' and '.join(addresses)}", field=addresses[1]
        )
    name = addresses[0] if addresses else ask.protocol
    if ask.protocol not in (None, name):
        raise InvalidInput(
            f"the protocol {ask.protocol!r} contradicts the origin {name!r}: give one of them",
            field="protocol",
            got=ask.protocol,
            expected=name,
        )
    for other, options in given.items():
        if other != name and options:
            field = next(iter(options))
            raise InvalidInput(
                f'Field "{field}" goes with {other}, not with {name or "a source without origin"}',
                field=field,
            )
    kind = next((it for it in kinds if it.name == name), None)
    if kind is None:
        raise _missing_origin(ask, kinds)
    if not addresses and _has_address(kind):
        raise MissingField(f'Field "{name}" is required', field=kind.name)
    return kind


def _missing_origin(ask: AddSource, kinds: Sequence[ConnectorKind]) -> MissingField:
    ways = [it.name if _has_address(it) else f"protocol {it.name}" for it in kinds]
    return MissingField(
        f"source {ask.source_id!r} needs an origin: one of {', '.join(ways)}",
        field=ways[0],
        expected=[*ways],
        hint=f"for example: pecia source add {ask.source_id} --folder FOLDER",
    )


def _has_address(kind: ConnectorKind) -> bool:
    return kind.options is not None and kind.name in kind.options.model_fields


def _given_options(ask: AddSource, kind: ConnectorKind) -> dict[str, Any]:
    """The options of that kind which are not at their default."""
    fields = kind.options.model_fields if kind.options else {}
    values = {name: getattr(ask, name) for name in fields}
    return {
        name: value
        for name, value in values.items()
        if value != fields[name].get_default(call_default_factory=True, validated_data={})
    }


def _build_origin(ask: AddSource, kind: ConnectorKind) -> dict[str, Json]:
    assert kind.options is not None
    options = kind.options.model_validate(_given_options(ask, kind))
    return kind.to_stored(options.build_origin(ask.source_id))


def _schedule(line: str | None) -> str | None:
    if line is None or croniter.is_valid(line):
        return line
    raise InvalidFormat(
        'Field "schedule" must be a cron line, such as "0 3 * * *"', field="schedule", got=line
    )


def _globs(given: Iterable[str], field: str) -> tuple[str, ...]:
    return tuple(validate_glob(it, field=field) for it in given)


def require_settable_trim(ask: SetSource, config: dict[str, Json]) -> None:
    """A feature that keeps files of several users in one source sets their visibility itself.

    Otherwise one setting would expose its memories or drafts to everybody.
    """
    if ask.trim_mode not in (None, "per_file") and not {"origin", "folder"} & {*config}:
        raise InvalidInput(
            f"source {ask.source_id!r} is managed by its toolset, which sets who sees its files",
            field="trim_mode",
            got=ask.trim_mode,
            expected="per_file",
            hint=_managed_hint(ask.source_id),
        )


def _managed_hint(source_id: str) -> str:
    space = source_id.removeprefix("wiki:")
    if space != source_id:
        return f"It is a wiki space: pecia space set {space}."
    return (
        "Choose one whose files come from a folder, site, repository or bucket: pecia source list."
    )


def managed_source_error(source_id: str) -> InvalidInput:
    """A source of a feature's own has no origin to log in to."""
    return InvalidInput(
        f"source {source_id!r} is managed by its toolset and needs no credential",
        field="source_id",
        hint=_managed_hint(source_id),
    )


def update_config(
    config: dict[str, Json], changes: dict[str, Json], source_id: str
) -> SourceConfig:
    """The configuration with the given changes."""
    if "origin" not in config:
        raise InvalidInput(
            f"source {source_id!r} is managed by its toolset, which sets how it is crawled",
            field=next(iter(changes)),
            hint=_managed_hint(source_id),
        )
    # Unchanged values are not revalidated: old sources may have globs that are refused now.
    for field in ("include", "exclude"):
        _globs(cast(list[str], changes.get(field, [])), field)
    schedule = changes.get("schedule")
    if isinstance(schedule, str):
        changes = {**changes, "schedule": None if schedule == "never" else _schedule(schedule)}
    return SourceConfig.model_validate({**config, **changes})
