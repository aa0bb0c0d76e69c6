"""Addresses outside a space, over MCP: renames leave them alone, and links list them whole."""

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

ADDRESSES = (
    *(
        "https://example.com/a%20b",
        "https://x.y/%E9?q=%20#h%20h",
        "mailto:a%20b@x.y",
        "tel:+1%20555",
    ),
    *("data:text/plain,a%20b", "//host.example/a%20b.md", "odd+scheme:x%20y"),
)
PAGE = "\n\n".join(
    [
        "---\nsource_url: https://x.y/a%20b\n---",
        *(f"[t]({it}) ![t](<{it}>) <a href='{it}'>t</a>" for it in ADDRESSES),
        "[t](<https://x.y/a b.md>) <https://x.y/%20> [t](m%3An.md)",
        *(f"[r{at}]\n\n[r{at}]: {it} 'title'" for at, it in enumerate(ADDRESSES)),
        "",
    ]
)


async def test_a_rename_leaves_addresses_outside_the_space_byte_for_byte(space: Space) -> None:
    space.write({"d/one.md": PAGE, "d/m:n.md": "text\n"})
    await space.value("rename_document", docName="d/one", newDocName="q/r/two")
    now = PAGE.replace("[t](m%3An.md)", "[t](../../d/m%3An.md)")
    assert space.read("q/r/two.md") == now
    await space.value("rename_folder", fromFolder="q/r", toFolder="s")
    assert space.read("s/two.md") == now.replace("../../d/", "../d/")


async def test_addresses_are_listed_as_they_are_written(space: Space) -> None:
    space.write({"one.md": "[t](https://x.y/a%20b?q=1&r=%20#h%20h) [u](<https://x.y/c d>)\n"})
    found = await space.value("get_forward_links", docName="one")
    urls = [it["url"] for it in found["forwardLinks"] if it["kind"] == "external"]
    assert urls == ["https://x.y/a%20b?q=1&r=%20#h%20h", "https://x.y/c d"]


async def test_a_rename_rewrites_definitions_that_no_link_uses(space: Space) -> None:
    space.write(
        {
            "other doc.md": "# Other\n",
            "a.md": "Uses [r1].\n\n[r1]: other%20doc.md\n[r2]: other%20doc.md 'T'\n"
            "[r2]: <other doc.md#x>\n[r3]: a.md\n\n[^n]: other%20doc.md\n\n"
            "    [r4]: other%20doc.md\n",
        }
    )
    done = await space.value("rename_document", docName="other doc", newDocName="d/new one")
    assert done["rewrittenDocs"] == [{"docName": "a", "rewrites": 3}]
    assert space.read("a.md") == (
        "Uses [r1].\n\n[r1]: d/new%20one.md\n[r2]: d/new%20one.md 'T'\n"
        "[r2]: <d/new one.md#x>\n[r3]: a.md\n\n[^n]: other%20doc.md\n\n"
        "    [r4]: other%20doc.md\n"
    )
