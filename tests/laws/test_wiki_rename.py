"""After a rename in a space every link that led somewhere leads to the same document."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.features.wiki.core.graph import LinkGraph, build_link_graph
from pecia.features.wiki.core.metadata import parse_metadata
from pecia.features.wiki.core.rename import (
    RenamePlan,
    find_affected,
    plan_document_rename,
    plan_folder_rename,
    plan_rewrites,
)

NAMES = ("a", "b", "d/a", "d/b", "d/e/a", "d/index", "g h", "f/f", "v1.2", "é", "z/d/a")
NEW = ("n", "d/n", "q/r/s", "d/e/n", "b2", "f/a", "n m", "v2.0", "ü")
PLACES = {"d", "d/e", "f", "z", "z/d"}
FOLDERS = ("n", "d2", "q/d", "f/d", "z/e")
LINKS = (
    *("[[a]]", "[[b|x]]", "[[d/a#h]]", "[[e/a]]", "[[d]]", "[[g h]]", "[[Title b]]", "[[../a]]"),
    *("[x](a.md)", "[x](./b)", "[x](../a.md#h)", "[x](d/b.md?q=1)", "[x](<g h.md>)", "[x](d/)"),
    *("![[a]]", "![[d/b]]", "\n- part_of [[d/a]]"),
    *("[p](d/p.pdf)", "![p](../d/e/p.png)", "[f](d/e/)", "[f](../f)", "[[d/e]]", "[f](/d/e)"),
    *("[r]", "`[[a]]`", "[[none]]", "[x](v1.2)", "[[é]]", "![i](p.png)", "[w](https://x.y)", "a b"),
)
DEFINITION = "\n\n[r]: d/b.md 'title'\n"


@dataclass(frozen=True, slots=True)
class Case:
    texts: dict[str, str]
    renaming: RenamePlan


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=7, unique=True))
    bodies = st.lists(st.sampled_from(LINKS), max_size=6).map(" ".join)
    above = st.sampled_from(("", 'up: "[[a]]"\n', "all: ['[[d/b#h|x]]', \"[[g h]]\"]\n"))
    texts = {
        it: f"---\ntitle: Title {it}\n{draw(above)}---\n{draw(bodies)}{DEFINITION}" for it in names
    }
    below = [it for it in ("d", "f", "d/e") if any(name.startswith(f"{it}/") for name in names)]
    if below and draw(st.booleans()):
        old = draw(st.sampled_from(below))
        places = [f"{it}/new" for it in FOLDERS if not f"{it}/".startswith(f"{old}/")]
        new = draw(st.sampled_from(places))
        return Case(texts, plan_folder_rename(old, new, names, folders=PLACES))
    return Case(
        texts, plan_document_rename(draw(st.sampled_from(names)), draw(st.sampled_from(NEW)), names)
    )


@settings(max_examples=150, deadline=None)
@given(cases())
def test_no_link_that_led_somewhere_is_dead_after_a_rename(case: Case) -> None:
    before = graph(case.texts)
    moved = case.renaming.documents
    done = plan_rewrites(case.renaming, before.names, case.texts.items())
    texts = {**case.texts, **{it.name: it.text for it in done}}
    after = graph({moved.get(name, name): text for name, text in texts.items()})
    stranded = {it.name for it in done if it.unresolved}
    assert not stranded
    for source, edges in before.outgoing.items():
        alive = {it.target for it in after.outgoing[moved.get(source, source)] if it.is_alive}
        assert {moved.get(it.target, it.target) for it in edges if it.is_alive} <= alive


@settings(max_examples=150, deadline=None)
@given(cases())
def test_every_document_that_a_rename_changes_is_among_those_it_may_affect(case: Case) -> None:
    before = graph(case.texts)
    affected = find_affected(case.renaming, before)
    done = plan_rewrites(
        case.renaming, before.names, case.texts.items(), is_place=PLACES.__contains__
    )
    assert {it.name for it in done} <= affected


@settings(max_examples=100, deadline=None)
@given(cases())
def test_a_document_is_written_anew_only_where_a_link_of_it_changes(case: Case) -> None:
    before = graph(case.texts)
    for it in plan_rewrites(case.renaming, before.names, case.texts.items()):
        assert (it.text != case.texts[it.name]) == bool(it.count)


def test_a_document_without_a_link_to_what_moves_is_not_read() -> None:
    texts = {
        "lx/a": "[[b]] ![i](p.png)",
        "lx/in/b": "x",
        "by title": "[[Title]]",
        "file": "[p](lx/in/none/p.pdf)",
        "escaped": "[p](lx%2Fp.pdf)",
        "tag": '<img src="lx/p.png">',
        "folder": "[all](lx/in/)",
        "other": "[a](other/lx.md) [[z]] [p](x/lx/p.pdf) https://x.y/lx/a",
        "z": "lx/a, in/b",
    }
    texts["lx/a"] = "---\ntitle: Title\n---\n" + texts["lx/a"]
    renaming = plan_folder_rename("lx", "new", texts, ["lx/p.png"])
    unread = texts.keys() - find_affected(renaming, graph(texts))
    # A document with the name of the folder may be found by it.
    assert unread - {"other"} == {"z"}


def graph(texts: dict[str, str]) -> LinkGraph:
    return build_link_graph({name: parse_metadata(text) for name, text in texts.items()})
