"""Facts of documents, the graph of their links, and links that are missing."""

import pickle
import random
from itertools import count
from pathlib import Path

from pecia.features.wiki.core.assets import find_referenced_assets, media_kind
from pecia.features.wiki.core.graph import LinkGraph, build_link_graph
from pecia.features.wiki.core.metadata import DocumentMetadata, extract_snippet, parse_metadata
from pecia.features.wiki.core.suggest import SuggestionResult, suggest_links
from pecia.features.wiki.storage.scan import scan_space

TEXTS = {
    "index": "# Home\n\nSee [[guide/start]] and [[Alpha]]. Also [b](guide/b.md#part).\n",
    "guide/start": "---\ntitle: Start\n---\n[[guide/start|me]] [[index]] [x](https://x.y)\n",
    "guide/b": "Not [here](../gone.md), [[gone]], `[[index]]` ![[p.png]]\n\n```\n[[index]]\n```\n",
    "alpha": "---\ntitle: Alpha\n---\nAlone, but for [start](guide/start.md).\n",
    "lonely": "no links\n",
    "x/same": "a",
    "y/same": "b",
    "vague": "[[same]]\n",
}


def graph() -> LinkGraph:
    return build_link_graph({name: parse_metadata(text) for name, text in TEXTS.items()})


def test_what_a_document_says_of_itself_is_read() -> None:
    facts = parse_metadata(
        "---\ntitle: T\ndescription: D\ntags: [a, b, a]\naliases: one\n---\n# H *1*\n"
    )
    assert (facts.title, facts.description, facts.tags) == ("T", "D", ("a", "b"))
    assert (facts.aliases, facts.heading) == (("one",), "H 1")
    assert parse_metadata("# Only a heading\n").display_title("x") == "Only a heading"
    assert parse_metadata("## Too deep\n").display_title("x") == "x"


def test_frontmatter_that_is_no_yaml_says_nothing_and_why() -> None:
    facts = parse_metadata("---\n{bad: [\n---\n# H\n")
    assert facts.title is None
    assert facts.problem
    assert facts.heading == "H"


def test_backlinks_have_one_row_a_document_by_name() -> None:
    found = graph().backlinks("guide/start")
    assert [it.source for it in found] == ["alpha", "index"]
    assert found[1].snippet == "See [[guide/start]] and [[Alpha]]."


def test_a_link_by_title_alias_or_slug_is_alive() -> None:
    assert [it.source for it in graph().backlinks("alpha")] == ["index"]
    by_alias = build_link_graph(
        {"a": DocumentMetadata(aliases=("begin",)), "b": parse_metadata("[[Begin]]")}
    )
    assert [it.source for it in by_alias.backlinks("a")] == ["b"]


def test_forward_links_name_documents_and_addresses_but_not_what_stands_in_code() -> None:
    it = graph()
    assert [(edge.target, edge.anchor) for edge in it.forward_links("index")] == [
        ("alpha", None),
        ("guide/b", "part"),
        ("guide/start", None),
    ]
    assert [edge.target for edge in it.forward_links("guide/b")] == ["gone"]
    assert [a.url for a in it.addresses["guide/start"]] == ["https://x.y"]


def test_hubs_count_other_documents_that_are_there() -> None:
    assert graph().hubs(2) == [("guide/start", 2), ("alpha", 1)]
    assert all(name in TEXTS for name, _ in graph().hubs(100))


def test_orphans_are_told_by_direction() -> None:
    it = graph()
    assert it.orphans("both") == ["lonely", "x/same", "y/same"]
    assert "vague" in it.orphans("incoming")
    assert "guide/b" not in it.orphans("outgoing")


def test_dead_links_are_gathered_by_target_and_ambiguous_ones_name_their_candidates() -> None:
    dead = graph().dead_links()
    assert [(it.target, [e.source for e in it.edges]) for it in dead] == [
        ("gone", ["guide/b"]),
        ("same", ["vague"]),
    ]
    assert dead[1].edges[0].candidates == ("x/same", "y/same")
    assert graph().dead_links({"vague"})[0].target == "same"
    assert graph().dead_links({"index"}) == []


