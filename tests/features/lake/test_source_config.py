"""Adding and changing sources: what no crawl could begin with is refused at once, by its field."""

import os
import socket
import sys
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.errors import (
    Forbidden,
    InvalidFormat,
    InvalidInput,
    Json,
    MissingField,
    NotFound,
    PeciaError,
)
from pecia.kernel.store.audit.record import AuditRecord
from tests.conftest import House
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

BAD: list[tuple[str, dict[str, Any]]] = [
    ("include", {"folder": "/srv", "include": ["[z-a].md"]}),
    ("include", {"folder": "/srv", "include": ["*.md", "[a"]}),
    ("include", {"protocol": "upload", "include": ["[].md"]}),
    ("exclude", {"web": "https://example.org/", "exclude": ["[!]"]}),
    ("exclude", {"folder": "/srv", "exclude": ["../secret"]}),
    ("web", {"web": "not-a-url"}),
    ("web", {"web": "ftp://example.org/"}),
    ("web", {"web": "http://[bad"}),
    ("web", {"web": "https://ana:secret@example.org/"}),
    ("git", {"git": "nonsense"}),
    ("git", {"git": "http://[bad"}),
    ("git", {"git": "https://ana:secret@example.org/x.git"}),
    ("watch", {"web": "https://example.org/", "watch": False}),
]


