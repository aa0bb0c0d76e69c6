"""A part that has one setting of every kind, and a short way to load it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from pecia.kernel.settings.layers.convert import parse_milliseconds
from pecia.kernel.settings.layers.values import FlagValue
from pecia.kernel.settings.load import Settings, load_settings
from pecia.kernel.settings.model import SettingConflict, SettingsSection, setting
from pecia.kernel.settings.types import NonNegativeInt, Seconds


class Sample(SettingsSection):
    """One setting of every kind."""

    section = "sample"
    live = frozenset({"folders", "old"})

    wait_s: Seconds = setting(
        60.0,
        description="How long.",
        unit="s",
        env=("OLD_WAIT", "OLDER_WAIT"),
        keys=("old.wait",),
        convert={"OLD_WAIT": parse_milliseconds},
        project=True,
    )
    size: NonNegativeInt = setting(1, description="How many.", project=True)
    colour: Literal["red", "blue"] = setting(
        "red", description="Which.", env=("OLD_COLOUR",), lenient=frozenset({"OLD_COLOUR"})
    )
    names: tuple[str, ...] = setting((), description="Who.", project=True)
    nickname: str | None = setting("none yet", description="If any.", project=True)
    password: SecretStr | None = setting(None, description="Hidden.", secret=True)

    def clashes(self) -> Iterator[SettingConflict]:
        if self.size > self.wait_s:
            yield SettingConflict("size", "at most wait_s")


def read(
    *,
    flags: Mapping[str, FlagValue] | None = None,
    environ: Mapping[str, str] | None = None,
    project_file: Path | None = None,
    user_file: Path | None = None,
) -> Settings:
    """Load the sample with nothing but what the test gives."""
    return load_settings(
        [Sample],
        flags=flags or {},
        environ=environ or {},
        project_file=project_file,
        user_file=user_file,
    )
