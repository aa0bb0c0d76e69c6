"""The model that a session brings: whose key goes where, and who may name another server."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pecia.interfaces.mcp.views.cipher import cipher_options, cipher_view
from pecia.kernel.errors import Json
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.call import Call
from tests.conftest import CONTEXT
from tests.features.memory.conftest import Memories, open_memories, with_mind
from tests.provider import LoopbackProvider, Says

pytestmark = pytest.mark.anyio

OURS, THEIRS = "operator-key-0123456789", "session-key-0123456789"


def bringing(memories: Memories, **session: Json) -> Memories:
    named = {name.replace("__", "."): value for name, value in session.items()}
    return replace(memories, session={**memories.session, **named})


async def asked(memories: Memories, who: Any) -> dict[str, Any]:
    return await memories.call(who, "ask_cipher", message="Which port has staging?")


@pytest.mark.requirement("memory.trouble.key_not_found")
async def test_a_session_has_its_own_model_and_no_key_of_ours_goes_there(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    with LoopbackProvider(Says("Ours.")) as ours, LoopbackProvider(Says("Theirs.")) as theirs:
        flags = {
            "ckf.operator_url": ours.url,
            "ckf.operator_model": "tiny",
            "ckf.operator_key": OURS,
        }
        async with open_memories(database, tmp_path / "home", **flags) as memories:
            there: dict[str, Json] = {"ckf__operator_url": theirs.url, "ckf__operator_model": "x"}
            own = bringing(memories, **there)
            assert (await asked(own, memories.ana))["response"] == "Theirs."
            assert theirs.requests[-1].places_of(OURS) == []
            keyed = bringing(memories, **there, ckf__operator_key=THEIRS)
            assert (await asked(keyed, memories.ana))["response"] == "Theirs."
            assert theirs.requests[-1].places_of(THEIRS) == ["header authorization"]
            # Who has no more than a token does not choose where this server sends requests.
            said = await asked(keyed, memories.bo)
            assert "only the owner and administrators" in said["note"]
            assert len(theirs.requests) == 2
            # A provider that a session chose, whose key is nowhere.
            none = bringing(memories, ckf__operator_provider="openai")
            assert (await asked(none, memories.ana))["note"] == "OPENAI_API_KEY not found"
            assert (await asked(memories, memories.ana))["response"] == "Ours."
            assert len(ours.requests) == 1


@dataclass(slots=True)
class Patient:
    """A model that notes how long it is waited for."""

    waited_s: list[float] = field(default_factory=list[float])

    async def say(self, call: Call, system: str, message: str, *, timeout_s: float) -> str:
        self.waited_s.append(timeout_s)
        return "Well."


@pytest.mark.requirement("hub.timeout.heavy_block")
async def test_a_session_that_allows_more_time_allows_it_to_the_model(memories: Memories) -> None:
    mind = Patient()
    heard = with_mind(memories, mind)
    tools = [*heard.app.full_view.tools.values()]
    for session in ({}, {"hub.timeout_s": 300.0}, {"AGGREGATOR_TIMEOUT": "60000"}):
        view = cipher_view(tools, [], cipher_options(heard.app.settings, session))
        asked: dict[str, Json] = {"message": "Which port has staging?"}
        await heard.app.call(memories.ana, "ask_cipher", asked, CONTEXT, view)
    usual, long, short = mind.waited_s
    assert usual == 120
    assert 200 < long <= 240
    assert 30 < short <= 60


@pytest.mark.requirement("memory.trouble.key_not_found")
async def test_a_provider_that_the_operator_chose_without_its_key_is_told_when_used(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    flags = {"ckf.operator_provider": "anthropic"}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        assert (await asked(memories, memories.ana))["note"] == "ANTHROPIC_API_KEY not found"