def test_a_graph_made_from_the_one_before_is_the_same_as_one_made_anew() -> None:
    facts = {name: parse_metadata(text) for name, text in TEXTS.items()}
    before = build_link_graph(facts)
    for name, text in (
        ("lonely", "now [[index]]\n"),
        ("alpha", "---\ntitle: Other\n---\n[[lonely]]\n"),
        ("new", "[[Alpha]]\n"),
    ):
        after = {**facts, name: parse_metadata(text)}
        made, anew = before.with_changes({name: after[name]}), build_link_graph(after)
        assert (made.outgoing, made.incoming) == (anew.outgoing, anew.incoming)


def test_a_graph_follows_documents_that_come_go_and_are_called_otherwise() -> None:
    dice = random.Random(5)
    names = ["a", "d/a", "d/index", "d/d", "e/Straße", "e/STRASSE", "é", "x/y/a", "index", "up/b"]
    targets = [*names, "a.md", "./a", "../a", "d", "d/", "..", ".", "strasse", "One", "E", "y/a"]
    facts: dict[str, DocumentMetadata] = {}
    made = build_link_graph({})
    for _ in range(400):
        name = dice.choice(names)
        if name in facts and dice.random() < 0.4:
            del facts[name]
            made = made.with_changes({}, [name])
        else:
            links = "".join(
                dice.choice((f"[[{it}]] ", f"[x](<{it}>) ", f"[[{it}#p|w]]. "))
                for it in dice.choices(targets, k=4)
            )
            title = f"---\ntitle: {dice.choice(targets)}\n---\n" if dice.random() < 0.5 else ""
            facts[name] = parse_metadata(title + links)
            made = made.with_changes({name: facts[name]})
        anew = build_link_graph({it: facts[it] for it in made.facts})
        assert (made.outgoing, made.incoming, made.addresses) == (
            anew.outgoing,
            anew.incoming,
            anew.addresses,
        )


def test_a_snippet_is_the_sentence_and_a_long_one_is_cut() -> None:
    text = "One. Two [[x]] here! Three."
    start = text.index("[[")
    assert extract_snippet(text, start, start + 5) == "Two [[x]] here!"
    long = "a" * 200 + " [[x]] " + "b" * 200
    start = long.index("[[")
    assert extract_snippet(long, start, start + 5).startswith("…a")
    assert extract_snippet(long, start, start + 5).endswith("b…")


def suggested(text: str, labels: tuple[str, ...] = ("Start Here", "begin")) -> SuggestionResult:
    return suggest_links("s", labels, [("d", text)], lambda _: False)


def test_mentions_without_a_link_are_found_as_whole_words() -> None:
    found = suggested("Start here. restart here, BEGIN; begins. Begin").mentions
    assert [(it.text, it.offset) for it in found] == [
        ("Start here", 0),
        ("BEGIN", 26),
        ("Begin", 41),
    ]
    assert found[0].replacement == "[[s|Start here]]"
    assert (found[2].line, found[2].column) == (1, 42)


def test_links_images_code_and_frontmatter_hold_no_mention() -> None:
    text = (
        "---\ntitle: begin\n---\n[begin](x.md) [[s|begin]] ![begin](i.png) `begin`\n\n"
        "```\nbegin\n```\n\n    begin\n"
    )
    assert suggested(text).mentions == ()


def test_the_longest_label_wins_where_two_begin() -> None:
    found = suggested("a data model", ("data", "data model")).mentions
    assert [it.text for it in found] == ["data model"]


def test_sources_with_most_mentions_come_first_and_time_is_bounded() -> None:
    documents = [("a", "begin"), ("b", "begin begin"), ("c", "begin")]
    found = suggest_links("s", ("begin",), documents, lambda _: False)
    assert [it.source for it in found.mentions] == ["b", "b", "a", "c"]
    ticks = count()
    cut = suggest_links("s", ("begin",), documents, lambda _: next(ticks) >= 2)
    assert cut.truncated
    assert {it.source for it in cut.mentions} == {"a", "b"}


