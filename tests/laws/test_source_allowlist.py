"""The law of folders: no tenant reads a byte that does not lie below a folder that it was given.

Folders are nested, linked, moved and exchanged for links after a source was added. What lies below
a folder is found by walking the disk without following a link, which is none of the code's ways.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.app.composition.lake import SourceConnectors, build_source_connectors
from pecia.app.connectors import CONNECTORS
from pecia.app.operator.allowlist import AllowlistChange
from pecia.app.settings import SETTINGS
from pecia.features.lake.allowlist import SQL
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.model import SourceConfig
from pecia.kernel.corpus.connector import ListedFile
from pecia.kernel.errors import PeciaError
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings, load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.conftest import house_flags
from tests.soak import SOAK

pytestmark = pytest.mark.timeout(300)

TENANTS = ("north", "south", "west")
NAMES = ("a", "b", "c")

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
tenants = st.sampled_from(TENANTS)
spellings = st.sampled_from(["{}", "{}/", "{}//", "/{}", "{}/.", "{}/../{name}"])


@dataclass(frozen=True)
class World:
    """Where folders, links and files lie, what was given to whom, and who asks for what."""

    folders: list[str]
    links: list[tuple[str, str]]
    given: list[tuple[str, str]]
    asked: list[tuple[str, str, str]]
    moves: list[tuple[str, str, str]]


worlds = st.builds(
    World,
    folders=st.lists(paths, min_size=2, max_size=8, unique=True),
    links=st.lists(st.tuples(paths, paths), max_size=4),
    given=st.lists(st.tuples(tenants, paths), min_size=1, max_size=4),
    asked=st.lists(st.tuples(tenants, paths, spellings), min_size=1, max_size=6),
    moves=st.lists(
        st.tuples(st.sampled_from(["link", "rename", "file"]), paths, paths), max_size=3
    ),
)
tried = settings(
    max_examples=2000 if SOAK else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass
class Server:
    """A store with three tenants, and the ways in which their sources are added and read."""

    portal: BlockingPortal
    store: Store
    settings: Settings
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])

    @property
    def connectors(self) -> SourceConnectors:
        credentials = SourceCredentials(self.store, Keyring.fresh())
        return build_source_connectors(self.settings, self.store, credentials, CONNECTORS)

    def give(self, rows: Sequence[tuple[str, str, str]]) -> None:
        self.portal.call(self._give, rows)

    def admits(self, tenant: str, config: SourceConfig) -> bool:
        try:
            self.portal.call(self.connectors.check, self.ids[tenant], config)
        except PeciaError:
            return False
        return True

    def bytes_of(self, tenant: str, config: SourceConfig) -> set[bytes]:
        return self.portal.call(self._bytes, self.ids[tenant], config)

    async def _give(self, rows: Sequence[tuple[str, str, str]]) -> None:
        async with self.store.system() as tx:
            await tx.execute("DELETE FROM lake.allowlist")
            for tenant, kind, value in rows:
                given = {"tenant_id": self.ids[tenant], "kind": kind, "value": value}
                await tx.execute(SQL["allow"], **given)

    async def _bytes(self, tenant_id: UUID, config: SourceConfig) -> set[bytes]:
        """All that a crawl would read, and what it reads at once besides."""
        read: set[bytes] = set()
        keys: list[str] = []
        try:
            async with self.connectors.open(tenant_id, "s", config) as place:
                async for it in place.listing():
                    keys += [it.key] if isinstance(it, ListedFile) else []
                # A file may have been listed before: who knows its name asks for it by that.
                for key in {*keys, *(f"{one}/f" for one in NAMES), "f"}:
                    try:
                        async with place.opening(key, 1000) as original:
                            read.add(original.path.read_bytes())
                    except PeciaError:
                        continue
        except PeciaError:
            return read
        return read


@pytest.fixture
def server(database: DatabaseLogins, tmp_path: Path) -> Iterator[Server]:
    flags = {**house_flags(database, tmp_path / "home"), "mode": "server"}
    settled = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    with start_blocking_portal() as portal:
        store = Store(database)
        portal.call(store.open)
        made = Server(portal, store, settled)
        portal.call(_enrol, made)
        yield made
        portal.call(store.close)


async def _enrol(server: Server) -> None:
    async with server.store.system() as tx:
        for name in TENANTS:
            server.ids[name] = await tx.fetch_value("SELECT kernel.create_tenant(%(n)s)", n=name)


def build(base: Path, world: World) -> None:
    for at, name in enumerate(world.folders):
        (base / name).mkdir(parents=True, exist_ok=True)
        (base / name / "f").write_bytes(f"{at}".encode())
    for link, target in world.links:
        if not os.path.lexists(base / link) and (base / link).parent.is_dir():
            (base / link).symlink_to(base / target)


def move(base: Path, moves: Sequence[tuple[str, str, str]]) -> None:
    """What somebody with a shell does behind the back of the server."""
    for kind, one, other in moves:
        source, target = base / one, base / other
        if kind == "rename" and source.is_dir() and not os.path.lexists(target):
            try:
                source.rename(target)
            except OSError:
                continue
        elif kind == "link" and source.is_dir() and not source.is_symlink():
            shutil.rmtree(source)
            source.symlink_to(target)
        elif kind == "file" and (source / "f").is_file():
            (source / "f").unlink()
            (source / "f").symlink_to(target / "f")


def below(folder: Path) -> set[bytes]:
    """The files that really lie below a folder, if the folder really is where it says."""
    if not folder.is_dir() or os.path.realpath(folder) != str(folder):
        return set()
    found: set[bytes] = set()
    for at, _, names in os.walk(folder):
        plain = [Path(at) / it for it in names if not (Path(at) / it).is_symlink()]
        found |= {it.read_bytes() for it in plain}
    return found


def config_of(base: Path, path: str, spelling: str) -> SourceConfig:
    name = path.rpartition("/")[2]
    spelled = spelling.format(
        f"{base}/{path}".lstrip("/") if spelling[0] == "/" else f"{base}/{path}", name=name
    )
    return SourceConfig(origin={"kind": "folder", "folder": spelled, "confined": True})


@tried
@given(worlds)
def test_no_tenant_reads_a_byte_that_does_not_lie_below_what_it_was_given(
    server: Server, world: World
) -> None:
    base = Path(tempfile.mkdtemp()).resolve()
    try:
        build(base, world)
        rows = [
            (tenant, kind, value)
            for tenant, path in world.given
            for kind, value in AllowlistChange(folders=[str(base / path)]).rows()
        ]
        server.give(rows)
        asked = [(who, path, config_of(base, path, how)) for who, path, how in world.asked]
        for who, _, config in asked:
            # As it is spelled: `..` after a link leads to the parent of what the link names.
            real = Path(os.path.realpath(str(config.origin["folder"])))
            is_given = any(real.is_relative_to(it) for t, _, it in rows if t == who)
            # What was given works, whatever it is called; what is not there is refused with it.
            assert server.admits(who, config) == (is_given and real.is_dir())
            if is_given and real.is_dir():
                assert below(real) <= server.bytes_of(who, config)
        move(base, world.moves)
        for who, _, config in asked:
            mine = [below(Path(value)) for tenant, _, value in rows if tenant == who]
            assert server.bytes_of(who, config) <= set[bytes]().union(*mine)
    finally:
        shutil.rmtree(base)
