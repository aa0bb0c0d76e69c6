"""What a writer says of an edit, in a few words. Pure."""

import re
from dataclasses import dataclass

from pecia.kernel.errors import Json

LONGEST = 80
LONGEST_GIVEN = 200


@dataclass(frozen=True, slots=True)
class Summary:
    """`cut_from` is the length that came, where it was longer than is kept."""

    value: str
    cut_from: int | None = None

    def shown(self) -> dict[str, Json]:
        told: dict[str, Json] = {"value": self.value}
        if self.cut_from is not None:
            told["truncatedFrom"] = self.cut_from
            told["hint"] = f"Summaries keep {LONGEST} characters: say the outcome, in fewer words."
        return told


def read_summary(text: str | None) -> Summary | None:
    """The summary as it is kept; None where there is none. Line ends become spaces."""
    words = _LINE_ENDS.sub(" ", text or "").strip()
    if not words:
        return None
    if len(words) <= LONGEST:
        return Summary(words)
    return Summary(f"{words[: LONGEST - 1]}…", len(words))


_LINE_ENDS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
