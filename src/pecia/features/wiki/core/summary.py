"""The summary of an edit. Pure."""

import re
from dataclasses import dataclass

from pecia.kernel.errors import Json

MAX_SUMMARY_CHARS = 80
MAX_SUMMARY_INPUT_CHARS = 200


@dataclass(frozen=True, slots=True)
class EditSummary:
    """`cut_from` is the original length, if it was truncated."""

    value: str
    cut_from: int | None = None

    def to_json(self) -> dict[str, Json]:
        fields: dict[str, Json] = {"value": self.value}
        if self.cut_from is not None:
            fields["truncatedFrom"] = self.cut_from
            fields["hint"] = (
                f"Summaries have at most {MAX_SUMMARY_CHARS} characters: state only the outcome."
            )
        return fields


def parse_summary(text: str | None) -> EditSummary | None:
    """The normalized summary; None where there is none. Line breaks and control characters become
    spaces."""
    words = _CONTROL.sub(" ", text or "").strip()
    if not words:
        return None
    if len(words) <= MAX_SUMMARY_CHARS:
        return EditSummary(words)
    return EditSummary(f"{words[: MAX_SUMMARY_CHARS - 1]}…", len(words))


_CONTROL = re.compile(r"[\x00-\x08\n-\x1f\x7f\x85\u2028\u2029]+")
