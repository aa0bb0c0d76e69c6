"""Dates of documents and sections: parsed and compared, never taken from a clock or mtime."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pecia.features.cascade.model import DocumentDate
from pecia.kernel.errors import Json

GIT = "git"


def read_document_date(frontmatter: Mapping[str, Json], git_day: str | None = None) -> DocumentDate:
    """`updated`, else `generated.at`, else the older `timestamp`, else the day git knows."""
    generated = frontmatter.get("generated")
    at = generated.get("at") if isinstance(generated, dict) else None
    ways = (
        ("updated", frontmatter.get("updated")),
        ("generated.at", at),
        ("timestamp", frontmatter.get("timestamp")),
        (GIT, git_day),
    )
    for source, value in ways:
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return DocumentDate(str(value), source)
    return DocumentDate()


def parse_instant(written: str | None) -> datetime | None:
    """The instant of a date or time, None if it does not parse. A day is its midnight."""
    if not written:
        return None
    try:
        found = datetime.fromisoformat(written.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def age_rank(written: str | None) -> float:
    """Greater for later dates; without a date, the lowest."""
    found = parse_instant(written)
    return found.timestamp() if found and found.year > 1 else float("-inf")


def is_later(one: str | None, other: str | None) -> bool:
    """Whether the first date is on a later day. Only two dates can be compared."""
    first, second = parse_instant(one), parse_instant(other)
    return bool(first and second and first.date() > second.date())
