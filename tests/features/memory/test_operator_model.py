"""The operator's model behind the memory tools: for whom it answers, and what it is told."""

from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import open_memories
from tests.provider import LoopbackProvider, Says

pytestmark = pytest.mark.anyio

KEY = "operator-key-0123456789"


async def test_the_model_of_the_operator_decides_and_answers_for_those_who_may_use_it(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    verdict = '{"operation": "ADD", "confidence": 1}'
    with LoopbackProvider(Says(verdict), Says("On port 6543.")) as provider:
        flags = {
            "ckf.operator_url": provider.url,
            "ckf.operator_model": "tiny",
            "ckf.operator_key": KEY,
        }
        async with open_memories(database, tmp_path / "home", **flags) as memories:
            owner, member = memories.ana, memories.bo
            await memories.remember(owner, "Staging listens on port 6543.")
            told = await memories.remember(owner, "Staging listens on port 6543 since May.")
            assert told["summary"][0]["qualitySource"] == "llm"
            said = await memories.call(owner, "ask_cipher", message="Which port has staging?")
            assert (said["response"], said["usedModel"]) == ("On port 6543.", True)
            # Who may not have it is served without, and told why.
            plain = await memories.call(member, "ask_cipher", message="Which port has staging?")
            assert plain["usedModel"] is False
            assert "admins and the allowlist" in plain["note"]
            assert len(provider.requests) == 2
            async with memories.app.store.system() as tx:
                rows = await tx.fetch_all("SELECT a::text AS said FROM kernel.audit a")
            assert not any(KEY in it["said"] for it in rows)
