"""A space as OKF and as HTML pages: links that lead somewhere, nothing that runs, losses named."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pecia.features.cascade.okf.index import render_indexes
from pecia.features.cascade.okf.lint.bundle import parse_bundle
from pecia.features.cascade.okf.lint.runner import validate_bundle
from pecia.features.wiki.transfer.exported_space import (
    ExportedSpace,
    ExportReport,
    read_documents,
)
from pecia.features.wiki.transfer.okf_concepts import make_concepts
from pecia.interfaces.cli.commands.space.export_folder import open_export
from pecia.interfaces.cli.commands.space.static_site import make_site
from pecia.kernel.errors import Conflict, Unavailable
from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.link import LinkKind
from pecia.kernel.text.links.resolver import normalize_path
from pecia.kernel.text.markdown.escapes import decode_path

DOCUMENTS = {
    "index.md": "# Home\n\n[[Guide]] and [[guides/setup#Linux|how]], [text](guides/setup.md).\n",
    "log.md": "what happened\n",
    "guides/setup.mdx": "---\ntitle: Set up\ntags: [a b]\n---\n## Linux\n\n"
    "![[pic.png]] ![x](pic.png)\n",
    "guides/Guide.md": "See [[index]], [[#Here]], [[Nowhere]], `[[code]]`, ![[setup]], "
    "[up](../index.md#home) and <https://example.com/a%20b>, "
    '<a href="../index#home">home</a> <img src="pic.png"/>.\n\n## Here\n',
    "bad.md": "---\ntitle: [\n---\nbody\n",
    "latin.md": "Käse",
    "typed.md": "---\ntype: Runbook\nx: 1 # kept\n---\n# Typed\n",
}
FILES = ("guides/pic.png", "other/pic.png", "a b/file (1).pdf")


def space() -> ExportedSpace:
    bodies = {path: text.encode() for path, text in DOCUMENTS.items()}
    bodies["latin.md"] = "Käse".encode("latin-1")
    return read_documents(bodies, FILES)


def test_an_okf_bundle_conforms_and_its_links_lead_to_its_files() -> None:
    report = ExportReport()
    made = make_concepts(space(), report)
    bodies = {path: text.encode() for path, text in made.items()}
    now = datetime.now(UTC)
    whole = {**made, **render_indexes(parse_bundle(bodies, now))}
    bundle = parse_bundle({path: text.encode() for path, text in whole.items()}, now)
    assert [*validate_bundle(bundle, strict=False)] == []
    assert {"index-page.md", "log-page.md", "guides/setup.md", "bad.md"} <= {*made}
    assert made["typed.md"] == DOCUMENTS["typed.md"].replace("x: 1", "x: 1").replace(
        "---\n# Typed", "title: Typed\n---\n# Typed"
    )
    leads = {*whole, *FILES}
    for path, text in made.items():
        for link in find_links(text):
            if link.kind is LinkKind.AUTO or not link.target.path:
                continue
            folder = path.rpartition("/")[0]
            target = normalize_path(folder, decode_path(link.target.path))
            assert target in leads or "Nowhere" in link.span.of(text), (path, link.span.of(text))
    assert "[how](guides/setup.md#Linux)" in made["index-page.md"]
    assert "![pic.png](pic.png) ![x](pic.png)" in made["guides/setup.md"]
    assert (
        '<a href="../index-page.md#home">home</a> <img src="pic.png"/>' in made["guides/Guide.md"]
    )
    assert "`[[code]]`" in made["guides/Guide.md"]
    assert "<https://example.com/a%20b>" in made["guides/Guide.md"]
    told = {it["path"] for it in report.changed}
    assert {"index.md", "log.md", "guides/setup.mdx", "guides/Guide.md", "bad.md"} <= told
    assert any("Nowhere" in it["reason"] for it in report.changed)


def test_html_pages_work_from_a_folder_and_run_nothing() -> None:
    report = ExportReport()
    hostile = {
        "evil.md": "# <script>alert(1)</script>\n\n<script>alert(1)</script> "
        "<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) ![y](https://example.com/p.png) "
        '![z](data:image/svg+xml;base64,AAAA)\n\n[[a&b"c|<b>bold</b>]]\n',
        'a&b"c.md': "quoted\n",
        "contents.md": "x\n",
        "index.md": "[[evil]]\n",
    }
    bodies = {path: text.encode() for path, text in {**DOCUMENTS, **hostile}.items()}
    found = read_documents(bodies, FILES)
    made = make_site(found, "notes <1>", report)
    assert {"index.html", "guides/setup.html", "style.css"} <= {*made}
    leads = {*made, *FILES}
    for path, html in made.items():
        if not path.endswith(".html"):
            continue
        assert not re.search(r'<script|<img[^>]*onerror|="javascript:', html), path
        for key, address in re.findall(r'\b(href|src)="([^"]*)"', html):
            if address.startswith(("https:", "#")) or not address:
                assert key == "href" or not address
                continue
            place = decode_path(address.partition("#")[0].replace("&amp;", "&"))
            target = normalize_path(path.rpartition("/")[0], place)
            assert target in leads, (path, address)
    assert "&lt;script&gt;" in made["evil.html"]
    assert '<img src="pic.png"' in made["guides/setup.html"]
    assert 'class="missing"' in made["guides/Guide.html"]
    assert "light-dark(" in made["style.css"]
    assert len(made["style.css"]) < 12_000
    assert any("on the network" in it["reason"] for it in report.changed)


def export_twice(target: Path, *, replace: bool) -> None:
    """An export that fails after its first file."""
    with open_export(target, replace=replace) as folder:
        folder.write("a/b.md", b"half")
        folder.write("a/b.md", b"again")


def test_an_export_that_is_cut_off_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(Unavailable):
        export_twice(target, replace=False)
    assert [*tmp_path.iterdir()] == []
    with open_export(target, replace=False) as folder:
        folder.write("a/b.md", b"whole")
        assert not target.exists()
    assert (target / "a/b.md").read_bytes() == b"whole"
    assert [it.name for it in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_is_not_empty_is_refused_unless_told(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    with pytest.raises(Conflict), open_export(target, replace=False):
        pytest.fail("it was opened")
    assert (target / "mine.txt").read_text() == "mine"
    with pytest.raises(Unavailable):
        export_twice(target, replace=True)
    assert (target / "mine.txt").read_text() == "mine"
    with open_export(target, replace=True) as folder:
        folder.write("new.md", b"x")
    assert [it.name for it in target.iterdir()] == ["new.md"]
    assert [it.name for it in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a\\b", "a\x00b"])
def test_a_path_of_a_server_never_leaves_the_folder(tmp_path: Path, path: str) -> None:
    with open_export(tmp_path / "out", replace=False) as folder:
        assert folder.problem(path)
