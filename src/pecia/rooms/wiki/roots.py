"""Which folders of a server a tenant's administrators may make spaces of.

The operator names roots for each tenant. They are asked for when a space is added and again each
time it is opened: a folder that became a link meanwhile, or left its root, is not opened.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, Unavailable
from pecia.kernel.store.store import Store
from pecia.rooms.wiki.space import SQL

HINT = "the operator names them in the setting wiki.roots, as TENANT=/PATH"


@dataclass(frozen=True, slots=True)
class Root:
    """A folder below which one tenant may have spaces."""

    tenant: str
    folder: Path

    @classmethod
    def read(cls, text: str) -> "Root":
        """`TENANT=/PATH`, which the settings have checked."""
        tenant, _, folder = text.partition("=")
        return cls(tenant, Path(folder))


@dataclass(slots=True)
class SpaceRoots:
    """The roots of all tenants of a server."""

    store: Store
    roots: Sequence[Root] = ()
    _tenants: dict[UUID, str] = field(default_factory=dict[UUID, str])

    async def admit(self, tenant_id: UUID, folder: str) -> str:
        """The real path of a folder that this tenant may serve, made where there was none."""
        tenant = await self._tenant(tenant_id)
        return str(await run_sync(_admitted, tenant, folder, self.roots))

    async def require(self, tenant_id: UUID, folder: Path) -> None:
        """The folder is where it was when it was admitted, and may still be served."""
        tenant = await self._tenant(tenant_id)
        if not await run_sync(_is_open, tenant, folder, self.roots):
            raise Unavailable(
                "the folder of this space is not below a root of its tenant any more, or is a "
                "symbolic link now",
                hint=HINT,
            )

    async def require_source(self, tenant_id: UUID, source_id: str, folder: Path) -> None:
        """The same of a space of which only the source is known."""
        asked = {"tenant_id": tenant_id, "source_id": source_id}
        async with self.store.system() as tx:
            is_confined = await tx.value(SQL["is_confined"], **asked)
        if is_confined:
            await self.require(tenant_id, folder)

    async def _tenant(self, tenant_id: UUID) -> str:
        if tenant_id not in self._tenants:
            async with self.store.system() as tx:
                name = await tx.value(SQL["tenant_name"], tenant_id=tenant_id)
            self._tenants[tenant_id] = str(name)
        return self._tenants[tenant_id]


def _admitted(tenant: str, text: str, roots: Sequence[Root]) -> Path:
    own = [it.folder for it in roots if it.tenant == tenant]
    if not own:
        raise Forbidden(
            "no folder of this server is set aside for spaces of your tenant", hint=HINT
        )
    real = _real(_meant(text, own))
    if not _belongs(tenant, real, roots):
        raise Forbidden(
            f"{text!r} is not below a folder that is set aside for spaces of your tenant",
            field="folder",
            got=text[:200],
            allowed=[str(it) for it in own],
            hint=HINT,
        )
    try:
        real.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or "it failed").lower()
        raise Conflict(f"{text!r} cannot be made a folder: {why}", field="folder") from error
    return real


def _meant(text: str, own: Sequence[Path]) -> Path:
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


def _is_open(tenant: str, folder: Path, roots: Sequence[Root]) -> bool:
    return _real(folder) == folder and _belongs(tenant, folder, roots)


def _belongs(tenant: str, real: Path, roots: Sequence[Root]) -> bool:
    """Whether the innermost root around it is this tenant's, and no other tenant's lies in it."""
    places = [(it.tenant, _real(it.folder)) for it in roots]
    around = [it for it in places if real.is_relative_to(it[1])]
    innermost = max((len(place.parts) for _, place in around), default=0)
    owners = {owner for owner, place in around if len(place.parts) == innermost}
    holds_others = any(owner != tenant and place.is_relative_to(real) for owner, place in places)
    return owners == {tenant} and not holds_others


def _real(path: Path) -> Path:
    """Without links; what is not there yet stays as it is named."""
    return Path(os.path.realpath(path))
