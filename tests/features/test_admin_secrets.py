"""Credentials that are kept: sealed for their row, listed by name, sealed again under new keys."""

from pathlib import Path

import pytest

from pecia.app.operator.key_rotation import rotate_keys
from pecia.app.operator.session import OperatorSession
from pecia.features.admin.tools.secrets import RESEAL_BATCH, secret_identity
from pecia.kernel.errors import Forbidden, NotFound, Unprocessable
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Purpose, SealedSecret
from tests.conftest import CONTEXT, House

pytestmark = pytest.mark.anyio

SEALED = "SELECT key_id, nonce, ciphertext FROM kernel.secret WHERE name = %(name)s"


@pytest.fixture
def key_path(house: House) -> Path:
    return house.app.settings.kernel.home / "keys.json"


@pytest.fixture
def operating(house: House) -> OperatorSession:
    return OperatorSession(house.app.store, house.app.audit_log, operator="ana")


async def set_secret(house: House, name: str, value: str = "hunter2") -> None:
    await house.call(house.ana, "set_secret", name=name, purpose="source", value=value)


async def opened(house: House, key_path: Path, name: str, as_name: str | None = None) -> bytes:
    """What is sealed under a name, opened with the keys of the file."""
    async with house.app.store.system() as tx:
        row = await tx.fetch_one(SEALED, "none", name=name)
    identity = secret_identity(house.ana.tenant_id, Purpose.SOURCE, as_name or name)
    return key_file.load(key_path).open(Purpose.SOURCE, identity, SealedSecret(**row))


async def test_a_secret_opens_for_its_own_row_and_no_other(house: House, key_path: Path) -> None:
    await set_secret(house, "nas")
    assert await opened(house, key_path, "nas") == b"hunter2"
    with pytest.raises(Unprocessable):
        await opened(house, key_path, "nas", as_name="other")


async def test_setting_a_secret_again_replaces_it(house: House, key_path: Path) -> None:
    await set_secret(house, "nas", "old")
    await set_secret(house, "nas", "new")
    assert await opened(house, key_path, "nas") == b"new"
    assert len((await house.call(house.ana, "list_secrets"))["secrets"]) == 1


async def test_the_audit_does_not_hold_the_value(house: House) -> None:
    await set_secret(house, "nas")
    rows = (await house.call(house.ana, "list_audit"))["rows"]
    kept = [it["arguments"] for it in rows if it["tool"] == "admin.set_secret"]
    assert [(it["name"], it["value"]) for it in kept] == [("nas", "•••")]
    assert "hunter2" not in str(rows)


async def test_pages_of_secrets_neither_repeat_nor_skip_one(house: House) -> None:
    for purpose in ("source", "upstream"):
        for name in ("a", "b"):
            await house.call(house.ana, "set_secret", name=name, purpose=purpose, value="x")
    seen: list[tuple[str, str]] = []
    cursor: str | None = None
    for _ in range(4):
        page = await house.call(house.ana, "list_secrets", limit=1, cursor=cursor)
        seen += [(it["purpose"], it["name"]) for it in page["secrets"]]
        cursor = page["next_cursor"]
    assert cursor is None
    assert seen == [("source", "a"), ("source", "b"), ("upstream", "a"), ("upstream", "b")]


async def test_a_member_neither_sees_nor_sets_secrets(house: House) -> None:
    await set_secret(house, "nas")
    assert (await house.call(house.bo, "list_secrets"))["secrets"] == []
    with pytest.raises(Forbidden):
        await house.call(house.bo, "set_secret", name="x", purpose="source", value="y")
    with pytest.raises(NotFound):
        await house.call(house.bo, "remove_secret", name="nas", purpose="source")


async def test_a_secret_that_was_removed_is_gone(house: House) -> None:
    await set_secret(house, "nas")
    await house.call(house.ana, "remove_secret", name="nas", purpose="source")
    assert (await house.call(house.ana, "list_secrets"))["secrets"] == []
    with pytest.raises(NotFound):
        await house.call(house.ana, "remove_secret", name="nas", purpose="source")


async def test_rotation_keeps_every_secret_and_changes_every_key(
    house: House, operating: OperatorSession, key_path: Path
) -> None:
    names = [f"s{number}" for number in range(3)]
    for name in names:
        await set_secret(house, name, f"value of {name}")
    before = house.app.keyring.keys(Purpose.SOURCE).current_id
    done = await rotate_keys(operating, key_path, Purpose.SOURCE, retire=True)
    assert done.resealed == len(names)
    assert [*key_file.load(key_path).keys(Purpose.SOURCE).key_by_id] == [done.key_id]
    assert done.key_id != before
    for name in names:
        assert await opened(house, key_path, name) == f"value of {name}".encode()


async def test_a_rotation_that_was_stopped_goes_on_under_the_key_it_made(
    house: House, operating: OperatorSession, key_path: Path
) -> None:
    await set_secret(house, "nas")
    # As if the process had died after the key was written and before anything was sealed again.
    made = key_file.update(key_path, lambda it: it.rotate(Purpose.SOURCE))
    done = await rotate_keys(operating, key_path, Purpose.SOURCE, retire=False)
    assert done.key_id == made.keys(Purpose.SOURCE).current_id
    assert done.resealed == 1
    assert await opened(house, key_path, "nas") == b"hunter2"


async def test_more_secrets_than_one_batch_are_all_sealed_again(
    house: House, operating: OperatorSession, key_path: Path
) -> None:
    for number in range(RESEAL_BATCH + 1):
        await set_secret(house, f"s{number}")
    done = await rotate_keys(operating, key_path, Purpose.SOURCE, retire=True)
    assert done.resealed == RESEAL_BATCH + 1
    listed = await house.app.call(house.ana, "list_secrets", {"limit": 200}, CONTEXT)
    assert {it["key_id"] for it in listed.structured["secrets"]} == {done.key_id}  # type: ignore[index]


async def test_a_rotation_is_written_down(
    house: House, operating: OperatorSession, key_path: Path
) -> None:
    await rotate_keys(operating, key_path, Purpose.UPSTREAM, retire=False)
    async with house.app.store.system() as tx:
        rows = await tx.fetch_all(
            "SELECT tool, interface, status, arguments FROM kernel.audit"
            " WHERE tool = 'secret.rotate'"
        )
    assert [(it["tool"], it["interface"], it["status"]) for it in rows] == [
        ("secret.rotate", "cli", "ok")
    ]
    assert rows[0]["arguments"]["operator"] == "ana"
