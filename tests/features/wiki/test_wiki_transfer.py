"""A space goes out as files, and notes of other programs come in, once and again."""

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

PICTURE = bytes(range(256)) * 20


async def exported(space: Space, *, as_bo: bool = False) -> dict[str, bytes]:
    """Every file, from all pages."""
    found: dict[str, bytes] = {}
    arguments: dict[str, Any] = {}
    states: set[str] = set()
    while True:
        ask = space.ask_as_bo if as_bo else space.ask
        answer = await ask("export_space", **arguments)
        assert not answer.is_error, answer.text
        page = answer.value
        states.add(page["state"])
        for row in page["files"]:
            part = row["text"].encode() if "text" in row else b64decode(row["base64"])
            assert row["offset"] == len(found.get(row["path"], b""))
            found[row["path"]] = found.get(row["path"], b"") + part
        if page["nextCursor"] is None:
            assert len(states) == 1
            assert {*found} | {it["path"] for it in page["dropped"]} == {*found}
            assert page["total"] == len(found)
            assert page["totalBytes"] == sum(map(len, found.values()))
            return found
        arguments = {"cursor": page["nextCursor"]}


async def test_an_export_has_every_byte_of_every_file_that_the_caller_may_read(
    space: Space,
) -> None:
    files = {
        "index.md": "﻿# Home\r\n\r\n[[a]]\r\n".encode(),
        "d/a.mdx": b"x\n",
        "d/a.md": b"the twin\n",
        "latin.md": "Käse\n".encode("latin-1"),
        "d/pic.png": PICTURE,
        "long.bin": PICTURE * 200,
        "zeros.txt": b"\0" * 300_000,
        "empty.txt": b"",
    }
    space.write({**files, ".hidden/x.md": "no", ".secret": "no"})
    assert await exported(space) == files
    assert (await space.ask("export_space", cursor="x")).error["code"] == "INVALID_FORMAT"


async def test_an_export_holds_nothing_that_the_caller_may_not_see(space: Space) -> None:
    space.write({"open/a.md": "a\n", "open/p.png": PICTURE, "closed/b.md": "b\n"})
    await space.value("list_documents")
    await space.admin("set_source", trim_mode="per_file")
    assert (await space.ask_as_bo("export_space")).error["code"] == "NOT_FOUND"
    await space.admin("grant", to="user:bo", role="reader", folder="open")
    found = await exported(space, as_bo=True)
    assert "open/a.md" in found
    assert not {it for it in found if it.startswith("closed")}


def names_in(folder: Path) -> list[str]:
    return sorted(it.name for it in folder.iterdir())


def note(origin: str, name: str, markdown: str) -> dict[str, str]:
    return {"origin": origin, "docName": name, "markdown": markdown}


async def outcomes(space: Space, **arguments: Any) -> dict[str, str]:
    done = await space.value("import_documents", source="test", **arguments)
    return {it["origin"]: it["outcome"] for it in done["items"]}


async def test_a_second_import_changes_nothing_and_a_changed_source_updates(space: Space) -> None:
    notes = [note("1", "in/one", "# One\n"), note("2", "in/two", "# Two\n")]
    picture = {"origin": "p", "path": "in/p.png", "base64": b64encode(PICTURE).decode()}
    dry = await outcomes(space, documents=notes, files=[picture], dry_run=True)
    assert set(dry.values()) == {"created"}
    assert not (space.folder / "in").exists()
    first = await outcomes(space, documents=notes, files=[picture])
    assert first == dry
    assert space.read("in/two.md") == "# Two\n"
    assert (space.folder / "in/p.png").read_bytes() == PICTURE
    history = (await space.value("get_history", docName="in/one"))["entries"]
    again = await outcomes(space, documents=notes, files=[picture])
    assert set(again.values()) == {"unchanged"}
    assert (await space.value("get_history", docName="in/one"))["entries"] == history
    notes[0] = note("1", "in/one", "# One, changed\n")
    picture["base64"] = b64encode(PICTURE + b"x").decode()
    third = await outcomes(space, documents=notes, files=[picture])
    assert third == {"1": "updated", "2": "unchanged", "p": "updated"}
    assert space.read("in/one.md") == "# One, changed\n"
    assert (space.folder / "in/p.png").read_bytes() == PICTURE + b"x"


