"""Which folders of a server a tenant's administrators may make spaces of.

The operator gives roots to each tenant. They are asked for when a space is added and again each
time it is opened: a folder that became a link meanwhile, or left its root, is not opened.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.features.wiki.store import SQL
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, Unavailable
from pecia.kernel.store.store import Store

HINT = (
    "the operator gives a tenant a folder for spaces: pecia tenant allow TENANT --space-root PATH"
)

LookupRoots: TypeAlias = Callable[[UUID], Awaitable[Sequence[Path]]]
"""The real paths below which a tenant may have spaces. No two tenants have one in another's."""


async def no_roots(tenant_id: UUID) -> Sequence[Path]:
    """Where nobody was given any."""
    del tenant_id
    return ()


@dataclass(frozen=True, slots=True)
class SpaceRoots:
    """The roots of all tenants of a server, as they are now."""

    store: Store
    lookup: LookupRoots = no_roots

    async def admit(self, tenant_id: UUID, folder: str) -> str:
        """The real path of a folder that this tenant may serve, made where there was none."""
        return str(await run_sync(_admit, folder, await self.lookup(tenant_id)))

    async def require(self, tenant_id: UUID, folder: Path) -> None:
        """The folder is where it was when it was admitted, and may still be served."""
        await run_sync(require_open, folder, await self.lookup(tenant_id))

    async def resolve_folder(self, tenant_id: UUID, folder: Path, *, is_confined: bool) -> Path:
        """The real path of a space's folder, which may be served now.

        One that is confined is given back as it stands: resolved once more, it could be another.
        """
        if not is_confined:
            return await run_sync(_resolve_links, folder)
        await self.require(tenant_id, folder)
        return folder

    async def resolve_source_folder(self, tenant_id: UUID, source_id: str, folder: Path) -> Path:
        """The same of a space of which only the source is known."""
        asked = {"tenant_id": tenant_id, "source_id": source_id}
        async with self.store.system() as tx:
            is_confined = bool(await tx.fetch_value(SQL["is_confined"], **asked))
        return await self.resolve_folder(tenant_id, folder, is_confined=is_confined)


def require_open(folder: Path, roots: Sequence[Path]) -> None:
    """Refuse the folder of a space that is not itself below one of these any more."""
    if _resolve_links(folder) != folder or not _is_below(folder, roots):
        raise Unavailable(
            "the folder of this space is not below a root of its tenant any more, or is a "
            "symbolic link now",
            retryable=False,
            hint=HINT,
        )


def _admit(text: str, roots: Sequence[Path]) -> Path:
    if not roots:
        raise Forbidden(
            "no folder of this server is set aside for spaces of your tenant", hint=HINT
        )
    real = _resolve_links(_resolve_input(text, roots))
    if not _is_below(real, roots):
        raise Forbidden(
            f"{text!r} is not below a folder that is set aside for spaces of your tenant",
            field="folder",
            got=text[:200],
            allowed=[str(it) for it in roots],
            hint=HINT,
        )
    try:
        real.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise Conflict(f"{text!r} cannot be made a folder: {why}", field="folder") from error
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
    """Roots are real paths, and are never resolved again: a link in the place of one is none."""
    return any(real.is_relative_to(it) for it in roots)


def _resolve_links(path: Path) -> Path:
    """Without links; what is not there yet stays as it is named."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        # A link that may not be read, as those of other processes below /proc are.
        why = (error.strerror or "it failed").lower()
        raise Unavailable(
            f"the server cannot tell where {path} really lies: {why}", retryable=False, hint=HINT
        ) from None
