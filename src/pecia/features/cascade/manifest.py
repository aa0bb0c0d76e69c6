"""The manifest of a cascade: its layers and levels. The trust boundary; opens no layer."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from pecia.kernel.errors import InvalidFormat, InvalidInput, Json, NotFound, PayloadTooLarge
from pecia.kernel.settings.account import expand_user
from pecia.kernel.text.yaml.reader import YamlLimits, YamlSource, load_yaml
from pecia.kernel.tool.suggestion import suggest_name

MAX_BYTES = 1_000_000
PERSONAL_LEVEL, SHARED_LEVEL = 3, 0
LOCAL_TENANT = "local"


class LayerKind(StrEnum):
    """Kinds of layers."""

    FOLDER = "folder"
    FILES = "files"
    GIT = "git"
    ARCHIVE = "archive"
    WIKI = "wiki"
    LAKE = "lake"
    MCP = "mcp"


ALIASES = {"okf-local": LayerKind.FOLDER, "http": LayerKind.ARCHIVE}
"""Aliases of kinds."""


UNUSED = frozenset({"live", "origin", "settings", "packs", "pendingSources", "$schema", "label"})
"""Keys of other implementations, accepted and ignored."""

LAYER_KEYS = UNUSED | {
    *("name", "level", "source", "path", "url", "ref", "subdir"),
    *("command", "args", "readers", "rights"),
}
MANIFEST_KEYS = UNUSED | {"name", "tenant", "layers"}


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """One layer as the manifest describes it.

    `readers` are the users that may read it, `rights` the source whose readers may; a layer that
    names neither is open to every user of the cascade.
    """

    name: str
    level: int
    position: int
    kind: LayerKind
    path: Path | None = None
    url: str | None = None
    ref: str = "HEAD"
    subdir: str = ""
    source: str | None = None
    argv: tuple[str, ...] = ()
    readers: frozenset[str] | None = None
    rights: str | None = None


@dataclass(frozen=True, slots=True)
class CascadeManifest:
    """The layers of one cascade. Trust is bound to `sha256` of the file."""

    name: str
    layers: tuple[LayerSpec, ...]
    file: Path | None = None
    sha256: str = ""
    tenant: str = LOCAL_TENANT

    @property
    def names(self) -> frozenset[str]:
        return frozenset(it.name for it in self.layers)


def read_manifest(file: Path, name: str | None = None) -> CascadeManifest:
    """The manifest in a JSON or YAML file. Blocking."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise NotFound(f"the manifest {file} cannot be read: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise PayloadTooLarge(f"{file.name} is too large", field="manifest", max=MAX_BYTES)
    value = _load_value(raw, file.name)
    sha256 = hashlib.sha256(raw).hexdigest()
    return parse_manifest(value, file.resolve(), sha256, name)


def parse_manifest(
    value: Json, file: Path, sha256: str = "", name: str | None = None
) -> CascadeManifest:
    """Parse a manifest; every error names its field."""
    top = _mapping(value, "manifest")
    _require_known(top, "manifest", MANIFEST_KEYS)
    listed = top.get("layers")
    if not isinstance(listed, list) or not listed:
        raise InvalidInput("a manifest needs a list of layers", field="layers", expected="list")
    layers = tuple(_layer(it, number, file.parent) for number, it in enumerate(listed))
    _require_distinct(layers)
    tenant = _text(top, "tenant", "manifest") or LOCAL_TENANT
    named = name or _text(top, "name", "manifest") or file.parent.name
    return CascadeManifest(named, layers, file, sha256, tenant)


def two_folder_manifest(personal: Path, shared: Path) -> CascadeManifest:
    """The legacy options: a personal folder over a shared one."""
    layers = (
        LayerSpec("personal", PERSONAL_LEVEL, 0, LayerKind.FOLDER, personal.resolve()),
        LayerSpec("shared", SHARED_LEVEL, 1, LayerKind.FOLDER, shared.resolve()),
    )
    return CascadeManifest("cascade", layers)


def _load_value(raw: bytes, name: str) -> Json:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFormat(f"{name} is not UTF-8", field="manifest") from None
    if text.lstrip().startswith("{"):
        try:
            return cast(Json, json.loads(text))
        except ValueError as error:
            raise InvalidFormat(f"{name} is not JSON: {error}", field="manifest") from None
    return load_yaml(text, YamlSource(name), YamlLimits(size_bytes=MAX_BYTES)).value


