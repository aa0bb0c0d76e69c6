"""The help of commands as it was recorded by `make docs`: parsing it anew takes Typer and pydantic,
0.1 s of a processor. A test compares it with what the commands say themselves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recorded_help.json")


@dataclass(frozen=True, slots=True)
class RecordedHelp:
    """What one command takes."""

    text: str
    flags: Mapping[str, str]
    """With their dashes, each with its help."""
    arguments: tuple[str, ...]
    """The names of what stands without a flag, in order."""
    choices: Mapping[str, list[str]]
    """By flag, where only these values are allowed."""
    things: Mapping[str, str]
    """By flag or argument: what is named there, as a key of `NAMED_THINGS`."""


def recorded_help(words: str) -> RecordedHelp | None:
    """That of a command; None where there is none, as for one that calls a tool."""
    found = _read_all().get(words)
    if found is None:
        return None
    arguments = tuple(found["arguments"])
    return RecordedHelp(found["text"], found["flags"], arguments, found["choices"], found["things"])


@cache
def _read_all() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text(encoding="utf-8"))
