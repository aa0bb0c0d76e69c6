"""Exports of other note programs become Markdown, within bounds, and every loss is named."""

import zipfile
from base64 import b64encode
from collections.abc import Mapping
from hashlib import md5
from pathlib import Path

import orjson
import pytest

from pecia.adapters.importers import source_tree
from pecia.adapters.importers.model import ConvertedExport
from pecia.adapters.importers.note_names import UniqueNames, safe_file_name, safe_part
from pecia.adapters.importers.registry import KINDS, convert_export
from pecia.adapters.importers.source_tree import open_tree
from pecia.kernel.errors import PeciaError

PNG = b"\x89PNG fake"
PAGE_ID = "1580080aa5a38194a9c0e77779ee82d5"
ROW_ID = "2580080aa5a38194a9c0e77779ee82d5"


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, body in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body if isinstance(body, bytes) else body.encode())
    return root


def archive(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in files.items():
            made.writestr(name, body)
    return path


def convert(kind: str, path: Path) -> ConvertedExport:
    return convert_export(KINDS[kind], open_tree(path, KINDS[kind].nested))


def notes(made: ConvertedExport) -> dict[str, str]:
    assert len({it.origin for it in made.notes}) == len(made.notes)
    return {it.name: it.markdown for it in made.notes}


def files(made: ConvertedExport) -> dict[str, bytes]:
    return {it.path: it.load() for it in made.attachments}


def reasons(made: ConvertedExport) -> dict[str, str]:
    assert all(it["reason"] for it in made.dropped)
    return {it["item"]: it["reason"] for it in made.dropped}


def test_a_vault_of_obsidian_stays_as_it_is_but_for_tags_and_settings(tmp_path: Path) -> None:
    text = "# One\n\n[[Sub/Two|two]] ![[p.png]] #project/x and `#code` https://e.example/#no\n"
    vault = {
        "One.md": text,
        "Sub/Two.md": "---\ntags: [own]\n---\n#own #new\n",
        "Sub/p.png": PNG,
        ".obsidian/app.json": "{}",
        ".trash/gone.md": "x",
        "latin.md": "Käse".encode("latin-1"),
    }
    folder = convert("obsidian", write(tmp_path / "vault", vault))
    zipped = convert("obsidian", archive(tmp_path / "vault.zip", vault))
    assert notes(folder) == notes(zipped)
    assert [it.origin for it in folder.notes] == [it.origin for it in zipped.notes]
    assert notes(folder) == {
        "One": f"---\ntags: [project/x]\n---\n{text}",
        "Sub/Two": "---\ntags: [own, new]\n---\n#own #new\n",
    }
    assert files(folder) == {"Sub/p.png": PNG}
    assert {*reasons(folder)} == {".obsidian/", ".trash/", "latin.md"}


def test_notion_markdown_and_csv_lose_their_ids_and_keep_their_links(tmp_path: Path) -> None:
    inner = archive(
        tmp_path / "inner.zip",
        {
            f"Home {PAGE_ID}.md": f"# Home\n\n[Tasks](Home%20{PAGE_ID}/Tasks%20{ROW_ID}.csv) "
            f"![p](Home%20{PAGE_ID}/p.png) [web](https://www.notion.so/Home-{PAGE_ID}) "
            "[out](https://example.com/a%20b) [lost](gone.md)\n",
            f"Home {PAGE_ID}/p.png": PNG,
            f"Home {PAGE_ID}/Tasks {ROW_ID}.csv": "Name,Done\nview,No\n",
            f"Home {PAGE_ID}/Tasks {ROW_ID}_all.csv": '﻿Name,Note\nBuy milk,"a|b"\nOther,x\n',
            f"Home {PAGE_ID}/Tasks {ROW_ID}/Buy milk {'3' * 32}.md": "# Buy milk\n\n"
            "Status: Open\nTags: home, two words\n\nText: here\n",
        },
    )
    made = convert("notion", archive(tmp_path / "e.zip", {"Part-1.zip": inner.read_bytes()}))
    found = notes(made)
    assert {*found} == {"Home", "Home/Tasks", "Home/Tasks/Buy milk"}
    assert "[Tasks](Home/Tasks.md) ![p](Home/p.png) [web](Home.md)" in found["Home"]
    assert "[out](https://example.com/a%20b)" in found["Home"]
    assert "| [Buy milk](Tasks/Buy%20milk.md) | a\\|b |" in found["Home/Tasks"]
    assert found["Home/Tasks/Buy milk"] == (
        "---\nstatus: Open\ntags: [home, two-words]\n---\n\nText: here\n"
    )
    assert files(made) == {"Home/p.png": PNG}
    assert {*reasons(made)} == {"Home: gone.md"}


def test_notion_html_has_its_properties_tasks_and_code(tmp_path: Path) -> None:
    page = (
        f'<html><body><article id="{PAGE_ID}"><header><h1 class="page-title">Pa/ge</h1>'
        '<table class="properties"><tbody>'
        '<tr class="property-row property-row-multi_select"><th>Tags</th><td><span>a b</span>'
        "<span>c</span></td></tr>"
        '<tr class="property-row property-row-checkbox"><th>Done</th>'
        '<td><div class="checkbox checkbox-on"></div></td></tr></tbody></table></header>'
        '<div class="page-body"><ul class="to-do-list"><li><div class="checkbox checkbox-off">'
        "</div> Task</li></ul><ul><li>one</li></ul><ul><li>two</li></ul>"
        '<pre class="code"><code class="language-Python">a*b\n_c_</code></pre>'
        "<p>5 * 3 # no &lt;script&gt; <script>alert(1)</script>"
        '<a href="javascript:alert(1)">x</a></p>'
        '<figure class="callout"><div><span>💡</span></div><div><p>Note</p></div></figure>'
        '<p><a href="#h1">to heading</a></p><h1 id="h1">A (b)</h1></div></article></body></html>'
    )
    made = convert("notion", archive(tmp_path / "e.zip", {f"Pa ge {PAGE_ID}.html": page}))
    [note] = made.notes
    assert note.origin == PAGE_ID
    assert note.name == "Pa ge"
    head, _, body = note.markdown.partition("---\n\n")
    assert head == "---\ntitle: Pa/ge\ntags: [a-b, c]\ndone: true\n"
    for line in (
        "- [ ] Task",
        "- one\n- two",
        "```python\na*b\n_c_\n```",
        "5 \\* 3 # no &lt;script>",
        "> [!note]\n>\n> Note",
        "[to heading](#A%20%28b%29)",
    ):
        assert line in body, (line, body)
    assert "alert" not in body


ENEX = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">\n'
    "<en-export>{}</en-export>"
)