def _layer(value: Json, number: int, folder: Path) -> LayerSpec:
    where = f"layers.{number}"
    it = _mapping(value, where)
    _require_known(it, where, LAYER_KEYS)
    name = _text(it, "name", where)
    if not name:
        raise InvalidInput("a layer needs a name", field=f"{where}.name", expected="text")
    kind, source = _kind(it, name, where)
    readers = it.get("readers")
    if readers is not None and not _is_texts(readers):
        raise InvalidInput(
            "readers must be a list of users", field=f"{where}.readers", expected="list"
        )
    path = _text(it, "path", where)
    spec = LayerSpec(
        name,
        _level(it.get("level"), name, where),
        number,
        kind,
        path=(folder / expand_user(Path(path), f"{where}.path")).resolve() if path else None,
        url=_url(it, where),
        ref=_text(it, "ref", where) or "HEAD",
        subdir=(_text(it, "subdir", where) or "").strip("/"),
        source=source,
        argv=_argv(it, where, folder),
        readers=None if readers is None else frozenset(cast(list[str], readers)),
        rights=_text(it, "rights", where),
    )
    _require_origin(spec, where)
    return spec


def _kind(it: Mapping[str, Json], name: str, where: str) -> tuple[LayerKind, str | None]:
    """The kind, and for `wiki:` and `lake:` the space or source."""
    written = _text(it, "source", where) or LayerKind.FOLDER
    head, colon, rest = written.partition(":")
    if colon and head in (LayerKind.WIKI, LayerKind.LAKE) and rest:
        return LayerKind(head), written if head == LayerKind.WIKI else rest
    kind = ALIASES.get(written)
    if kind is None and written in (
        LayerKind.FOLDER,
        LayerKind.FILES,
        LayerKind.GIT,
        LayerKind.ARCHIVE,
        LayerKind.MCP,
    ):
        kind = LayerKind(written)
    if kind is None:
        raise InvalidInput(
            f'Unknown source kind "{written}" for layer "{name}"',
            field=f"{where}.source",
            expected="folder, files, git, archive, mcp, wiki:<space> or lake:<source>",
            got=written,
        )
    return kind, None


def _level(value: Json, name: str, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isascii():
        try:
            return int(value)
        except ValueError:
            pass
    raise InvalidInput(
        f'the level of layer "{name}" must be an integer',
        field=f"{where}.level",
        expected="integer",
        got=value,
    )


def _argv(it: Mapping[str, Json], where: str, folder: Path) -> tuple[str, ...]:
    """The command and its arguments; ./ and ../ are relative to the manifest."""
    command, rest = _text(it, "command", where), it.get("args") or []
    if not _is_texts(rest):
        raise InvalidInput("args must be a list of strings", field=f"{where}.args", expected="list")
    words = [command, *cast(list[str], rest)] if command else []
    near = ("./", "../")
    return tuple(str((folder / it).resolve()) if it.startswith(near) else it for it in words)


def _url(it: Mapping[str, Json], where: str) -> str | None:
    url = _text(it, "url", where)
    if url and (urlsplit(url).password or urlsplit(url).username):
        raise InvalidInput(
            "a manifest must not hold credentials",
            field=f"{where}.url",
            expected="a URL without a user",
        )
    return url


def _require_origin(spec: LayerSpec, where: str) -> None:
    """Check the location that each kind requires."""
    wants: dict[LayerKind, tuple[str, bool]] = {
        LayerKind.FOLDER: ("path", spec.path is not None),
        LayerKind.FILES: ("path", spec.path is not None),
        LayerKind.GIT: ("url", spec.path is not None or spec.url is not None),
        LayerKind.ARCHIVE: ("path", spec.path is not None or spec.url is not None),
        LayerKind.MCP: ("command", bool(spec.argv)),
    }
    field, found = wants.get(spec.kind, ("", True))
    if not found:
        raise InvalidInput(
            f'layer "{spec.name}" is of kind {spec.kind} and has no {field}',
            field=f"{where}.{field}",
            expected="text",
        )


def _require_distinct(layers: Sequence[LayerSpec]) -> None:
    seen: set[str] = set()
    for it in layers:
        if it.name in seen:
            raise InvalidInput(
                f'duplicate layer name "{it.name}"', field=f"layers.{it.position}.name"
            )
        seen.add(it.name)


def _require_known(it: Mapping[str, Json], where: str, known: frozenset[str]) -> None:
    """An unknown key is an error: it is probably a typo."""
    for key in it.keys() - known:
        near = suggest_name(key, sorted(known))
        raise InvalidInput(
            f"unknown key {key!r} in the manifest{near}",
            field=f"{where}.{key}",
            expected=[*sorted(known - UNUSED)],
        )


def _mapping(value: Json, where: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} must be an object", field=where, expected="object")
    return value


def _text(it: Mapping[str, Json], key: str, where: str) -> str | None:
    value = it.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{key} must be a string", field=f"{where}.{key}", expected="text")
    return value.strip() if value else None


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(it, str) for it in value)
