"""Messages of jobs, bounded by construction: no part that they are made of can fail a job."""

MAX_MESSAGE_CHARS = 1000
"""In characters: the store holds no longer one."""


def truncate_message(message: str, most: int = MAX_MESSAGE_CHARS) -> str:
    """A message as the store accepts it, whatever it was made of: cut, and without what no text in
    a database has."""
    plain = message.replace("\0", "\ufffd").encode(errors="replace").decode()
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