def enex_note(title: str, content: str, more: str = "") -> str:
    inner = f"<en-note>{content}</en-note>"
    return (
        f"<note><title>{title}</title><content><![CDATA[{inner}]]></content>"
        f"<created>20240112T072527Z</created><tag>two words</tag>{more}</note>"
    )


def test_evernote_keeps_tasks_pictures_links_tags_and_dates(tmp_path: Path) -> None:
    key = md5(PNG, usedforsecurity=False).hexdigest()
    resource = (
        f"<resource><data encoding='base64'>{b64encode(PNG).decode()}</data>"
        "<mime>image/png</mime><resource-attributes><file-name>a/b.png</file-name>"
        "</resource-attributes></resource>"
    )
    body = (
        '<div><en-todo checked="true"/>Done</div><div><en-todo/>Open</div>'
        f'<en-media type="image/png" hash="{key}"/>'
        '<div><a href="evernote:///view/1/s1/x/x/">Plan</a></div>'
        '<div><a href="evernote:///view/1/s1/y/y/">Gone</a></div>'
        '<en-crypt hint="h">abc</en-crypt>'
        '<div style="-en-codeblock:true"><div>if x:</div><div>  y_z*2</div></div>'
    )
    text = ENEX.format(enex_note("One", body, resource) + enex_note("Plan", "<div>p</div>"))
    made = convert("evernote", write(tmp_path, {"n.enex": text}) / "n.enex")
    found = notes(made)
    assert {*found} == {"One", "Plan"}
    for part in (
        "tags: [two-words]\ncreated: 2024-01-12T07:25:27Z\n",
        "- [x] Done",
        "- [ ] Open",
        "![a b.png](attachments/a%20b.png)",
        "[Plan](Plan.md)",
        "```\nif x:\n  y_z*2\n```",
    ):
        assert part in found["One"], (part, found["One"])
    assert files(made) == {"attachments/a b.png": PNG}
    assert {*reasons(made)} == {"One: encrypted text", "One: link 'Gone'"}


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><en-export>&b;</en-export>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><en-export>&a;</en-export>',
        '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:9/x"> %a;]><en-export/>',
        "<en-export>" + "<a>" * 500,
        "<html/>",
        "no xml at all",
    ],
)
def test_enex_with_entities_or_without_sense_is_refused_by_name(
    tmp_path: Path, document: str
) -> None:
    made = convert("evernote", write(tmp_path, {"n.enex": document}) / "n.enex")
    assert made.notes == []
    assert {*reasons(made)} == {"n.enex"}


