"""Personal data in what is to be remembered: kept, marked, replaced or refused."""

from pathlib import Path
from typing import Any

import pytest

from pecia.features.memory.core.screen.personal_data import find_personal_data, hide_personal_data
from pecia.kernel.errors import Unprocessable
from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import Memories, open_memories
from tests.features.memory.test_secrets import rows_with

IBAN = "DE89370400440532013000"
TEXT = f"Refunds of the canteen go to {IBAN}."
FOUND = [
    ("Ana's card is 4539 1488 0343 6467.", "credit_card"),
    ("The refund account is GB82 WEST 1234 5698 7654 32.", "iban"),
    ("Her number at social security is 460-89-9847.", "us_ssn"),
    ("Write to ana.maria+x@example.org about it.", "email_address"),
    ("Call me at 905-674-3793 after lunch.", "phone_number"),
    ("The desk has +46 (0)8 928 571 38 as its number.", "phone_number"),
    ("Mein Telefon: 0351 4567890", "phone_number"),
    ("Blocked 106.31.73.20 this morning.", "ip_address"),
    ("Blocked 2001:db8::8a2e:370:7334 this morning.", "ip_address"),
    ("Ana's card is 4111 1111 1111 1111.", "credit_card"),
    ("Ana's card is 4111111111111111.", "credit_card"),
    ("Ana's card is 5555 5555 5555 4444.", "credit_card"),
]
# The same data in other signs; nothing of it may stay, and nothing beside it may go.
DISGUISED = [
    ("4539\u00a01488\u202f0343\u20096467", "credit_card"),
    ("4539\u30001488\u16800343\u20076467", "credit_card"),
    ("4539\u20111488\u20100343\u20116467", "credit_card"),
    ("４５３９ １４８８ ０３４３ ６４６７", "credit_card"),
    ("4539\u200b1488\u200d03\u00ad43\u20606467", "credit_card"),
    ("4\ufe0f\u20e3539148803436467", "credit_card"),
    ("GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032", "iban"),
    ("460\u201189\u20119847", "us_ssn"),
    ("x@münchen.de", "email_address"),
    ("x@mu\u0308nchen.de", "email_address"),
    ("x@उदाहरण.भारत", "email_address"),
    ("x@xn--mnchen-3ya.xn--p1ai", "email_address"),
    ("ana＠example．org", "email_address"),
    ("ana@exa\u200bmple.org", "email_address"),
    ("+46\u00a08\u00a0928\u00a0571\u00a038", "phone_number"),
    ("１０６.31.73.20", "ip_address"),
]
ABSENT = [
    "Invoice 4711 was paid on 2026-03-03 at 10:45:00.",
    "The order number is 4539148803436468.",
    "Build 1.2.3 replaced 1.2.2 on 03.04.2026.",
    "The server listens on 127.0.0.1:8080 and port 6543.",
    "The driver's license number is 6940579.",
    "IBAN DE89370400440532013001 has a wrong check digit.",
    "The mask is 1100000000000011 and the count is 400000000000.",
    "Follow @example in commit 0123456789abcdef0123.",
    "The memory 01930123-4567-7890-8123-456789012345 was superseded.",
]


@pytest.mark.parametrize(("text", "kind"), FOUND)
def test_it_is_found_by_its_shape(text: str, kind: str) -> None:
    assert [it.kind for it in find_personal_data(text)] == [kind]
    hidden = hide_personal_data(text)
    assert f"[{kind}]" in hidden
    assert hide_personal_data(hidden) == hidden


@pytest.mark.parametrize(("data", "kind"), DISGUISED)
def test_it_is_found_in_other_signs(data: str, kind: str) -> None:
    assert hide_personal_data(f"½ of it… \u200b{data}, ﬁne — „é“.") == (
        f"½ of it… \u200b[{kind}], ﬁne — „é“."
    )


def test_a_sign_without_width_may_also_part_words() -> None:
    assert hide_personal_data("Card\u200b4539 1488 0343 6467") == "Card\u200b[credit_card]"


@pytest.mark.parametrize("text", ABSENT)
def test_other_numbers_are_left_as_they_are(text: str) -> None:
    assert hide_personal_data(text) == text


