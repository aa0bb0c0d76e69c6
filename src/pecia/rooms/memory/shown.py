"""How facts are put in answers: times, texts, previews. Pure but for the clock."""

from datetime import UTC, datetime

from pecia.kernel.errors import Json


def now() -> str:
    return iso(datetime.now(UTC))


def iso(moment: datetime) -> str:
    """As the reference writes times: UTC, with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def texts_in(value: Json) -> list[str]:
    """The texts of a list; none where it is no list."""
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


def preview(text: str, most: int) -> str:
    """The beginning of a text, marked where it was cut. Never longer than `most`."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
