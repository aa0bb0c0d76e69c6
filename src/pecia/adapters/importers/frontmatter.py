"""Frontmatter of imported documents. Pure."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.text.markdown.frontmatter import read_frontmatter, split_document
from pecia.kernel.text.yaml.patch import patch_yaml
from pecia.kernel.text.yaml.writer import dump_yaml

_NO_TAG = re.compile(r"[^\w/-]+")


def with_frontmatter(fields: Mapping[str, Json], body: str) -> str:
    """A document; fields without a value are left out."""
    kept: dict[str, Json] = {
        key: value for key, value in fields.items() if value not in (None, "", [], {})
    }
    text = body.strip("\n")
    text = f"{text}\n" if text else ""
    if not kept:
        return text
    block = dump_yaml(kept)
    gap = "\n" if text else ""
    return f"---\n{block if block.endswith(chr(10)) else block + chr(10)}---\n{gap}{text}"


def add_tags(text: str, tags: Iterable[str]) -> str:
    """A document with these tags beside its own; unchanged where its frontmatter is damaged."""
    wanted = [*dict.fromkeys(tags)]
    if not wanted:
        return text
    split = split_document(text)
    try:
        own = read_frontmatter(text).values.get("tags")
        listed = [own] if isinstance(own, str) else own
        kept = [it for it in listed if isinstance(it, str)] if isinstance(listed, list) else []
        if isinstance(own, str):
            kept = [it for it in re.split(r"[,\s]+", own) if it]
        known = {it.lstrip("#").casefold() for it in kept}
        added = [it for it in wanted if it.casefold() not in known]
        if split.unclosed or not added:
            return text
        yaml = patch_yaml(split.yaml, {"tags": [*kept, *added]})
    except (InvalidFormat, PayloadTooLarge, Unprocessable):
        return text
    if split.has_block:
        return split.mark + split.opening + yaml + split.closing + split.body
    yaml = yaml if yaml.endswith("\n") else f"{yaml}\n"
    return f"{split.mark}---\n{yaml}---\n{split.body}"


def clean_tag(text: str) -> str:
    """A tag as wikis write it: no spaces and no marks."""
    return _NO_TAG.sub("-", text.strip().lstrip("#")).strip("-/")


def format_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def format_epoch(seconds: float) -> str | None:
    """A time in seconds; None where it is no time."""
    try:
        return format_time(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None
