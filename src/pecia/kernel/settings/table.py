"""The settings as rows: for `pecia config`, as JSON, as a reference page. Shows no secret."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import SecretStr

from pecia.kernel.errors import Json
from pecia.kernel.settings.catalog import KnownSetting, build_catalog
from pecia.kernel.settings.layers.origin import SettingOrigin
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.model import SettingsSection

HIDDEN = "••••"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as it stands."""

    name: str
    value: Json
    unit: str
    origin: SettingOrigin
    meaning: str
    default: Json
    env: tuple[str, ...]

    def as_json(self) -> dict[str, Json]:
        """The row for `pecia config --json`."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "origin": self.origin.as_json(),
            "meaning": self.meaning,
            "default": self.default,
            "env": list(self.env),
        }


def list_setting_rows(settings: Settings) -> Iterator[SettingRow]:
    """Every setting with its value and where that came from."""
    for known in build_catalog(list(settings.parts)).settings:
        yield SettingRow(
            name=known.name,
            value=_display(getattr(settings.part(known.part), known.field)),
            unit=known.about.unit,
            origin=settings.provenance[known.name],
            meaning=known.meaning,
            default=_display_default(known),
            env=known.env,
        )


def render_settings_table(parts: Sequence[type[SettingsSection]]) -> str:
    """The reference table of these parts, in Markdown. Says the same on every machine."""
    lines = ["| setting | default | variables | meaning |", "|---|---|---|---|"]
    for known in build_catalog(list(parts)).settings:
        cells = (f"`{known.name}`", _default_cell(known), _env_cell(known), _meaning_cell(known))
        lines.append(f"| {' | '.join(it.replace('|', chr(92) + '|') for it in cells)} |")
    return "\n".join(lines) + "\n"


def _display(value: Any) -> Json:
    if isinstance(value, SecretStr):
        return HIDDEN
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [_display(it) for it in cast(tuple[Any, ...], value)]
    return str(value)


def _display_default(known: KnownSetting) -> Json:
    return known.about.shown_default or _display(known.default())


def _default_cell(known: KnownSetting) -> str:
    if known.about.shown_default:
        return known.about.shown_default
    default = _display(known.default())
    if default is None or default == []:
        return "unset" if default is None else "empty"
    words = ", ".join(str(it) for it in default) if isinstance(default, list) else _plain(default)
    return f"`{words}` {known.about.unit}".strip()


def _plain(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _env_cell(known: KnownSetting) -> str:
    return ", ".join(f"`{name}`" for name in known.env)


def _meaning_cell(known: KnownSetting) -> str:
    notes = [known.meaning]
    if known.about.secret:
        notes.append("Secret.")
    if known.about.project:
        notes.append("A project file may set it.")
    return " ".join(notes)
