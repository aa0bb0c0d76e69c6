"""Rights hold in the lake through the interfaces: HTTP and MCP say what the oracle says.

Tools are held to the same law as inside; resources, completions and capacity are asked here only.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import open_pecia
from tests.laws.facts import Tenant
from tests.laws.lake_clients import Http, Mcp, with_hashing
from tests.laws.lake_law import Tally, TokenHolder, check, check_extras
from tests.laws.lake_twins import worlds_to_tell_apart
from tests.laws.law_database import connect
from tests.laws.oracle import caller
from tests.laws.paths import SystemPath
from tests.laws.sql import Names, bearer
from tests.laws.test_lake_rights import LakeApp, add
from tests.soak import FIRST, SOAK, WORLDS, record

SHARE = 25
# A call through an interface takes longer than a direct one.
OTHERS = 100 if SOAK else 1
# The worlds' own, and that of the embedder here.
VECTORS_A_FILE = 2


@dataclass(frozen=True, slots=True)
class ServedLake:
    shore: LakeApp
    client: httpx.AsyncClient

    def check(self, tenant: Tenant, names: Names, credential: str, chance: Random) -> Tally:
        """One token, at a random interface; resources and the like where they are served."""
        http, mcp = Http(self.client), Mcp(self.client)
        token = bearer(names, credential)
        call = self.shore.portal.call
        total = call(check, chance.choice((http, mcp)), tenant, credential, token, chance)
        who = caller(tenant, credential)
        if who is not None and who.is_member and "pecia.read" in who.scopes:
            visitor = TokenHolder(http, token, who, total)
            call(check_extras, http, mcp, visitor, VECTORS_A_FILE)
        return total


@pytest.fixture
def harbour(database: DatabaseLogins, tmp_path: Path) -> Iterator[ServedLake]:
    with start_blocking_portal() as portal, connect(database.system) as system:
        opening = open_pecia(database, tmp_path / "home", mounts=[mount_mcp], change=with_hashing)
        with portal.wrap_async_context_manager(opening) as pecia:
            yield ServedLake(LakeApp(pecia.app, portal, SystemPath(system)), pecia.http)


@pytest.mark.timeout(0 if SOAK else 120)
def test_rights_hold_through_every_interface(harbour: ServedLake) -> None:
    total, shore = Tally(), harbour.shore
    for seed, chance, world, member in islice(worlds_to_tell_apart(FIRST), max(1, WORLDS // SHARE)):
        names = shore.load(world, chance)
        shore.switch_off(world, names, chance)
        shore.settle(world, names)
        try:
            others = [it for it in world.credentials if it != member]
            for tenant, credential in (member, *others[:OTHERS]):
                add(total, harbour.check(tenant, names, credential, chance))
        except AssertionError as error:
            error.add_note(f"in the world of seed {seed}: {world}")
            raise
        total.worlds += 1
    assert total.hits
    assert total.refusals
    record("search-interfaces", {**asdict(total), "first_seed": FIRST})
