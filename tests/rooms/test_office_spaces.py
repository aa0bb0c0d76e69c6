"""Folders of the machine as spaces: named once, kept once, added by its owner alone."""

import pytest

from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_a_folder_becomes_a_source_that_everybody_of_the_tenant_sees(house: House) -> None:
    space = await house.call(house.ana, "add_space", folder="/srv/notes")
    assert (space["source_id"], space["name"], space["added"]) == ("wiki:notes", "notes", True)
    listed = await house.call(house.bo, "list_sources")
    assert [(it["source_id"], it["protocol"]) for it in listed["sources"]] == [
        ("wiki:notes", "wiki")
    ]


async def test_adding_the_same_folder_again_changes_nothing(house: House) -> None:
    first = await house.call(house.ana, "add_space", folder="/srv/notes")
    again = await house.call(house.ana, "add_space", folder="/srv/notes/")
    assert again == {**first, "added": False}
    assert len((await house.call(house.ana, "list_spaces"))["spaces"]) == 1


async def test_another_folder_of_the_same_name_gets_a_number(house: House) -> None:
    for folder, name in (("/a/notes", "notes"), ("/b/notes", "notes-2"), ("/c/notes", "notes-3")):
        assert (await house.call(house.ana, "add_space", folder=folder))["name"] == name


async def test_a_name_that_was_chosen_must_be_free(house: House) -> None:
    await house.call(house.ana, "add_space", folder="/a/notes")
    with pytest.raises(Conflict, match="'notes' belongs to another source"):
        await house.call(house.ana, "add_space", folder="/b/notes", name="notes")
    made = await house.call(house.ana, "add_space", folder="/b/notes", name="other")
    assert made["source_id"] == "wiki:other"
    with pytest.raises(Conflict, match="served already, as the space 'other'"):
        await house.call(house.ana, "add_space", folder="/b/notes", name="third")


async def test_a_name_that_a_source_without_a_folder_has_is_taken_too(house: House) -> None:
    await house.call(house.ana, "add_source", source_id="wiki:notes", protocol="upload")
    assert (await house.call(house.ana, "add_space", folder="/a/notes"))["name"] == "notes-2"


async def test_a_token_cannot_choose_what_the_server_reads(house: House) -> None:
    """Not even an administrator's, beyond what the operator set aside for the tenant."""
    await house.call(house.ana, "set_user", name="bo", role="admin")
    with pytest.raises(Forbidden, match="no folder of this server is set aside"):
        await house.call(house.bo, "add_space", folder="/etc")
    assert (await house.call(house.ana, "list_spaces"))["spaces"] == []


@pytest.mark.parametrize("folder", ["notes", "./notes", "/srv/../etc", "/", "/srv/a\0b"])
async def test_a_folder_is_named_by_a_plain_absolute_path(house: House, folder: str) -> None:
    with pytest.raises(InvalidFormat) as caught:
        await house.call(house.ana, "add_space", folder=folder)
    assert caught.value.fields["field"] == "folder"


async def test_a_space_is_not_called_by_control_characters(house: House) -> None:
    for field, asked in (
        ("name", {"folder": "/srv/notes", "name": "no\ntes"}),
        ("folder", {"folder": "/srv/no\ntes"}),
    ):
        with pytest.raises(InvalidFormat) as caught:
            await house.call(house.ana, "add_space", **asked)
        assert caught.value.fields["field"] == field
    named = await house.call(house.ana, "add_space", folder="/srv/no\ntes", name="notes")
    assert named["source_id"] == "wiki:notes"
