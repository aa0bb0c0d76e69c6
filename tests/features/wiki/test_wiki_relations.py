"""Links of every kind: embeds, relations, frontmatter, anchors, folders and plain files."""

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio


async def test_embeds_relations_and_frontmatter_links_are_edges(space: Space) -> None:
    space.write(
        {
            "ana.md": '---\nlead: "[[bo]]" # kept\n# not [[c]]\n---\n- works_at [[MIT]] (2020)\n',
            "MIT.md": "![[c]] and ![[p.png]] and ![x](gone.png)\n",
            "bo.md": "text\n",
            "c.md": "text\n",
        }
    )
    forward = (await space.value("get_forward_links", docName="ana"))["forwardLinks"]
    assert {(it["docName"], it["relation"]) for it in forward} == {
        ("MIT", "works_at"),
        ("bo", "lead"),
    }
    back = (await space.value("get_backlinks", docName="c"))["backlinks"]
    assert [(it["source"], it["embed"]) for it in back] == [("MIT", True)]
    assert (await space.value("get_dead_links"))["deadLinks"] == []


async def test_a_rename_rewrites_links_in_the_frontmatter_byte_for_byte(space: Space) -> None:
    text = (
        "---\nup:  '[[ old#part|Old ]]'   # a comment\n"
        'all: ["[[old]]",  "[[x]]"]\n---\n![[old]]\n'
    )
    space.write({"old.md": "old\n", "x.md": text})
    await space.value("rename_document", docName="old", newDocName="d/new")
    assert space.read("x.md") == text.replace("old#", "d/new#").replace("[[old]]", "[[d/new]]")
    await space.value("rename_document", docName="d/new", newDocName="old")
    assert space.read("x.md") == text
    moved = await space.value("rename_document", docName="old", newDocName="it's")
    assert moved["strandedLinks"] == 2
    assert "![[it's]]" in space.read("x.md")


async def test_folders_and_plain_files_are_not_dead(space: Space) -> None:
    space.write(
        {
            "x.md": "[a](d/) [b](LICENSE) [[d]] [c](gone/) [e](Makefile)\n",
            "d/one.md": "one\n",
            "LICENSE": "free\n",
        }
    )
    dead = (await space.value("get_dead_links"))["deadLinks"]
    assert {it["target"] for it in dead} == {"gone", "Makefile"}
    done = await space.value("edit_document", docName="x", find="[a]", replace="[aa]")
    assert {*done["deadLinks"]} == {"gone", "Makefile"}


async def test_links_to_headings_and_blocks_that_do_not_exist_are_found(space: Space) -> None:
    space.write(
        {
            "x.md": "# Top\n\n[[y#Setup]] [[y#Gone]] [a](y.md#set-up-2) [[y#^b1]] [[y#^b2]] "
            "[t](#top) [n](#nowhere) [[y#One#Setup]]\n",
            "y.md": "# One\n\n## Setup\n\nwords ^b1\n\n## Set up 2\n",
        }
    )
    plain = await space.value("get_dead_links")
    assert (plain["deadLinks"], plain.get("deadAnchors")) == ([], None)
    found = await space.value("get_dead_links", anchors=True)
    assert [(it["target"], it["anchor"]) for it in found["deadAnchors"]] == [
        *(("y", "Gone"), ("y", "^b2"), ("x", "nowhere"))
    ]


async def test_context_is_what_lies_within_some_links(space: Space) -> None:
    space.write({"a.md": "- part_of [[b]]\n", "b.md": "[[c]]\n", "c.md": "[[d]]\n", "d.md": "d\n"})
    near = await space.value("get_context", docName="b", depth=1)
    assert [(it["docName"], it["distance"]) for it in near["documents"]] == [("a", 1), ("c", 1)]
    assert near["documents"][0]["relation"] == "part_of"
    wide = await space.value("get_context", docName="a", depth=3)
    assert [(it["docName"], it["distance"], it["via"]) for it in wide["documents"]] == [
        *(("b", 1, "a"), ("c", 2, "b"), ("d", 3, "c"))
    ]
