"""Packages published, found and read again, in the corpus and under its rights."""

from typing import Any

import pytest

from pecia.app.app import index_root
from pecia.features.ckf.package.codec.codec import PackageFormat, parse_package
from pecia.features.ckf.package.normalize import normalize
from pecia.features.ckf.posts.loader import SLUGS
from pecia.kernel.corpus.catalog import catalog, texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.errors import Conflict, Forbidden, NotFound, Unprocessable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from tests.conftest import House
from tests.unit.features.ckf.ckf_sample import SOURCE, sample

pytestmark = pytest.mark.anyio

WHOLE = normalize(sample()).body
URI = "pecia://file/handbook/refunds.md"


async def publish(house: House, who: Caller, **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"package": sample(), "slug": "refunds", **more}
    return await house.call(who, "ckf.publish", **asked)


async def found(house: House, who: Caller, query: str = "refund") -> list[str]:
    result = await house.call(who, "ckf.search_posts", query=query)
    assert result["count"] == len(result["items"])
    return [it["slug"] for it in result["items"]]


async def put(house: House, text: str) -> None:
    """A file of ana's that bo may not see."""
    async with house.app.store.system() as tx:
        tenant = house.ana.tenant_id
        canonical = build_canonical_text([RawUnit(1, UnitKind.SECTION, text)])
        facts = FileMetadata("handbook", "refunds.md")
        await texts.put(tx, facts, ExtractedText(canonical, title="Refunds"), tenant_id=tenant)


async def index(house: House) -> None:
    app = house.app
    root = index_root(app.settings.kernel)
    keeper = await IndexWriter.acquire(app.store, "test", root, house.ana.tenant_id)
    assert keeper is not None
    if await keeper.catch_up() is None:
        await keeper.rebuild()
    await keeper.close()


async def add_handbook(house: House) -> None:
    await house.call(house.ana, "admin.add_source", source_id="handbook", protocol="upload")
    await put(house, SOURCE)


@pytest.mark.requirement("ckf.memory.pages_as_packages")
async def test_a_page_compiled_and_kept_is_found_by_search_section_and_all(house: House) -> None:
    made = await house.call(house.bo, "ckf.compile", text=SOURCE, source_title="Refunds")
    await publish(house, house.bo, package=made["package"])
    await index(house)
    asked: dict[str, Any] = {"query": "shipping damaged", "source_id": "ckf"}
    hits = (await house.call(house.ana, "lake.search_content", **asked))["hits"]
    assert {it["key"] for it in hits} == {"tenant/refunds/refunds.ckf.md"}
    assert "## 14. EXCEPTIONS AND EDGE CASES" in hits[0]["text"]


async def test_a_published_package_is_found_and_fetched_whole(house: House) -> None:
    made = await publish(house, house.bo, tags=["money"], excerpt="When money goes back.")
    assert (made["slug"], made["version"], made["changed"]) == ("refunds", 1, True)
    for query in ("refund", "money", "refunds"):
        assert await found(house, house.ana, query) == ["refunds"]
    fetched = await house.call(house.ana, "ckf.fetch_post", slug="refunds", format="markdown")
    assert fetched["package"] == WHOLE
    assert parse_package(fetched["document"], PackageFormat.MARKDOWN).body == WHOLE
    post = fetched["post"]
    assert (post["author"], post["tags"], post["excerpt"]) == (
        "bo",
        ["money"],
        "When money goes back.",
    )
    async with house.app.store.reading(house.ana) as tx:
        kept = await texts.read_text(tx, "ckf", made["uri"].removeprefix("pecia://file/ckf/"))
    assert "## 8. PROCEDURES" in kept.text
    assert parse_package(kept.text).body["concepts"] == WHOLE["concepts"]