async def test_what_somebody_edited_deleted_or_had_before_stays(space: Space) -> None:
    space.write({"mine.md": "mine\n"})
    notes = [note(str(it), f"n{it}", f"text {it}\n") for it in range(4)]
    await outcomes(space, documents=notes)
    await space.value("edit_document", docName="n0", find="text", replace="edited")
    (space.folder / "n1.md").unlink()
    space.write({"n2.md": "by hand\n"})
    same = await outcomes(space, documents=notes)
    assert same == {"0": "unchanged", "1": "kept", "2": "unchanged", "3": "unchanged"}
    changed = [note(str(it), f"n{it}", f"new {it}\n") for it in range(4)]
    taken = note("9", "mine", "theirs\n")
    done = await outcomes(space, documents=[*changed, taken])
    assert done == {"0": "kept", "1": "kept", "2": "kept", "3": "updated", "9": "dropped"}
    assert [space.read(it) for it in ("n0.md", "n2.md", "n3.md", "mine.md")] == [
        "edited 0\n",
        "by hand\n",
        "new 3\n",
        "mine\n",
    ]
    assert not (space.folder / "n1.md").exists()


async def test_a_note_that_was_renamed_in_the_source_moves_unless_it_was_edited(
    space: Space,
) -> None:
    await outcomes(space, documents=[note("1", "a", "a\n"), note("2", "b", "b\n")])
    await space.value("edit_document", docName="b", find="b", replace="edited")
    done = await outcomes(space, documents=[note("1", "c/a", "a\n"), note("2", "c/b", "b\n")])
    assert done == {"1": "updated", "2": "kept"}
    assert space.read("c/a.md") == "a\n"
    assert not (space.folder / "a.md").exists()
    assert space.read("b.md") == "edited\n"
    assert not (space.folder / "c/b.md").exists()


async def test_an_import_writes_nothing_outside_hidden_locked_or_without_the_right(
    space: Space, tmp_path: Path
) -> None:
    space.write({"locked.md": "---\nlocked: true\n---\nx\n", ".gitignore": "skipped/\n"})
    await space.value("list_documents")
    body = b64encode(b"x").decode()
    bad = ("../up", "/etc/x", "a/../../b", ".pecia/config", "locked", "skipped/x", "con\x00trol")
    documents = [note(it, it, "x\n") for it in bad]
    files = [
        {"origin": f"f{it}", "path": it, "base64": body}
        for it in ("../up.png", ".pecia/config.yml", "a.md", "skipped/p.png")
    ]
    done = await space.value("import_documents", source="t", documents=documents, files=files)
    assert {it["outcome"] for it in done["items"]} == {"dropped"}
    assert all(it["reason"] for it in done["items"])
    assert names_in(tmp_path) == [space.name]
    await space.admin("set_source", trim_mode="per_file")
    refused = await space.ask_as_bo("import_documents", source="t", documents=documents)
    assert refused.error["code"] == "NOT_FOUND"
    await space.admin("grant", to="user:bo", role="reader", folder="/")
    as_reader = await space.ask_as_bo(
        "import_documents", source="t", documents=[note("1", "new", "x\n")]
    )
    assert [it["outcome"] for it in as_reader.value["items"]] == ["dropped"]
    assert not (space.folder / "new.md").exists()


async def test_a_long_file_comes_in_parts_and_is_one_file(space: Space) -> None:
    row = {"origin": "v", "path": "in/video.mp4", "total": len(PICTURE)}

    async def send(offset: int, body: bytes) -> dict[str, str]:
        part = {**row, "offset": offset, "base64": b64encode(body).decode()}
        [done] = (await space.value("import_documents", source="t", files=[part]))["items"]
        return done

    assert (await send(0, PICTURE[:2000]))["outcome"] == "partial"
    assert not (space.folder / "in").exists()
    assert (await send(2001, PICTURE[2001:]))["outcome"] == "dropped"
    assert (await send(2000, PICTURE[2000:3000]))["outcome"] == "partial"
    assert (await send(3000, PICTURE[3000:]))["outcome"] == "created"
    assert (space.folder / "in/video.mp4").read_bytes() == PICTURE
    assert not (space.folder / ".pecia/cache/import-parts").exists()
    row["total"] = 30_000_000
    assert (await send(0, b"x"))["outcome"] == "dropped"


async def test_the_record_of_imports_can_be_lost_or_broken(space: Space) -> None:
    notes = [note("1", "one", "# One\n")]
    await outcomes(space, documents=notes)
    (space.folder / ".pecia/imports.json").write_text("{broken")
    assert await outcomes(space, documents=notes) == {"1": "unchanged"}
    assert await outcomes(space, documents=[note("1", "one", "# 2\n")]) == {"1": "updated"}
    (space.folder / ".pecia/imports.json").unlink()
    assert await outcomes(space, documents=[note("1", "one", "# 3\n")]) == {"1": "dropped"}
    assert space.read("one.md") == "# 2\n"
