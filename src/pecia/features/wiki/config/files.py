"""The two configuration files: read on every call, written whole."""

from dataclasses import dataclass
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.config.merge import ConfigPatch, ConfigTexts, EffectiveConfig, merge_config
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.storage import disk
from pecia.features.wiki.store import SQL, Space
from pecia.kernel.errors import Collision, InvalidFormat, NotFound, Unavailable
from pecia.kernel.identity.caller import Caller, CredentialKind
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call

PROJECT_FILE = ".pecia/config.yml"
IMPORTED_FILE = ".ok/config.yml"
MAX_CONFIG_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """`user_file` is that of the machine's owner."""

    store: Store
    user_file: Path

    async def read(self, tx: Transaction, caller: Caller, space: Space) -> ConfigTexts:
        """Both files, in a transaction of the caller."""
        stored = await self.load_stored(tx, caller)
        return await run_sync(self.read_texts, space.folder, stored)

    async def load_stored(self, tx: Transaction, caller: Caller) -> str | None:
        """The record of a caller with a token; None for the machine's owner, who has a file."""
        if caller.kind is CredentialKind.LOCAL:
            return None
        return await tx.fetch_value(SQL["my_config"]) or ""

    def read_texts(self, project: Path, stored: str | None) -> ConfigTexts:
        """The project's file, and the user's, which `load_stored` gave. Blocking."""
        user = _read_file(self.user_file) if stored is None else stored
        return ConfigTexts(read_project(project), user)

    async def load_effective(self, call: Call, space: Space) -> EffectiveConfig:
        """The effective configuration; an error says where the project's file is invalid."""
        async with self.store.reading(call.caller) as tx:
            files = await self.read(tx, call.caller, space)
        return merge_files(files)

    async def write(
        self, tx: Transaction, caller: Caller, space: Space, was: ConfigTexts, done: ConfigPatch
    ) -> None:
        """In a caller's write transaction. Collision if a file is not as it `was`."""
        if done.scope == "project":
            await run_sync(_write_project, space.folder, was.project, done.text)
        elif caller.kind is CredentialKind.LOCAL:
            await run_sync(_write_user, self.user_file, was.user, done.text)
        else:
            await tx.execute(SQL["set_my_config"], yaml=done.text)


def merge_files(files: ConfigTexts) -> EffectiveConfig:
    """The same, of texts that were read already."""
    try:
        return merge_config(files)
    except InvalidConfig as error:
        it = error.problem
        raise InvalidFormat(
            f"{PROJECT_FILE}: {it.message}", field="config", hint=it.hint, problem=it.to_json()
        ) from None


def read_project(folder: Path) -> str:
    for name in (PROJECT_FILE, IMPORTED_FILE):
        try:
            return disk.read(folder, name, MAX_CONFIG_BYTES).decode(errors="replace")
        except NotFound:
            continue
    return ""


def _read_file(path: Path) -> str:
    try:
        # One byte over the limit: a file that is too long is refused, not truncated.
        return path.read_bytes()[: MAX_CONFIG_BYTES + 1].decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _write_project(folder: Path, was: str, text: str) -> None:
    known = _read_if_there(folder, PROJECT_FILE)
    # Without a file of its own, the project uses the imported one.
    if read_project(folder) != was:
        raise Collision(f"{PROJECT_FILE} was changed meanwhile; read it again", path=PROJECT_FILE)
    disk.replace(folder, PROJECT_FILE, text.encode(), known)


def _write_user(path: Path, was: str, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Unavailable(f"{path.parent}: {error.strerror}") from error
    # The owner's own file: links on its path are the owner's choice.
    folder = path.parent.resolve()
    known = _read_if_there(folder, path.name)
    if _read_file(path) != was:
        raise Collision(f"{path} was changed meanwhile; read it again", path=path.name)
    disk.replace(folder, path.name, text.encode(), known)


def _read_if_there(folder: Path, name: str) -> bytes | None:
    try:
        return disk.read(folder, name)
    except NotFound:
        return None
