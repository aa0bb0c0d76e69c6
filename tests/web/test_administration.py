"""What administrators change in the console: sources, spaces, people; and the audit log of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Installed
from tests.web.lake_server import LakeServer, open_lakeside
from tests.web.test_sources_page import row

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def lakeside(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeServer]:
    yield from open_lakeside(tmp_path_factory.mktemp("administration"), installed)


def test_a_source_is_edited_and_only_what_changed_is_sent(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/sources")
    page.get_by_role("button", name="Edit reports").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Not these").fill("drafts/**\n**/*.tmp")
    dialog.get_by_label("Crawled").select_option("every hour")
    with page.expect_request("**/admin/set_source") as sent:
        dialog.get_by_role("button", name="Save").click()
    changed = {"exclude": ["drafts/**", "**/*.tmp"], "schedule": "0 * * * *"}
    assert json.loads(sent.value.post_data or "") == {"source_id": "reports", **changed}
    expect(dialog).to_have_count(0)
    rules = lakeside.call("admin/source_stats", source_id="reports")["rules"]
    assert {name: rules[name] for name in changed} == changed
    page.get_by_role("button", name="Edit reports").click()
    expect(dialog.get_by_label("Not these")).to_have_value("drafts/**\n**/*.tmp")
    dialog.get_by_label("Only these files").fill("[")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("include")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_space_is_added_changed_and_removed(lakeside: LakeServer, page: Page) -> None:
    folder = lakeside.folder.parent / "minutes"
    folder.mkdir()
    (folder / "heron.md").write_text("# Herons\n\nThe heron stands still.\n")
    lakeside.sign_in(page)
    expect(page.get_by_role("link", name="Pecia, home")).to_be_visible()
    lakeside.open(page, "#/sources")
    page.get_by_role("button", name="Add a source").click()
    page.get_by_label("Kind").select_option("space")
    page.get_by_label("Name of the space").fill("minutes")
    page.get_by_label("Folder on the server").fill(str(folder))
    page.get_by_role("button", name="Add and crawl").click()
    expect(row(page, "minutes")).to_contain_text("1 file")
    page.get_by_role("button", name="Edit minutes").click()
    expect(page.get_by_role("dialog")).to_contain_text(str(folder))
    page.get_by_role("dialog").get_by_label("Switched on").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(row(page, "minutes")).to_contain_text("switched off")
    # The console knows it by its id, whatever name it has been given since.
    lakeside.call("admin/rename_space", name="minutes", new_name="protocols")
    page.get_by_role("button", name="Remove minutes").click()
    page.get_by_role("button", name="Remove the space").click()
    expect(page.get_by_role("rowheader", name="minutes")).to_have_count(0)
    assert (folder / "heron.md").exists()


def test_somebody_becomes_an_administrator_and_is_removed_after_a_question(
    lakeside: LakeServer, page: Page
) -> None:
    lakeside.call("admin/add_user", name="noor")
    lakeside.open(page, "#/people")
    page.get_by_label("Role of noor").select_option("administrator")
    expect(page.get_by_text("noor is an administrator now")).to_be_visible()
    users = lakeside.call("admin/list_users")["users"]
    assert [it["role"] for it in users if it["name"] == "noor"] == ["admin"]
    # Only who is disabled can be removed for good.
    expect(page.get_by_role("button", name="Remove noor")).to_have_count(0)
    page.get_by_role("button", name="Disable noor").click()
    page.get_by_role("button", name="Remove noor").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove for good").click()
    expect(page.get_by_text("Removed noor")).to_be_visible()
    users = lakeside.call("admin/list_users")["users"]
    assert "noor" not in [it["name"] for it in users]


def test_the_audit_log_says_what_was_done_and_is_exported_whole(
    lakeside: LakeServer, page: Page, tmp_path: Path
) -> None:
    lakeside.call("admin/add_group", name="harbour")
    for _ in range(60):
        lakeside.call("admin/whoami")
    lakeside.open(page, "#/audit")
    expect(page.get_by_role("row").filter(has_text="admin.whoami").first).to_be_visible()
    page.get_by_label("Calls").select_option("acts")
    expect(page.get_by_text("added the group harbour")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="admin.whoami")).to_have_count(0)
    page.get_by_label("Calls").select_option("")
    expect(page.get_by_role("row").filter(has_text="admin.whoami").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "audit.jsonl")
    rows = [json.loads(it) for it in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert len([it for it in rows if it["tool"] == "admin.whoami"]) >= 60
    assert "admin.add_group" in {it["tool"] for it in rows}


def test_sources_that_are_not_crawled_are_not_asked_about(lakeside: LakeServer, page: Page) -> None:
    """Each would be a failed call in the audit log, every time somebody looks."""
    lakeside.call("memory/cipher_extract_and_operate_memory", interaction=["Herons fish at dawn."])
    asked: list[str] = []
    page.on("request", lambda it: asked.append(it.post_data or "") if "crawl_" in it.url else None)
    lakeside.open(page, "#/sources")
    expect(row(page, "memory")).to_contain_text("always current")
    expect(row(page, "reports")).to_contain_text("4 files")
    assert not [it for it in asked if "memory" in it]