def test_keep_has_lists_labels_and_attachments_and_leaves_the_trash(tmp_path: Path) -> None:
    shared = {"createdTimestampUsec": 1690372692755000, "userEditedTimestampUsec": 1}
    note = {
        **shared,
        "title": "List: 1",
        "listContent": [{"text": "a", "isChecked": True}, {"text": "b", "isChecked": False}],
        "labels": [{"name": "two words"}],
        "attachments": [{"filePath": "x.jpeg", "mimetype": "image/jpeg"}, {"filePath": "no.png"}],
        "annotations": [{"url": "https://example.com", "title": "T"}],
    }
    export = {
        "Takeout/Keep/a.json": orjson.dumps(note),
        "Takeout/Keep/x.jpg": PNG,
        "Takeout/Keep/a.html": "<p>",
        "Takeout/Keep/t.json": orjson.dumps({**shared, "isTrashed": True}),
        "Takeout/Keep/bad.json": "{",
        "Takeout/Keep/other.json": "{}",
        "Takeout/Keep/stray.bin": PNG,
    }
    made = convert("keep", archive(tmp_path / "takeout.zip", export))
    assert notes(made) == {
        "List 1": '---\ntitle: "List: 1"\ntags: [two-words]\ncreated: 2023-07-26T11:58:12Z\n'
        "updated: 1970-01-01T00:00:00Z\n---\n\n- [x] a\n- [ ] b\n\n"
        "![x.jpeg](attachments/x.jpg)\n\n- <https://example.com> T\n"
    }
    assert files(made) == {"attachments/x.jpg": PNG}
    lead = "Takeout/Keep/"
    dropped = (f"{lead}{it}" for it in ("t.json", "bad.json", "other.json", "stray.bin"))
    assert {*reasons(made)} == {*dropped, f"{lead}a.json: no.png"}


def test_roam_blocks_become_lists_and_references_lead_to_them(tmp_path: Path) -> None:
    graph = [
        {
            "title": "A/B [[C]]",
            "uid": "u1",
            "create-time": 1600000000000,
            "children": [
                {"string": "Status:: read", "uid": "s"},
                {"string": "{{[[TODO]]}} __do__ ^^it^^ [[Two]] #[[new tag]]", "uid": "b1"},
                {
                    "string": "x",
                    "uid": "b2",
                    "children": [{"string": "((blk3)) {{embed: ((blk3))}}"}],
                },
            ],
        },
        {"title": "Two", "uid": "u2", "children": [{"string": "target `__code__`", "uid": "blk3"}]},
    ]
    made = convert("roam", write(tmp_path, {"g.json": orjson.dumps(graph)}) / "g.json")
    found = notes(made)
    assert {*found} == {"A/B C", "Two"}
    assert "status: read\n" in found["A/B C"]
    assert "- [ ] *do* ==it== [[Two]] #new-tag\n- x\n" in found["A/B C"]
    assert "  - [target code](../Two.md#^blk3) ![[Two#^blk3]]" in found["A/B C"]
    assert "- target `__code__` ^blk3" in found["Two"]
    assert made.dropped == []