async def test_the_index_finds_the_posts_that_reading_them_all_finds(house: House) -> None:
    texts_by_slug = {
        "refunds": "Refunds must be paid within 14 days. Vouchers are not refunded.",
        "cafe": "O café deve ser moído na hora. Vouchers are not taken in the café, unless asked.",
        "lifts": "No person may ride in the lift. The lift must be inspected every year.",
    }
    for slug, text in texts_by_slug.items():
        made = await house.call(house.bo, "ckf.compile", text=text, language="en")
        await publish(house, house.bo, package=made["package"], slug=slug, title=slug)
    await publish(house, house.bo, slug="mine", visibility="private")
    queries = ("vouchers", "cafe", "café deve", "lift inspected", "qwertz", "must")
    read = [await found(house, house.ana, it) for it in queries]
    await index(house)
    assert [await found(house, house.ana, it) for it in queries] == read
    assert read[0] == ["refunds", "cafe"] or read[0] == ["cafe", "refunds"]
    assert read[3] == ["lifts"]
    # A post that the index does not hold yet is found all the same.
    await publish(house, house.bo, slug="newest", title="Brand new zebra")
    assert await found(house, house.ana, "zebra") == ["newest"]


@pytest.mark.requirement("ckf.search_posts.only_published")
async def test_a_private_package_is_no_post_and_nobody_elses(house: House) -> None:
    made = await publish(house, house.bo, visibility="private")
    for who in (house.ana, house.bo):
        assert await found(house, who) == []
        with pytest.raises(NotFound):
            await house.call(who, "ckf.fetch_post", slug="refunds")
    key = made["uri"].removeprefix("pecia://file/ckf/")
    async with house.app.store.reading(house.bo) as tx:
        assert (await texts.read_text(tx, "ckf", key)).title == "Refunds"
    await house.call(house.ana, "admin.add_user", name="cy")
    token = await house.call(house.ana, "admin.make_token", label="t", user="cy")
    cy = await house.app.authenticator.authenticate(token["token"])
    assert isinstance(cy, Caller)
    async with house.app.store.reading(cy) as tx:
        with pytest.raises(NotFound):
            await texts.read_text(tx, "ckf", key)


async def test_a_withdrawn_post_is_gone_for_readers_and_can_come_back(house: House) -> None:
    await publish(house, house.bo)
    await publish(house, house.bo, visibility="private")
    assert await found(house, house.ana) == []
    again = await publish(house, house.bo, visibility="tenant")
    assert (again["version"], again["changed"]) == (1, False)
    assert await found(house, house.ana) == ["refunds"]
    async with house.app.store.reading(house.ana) as tx:
        assert len(await catalog.list_files(tx, "ckf", after="", limit=10)) == 1


async def test_each_publication_of_something_new_is_a_version(house: House) -> None:
    await publish(house, house.bo)
    other = sample()
    other["metadata"]["source_title"] = "Refunds, revised"  # type: ignore[index]
    assert (await publish(house, house.bo, package=other))["version"] == 2
    assert (await publish(house, house.bo, package=other))["version"] == 2
    newest = await house.call(house.ana, "ckf.fetch_post", slug="refunds")
    first = await house.call(house.ana, "ckf.fetch_post", slug="refunds", version=1)
    assert (newest["post"]["version"], newest["package"]) == (2, normalize(other).body)
    assert (first["post"]["version"], first["package"]) == (1, WHOLE)
    with pytest.raises(NotFound):
        await house.call(house.ana, "ckf.fetch_post", slug="refunds", version=3)


async def test_a_slug_belongs_to_whoever_came_first(house: House) -> None:
    await publish(house, house.bo)
    with pytest.raises(Conflict):
        await publish(house, house.ana, title="Mine")
    with pytest.raises(Conflict):
        await publish(house, house.bo, slug=SLUGS[0])
    private = await publish(house, house.ana, visibility="private", title="Mine")
    assert private["version"] == 1
    fetched = await house.call(house.bo, "ckf.fetch_post", slug="refunds")
    assert fetched["post"]["author"] == "bo"


