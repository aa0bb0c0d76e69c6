"""A configuration file as entries with their lines. YAML 1.2; no value is guessed, all is text."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from pecia.kernel.errors import InvalidFormat, NotFound, PayloadTooLarge
from pecia.kernel.settings.catalog import SettingsCatalog, find_nearest_name
from pecia.kernel.settings.problem import SettingProblem

MAX_FILE_BYTES = 1024 * 1024
NULL = "tag:yaml.org,2002:null"
SCALAR, SEQUENCE, MAPPING = "scalar", "sequence", "mapping"
"""The `id` of a node, in the words of the parser."""

RawValue: TypeAlias = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A known key of a file, as it was written."""

    key: str
    raw: RawValue
    line: int


def read_entries(path: Path, catalog: SettingsCatalog) -> Iterator[ConfigEntry | SettingProblem]:
    """Every setting the file gives, and every mistake in it that does not stop the reading."""
    root = _compose(path)
    if root is None:
        return
    if root.id != MAPPING:
        raise InvalidFormat(
            f"{path}: expected a mapping of settings, got {_kind(root)}", field=str(path)
        )
    yield from _Reader(path, catalog).walk(root, prefix="")


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    catalog: SettingsCatalog

    def walk(self, node: Any, *, prefix: str) -> Iterator[ConfigEntry | SettingProblem]:
        lines: dict[str, int] = {}
        for key_node, value in node.value:
            line: int = key_node.start_mark.line + 1
            key = prefix + str(key_node.value)
            if key in lines:
                yield self.problem(key, line, f"`{key}` is on line {lines[key]} already")
            lines[key] = line
            yield from self.entry(key, value, line)

    def entry(self, key: str, node: Any, line: int) -> Iterator[ConfigEntry | SettingProblem]:
        is_live = key in self.catalog.live_sections
        is_section = is_live or key in self.catalog.sections
        if key in self.catalog.by_key:
            yield self.leaf(key, node, line)
        elif is_section and node.id == MAPPING:
            yield from self.walk(node, prefix=f"{key}.")
        elif is_live or self.is_read_elsewhere(key) or (is_section and node.tag == NULL):
            return
        elif key in self.catalog.sections:
            yield self.problem(key, line, f"`{key}` is a section, got {_kind(node)}")
        else:
            yield self.unknown(key, line)

    def is_read_elsewhere(self, key: str) -> bool:
        """Whether a feature reads this key itself, or a section that contains it."""
        words = key.split(".")
        above = (".".join(words[:depth]) for depth in range(1, len(words) + 1))
        return any(it in self.catalog.live for it in above)

    def leaf(self, key: str, node: Any, line: int) -> ConfigEntry | SettingProblem:
        if node.id == SCALAR:
            return ConfigEntry(key, _text(node), line)
        items: list[Any] = node.value if node.id == SEQUENCE else [node]
        texts = [_text(it) if it.id == SCALAR else None for it in items]
        whole = tuple(it for it in texts if it is not None)
        if len(whole) == len(texts):
            return ConfigEntry(key, whole, line)
        return self.problem(key, line, f"`{key}` takes a value or a list of plain values")

    def unknown(self, key: str, line: int) -> SettingProblem:
        known = find_nearest_name(key, (*self.catalog.by_key, *self.catalog.live))
        hint = f"; did you mean `{known}`?" if known else ""
        found = self.problem(key, line, f"`{key}` is not a setting{hint}", nearest=known)
        is_shared = key.partition(".")[0] in self.catalog.live_sections
        return replace(found, is_unknown=True, is_shared=is_shared)

    def problem(self, key: str, line: int, says: str, **facts: str | None) -> SettingProblem:
        return SettingProblem(
            key,
            f"{self.path}:{line}: {says}",
            {"source": f"{self.path}:{line}", "file": str(self.path), "line": line, **facts},
        )


def _compose(path: Path) -> Any:
    # Composing stops before any value is made, so nothing in the file can become an object.
    parser: Any = YAML(typ="safe", pure=True)
    text = _read(path)
    try:
        return parser.compose(text)
    except MarkedYAMLError as error:
        raise _not_yaml(path, error) from error
    except (YAMLError, RecursionError) as error:
        raise InvalidFormat(f"{path}: not valid YAML", field=str(path)) from error


def _not_yaml(path: Path, error: Any) -> InvalidFormat:
    mark = error.problem_mark or error.context_mark
    line = 0 if mark is None else int(mark.line) + 1
    says = error.problem or error.context
    return InvalidFormat(
        f"{path}:{line}: not valid YAML: {says}", field=str(path), file=str(path), line=line
    )


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no configuration file {path}", field=str(path)) from None
    except OSError as error:
        raise InvalidFormat(f"{path}: {error.strerror}", field=str(path)) from error
    if len(data) > MAX_FILE_BYTES:
        raise PayloadTooLarge(
            f"{path} is longer than {MAX_FILE_BYTES} bytes",
            field=str(path),
            max=MAX_FILE_BYTES,
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidFormat(f"{path}: not UTF-8 at byte {error.start}", field=str(path)) from error


def _text(node: Any) -> str | None:
    return None if node.tag == NULL else str(node.value)


def _kind(node: Any) -> str:
    if node.id == MAPPING:
        return "a mapping"
    if node.id == SEQUENCE:
        return "a list"
    return "nothing" if node.tag == NULL else "a single value"
