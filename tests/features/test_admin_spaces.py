"""Folders of the machine as spaces: named once, kept once, added by its owner alone."""

from pathlib import Path

import pytest

from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, InvalidInput
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_a_folder_becomes_a_source_that_everybody_of_the_tenant_sees(
    house: House, tmp_path: Path
) -> None:
    notes = made(tmp_path / "notes")
    space = await house.call(house.ana, "add_space", folder=str(notes))
    assert (space["source_id"], space["name"], space["added"]) == ("wiki:notes", "notes", True)
    listed = await house.call(house.bo, "list_sources")
    assert [(it["source_id"], it["protocol"]) for it in listed["sources"]] == [
        ("wiki:notes", "wiki")
    ]


async def test_adding_the_same_folder_again_changes_nothing(house: House, tmp_path: Path) -> None:
    notes = made(tmp_path / "notes")
    first = await house.call(house.ana, "add_space", folder=str(notes))
    again = await house.call(house.ana, "add_space", folder=f"{notes}/")
    assert again == {**first, "added": False}
    assert len((await house.call(house.ana, "list_spaces"))["spaces"]) == 1


async def test_where_a_folder_lies_is_for_administrators(house: House, tmp_path: Path) -> None:
    notes = made(tmp_path / "notes")
    await house.call(house.ana, "add_space", folder=str(notes))
    [mine] = (await house.call(house.ana, "list_spaces"))["spaces"]
    [seen] = (await house.call(house.bo, "list_spaces"))["spaces"]
    assert mine["folder"] == str(notes)
    assert seen == {**mine, "folder": None}
    same = await house.call(house.bo, "rename_space", name="notes", new_name="notes")
    assert same["folder"] is None


async def test_another_folder_of_the_same_name_gets_a_number(house: House, tmp_path: Path) -> None:
    for above, name in (("a", "notes"), ("b", "notes-2"), ("c", "notes-3")):
        folder = made(tmp_path / above / "notes")
        assert (await house.call(house.ana, "add_space", folder=str(folder)))["name"] == name


async def test_a_folder_that_is_served_is_the_same_space_by_a_link_to_it(
    house: House, tmp_path: Path
) -> None:
    folder = made(tmp_path / "notes")
    (tmp_path / "link").symlink_to(folder)
    first = await house.call(house.ana, "add_space", folder=str(folder))
    again = await house.call(house.ana, "add_space", folder=str(tmp_path / "link"))
    assert (again["source_id"], again["folder"]) == (first["source_id"], str(folder))


async def test_a_folder_in_a_space_or_around_one_is_refused(house: House, tmp_path: Path) -> None:
    inner = made(tmp_path / "top/inner")
    beside = made(tmp_path / "top/inner-2")
    await house.call(house.ana, "add_space", folder=str(inner))
    for folder, side in ((inner.parent, "around"), (made(inner / "deep"), "inside")):
        with pytest.raises(Conflict, match=f"{folder} is {side} {inner}") as refused:
            await house.call(house.ana, "add_space", folder=str(folder))
        assert "pecia space remove inner" in str(refused.value.fields["hint"])
    assert (await house.call(house.ana, "add_space", folder=str(beside)))["added"]


async def test_a_name_that_was_chosen_must_be_free(house: House, tmp_path: Path) -> None:
    one, two = made(tmp_path / "a/notes"), made(tmp_path / "b/notes")
    await house.call(house.ana, "add_space", folder=str(one))
    with pytest.raises(Conflict, match="'notes' belongs to another source"):
        await house.call(house.ana, "add_space", folder=str(two), name="notes")
    added = await house.call(house.ana, "add_space", folder=str(two), name="other")
    assert added["source_id"] == "wiki:other"
    with pytest.raises(Conflict, match="served already, as the space 'other'"):
        await house.call(house.ana, "add_space", folder=str(two), name="third")


async def test_a_name_that_a_source_without_a_folder_has_is_taken_too(
    house: House, tmp_path: Path
) -> None:
    await house.call(house.ana, "add_source", source_id="wiki:notes", protocol="upload")
    notes = made(tmp_path / "notes")
    assert (await house.call(house.ana, "add_space", folder=str(notes)))["name"] == "notes-2"


async def test_a_token_cannot_choose_what_the_server_reads(house: House) -> None:
    """Not even an administrator's, beyond what the operator set aside for the tenant."""
    await house.call(house.ana, "set_user", name="bo", role="admin")
    with pytest.raises(Forbidden, match="your tenant has no folder for spaces"):
        await house.call(house.bo, "add_space", folder="/etc")
    assert (await house.call(house.ana, "list_spaces"))["spaces"] == []


@pytest.mark.parametrize("folder", ["notes", "./notes", "/srv/../etc", "/", "/srv/a\0b"])
async def test_a_folder_is_named_by_a_plain_absolute_path(house: House, folder: str) -> None:
    with pytest.raises(InvalidFormat) as caught:
        await house.call(house.ana, "add_space", folder=folder)
    assert caught.value.fields["field"] == "folder"


async def test_a_space_is_not_called_by_control_characters(house: House, tmp_path: Path) -> None:
    plain, odd = str(made(tmp_path / "notes")), str(made(tmp_path / "no\ntes"))
    for field, asked in (
        ("name", {"folder": plain, "name": "no\ntes"}),
        ("folder", {"folder": odd}),
    ):
        with pytest.raises(InvalidFormat) as caught:
            await house.call(house.ana, "add_space", **asked)
        assert caught.value.fields["field"] == field
    named = await house.call(house.ana, "add_space", folder=odd, name="notes")
    assert named["source_id"] == "wiki:notes"


async def test_a_folder_that_is_not_there_becomes_no_space(house: House, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for name, why in (("missing", "there is no such folder"), ("file", "it is not a folder")):
        with pytest.raises(InvalidInput, match=why) as caught:
            await house.call(house.ana, "add_space", folder=str(tmp_path / name))
        assert caught.value.fields["field"] == "folder"
    assert not (tmp_path / "missing").exists()
    assert (await house.call(house.ana, "list_spaces"))["spaces"] == []


def made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
