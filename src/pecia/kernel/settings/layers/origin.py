"""Where a value came from, and what it overruled. Never holds a secret's text."""

from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.errors import Json


class SettingLayer(StrEnum):
    """The five layers, the strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    PROJECT = "project file"
    USER = "user file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """The winner of one setting.

    `where` is the variable, the flag, or file:line. `raw` is the text as it was written, None for
    a secret or a default. `overruled` are weaker places that said something else.
    """

    layer: SettingLayer
    where: str = ""
    raw: str | None = None
    overruled: tuple["SettingOrigin", ...] = ()

    def __str__(self) -> str:
        place = f"{self.layer} {self.where}".strip()
        if not self.overruled:
            return place
        return f"{place} (over {', '.join(str(it) for it in self.overruled)})"

    def as_json(self) -> dict[str, Json]:
        """For `pecia config --json`."""
        return {
            "layer": self.layer.value,
            "where": self.where,
            "raw": self.raw,
            "overruled": [it.as_json() for it in self.overruled],
        }