async def test_only_administrators_publish_to_strangers(house: House) -> None:
    with pytest.raises(Forbidden):
        await publish(house, house.bo, visibility="public")
    made = await publish(house, house.ana, visibility="public")
    assert made["visibility"] == "public"


async def test_a_package_with_errors_is_not_published(house: House) -> None:
    body = sample()
    body["concepts"] = [{"id": "con_x"}]
    with pytest.raises(Unprocessable) as refused:
        await publish(house, house.bo, package=body)
    assert refused.value.fields["errors"]
    assert await found(house, house.ana) == []


async def test_a_source_is_compiled_by_its_address_under_the_callers_rights(house: House) -> None:
    await add_handbook(house)
    for uri in (URI, URI.replace("pecia:", "kdbl:")):
        made = await house.call(house.ana, "ckf.compile", uri=uri)
        assert made["package"]["metadata"]["source_title"] == "Refunds"
        assert {it["uri"] for it in made["package"]["metadata"]["source_manifest"]} == {uri}
        with pytest.raises(NotFound):
            await house.call(house.bo, "ckf.compile", uri=uri)
    with pytest.raises(NotFound):
        await house.call(house.ana, "ckf.compile", uri="file:///etc/passwd")


async def test_a_post_says_when_its_source_has_changed(house: House) -> None:
    await add_handbook(house)
    package = (await house.call(house.ana, "ckf.compile", uri=URI))["package"]
    made = await publish(house, house.ana, package=package)
    assert made["stale"] == []
    await put(house, SOURCE.replace("14 days", "10 days"))
    fetched = await house.call(house.ana, "ckf.fetch_post", slug="refunds")
    assert fetched["stale"] == [URI]
    # Whoever may not read the source learns nothing of it.
    assert (await house.call(house.bo, "ckf.fetch_post", slug="refunds"))["stale"] == []
    verified = await house.call(house.ana, "ckf.verify", package=package)
    assert (verified["stale"], verified["counts"]["gone"] > 0) == ([URI], True)
    await put(house, SOURCE)
    assert (await house.call(house.ana, "ckf.fetch_post", slug="refunds"))["stale"] == []


async def test_a_package_is_verified_against_any_text_the_caller_may_read(house: House) -> None:
    await add_handbook(house)
    assert (await house.call(house.ana, "ckf.verify", package=sample(), uri=URI))["holds"] is True
    with pytest.raises(NotFound):
        await house.call(house.bo, "ckf.verify", package=sample(), uri=URI)


async def test_what_a_purged_user_published_or_kept_goes_with_them(house: House) -> None:
    await publish(house, house.bo)
    await publish(house, house.bo, slug="kept", visibility="private")
    await publish(house, house.ana, slug="anas")
    await house.call(house.ana, "admin.purge_user", user="bo")
    assert await found(house, house.ana) == ["anas"]
    async with house.app.store.system() as tx:
        rows = await tx.fetch_all(
            "SELECT 1 FROM kernel.revision WHERE text LIKE '%%post_author: bo%%'"
        )
        files = await tx.fetch_all("SELECT key FROM kernel.file WHERE source_id = 'ckf'")
    assert (rows, [it["key"] for it in files]) == ([], ["tenant/anas/anas.ckf.md"])


async def test_what_changed_beyond_a_quotation_is_told_with_both_readings(house: House) -> None:
    middle = "and whoever has borrowed it keeps it dry and clean and away from the harbour, " * 4
    text = f"# Loans\n\nEvery loan must be repaid, {middle}within 30 days of the loan.\n"
    made = await house.call(house.ana, "ckf.compile", text=text)
    same = await house.call(house.ana, "ckf.verify", package=made["package"], source_text=text)
    assert same["holds"] is True
    later = text.replace("30 days", "60 days")
    found = await house.call(house.ana, "ckf.verify", package=made["package"], source_text=later)
    assert found["holds"] is False
    assert any("30 days" in it["was"] and "60 days" in it["now"] for it in found["problems"])
