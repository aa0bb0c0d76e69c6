"""What a caller sees equals the cascade of the layers that this caller may read, at every tool."""

import random
import tempfile
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.errors import Json, PeciaError
from tests.features.cascade_fixture import CascadeClient, asking, caller
from tests.laws.cascade_worlds import QUESTIONS, USERS, made_world, settled
from tests.soak import SOAK

COUNT = 500 if SOAK else 12


async def answer(it: CascadeClient, user: str, tool: str, arguments: dict[str, Json]) -> str:
    try:
        return settled(await it.ask(tool, caller(user), **arguments))
    except PeciaError as error:
        return settled({**error.payload(), "message": error.message})


async def compare(seed: int, folder: Path) -> None:
    world = made_world(random.Random(seed))
    whole = asking(world.write(folder / "whole"), folder / "spool")
    for user in USERS:
        manifest = world.write_for(user, folder / user)
        if manifest is None:
            assert "NOT_FOUND" in await answer(whole, user, "list_concepts", {})
            continue
        alone = asking(manifest, folder / f"spool-{user}")
        for tool, arguments in QUESTIONS:
            seen = await answer(whole, user, tool, arguments)
            assert seen == await answer(alone, user, tool, arguments), (user, tool, arguments)


@settings(max_examples=COUNT, deadline=None)
@given(st.integers(0, 1_000_000))
def test_what_a_caller_sees_is_the_cascade_of_the_layers_they_may_read(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(compare, seed, Path(folder))
