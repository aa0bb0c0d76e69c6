"""Git remotes of spaces: what their tenant may reach, with the sealed credential of the space."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.adapters.connectors.access import egress_guard, require_reachable
from pecia.adapters.connectors.filesystem.bounds import FolderBounds, require_folder
from pecia.adapters.connectors.git import (
    GIT,
    GitOptions,
    GitOrigin,
    hold_clone_lock,
    parse_token,
    tenant_copies,
)
from pecia.adapters.git.fetch import GitCredentials, GitFetchPolicy, check_ssh_host
from pecia.adapters.git.remote import RemoteBranch, require_branch_name
from pecia.app.composition.lake import load_effective_allowlist
from pecia.features.lake.credentials import SQL as CREDENTIAL_SQL
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.settings import LakeSettings
from pecia.features.wiki.remote.port import RemoteAccess, RemoteAddress
from pecia.kernel.corpus.connector_kind import ConnectorContext, FetchOptions
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.feature import FeatureContext
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store, Transaction

KEY_BEGIN = "-----BEGIN"


@dataclass(frozen=True, slots=True)
class SpaceRemotes:
    """Opens, checks and authenticates remotes of spaces. Allowed is what sources may read, too."""

    settings: Settings
    store: Store
    credentials: SourceCredentials

    @asynccontextmanager
    async def open(self, address: RemoteAddress) -> AsyncGenerator[RemoteBranch]:
        context = await self._context(address.tenant_id)
        name = sha256(f"{address.source_id}\n{address.url}".encode()).hexdigest()[:24]
        home = self.settings.kernel.home
        copy = tenant_copies(home, address.tenant_id) / f"space-{name}"
        login = await self._login(address)
        policy = self._policy(context, address)
        async with hold_clone_lock(copy):
            yield RemoteBranch(address.url, copy, address.branch, policy, login)

    async def require(self, address: RemoteAddress) -> None:
        """Refuse an address that no sync could open."""
        context = await self._context(address.tenant_id)
        origin = _parse_origin(address)
        if origin.local_path is not None:
            bounds = _bounds(context, address)
            await run_sync(require_folder, Path(origin.local_path), bounds, "url")
        elif urlsplit(origin.url).scheme == "ssh":
            check_ssh_host(origin.url, self._policy(context, address))
        else:
            require_reachable(context, origin.url, field="url")
        if address.branch is not None:
            require_branch_name(address.branch)

    async def seal(self, tx: Transaction, address: RemoteAddress, text: str) -> None:
        if text.lstrip().startswith(KEY_BEGIN):
            _ssh_credentials(address.url, text)
        else:
            GIT.parse_login(text)
        await self.credentials.seal(tx, address.tenant_id, address.source_id, text)

    async def forget(self, tx: Transaction, source_id: str) -> None:
        await tx.fetch_value(CREDENTIAL_SQL["drop_credential"], source_id=source_id)

    def _policy(self, context: ConnectorContext, address: RemoteAddress) -> GitFetchPolicy:
        home = self.settings.kernel.home
        return GitFetchPolicy(
            egress_guard(context),
            _bounds(context, address).folders,
            ssh_home=Path.home() if context.allowlist.is_local else home,
            authorities=context.fetch.authorities,
        )

    async def _login(self, address: RemoteAddress) -> GitCredentials | None:
        text = await self.credentials.open(address.tenant_id, address.source_id)
        if text is None:
            return None
        if text.lstrip().startswith(KEY_BEGIN):
            return _ssh_credentials(address.url, text)
        login = parse_token(text)
        return GitCredentials(login.user, login.secret)

    async def _context(self, tenant_id: UUID) -> ConnectorContext:
        allowlist = await load_effective_allowlist(self.settings, self.store, tenant_id)
        fetch = FetchOptions(self.settings.part(LakeSettings).authorities)
        return ConnectorContext(tenant_id, (), (), 0, allowlist, fetch, self.settings, self.store)


def build_remote_access(context: FeatureContext) -> RemoteAccess:
    """What the wiki needs for its remotes."""
    credentials = SourceCredentials(context.store, context.keyring)
    remotes = SpaceRemotes(context.settings, context.store, credentials)
    return RemoteAccess(remotes.open, remotes)


def _parse_origin(address: RemoteAddress) -> GitOrigin:
    try:
        return GitOptions(git=address.url).build_origin(address.source_id)
    except InvalidFormat as error:
        raise InvalidFormat(
            error.message.replace('Field "git"', 'Field "url"'),
            field="url",
            got=error.fields.get("got"),
            expected=error.fields.get("expected"),
            hint="a token is given as `credential`, and kept sealed",
        ) from None


def _bounds(context: ConnectorContext, address: RemoteAddress) -> FolderBounds:
    """Folders for sources are only read; a repository that is pushed to lies below a root for
    spaces, which are written."""
    allowed = context.allowlist
    if allowed.is_local and not address.confined:
        return FolderBounds(None, allowed.closed)
    read = () if address.pushes else allowed.folders
    return FolderBounds((*read, *allowed.space_roots), allowed.closed)


def _ssh_credentials(url: str, key: str) -> GitCredentials:
    parts = urlsplit(url)
    if parts.scheme != "ssh":
        raise InvalidFormat(
            "a private key is for a remote with an ssh URL",
            field="credential",
            expected="TOKEN, or USER:TOKEN",
        )
    text = key if key.endswith("\n") else f"{key}\n"
    return GitCredentials(parts.username or "git", text, is_key=True)