def test_in_a_table_the_pipe_of_a_link_is_escaped() -> None:
    found = suggested("| a | b |\n|---|---|\n| begin | x |\n").mentions
    assert found[0].replacement == "[[s\\|begin]]"


def test_files_that_documents_show_are_found_by_path_or_by_name() -> None:
    facts = {
        "a/doc": parse_metadata("![i](img/one.png) ![[two.png]] [f](../file.pdf)\n"),
        "b": parse_metadata("![[two.png]] ![no](missing.png)\n"),
    }
    files = ["a/img/one.png", "a/two.png", "z/two.png", "file.pdf", "unused.png"]
    assert find_referenced_assets(facts, build_link_graph(facts).names, files) == {
        "a/img/one.png": ["a/doc"],
        "a/two.png": ["a/doc", "b"],
        "file.pdf": ["a/doc"],
    }
    assert (media_kind("x.PNG"), media_kind("x.mp4"), media_kind("x.pdf")) == (
        "image",
        "video",
        None,
    )


def test_the_demo_handbook_has_the_one_dead_link_and_the_one_orphan_that_it_says() -> None:
    root = Path(__file__).parents[4] / "examples" / "handbook"
    found = scan_space(root)
    texts = {name: (root / path).read_text("utf-8") for name, path in found.documents.items()}
    it = build_link_graph({name: parse_metadata(text) for name, text in texts.items()})
    assert [(dead.target, [edge.source for edge in dead.edges]) for dead in it.dead_links()] == [
        ("policies/subletting", ["meetings/2026-06-18-fleet-review"])
    ]
    assert it.orphans("both") == it.orphans("incoming") == ["notes/coffee-machine"]


def test_mentions_that_are_links_already_use_up_no_time() -> None:
    linked = [(f"a{it}", "[[s|begin]] and [begin](s.md)") for it in range(50)]
    ticks = count()
    # Time is up at the second document, once there is anything to show.
    found = suggest_links(
        "s",
        ("begin",),
        [*linked, ("b", "begin"), ("c", "begin")],
        lambda some: some and next(ticks) >= 0,
    )
    assert [it.source for it in found.mentions] == ["b"]
    assert found.truncated


def test_of_many_mentions_only_those_outside_of_links_are_suggested() -> None:
    text = (
        "[[s|begin]] begin `begin` ![begin](x.png) [a begin b](s.md) begin [begin][s]\n"
        "\n[s]: s.md\n"
    )
    assert [it.offset for it in suggested(text * 3).mentions] == [
        at * len(text) + it for at in range(3) for it in (12, text.index(" begin [begin]") + 1)
    ]


def test_links_of_html_tags_are_edges() -> None:
    text = (
        'See <a class="x" href="guide/b.md#part">the\nguide</a>, <img src="p.png"> <a href=gone>.'
    )
    it = build_link_graph({"a": parse_metadata(text), "guide/b": DocumentMetadata()})
    edges = {edge.target: (edge.anchor, edge.is_alive) for edge in it.outgoing["a"]}
    assert edges == {"guide/b": ("part", True), "gone": (None, False)}
    assert it.facts["a"].links[0].text == "the\nguide"


def test_equal_links_of_a_document_are_kept_once() -> None:
    """A document may have a hundred thousand, which compute workers send and graphs resolve."""
    metadata = parse_metadata("[one](b.md#x) [two](b.md#x) [[b]] [[b]] [one](b.md)\n\n[d]: b.md\n")
    kept = {id(it.link) for it in metadata.links}
    assert (len(metadata.links), len(kept)) == (5, 3)
    assert [it.text for it in metadata.links] == ["one", "two", "b", "b", "one"]
    assert pickle.loads(pickle.dumps(metadata)) == metadata
    sent = pickle.loads(pickle.dumps(metadata)).links
    assert len({id(it.link) for it in sent}) == len(kept)
