"""What the editor in the browser asks beside tools: versions, deleted documents, images."""

from typing import Any

import httpx
import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


async def get(space: Space, route: str, token: str | None = None, **query: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    asked = {"space": space.name, **query}
    return await space.served.http.get(route, params=asked, headers=headers)


async def add(
    space: Space, body: bytes, token: str | None = None, name: str = "A Shot!.PNG"
) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    asked = {"space": space.name, "doc": "guides/start", "name": name}
    return await space.served.http.post("/wiki/asset", params=asked, content=body, headers=headers)


@pytest.fixture
async def guide(space: Space) -> Space:
    space.write({"guides/start.md": "# Start\n\nOne.\n"})
    await space.value("edit_document", docName="guides/start", find="One", replace="Two")
    await space.value("edit_document", docName="guides/start", find="Two", replace="Three")
    return space


async def versions(space: Space) -> list[dict[str, Any]]:
    return (await space.value("get_history", docName="guides/start"))["entries"]


async def test_the_text_of_a_version_can_be_read(guide: Space) -> None:
    rows = await versions(guide)
    shown = [
        (await get(guide, "/wiki/version", doc="guides/start", version=it["sha"])).json()["text"]
        for it in rows
    ]
    assert shown == ["# Start\n\nThree.\n", "# Start\n\nTwo.\n", "# Start\n\nOne.\n"]


async def test_a_version_is_read_under_the_rights_of_its_document(guide: Space) -> None:
    (latest, *_) = await versions(guide)
    asked = {"doc": "guides/start", "version": latest["sha"]}
    bo = guide.served.bo_token
    await guide.admin("set_source", trim_mode="per_file")
    assert (await get(guide, "/wiki/version", bo, **asked)).status_code == 404
    await guide.admin("grant", folder="guides/", to="user:bo", role="reader")
    assert (await get(guide, "/wiki/version", bo, **asked)).status_code == 200
    bad = await get(guide, "/wiki/version", doc="guides/start", version="HEAD")
    assert bad.json()["error"]["field"] == "version"
    none = await get(guide, "/wiki/version", doc="guides/start", version="0" * 40)
    assert none.status_code == 404


async def test_what_was_deleted_is_listed_for_who_may_restore_it(guide: Space) -> None:
    await guide.value("write_document", docName="other", markdown="x\n", position="replace")
    await guide.value("rename_document", docName="other", newDocName="moved")
    await guide.value("delete_document", docName="guides/start")
    await guide.admin("grant", to="user:bo", role="reader")
    (row,) = (await get(guide, "/wiki/deleted")).json()["deleted"]
    assert row["docName"] == "guides/start"
    assert row["author"] == guide.served.ana.user
    asked = {"doc": "guides/start", "version": row["version"]}
    assert (await get(guide, "/wiki/version", **asked)).json()["text"] == "# Start\n\nThree.\n"
    assert (await get(guide, "/wiki/deleted", guide.served.bo_token)).json()["deleted"] == []
    await guide.value("rollback_to_version", docName="guides/start", commitSha=row["version"])
    assert guide.read("guides/start.md") == "# Start\n\nThree.\n"
    assert (await get(guide, "/wiki/deleted")).json()["deleted"] == []


async def test_a_document_that_a_program_removed_can_be_restored(guide: Space) -> None:
    (guide.folder / "guides/start.md").unlink()
    (row,) = (await get(guide, "/wiki/deleted")).json()["deleted"]
    assert (row["docName"], row["author"]) == ("guides/start", None)
    await guide.value("rollback_to_version", docName="guides/start", commitSha=row["version"])
    assert guide.read("guides/start.md") == "# Start\n\nThree.\n"


async def test_an_image_lies_beside_its_document_and_is_shown(guide: Space) -> None:
    made = (await add(guide, PNG)).json()
    assert made["link"].startswith("a-shot-")
    assert made["path"] == f"guides/{made['link']}"
    assert (guide.folder / made["path"]).read_bytes() == PNG
    # The same image is the same file.
    assert (await add(guide, PNG)).json() == made
    shown = await get(guide, "/wiki/asset", path=made["path"])
    assert (shown.content, shown.headers["content-type"]) == (PNG, "image/png")
    assert "sandbox" in shown.headers["content-security-policy"]
    assert shown.headers["x-content-type-options"] == "nosniff"


async def test_only_writers_add_images_and_only_images_are_added(guide: Space) -> None:
    bo = guide.served.bo_token
    await guide.admin("grant", to="user:bo", role="reader")
    assert (await add(guide, PNG, bo)).status_code == 403
    refused = await add(guide, b"<svg onload='alert(1)'/>", name="x.png")
    assert refused.status_code == 422
    assert [it.name for it in guide.folder.joinpath("guides").iterdir()] == ["start.md"]


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", ".pecia/config.yml", "guides/start.md"]
)
async def test_a_path_leads_to_files_of_the_space_alone(guide: Space, path: str) -> None:
    (guide.folder.parent / "secret").write_text("x")
    assert (await get(guide, "/wiki/asset", path=path)).status_code in (400, 404, 422)
