"""Folders of a server in which a tenant's administrators may create spaces.

The operator grants roots per tenant. Checked when a space is added and again each time it is
opened: a folder that became a link, or left its root, is not opened.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.features.wiki.storage.folder_claim import FolderClaims, FolderTaken
from pecia.features.wiki.store import SQL
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, Unavailable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

HINT = (
    "the operator gives a tenant a folder for spaces: pecia tenant allow TENANT --space-root PATH"
)

LookupRoots: TypeAlias = Callable[[UUID], Awaitable[Sequence[Path]]]
"""The real paths below which a tenant may have spaces. Roots of different tenants never overlap."""


async def no_roots(tenant_id: UUID) -> Sequence[Path]:
    """For an install without roots."""
    del tenant_id
    return ()


@dataclass(frozen=True, slots=True)
class SpaceRoots:
    """The current roots of all tenants."""

    store: Store
    lookup: LookupRoots = no_roots
    claims: FolderClaims | None = None
    """Of a process that writes. Without them no folder is claimed."""

    async def admit(self, tenant_id: UUID, folder: str) -> str:
        """The real path of a folder that this tenant may serve, created if missing."""
        return str(await run_sync(_admit, folder, await self.lookup(tenant_id)))

    async def require(self, tenant_id: UUID, folder: Path) -> None:
        """Require that the folder still resolves to itself, below a root."""
        await run_sync(require_open, folder, await self.lookup(tenant_id))

    async def resolve_folder(self, tenant_id: UUID, folder: Path, *, is_confined: bool) -> Path:
        """The real path of a space's folder, checked to be allowed now.

        A confined one is returned as it is: resolved again, it could be another.
        """
        if is_confined:
            await self.require(tenant_id, folder)
        installation = await self.claims.installation.load_id() if self.claims else ""
        # Together: each visit to a thread costs as much as what is done there.
        return await run_sync(self._open_folder, folder, installation, is_confined)

    async def claim(self, folder: str) -> None:
        """Hold the folder for this installation; FolderTaken while another one does."""
        if self.claims is not None:
            installation = await self.claims.installation.load_id()
            await run_sync(_claim, self.claims, folder, installation)

    async def release(self, folder: str) -> None:
        """Let other installations have the folder of a space that was removed."""
        if self.claims is not None:
            await run_sync(_release, self.claims, folder)

    def _open_folder(self, folder: Path, installation: str, is_confined: bool) -> Path:
        real = folder if is_confined else _resolve_links(folder)
        try:
            if self.claims is not None:
                self.claims.claim(real, installation)
        except FolderTaken as error:
            if not is_confined:
                raise
            # Members of a tenant learn nothing of the machine.
            _log.warning("wiki.folder_claim", reason=str(error))
            raise Unavailable(
                "the folder of this space is served by another installation of Pecia",
                retryable=False,
                hint="the operator stops that one, or removes the space there",
            ) from None
        return real

    async def resolve_source_folder(self, tenant_id: UUID, source_id: str, folder: Path) -> Path:
        """The same for a space of which only the source is known."""
        asked = {"tenant_id": tenant_id, "source_id": source_id}
        async with self.store.system() as tx:
            is_confined = bool(await tx.fetch_value(SQL["is_confined"], **asked))
        return await self.resolve_folder(tenant_id, folder, is_confined=is_confined)


def _claim(claims: FolderClaims, folder: str, installation: str) -> None:
    claims.claim(_resolve_links(Path(folder)), installation)


def _release(claims: FolderClaims, folder: str) -> None:
    claims.release(_resolve_links(Path(folder)))


def require_open(folder: Path, roots: Sequence[Path]) -> None:
    """Refuse a space whose folder is no longer below one of these roots."""
    if _resolve_links(folder) != folder or not _is_below(folder, roots):
        raise Unavailable(
            "the folder of this space is not below a root of its tenant any more, or is a "
            "symbolic link now",
            retryable=False,
            hint=HINT,
        )


def _admit(text: str, roots: Sequence[Path]) -> Path:
    if not roots:
        raise Forbidden("your tenant has no folder for spaces on this server", hint=HINT)
    real = _resolve_links(_resolve_input(text, roots))
    if not _is_below(real, roots):
        raise Forbidden(
            f"{text!r} is not below a folder for spaces of your tenant",
            field="folder",
            got=text[:200],
            allowed=[str(it) for it in roots],
            hint=HINT,
        )
    try:
        real.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise Conflict(f"{text!r} cannot be created as a folder: {why}", field="folder") from error
    return real


def _resolve_input(text: str, own: Sequence[Path]) -> Path:
    path = Path(text)
    if path.is_absolute():
        return path
    if len(own) > 1:
        raise InvalidFormat(
            'Field "folder" must be an absolute path: your tenant has several roots',
            field="folder",
            got=text[:200],
            allowed=[str(it) for it in own],
        )
    return own[0] / path


def _is_below(real: Path, roots: Sequence[Path]) -> bool:
    """Roots are real paths, and are never resolved again: a link in place of one does not count."""
    return any(real.is_relative_to(it) for it in roots)


def _resolve_links(path: Path) -> Path:
    """The path without links; components that do not exist yet stay."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        # An unreadable link, such as those of other processes below /proc.
        why = (error.strerror or "it failed").lower()
        raise Unavailable(
            f"the server cannot resolve {path}: {why}", retryable=False, hint=HINT
        ) from None