def test_bear_bundles_have_their_assets_tags_and_dates(tmp_path: Path) -> None:
    def info(**own: object) -> bytes:
        return orjson.dumps({"net.shinyfrog.bear": {"uniqueIdentifier": str(own), **own}})

    made = convert(
        "bear",
        archive(
            tmp_path / "b.bear2bk",
            {
                "B/One.textbundle/text.md": "# One\n\n#two words# [[Other]] "
                "![](assets/p%20q.png)\n",
                "B/One.textbundle/info.json": info(creationDate="2023-10-11T08:08:52Z"),
                "B/One.textbundle/assets/p q.png": PNG,
                "B/Gone.textbundle/text.md": "# Gone",
                "B/Gone.textbundle/info.json": info(trashed=1),
                "B/Enc.textbundle/text.md": "",
                "B/Enc.textbundle/info.json": info(encrypted=1),
                "B/Other.textbundle/text.md": "# Other\n",
            },
        ),
    )
    assert notes(made)["One"] == (
        "---\ncreated: 2023-10-11T08:08:52Z\ntags: [two-words]\n---\n\n"
        "#two-words [[Other]] ![](attachments/p%20q.png)\n"
    )
    assert files(made) == {"attachments/p q.png": PNG}
    assert {*reasons(made)} == {"B/Gone.textbundle", "B/Enc.textbundle"}


def test_confluence_pages_keep_their_place_links_and_attachments(tmp_path: Path) -> None:
    def page(title: str, body: str, crumbs: str = "", more: str = "") -> str:
        return (
            f'<html><head><title>S : {title}</title></head><body><ol id="breadcrumbs">{crumbs}</ol>'
            f'<span id="title-text">S : {title}</span><div class="page-metadata">Created by A, '
            'last modified on Mar 01, 2024</div><div id="main-content">'
            f"{body}</div>{more}</body></html>"
        )

    export = {
        "S/index.html": "<html><body>S</body></html>",
        "S/Home_1.html": page("Home", '<a href="Child_2.html#x">c</a> <a href="no.html">n</a>'),
        "S/Child_2.html": page(
            "Child",
            '<img src="attachments/2/7.png"><ul class="inline-task-list">'
            '<li class="checked">t</li></ul>'
            '<pre data-syntaxhighlighter-params="brush: java; x">int a;</pre>',
            '<li><a href="index.html">S</a></li><li><a href="Home_1.html">Home</a></li>',
            '<a href="attachments/2/7.png">plan.png</a>'
            '<div id="labels-section"><a>two words</a></div>',
        ),
        "S/attachments/2/7.png": PNG,
        "S/styles/site.css": "x",
    }
    made = convert("confluence", archive(tmp_path / "c.zip", export))
    found = notes(made)
    assert {*found} == {"Home", "Home/Child"}
    assert "[c](Home/Child.md#x) n" in found["Home"]
    child = found["Home/Child"]
    assert "tags: [two-words]\nupdated: 2024-03-01T00:00:00Z\n" in child
    assert "![plan.png](../attachments/plan.png)" in child
    assert "- [x] t" in child
    assert "```java\nint a;\n```" in child
    assert [it.origin for it in made.notes] == ["2", "1"]
    assert files(made) == {"attachments/plan.png": PNG}
    assert {*reasons(made)} == {"Home: no.html"}


