"""Guards of a write: the version it was made from, and documents that are locked. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from pecia.features.wiki.config.folder_rules import matches_rule
from pecia.features.wiki.config.schema import FolderRule
from pecia.kernel.errors import Conflict, InvalidFormat
from pecia.kernel.text.markdown.frontmatter import read_frontmatter, split_document

LOCK_KEY = "locked"
_VERSION_CHARS = 20
NO_DOCUMENT = "none"
"""The version of a document that does not exist: whoever expects it only wants to create."""


def document_version(body: bytes | None) -> str:
    """Identifies a text: the same for the same bytes, wherever they came from."""
    return NO_DOCUMENT if body is None else sha256(body).hexdigest()[:_VERSION_CHARS]


def require_version(name: str, body: bytes | None, expected: str | None) -> None:
    """Require that the document is as the caller read it."""
    current = document_version(body)
    if expected is None or expected == current:
        return
    if expected == NO_DOCUMENT:
        raise Conflict(
            f"{name!r} exists already",
            field="docName",
            docName=name,
            currentVersion=current,
            hint="Change it with edit_document or write_document, or choose another name.",
        )
    what = "does not exist" if body is None else f"is version {current} now"
    raise Conflict(
        f"{name!r} {what}, not {expected}",
        field="expected_version",
        docName=name,
        currentVersion=current,
        hint="Read it again, and send the change with its version.",
    )


def require_unlocked(name: str, path: str, text: str | None, rules: Iterable[FolderRule]) -> None:
    """Require that neither a folder rule nor the document itself locks it."""
    rule = next((it for it in rules if it.locked and matches_rule(it.match, path)), None)
    if rule is not None:
        raise Conflict(
            f"{name!r} is locked by the folder rule {rule.match!r}",
            docName=name,
            hint="Whoever keeps .pecia/config.yml removes `locked` from the rule.",
        )
    if text is not None and is_locked(text):
        raise Conflict(
            f"{name!r} is locked",
            docName=name,
            hint=f'If you are asked to change it: patch_frontmatter with {{"{LOCK_KEY}": null}}.',
        )


def find_locked(
    texts: Iterable[tuple[str, str, str]], rules: Sequence[FolderRule]
) -> Iterator[str]:
    """Of documents with their paths and texts, the names of those that are locked."""
    locking = [it.match for it in rules if it.locked]
    for name, path, text in texts:
        if is_locked(text) or any(matches_rule(it, path) for it in locking):
            yield name


def is_locked(text: str) -> bool:
    """Whether the frontmatter says `locked: true`."""
    if LOCK_KEY not in split_document(text).yaml:
        # A rename asks for thousands, and reading YAML takes long.
        return False
    try:
        return read_frontmatter(text).values.get(LOCK_KEY) is True
    except InvalidFormat:
        return False
