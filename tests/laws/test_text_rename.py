"""After a move, every link that was alive leads to the same document, and nothing else changed."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.text.links.candidates import may_need_rewrite
from pecia.kernel.text.links.extract import find_block_definitions, find_links
from pecia.kernel.text.links.name_index import NameIndex, folder_of, relative_path
from pecia.kernel.text.links.resolver import (
    CASCADE_RULES,
    WIKI_RULES,
    LinkRules,
    ResolvedLink,
    resolve_link,
)
from pecia.kernel.text.links.rewrite import DocumentMoves, DocumentRename, rewrite_links
from pecia.kernel.text.markdown.blocks import scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Edit, apply_edits

NAMES = (
    *("a", "b", "d/a", "d/b", "d/e/a", "f/index", "f/f", "g h", "A", "v1.2", "x.js", "d/c#1", "é"),
    *("m:n", "p(q", "r&amp;s", "100%", "d/t.md", "[u]"),
)
WRITTEN = (
    *(
        "[[a]]",
        "[[b|x]]",
        "[[d/a#h]]",
        "[[e/a]]",
        "[[f]]",
        "[[g h]]",
        "[[G-H]]",
        "[[../a]]",
        "[[Ttl]]",
    ),
    *("[x](a.md)", "[x](./b)", "[x](../a.md#h)", "[x](d/b.mdx?q=1)", "[x](<g h.md>)", "[x](g%20h)"),
    *(
        "[x](f/)",
        "[x](e/a)",
        "![x](p.png)",
        "![[p.png]]",
        "![[b]]",
        "[r]",
        "[x](/d/a)",
        "[x](v1.2)",
    ),
    *(
        "`[[a]]`",
        "[x](none.md)",
        "[[none]]",
        "<http://a>",
        "[x](#h)",
        "[x](m:n)",
        "text",
        "[x](p%28q)",
        "[[1]](d/a.md)",
        "![[2]](a.md#h)",
    ),
    *("[x](x.js)", "[[x.js]]", "[[é]]", "[x](r%26amp;s)"),
)
DEFINITION = "\n\n[r]: d/b.md 'title'\n"


@dataclass(frozen=True, slots=True)
class Space:
    texts: dict[str, str]
    moves: DocumentMoves
    rules: LinkRules

    def names(self) -> NameIndex:
        return NameIndex.of(self.texts, {"b": ["Ttl"], "d/a": ["a"]})


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    bodies = st.lists(st.sampled_from(WRITTEN), max_size=6).map(" ".join)
    texts = {it: draw(bodies) + DEFINITION for it in names}
    moved = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    free = [it for it in NAMES if it not in names or it in moved]
    places = draw(st.permutations(free))
    rules = draw(st.sampled_from([WIKI_RULES, CASCADE_RULES]))
    return Space(texts, DocumentMoves(dict(zip(moved, places, strict=False))), rules)


@settings(max_examples=200, deadline=None)
@given(spaces())
def test_a_link_that_was_alive_leads_to_the_same_document(space: Space) -> None:
    rename = DocumentRename.of(space.moves, space.names(), space.rules)
    for source, text in space.texts.items():
        result = rewrite_links(text, source, rename)
        before, after = find_links(text), find_links(result.text)
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            meant = resolve_link(old, source, rename.before, space.rules)
            means = resolve_link(new, space.moves.of(source), rename.after, space.rules)
            if isinstance(meant, ResolvedLink) and old not in result.stranded:
                assert isinstance(means, ResolvedLink)
                assert means.name == space.moves.of(meant.name)
                assert means.anchor == meant.anchor


@settings(max_examples=100, deadline=None)
@given(spaces())
def test_only_the_paths_inside_links_change(space: Space) -> None:
    rename = DocumentRename.of(space.moves, space.names(), space.rules)
    for source, text in space.texts.items():
        result = rewrite_links(text, source, rename)
        assert paths_blanked(result.text) == paths_blanked(text)


@settings(max_examples=100, deadline=None)
@given(spaces())
def test_a_link_to_what_stayed_from_what_stayed_is_left_alone(space: Space) -> None:
    rename = DocumentRename.of(DocumentMoves({}), space.names(), space.rules)
    for source, text in space.texts.items():
        assert rewrite_links(text, source, rename).text == text


SOUP = (
    *("[", "]", "(", ")", "<", ">", "`", "\\", "\n", "\n\n", " ", "!", "&amp;", "%20", "> ", "- "),
    *(
        "](",
        "]: ",
        "[r]",
        "[r]: ",
        "[[",
        "]]",
        "|",
        "#h",
        "?q",
        "a",
        "d/a",
        "../a",
        "./b.md",
        "g h",
    ),
    *("m:n", "p(q", "p\\(q", "r&amp;amp;s", "100%25", '<a href="a.md">', "<!--", "```\n", "'t'"),
    *("[x](d/b)", "[x](<g h>)", "[x](b 'a')", "[x]( \n a)", "[[d/a#h|x]]", "[[a\\|x]]"),
    *("[[1]](d/a.md)", "![[2]](../a#h)"),
)


@settings(max_examples=400, deadline=None)
@given(spaces(), st.lists(st.sampled_from(SOUP), max_size=14).map("".join))
def test_a_document_that_is_passed_over_has_nothing_to_rewrite(space: Space, soup: str) -> None:
    rename = DocumentRename.of(space.moves, space.names(), space.rules)
    for source in space.texts:
        for text in (soup, f"---\nup: '{soup}'\n---\n", f"{soup}{DEFINITION}"):
            result = rewrite_links(text, source, rename)
            if result.edits or result.stranded:
                assert may_need_rewrite(text, source, rename), (source, text)


@settings(max_examples=200, deadline=None)
@given(spaces(), st.lists(st.sampled_from(WRITTEN), max_size=8))
def test_a_link_is_rewritten_the_same_whatever_was_rewritten_before(
    space: Space, links: list[str]
) -> None:
    shared = DocumentRename.of(space.moves, space.names(), space.rules)
    for source in space.texts:
        for text in (*links, *(f"{it}{DEFINITION}" for it in links)):
            alone = DocumentRename.of(space.moves, space.names(), space.rules)
            assert rewrite_links(text, source, shared) == rewrite_links(text, source, alone)


ODD_NAMES = ("hello two", "we:ird", "q(z)", "é", "a&b", "100%", "v1", "d/in side", "e/f/deep")


@st.composite
def spelled(draw: st.DrawFn, source: str) -> str:
    """A link from there to a document, or to none, with any characters of its base name escaped.

    Not of its folders: from within a folder its name is not written, and nothing remembers how.
    """
    name = draw(st.sampled_from((*ODD_NAMES, "no such", "https://example.org/z")))
    path = relative_path(name, folder_of(source)) + draw(st.sampled_from(("", ".md")))
    angled = draw(st.booleans())

    def written(it: str) -> str:
        must = it in ("%", "<", ">") or (not angled and it in " ()") or it == ":"
        if it in "/." or not (must or draw(st.booleans())):
            return it
        return "".join(f"%{byte:02x}" for byte in it.encode())

    folders, slash, base = path.rpartition("/")
    folders = folders.replace(":", "%3A")
    path = draw(st.sampled_from(("", "./"))) + folders + slash + "".join(map(written, base))
    return f"[x](<{path}>)" if angled else f"[x]({path})"


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_rename_there_and_back_restores_every_byte(data: st.DataObject) -> None:
    places = ("s", "d/s", "e/f/s", "x/y/z/s")
    here, there = data.draw(st.permutations(places))[:2]
    text = " ".join(data.draw(st.lists(spelled(here), min_size=1, max_size=4)))
    names = NameIndex.of((here, *ODD_NAMES))
    out = DocumentRename.of(DocumentMoves({here: there}), names, WIKI_RULES)
    back = DocumentRename.of(DocumentMoves({there: here}), out.after, WIKI_RULES)
    moved = rewrite_links(text, here, out)
    assert not moved.stranded
    assert rewrite_links(moved.text, there, back).text == text


def paths_blanked(text: str) -> str:
    blocks = scan_blocks(text, find_body_start(text))
    found = [*find_links(text), *find_block_definitions(text, blocks)]
    spans = {it.target.path_span for it in found}
    return apply_edits(text, [Edit(it, "*") for it in spans])
