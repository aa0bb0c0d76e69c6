"""No file of a layer vanishes: it counts as far as it can be read, and is named with the reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, House, house_flags, no_fetch

pytestmark = pytest.mark.anyio

BODY = "\n## Rule\n\nThe narwhal is lent on Mondays.\n"
GOOD = f"---\ntype: note\ntitle: Good\n---\n{BODY}"
# By name: the file, and what its problem is called; an empty code is none.
FILES: dict[str, tuple[bytes, str]] = {
    "colon": (
        f"---\ntype: note\ntitle: Loans\ndescription: Loans: how they work\n---\n{BODY}".encode(),
        "bad-yaml",
    ),
    "broken": (f"---\ntype: [note\ntitle: Loans\n---\n{BODY}".encode(), "bad-yaml"),
    "one-line": (
        b"---\ntype: note\ntitle: Loans\ntags:\n- a\n@ what is this\nowner: ana\n---\n"
        + BODY.encode(),
        "bad-yaml",
    ),
    "list": (f"---\n- a\n- b\n---\n{BODY}".encode(), "not-a-mapping"),
    "tabs": (f"---\ntype: note\nsources:\n\t- a\n---\n{BODY}".encode(), "bad-yaml"),
    "twice": (f"---\ntype: note\ntitle: A\ntitle: B\n---\n{BODY}".encode(), "repeated-key"),
    "unclosed": (f"---\ntype: note\ntitle: Loans\n{BODY}".encode(), "unclosed-frontmatter"),
    "latin": (GOOD.replace("narwhal", "narwhäl").encode("latin-1"), "not-utf-8"),
    "mark": (b"\xef\xbb\xbf" + GOOD.encode(), ""),
    "windows": (GOOD.replace("\n", "\r\n").encode(), ""),
}


async def test_every_file_is_a_concept_and_every_fault_is_told(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    layer = tmp_path / "layer"
    layer.mkdir()
    for name, (body, _) in FILES.items():
        (layer / f"{name}.md").write_bytes(body)
    (layer / "huge.md").write_bytes(b"x" * 2_000_001)
    manifest = tmp_path / "manifest.json"
    layers = [{"name": "company", "level": 0, "path": "layer"}]
    manifest.write_text(json.dumps({"layers": layers}), encoding="utf-8")
    flags = house_flags(database, tmp_path / "home") | {"cascade.manifests": f"kb={manifest}"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        house = House(app, ana, ana, "")
        listed = await house.call(ana, "cascade.list_concepts")
        assert [it["id"] for it in listed["concepts"]] == sorted(FILES)
        expected = {f"{name}.md": code for name, (_, code) in FILES.items() if code}
        expected["huge.md"] = "too-large"
        assert codes(listed) == expected
        found = await house.call(ana, "cascade.search", query="Mondays lent", limit=20)
        assert {it["id"] for it in found["results"]} == FILES.keys()
        assert codes(found) == expected
        for name, (_, code) in FILES.items():
            shown = await house.call(ana, "cascade.read_file", concept_id=name)
            assert "lent on Mondays" in shown["markdown"]
            assert bool(shown.get("degraded")) == bool(code), name
        loans = await house.call(ana, "cascade.read_file", concept_id="colon")
        assert loans["frontmatter"]["description"] == "Loans: how they work"
        assert loans["frontmatter"]["title"] == "Loans"
        assert "line 4" in loans["degraded"][0]["reason"]
        one_line = await house.call(ana, "cascade.read_file", concept_id="one-line")
        kept = {"type": "note", "title": "Loans", "tags": ["a"], "owner": "ana"}
        assert one_line["frontmatter"] == kept
        assert "line 6" in one_line["degraded"][0]["reason"]
        broken = await house.call(ana, "cascade.read_file", concept_id="broken")
        assert broken["frontmatter"] == {"title": "Loans"}


def codes(answer: dict[str, Any]) -> dict[str, str]:
    return {it["path"]: it["code"] for it in answer["problems"]}