def test_onenote_web_archives_are_read_and_its_own_files_named(tmp_path: Path) -> None:
    mht = (
        "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n--x\n"
        "Content-Type: text/html; charset=utf-8\nContent-Location: file:///C:/p.htm\n\n"
        '<html><head><title>Page</title><meta name="created" content="2024-03-01T09:12:00">'
        '</head><body><p data-tag="to-do:completed">t</p><img src="f/i.png"></body></html>\n--x\n'
        "Content-Type: image/png\nContent-Transfer-Encoding: base64\n"
        f"Content-Location: file:///C:/f/i.png\n\n{b64encode(PNG).decode()}\n--x--\n"
    )
    export = write(tmp_path / "n", {"S/a.mht": mht, "S/b.one": b"\xe4\x52\x5c\x7b", "x.bin": b""})
    made = convert("onenote", export)
    assert notes(made) == {
        "S/Page": "---\ncreated: 2024-03-01T09:12:00Z\n---\n\n- [x] t\n\n"
        "![i.png](../attachments/i.png)\n"
    }
    assert files(made) == {"attachments/i.png": PNG}
    assert "*.mht" in reasons(made)["S/b.one"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_export_of_another_kind_or_damage_is_an_error_that_says_what_is_expected(
    tmp_path: Path, kind: str
) -> None:
    for path in (
        tmp_path / "missing",
        write(tmp_path / "empty", {"x.bin": b"x"}),
        archive(tmp_path / "other.zip", {"x.bin": b"x"}),
    ):
        with pytest.raises(PeciaError) as failed:
            convert(kind, path)
        assert failed.value.fields["field"] == "path"


def test_an_archive_never_leads_out_of_itself_and_is_never_inflated_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in ("../up.md", "/abs.md", "a/../../b.md", "a\\b.md", "C:/x.md"):
            made.writestr(zipfile.ZipInfo(name), "x")
        link = zipfile.ZipInfo("link.md")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/passwd")
        made.writestr("bomb.md", b"\0" * 30_000_000)
        made.writestr("ok.md", "fine")
    found = convert("obsidian", path)
    assert notes(found) == {"ok": "fine"}
    dropped = reasons(found)
    assert {"../up.md", "/abs.md", "a/../../b.md", "C:/x.md", "link.md", "bomb.md"} <= {*dropped}
    assert str(source_tree.MAX_FILE_BYTES) in dropped["bomb.md"]
    monkeypatch.setattr(source_tree, "MAX_FILES", 3)
    many = archive(tmp_path / "many.zip", {f"{it}.md": "x" for it in range(5)})
    with pytest.raises(PeciaError, match="at most 3 files"):
        convert("obsidian", many)


def test_a_folder_is_read_without_following_links(tmp_path: Path) -> None:
    write(tmp_path, {"secret.md": "secret", "v/a.md": "a"})
    (tmp_path / "v/link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "v/folder").symlink_to(tmp_path)
    made = convert("obsidian", tmp_path / "v")
    assert notes(made) == {"a": "a"}
    assert {*reasons(made)} == {"link.md", "folder"}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("a/b\\c:d", "a b c d"),
        ("..", "Untitled"),
        (".hidden", "hidden"),
        ("con", "con_"),
        ("x‮gpj.exe", "xgpj.exe"),
        ("a\x00b\nc", "a b c"),
        ("[[x]]#y|z", "x y z"),
        ("é" * 200, "é" * 60),
        ("", "Untitled"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_takes(title: str, name: str) -> None:
    assert safe_part(title) == name


def test_names_are_unique_in_any_case_and_a_note_is_no_attachment() -> None:
    names = UniqueNames()
    assert [names.claim(it) for it in ("A", "a", "Á", "Á")] == ["A", "a 2", "Á", "Á 2"]
    assert [names.claim_file(it) for it in ("f/p.png", "f/P.png")] == ["f/p.png", "f/P 2.png"]
    assert safe_file_name("../../x.md") == "x.md.txt"


def test_html_that_is_nested_without_end_drops_one_note_only(tmp_path: Path) -> None:
    deep = "<div>" * 20_000 + "x" + "</div>" * 20_000
    text = ENEX.format(enex_note("Deep", deep) + enex_note("Fine", "<div>p</div>"))
    made = convert("evernote", write(tmp_path, {"n.enex": text}) / "n.enex")
    assert {*notes(made)} == {"Fine"}
    assert {*reasons(made)} == {"Deep"}