def test_hostile_digits_are_searched_in_linear_time() -> None:
    assert find_personal_data("1 " * 20_000 + "a:" * 20_000 + "@" * 20_000) == []


async def store_everywhere(memories: Memories) -> list[str]:
    """The number through every tool that stores; those that refuse it."""
    bo = memories.bo
    made = await memories.remember(bo, "The canteen refunds.")
    tools: list[tuple[str, dict[str, Any]]] = [
        (
            "cipher_extract_and_operate_memory",
            {"interaction": [TEXT], "memoryMetadata": {"note": IBAN}},
        ),
        ("cipher_workspace_store", {"interaction": f"Bo is blocked: {TEXT}"}),
        ("ask_cipher", {"message": f"Please remember: {TEXT}"}),
        ("memory_import", {"memories": [{"text": TEXT, "note": IBAN}]}),
        ("memory_edit", {"id": made["memory"][0]["id"], "text": TEXT}),
    ]
    refused: list[str] = []
    for tool, asked in tools:
        try:
            await memories.call(bo, tool, **asked)
        except Unprocessable:
            refused.append(tool)
    return refused


@pytest.mark.anyio
@pytest.mark.parametrize("policy", ["redact", "refuse"])
async def test_no_table_holds_what_is_redacted_or_refused(
    database: DatabaseLogins, tmp_path: Path, policy: str
) -> None:
    flags = {"memory.personal_data": policy}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        refused = await store_everywhere(memories)
        assert bool(refused) is (policy == "refuse")
        assert await rows_with(memories, IBAN) == []
        listed = await memories.listed(memories.bo)
        assert any("[iban]" in it for it in listed) is (policy == "redact")
        made = await memories.remember(memories.bo, f"Again: {TEXT}")
        if policy == "refuse":
            assert "memory.personal_data" in made["summary"][0]["reason"]


@pytest.mark.anyio
@pytest.mark.parametrize(("policy", "marks"), [("mark", ["iban"]), ("keep", None)])
async def test_it_is_marked_or_kept(
    database: DatabaseLogins, tmp_path: Path, policy: str, marks: list[str] | None
) -> None:
    flags = {"memory.personal_data": policy}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        await memories.remember(memories.bo, TEXT)
        [it] = (await memories.call(memories.bo, "memory_list"))["memories"]
        assert (it["text"], it["metadata"].get("has_personal_data")) == (TEXT, marks)


async def _marks(memories: Memories, id_: str) -> tuple[bool, list[str] | None]:
    found = (await memories.call(memories.bo, "memory_get", id=id_))["memory"]["metadata"]
    return "has_secret" in found, found.get("has_personal_data")


@pytest.mark.anyio
async def test_marks_are_those_of_the_text_that_took_the_place(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    flags = {"memory.personal_data": "mark", "memory.secrets": "mark"}
    secret = "The password of the router is hunter2-Blue."
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        bo = memories.bo
        made = await memories.remember(bo, f"{TEXT} {secret}")
        first = made["memory"][0]["id"]
        assert await _marks(memories, first) == (True, ["iban"])
        edited = await memories.call(bo, "memory_edit", id=first, text="Refunds go to the canteen.")
        second = edited["memory"]["id"]
        assert await _marks(memories, second) == (False, None)
        edited = await memories.call(bo, "memory_edit", id=second, text=TEXT, tags=["money"])
        third = edited["memory"]["id"]
        assert await _marks(memories, third) == (False, ["iban"])
        page = (await memories.call(bo, "memory_page"))["text"]
        saved = await memories.call(bo, "memory_page_save", text=page.replace(IBAN, "the safe"))
        assert await _marks(memories, saved["changed"][third]) == (False, None)
        assert await _marks(memories, first) == (True, ["iban"])


@pytest.mark.anyio
async def test_a_correction_has_no_marks_of_what_it_corrects(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    flags = {"memory.personal_data": "mark"}
    async with open_memories(database, tmp_path / "home", **flags) as memories:
        await memories.remember(memories.bo, "Our contact is ana@example.org.")
        made = await memories.remember(memories.bo, "Our contact is now Bo.")
        assert made["memory"][0]["event"] == "UPDATE"
        assert await _marks(memories, made["memory"][0]["id"]) == (False, None)
