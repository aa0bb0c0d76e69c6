"""The difference of two texts, by lines. Pure."""

from dataclasses import dataclass
from difflib import unified_diff

NO_LINE_END = "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class TextDiff:
    """`text` is a unified diff, empty where both are equal."""

    text: str
    added: int
    removed: int


def diff_texts(old: str, new: str, labels: tuple[str, str], context: int) -> TextDiff:
    lines = [*unified_diff(_lines(old), _lines(new), *labels, n=context, lineterm="\n")]
    return TextDiff(
        "".join(it if it.endswith("\n") else it + NO_LINE_END for it in lines),
        sum(it.startswith("+") for it in lines[2:]),
        sum(it.startswith("-") for it in lines[2:]),
    )


def _lines(text: str) -> list[str]:
    """Split at line feeds alone: other line ends of Python's are part of a line."""
    *whole, last = text.split("\n")
    return [*(f"{it}\n" for it in whole), *([last] if last else ())]
