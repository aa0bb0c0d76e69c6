"""Messages of jobs, bounded by construction: no part that they are made of can fail a job."""

MAX_MESSAGE_CHARS = 1000
"""In characters: the store holds no longer one."""


def truncate_message(message: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """A message as the database accepts it: truncated, without NUL and lone surrogates."""
    plain = message.replace("\0", "\ufffd").encode(errors="replace").decode()
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"