@pytest.mark.parametrize(("field", "given"), BAD, ids=str)
async def test_a_source_that_no_crawl_could_begin_with_is_refused_by_its_field(
    house: House, field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(PeciaError) as refused:
        await house.call(house.ana, "add_source", source_id="new", **given)
    assert refused.value.fields["field"] == field
    assert "secret@" not in str(refused.value.payload())
    listed = await house.call(house.ana, "list_sources")
    assert listed["sources"] == []


async def test_a_folder_that_the_server_cannot_open_is_refused_by_its_path(
    house: House, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    wrong = {"nope": "no such folder", "file": "not a folder", "file/deep": "not a folder"}
    for name, reason in {**wrong, "loop": "symbolic links"}.items():
        path = str(tmp_path / name)
        for where in ({"folder": path}, {"git": f"file://{path}"}):
            with pytest.raises(InvalidInput) as refused:
                await house.call(house.ana, "add_source", source_id="typo", **where)
            assert path in refused.value.message
            assert reason in refused.value.message.lower()
            assert refused.value.fields["field"] == next(iter(where))
    with pytest.raises(MissingField, match="needs an origin"):
        await house.call(house.ana, "add_source", source_id="typo")
    assert (await house.call(house.ana, "list_sources"))["sources"] == []


KERNELS = (
    "/proc",
    "/proc/self",
    "/proc/self/cwd",
    "/proc/1/root/etc",
    "/proc/self/fd",
    "/sys",
    "/dev",
)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc, /sys and their like are Linux's")
@pytest.mark.parametrize("path", KERNELS)
async def test_what_the_kernel_shows_as_folders_is_refused_as_a_source_and_as_a_space(
    house: House, path: str
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("add_source", {"source_id": "kernel", "folder": path}),
        ("add_source", {"source_id": "kernel", "git": f"file://{path}"}),
        ("add_space", {"folder": path}),
    ]
    for tool, given in asked:
        with pytest.raises(InvalidInput) as refused:
            await house.call(house.ana, tool, **given)
        assert path in refused.value.message
        assert refused.value.fields["field"] in given
    assert (await house.call(house.ana, "list_sources"))["sources"] == []


async def test_a_link_to_what_the_kernel_shows_is_refused_too(house: House, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev")
    with pytest.raises(InvalidInput):
        await house.call(house.ana, "add_source", source_id="dev", folder=str(tmp_path / "link"))


async def test_what_is_no_folder_or_too_deep_is_refused_with_the_reason(
    house: House, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path, reason in (
            (tmp_path / "pipe", "not a folder"),
            (tmp_path / "socket", "not a folder"),
            (Path("/dev/null"), "kernel"),
            (tmp_path.joinpath(*["d" * 200] * 15), "no such folder"),
            (tmp_path / ("d" * 300), "too long"),
        ):
            for tool, given in (("add_source", {"source_id": "odd"}), ("add_space", {})):
                with pytest.raises(InvalidInput) as refused:
                    await house.call(house.ana, tool, folder=str(path), **given)
                assert reason in refused.value.message.lower(), tool


@pytest.mark.parametrize(
    "source_id", ["do\ncs", "docs\x1b[31m", "\tdocs", "do\x7fcs", "do\u2028cs"]
)
async def test_a_source_with_control_characters_in_its_name_is_refused(
    house: House, source_id: str
) -> None:
    with pytest.raises(InvalidFormat) as refused:
        await house.call(house.ana, "add_source", source_id=source_id)
    assert refused.value.fields["field"] == "source_id"
    assert refused.value.fields["expected"]
    for name in ("s3://bucket", "docs [a] é 漢", "smb:\\\\host\\share"):
        await house.call(house.ana, "add_source", source_id=name, protocol="upload")


async def test_a_source_that_has_such_a_name_from_before_can_be_read_and_removed(
    house: House,
) -> None:
    ana = house.ana
    trace = AuditRecord(uuid4(), "t", "t", ana.tenant_id, ana.user_id, ana.credential_id)
    async with house.app.store.writing(ana, trace) as tx:
        await catalog.add_source(tx, "o\nld", protocol="upload", trim_mode="open", config={})
    listed = await house.call(house.ana, "list_sources")
    assert [it["source_id"] for it in listed["sources"]] == ["o\nld"]
    assert (await house.call(house.ana, "list_files", source_id="o\nld"))["files"] == []
    await house.call(house.ana, "remove_source", source_id="o\nld")
    assert (await house.call(house.ana, "list_sources"))["sources"] == []


async def test_patterns_are_looked_at_when_they_are_changed_too(lake: Lake) -> None:
    house = lake.house
    for field, pattern in product(("include", "exclude"), ("/a", "[z-a]", "[a", "[]", "a/[!]")):
        patterns: list[Json] = ["**", pattern]
        with pytest.raises(InvalidFormat) as refused:
            await house.call(house.ana, "set_source", source_id="docs", **{field: patterns})
        assert refused.value.fields["field"] == field
        assert pattern in str(refused.value)
    lake.write({"a.md": "A heron.\n"})
    assert (await lake.crawl())["state"] == "done"


async def test_an_empty_set_of_letters_is_called_so_and_a_bracket_can_be_meant(lake: Lake) -> None:
    house = lake.house
    with pytest.raises(InvalidFormat, match="has an empty set") as refused:
        await house.call(house.ana, "set_source", source_id="docs", exclude=["[!]"])
    assert "`[[]`" in str(refused.value.fields["hint"])
    await house.call(house.ana, "set_source", source_id="docs", exclude=["[[]draft].md"])
    lake.write({"[draft].md": "A heron.\n", "a.md": "A heron.\n"})
    assert (await lake.crawl())["added"] == 1


async def test_of_a_source_with_such_a_pattern_from_before_all_else_can_be_set(lake: Lake) -> None:
    house = lake.house
    async with house.app.store.system() as tx:
        await tx.execute("""UPDATE kernel.source SET config = config || '{"exclude": ["[a"]}'""")
    await house.call(house.ana, "set_source", source_id="docs", most_bytes=1000)


async def test_the_memories_of_members_cannot_be_shown_to_all_at_once(house: House) -> None:
    said = "The heron of bo is a secret."
    await house.call(house.bo, "cipher_extract_and_operate_memory", interaction=said)
    for mode in ("open", "source_only"):
        with pytest.raises(InvalidInput) as refused:
            await house.call(house.ana, "set_source", source_id="memory", trim_mode=mode)
        assert refused.value.fields["field"] == "trim_mode"
    kept = await house.call(house.ana, "set_source", source_id="memory", trim_mode="per_file")
    assert kept["trim_mode"] == "per_file"


async def test_who_sees_a_source_and_does_not_own_it_is_told_so_of_its_crawl(lake: Lake) -> None:
    """Never that it was not crawled, which would be untrue."""
    house = lake.house
    with pytest.raises(NotFound):
        await house.call(house.ana, "crawl_status", source_id="docs")
    lake.write({"a.md": "A heron.\n"})
    await lake.crawl()
    with pytest.raises(Forbidden):
        await house.call(house.bo, "crawl_status", source_id="docs")
    with pytest.raises(NotFound):
        await house.call(house.bo, "crawl_status", source_id="never-was")


async def test_a_grant_that_shows_no_file_says_so_and_one_on_the_whole_folder_shows_all(
    lake: Lake,
) -> None:
    house = lake.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    lake.write({"a.md": "A heron.\n", "sub/b.md": "A heron.\n"})
    await lake.crawl()
    asked = {"source_id": "docs", "to": "user:bo", "role": "reader"}
    granted = await house.call(house.ana, "grant", **asked)
    assert "per file" in granted["note"]
    assert (await house.call(house.bo, "list_files", source_id="docs"))["files"] == []
    await house.call(house.ana, "grant", **{**asked, "role": None})
    granted = await house.call(house.ana, "grant", **asked, folder="/")
    assert granted["note"] == ""
    files = (await house.call(house.bo, "list_files", source_id="docs"))["files"]
    assert [it["key"] for it in files] == ["a.md", "sub/b.md"]


async def test_a_role_in_a_source_and_a_grant_of_its_root_folder_are_told_apart(
    house: House,
) -> None:
    await house.call(house.ana, "add_source", source_id="docs", protocol="upload")
    for folder in (None, "/", "a"):
        await house.call(
            house.ana, "grant", source_id="docs", to="user:bo", role="reader", folder=folder
        )
    listed = (await house.call(house.ana, "list_grants", source_id="docs"))["grants"]
    told = [(it["kind"], it["folder"]) for it in listed]
    assert told == [("role", None), ("all_files", ""), ("folder", "a/")]
    # What is told can be given back as it is.
    for it in listed:
        await house.call(
            house.ana, "grant", source_id="docs", to="user:bo", role=None, folder=it["folder"]
        )
    assert (await house.call(house.ana, "list_grants", source_id="docs"))["grants"] == []
