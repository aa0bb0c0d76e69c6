"""Keys, tokens and passwords in what is to be remembered: replaced, refused or marked."""

from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import Unprocessable
from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import Memories, open_memories

pytestmark = pytest.mark.anyio

SECRET = "ghp_q7Zr2Lw9XkT4vB6nM8sD1fG3hJ5kP0aQ2eRt"
TEXT = f"The deploy bot of staging uses the token {SECRET} for pushes."
TRACE = {"id": "t1", "steps": [{"type": "thought", "content": f"The token is {SECRET}, I think."}]}


async def say_everywhere(memories: Memories) -> list[str]:
    """The secret through every tool that stores; the codes of those that refuse it."""
    bo = memories.bo
    made = await memories.remember(bo, "The bot pushes.")
    tools: list[tuple[str, dict[str, Any]]] = [
        (
            "cipher_extract_and_operate_memory",
            {
                "interaction": [TEXT, f"```\nexport GH_TOKEN={SECRET}\n```"],
                "memoryMetadata": {"note": SECRET},
                "knowledgeInfo": {"codePattern": f"token={SECRET}"},
            },
        ),
        ("cipher_workspace_store", {"interaction": f"Bo is blocked: {TEXT}"}),
        ("ask_cipher", {"message": f"Please remember: {TEXT}"}),
        ("memory_import", {"memories": [{"text": TEXT, "note": SECRET}]}),
        ("memory_edit", {"id": made["memory"][0]["id"], "text": TEXT}),
        ("cipher_store_reasoning_memory", {"trace": TRACE, "evaluation": {"qualityScore": 1}}),
    ]
    refused: list[str] = []
    for tool, asked in tools:
        try:
            await memories.call(bo, tool, **asked)
        except Unprocessable:
            refused.append(tool)
    return refused


async def rows_with(memories: Memories, secret: str) -> list[str]:
    """The tables that hold these words anywhere."""
    await memories.app.audit_log.drain()
    found: list[str] = []
    async with memories.app.store.system() as tx:
        tables = await tx.fetch_all(
            "SELECT format('%%I.%%I', table_schema, table_name) AS name"
            " FROM information_schema.tables"
            " WHERE table_schema IN ('kernel', 'memory') AND table_type = 'BASE TABLE'"
        )
        for table in tables:
            sql: Any = f"SELECT 1 FROM {table['name']} AS t WHERE t::text LIKE %(like)s LIMIT 1"
            if await tx.fetch_optional(sql, like=f"%{secret}%"):
                found.append(table["name"])
    return found


@pytest.mark.parametrize("policy", ["redact", "refuse"])
async def test_no_table_holds_a_secret_that_is_redacted_or_refused(
    database: DatabaseLogins, tmp_path: Path, policy: str
) -> None:
    flags = {"memory.secrets": policy}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        refused = await say_everywhere(memories)
        assert bool(refused) is (policy == "refuse")
        assert await rows_with(memories, SECRET) == []
        listed = await memories.listed(memories.bo)
        assert any("ghp_[redacted]" in it for it in listed) is (policy == "redact")


async def test_a_refused_text_is_told_with_the_reason(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    flags = {"memory.secrets": "refuse"}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        made = await memories.remember(memories.bo, TEXT, "The bot pushes.")
        assert [it["action"] for it in made["summary"]] == ["NONE", "ADD"]
        assert "`refuse`" in made["summary"][0]["reason"]
        assert SECRET not in str(made)


async def test_a_marked_text_is_stored_as_it_is(database: DatabaseLogins, tmp_path: Path) -> None:
    flags = {"memory.secrets": "mark"}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        await memories.remember(memories.bo, TEXT)
        [kept] = (await memories.call(memories.bo, "memory_list"))["memories"]
        assert (kept["text"], kept["metadata"]["has_secret"]) == (TEXT, True)


TOLD = [
    ("The secret access key wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY", "wJalr"),
    ("My API key, 9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d, expires soon.", "9f8b7c"),
    ('The password is "correct horse battery staple".', "horse"),
    ("Our passphrase: correct horse battery staple", "horse"),
    ("The wifi password is correct horse battery staple.", "horse"),
    ("Пароль от сервера: Zima2024!", "Zima"),
    ("Het wachtwoord van de router is Fietsbel88!", "Fietsbel"),
    ("A senha do wifi é Gato2024x", "Gato"),
]
NOT_TOLD = [
    "The password is stored encrypted on the server.",
    "The password is changed every month by hand.",
    "The password is eight characters long minimum.",
    'The password is "too short" says the form.',
    "Our password manager is Bitwarden Families Edition Plus.",
    "The access token validation_service_production_cluster expires.",
    "The private key is on the YubiKey5C.",
]


@pytest.mark.parametrize(("text", "secret"), TOLD)
async def test_a_secret_told_in_any_words_is_not_stored(
    memories: Memories, text: str, secret: str
) -> None:
    await memories.remember(memories.bo, text)
    [kept] = (await memories.call(memories.bo, "memory_list"))["memories"]
    assert secret not in kept["text"]
    assert "[redacted]" in kept["text"]


@pytest.mark.parametrize("text", NOT_TOLD)
async def test_a_sentence_about_a_secret_is_stored_as_it_is(memories: Memories, text: str) -> None:
    await memories.remember(memories.bo, text)
    assert await memories.listed(memories.bo) == [text]
