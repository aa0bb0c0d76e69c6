"""How facts are put in answers: times, texts, previews. Pure but for the clock."""

from datetime import UTC, datetime

from pecia.kernel.errors import Json


def format_now() -> str:
    return format_time(datetime.now(UTC))


def format_time(moment: datetime) -> str:
    """As the reference writes times: UTC, with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def list_texts(value: Json) -> list[str]:
    """The texts of a list; none where it is no list."""
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


def truncate_preview(text: str, most: int) -> str:
    """The beginning of a text, marked where it was cut. Never longer than `most`."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
