"""Formats facts for output: times, texts, previews. Pure but for the clock."""

from datetime import UTC, datetime

from pecia.kernel.errors import Json


def format_now() -> str:
    return format_time(datetime.now(UTC))


def format_time(moment: datetime) -> str:
    """As the reference writes times: UTC, with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def list_texts(value: Json) -> list[str]:
    """The strings of a list; empty where the value is not a list."""
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


def truncate_preview(text: str, limit: int) -> str:
    """The beginning of a text, with an ellipsis where it was cut. At most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
