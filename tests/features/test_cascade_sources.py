"""Sources of the server as layers: file by file, what the caller may read and nothing else."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText, put
from pecia.kernel.errors import NotFound, Timeout
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from tests.compute import workers
from tests.conftest import CONTEXT, EVERY_SCOPE, House, house_flags, no_fetch
from tests.features.cascade_fixture import document, write_layers

pytestmark = pytest.mark.anyio

OPEN = document("type: plan\ntitle: From the lake", "## Rule\n\nnarwhal")
HIDDEN = document("type: plan\ntitle: Merger", "## Plan\n\nokapi [[a]]")


@asynccontextmanager
async def opened(database: DatabaseLogins, tmp_path: Path, manifest: Path) -> AsyncGenerator[House]:
    """A Pecia with this cascade, whose owner is ana."""
    flags = house_flags(database, tmp_path / "home") | {"cascade.manifests": f"kb={manifest}"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        await app.call(ana, "add_user", {"name": "bo"}, CONTEXT)
        asked = {"label": "test", "user": "bo", "scopes": EVERY_SCOPE}
        made = await app.call(ana, "make_token", asked, CONTEXT)
        assert isinstance(made.structured, dict)
        token = str(made.structured["token"])
        bo = await app.authenticate(token, CONTEXT)
        assert isinstance(bo, Caller)
        yield House(app, ana, bo, token)


async def put_text(house: House, key: str, text: str) -> None:
    who = house.ana
    trace = AuditRecord(uuid4(), "test", "test", who.tenant_id, who.user_id, who.credential_id)
    canonical = build_canonical_text([RawUnit(1, UnitKind.SECTION, text)])
    async with house.app.store.writing(who, trace) as tx:
        await put(tx, FileMetadata("plans", key), ExtractedText(canonical))


async def test_each_caller_sees_the_files_that_are_theirs(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    layers = {"company": {"a": document("type: note\ntitle: Low", "## Rule\n\nwalrus")}}
    manifest = write_layers(tmp_path / "c", layers)
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["layers"].append({"name": "plans", "level": 1, "source": "lake:plans"})
    manifest.write_text(json.dumps(value), encoding="utf-8")
    async with opened(database, tmp_path, manifest) as house:
        await house.call(house.ana, "add_source", source_id="plans", protocol="upload")
        await put_text(house, "a.md", OPEN)
        await put_text(house, "b.md", HIDDEN)
        mine = await house.call(house.ana, "cascade.read_file", concept_id="a")
        assert [it["layer"] for it in mine["contributors"]] == ["plans", "company"]
        his = await house.call(house.bo, "cascade.read_file", concept_id="a")
        assert [it["layer"] for it in his["contributors"]] == ["company"]
        await house.call(house.ana, "grant_file", source_id="plans", key="a.md", to=["user:bo"])
        his = await house.call(house.bo, "cascade.read_file", concept_id="a")
        assert his["sections"][0]["content"] == "narwhal"
        listed = await house.call(house.bo, "cascade.list_concepts")
        assert [it["id"] for it in listed["concepts"]] == ["a"]
        found = await house.call(house.bo, "cascade.search", query="okapi narwhal")
        assert [it["id"] for it in found["results"]] == ["a"]
        with pytest.raises(NotFound):
            await house.call(house.bo, "cascade.read_file", concept_id="b")
        links = await house.call(house.bo, "cascade.get_links", concept_id="a")
        assert links["incoming"] == []
        await put_text(house, "a.md", OPEN.replace("narwhal", "changed"))
        his = await house.call(house.bo, "cascade.read_file", concept_id="a")
        assert his["sections"][0]["content"] == "changed"


@pytest.mark.parametrize("source", ["wiki:handbook", "lake:nowhere"])
async def test_a_source_or_space_that_nobody_has_is_named(
    database: DatabaseLogins, tmp_path: Path, source: str
) -> None:
    layers = {"company": {"a": document("type: note", "## Rule\n\nwalrus")}}
    manifest = write_layers(tmp_path / "c", layers)
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["layers"].append({"name": "gone", "level": 1, "source": source})
    manifest.write_text(json.dumps(value), encoding="utf-8")
    async with opened(database, tmp_path, manifest) as house:
        for who in (house.ana, house.bo):
            found = await house.call(who, "cascade.read_file", concept_id="a")
            assert found["sections"][0]["content"] == "walrus"
            reason = f"no source {source.removeprefix('lake:')!r}"
            assert found["degraded"] == [{"layer": "gone", "reason": reason}]


async def test_frontmatter_that_takes_too_long_ends_with_the_deadline(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    manifest = write_layers(tmp_path / "c", {"company": {"a": OPEN}})
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["layers"].append({"name": "plans", "level": 1, "source": "lake:plans"})
    manifest.write_text(json.dumps(value), encoding="utf-8")
    heavy = "type: plan\n" + "".join(f"k{it}: [{{a: b}}, {{c: d}}]\n" for it in range(1_800))
    async with opened(database, tmp_path, manifest) as house:
        await house.call(house.ana, "cascade.list_concepts")
        await house.call(house.ana, "add_source", source_id="plans", protocol="upload")
        for number in range(30):
            await put_text(house, f"b{number}.md", document(heavy, f"## Part {number}"))
        hurried = replace(CONTEXT, timeout_s=1.0)
        seen, over = set[int](), anyio.Event()

        async def others() -> None:
            while not over.is_set():
                await house.call(house.bo, "whoami")
                seen.update(workers())

        async with anyio.create_task_group() as group:
            group.start_soon(others)
            with pytest.raises(Timeout):
                await house.app.call(house.ana, "cascade.list_concepts", {}, hurried)
            over.set()
        assert seen, "they were read in the server itself"
        assert not workers(), "what read them is still there"
