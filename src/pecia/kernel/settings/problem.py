"""What is wrong with the settings, gathered so that one run of the program names every mistake."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pecia.kernel.errors import InvalidInput, Json

MAX_SHOWN_CHARS = 100


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One mistake: the setting or key, a sentence, and the facts of that sentence.

    `is_unknown` says that the key is none of ours, which a file of somebody else's may hold.
    """

    field: str
    message: str
    facts: Mapping[str, Json]
    is_unknown: bool = False
    is_shared: bool = False
    """It stands in a section that others read too, and is kept there."""


def describe_value(value: object) -> str:
    """A refused value as an error shows it: bounded, whatever was given."""
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN_CHARS else f"{shown[:MAX_SHOWN_CHARS]}…"


def raise_problems(problems: Sequence[SettingProblem]) -> None:
    """Raise one error for all of them, if there are any. It names the field of the first."""
    if not problems:
        return
    first = problems[0]
    listed: list[Json] = [{"field": it.field, "message": it.message, **it.facts} for it in problems]
    raise InvalidInput(
        "\n".join(it.message for it in problems),
        field=first.field,
        **first.facts,
        problems=listed,
    )
