"""Markdown to HTML for pages without scripts. Pure.

The rules are those of `web/src/lib/markdown.ts`; a test compares the two. HTML in a document is
reduced to a few tags without attributes, so that nothing in it can act.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from pecia.interfaces.http.pages.footnotes import add_footnotes

HTML_TAGS = frozenset(
    (
        *("b", "br", "code", "del", "details", "em", "i", "ins", "kbd", "mark", "s", "small"),
        *("strong", "sub", "summary", "sup", "u"),
    )
)
CALLOUTS = {
    **dict.fromkeys(("tip", "hint", "success", "check", "done"), "good"),
    **dict.fromkeys(("important", "warning", "attention", "question", "help", "faq"), "warn"),
    **dict.fromkeys(("caution", "danger", "error", "failure", "fail", "missing", "bug"), "bad"),
}
"""Their colours; any other kind is a plain note."""
_FRONTMATTER = re.compile(r"---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)", re.DOTALL)
_WIKI_LINK = re.compile(r"\[\[([^\[\]|\n#]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_MATH = re.compile(r"\$([^\s$](?:[^$\n]{0,998}[^\s$\\])?)\$(?!\d)")
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)[^<>]*>|[<>&]")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_CALLOUT = re.compile(r"\[!([\w-]+)\]([+-]?)[ \t]*(.*)")
_TITLE_TOKENS = ("text", "code_inline", "html_inline")
_LANGUAGE = re.compile(r"[\w+#-]{1,30}")


@dataclass(frozen=True, slots=True)
class PageLink:
    """Where a link leads. `is_missing`: nowhere yet."""

    href: str
    is_missing: bool = False
    title: str = ""


Resolve = Callable[[str, str], PageLink]
"""From a target and an anchor."""

ShowPicture = Callable[[str], str | None]
"""From the address of a picture to one that the page may load; None: show its description."""


@dataclass(frozen=True, slots=True)
class RenderedMarkdown:
    """The first heading is the title, and not in the HTML."""

    title: str
    html: str


def split_frontmatter(text: str) -> str:
    """The document without its frontmatter."""
    found = _FRONTMATTER.match(text)
    return text[found.end() :] if found else text


def slug(text: str) -> str:
    """The id of a heading."""
    kept = re.sub(r"[^\w\s-]", "", text.lower())
    return re.sub(r"\s+", "-", kept.strip())


def render_markdown(
    text: str, resolve: Resolve, picture: ShowPicture | None = None
) -> RenderedMarkdown:
    """The HTML of a document without frontmatter. Safe to be put into a page."""
    md = _parser(resolve)
    tokens = md.parse(text)
    titles = _name_headings(tokens)
    title = ""
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        title = titles[0]
        del tokens[:3]
    _tidy(tokens, resolve, picture)
    return RenderedMarkdown(title, md.renderer.render(tokens, md.options, {}))


def _parser(resolve: Resolve) -> MarkdownIt:
    md = MarkdownIt("js-default", {"html": True})

    def wiki_link(state: StateInline, silent: bool) -> bool:
        found = _WIKI_LINK.match(state.src, state.pos)
        if found is None or not (found[1] or found[2]):
            return False
        if not silent:
            target = resolve(found[1].strip(), (found[2] or "").strip())
            opened = state.push("link_open", "a", 1)
            opened.markup = "wiki"
            opened.attrs = _link_attributes(target)
            label = (found[3] or "").strip()
            state.push("text", "", 0).content = label or target.title or found[0][2:-2]
            state.push("link_close", "a", -1)
        state.pos = found.end()
        return True

    md.inline.ruler.before("link", "wiki_link", wiki_link)
    add_footnotes(md, lambda it: resolve("", it).href)
    md.inline.ruler.before("escape", "math", _math_inline)
    ended = ["paragraph", "reference", "blockquote", "list"]
    md.block.ruler.before("fence", "math_block", _math_block, {"alt": ended})
    rules: dict[str, Callable[[Token], str]] = {
        "html_block": lambda it: _bare_tags(it.content),
        "html_inline": lambda it: _bare_tags(it.content),
        "table_open": lambda it: (
            '<div class="table-frame" role="group" aria-label="Table" tabindex="0"><table>\n'
        ),
        "table_close": lambda it: "</table></div>\n",
        "math_inline": lambda it: f'<code class="math">{escape(it.content)}</code>',
        "math_block": lambda it: _formula(it.content),
        "fence": _code_block,
        "code_block": _code_block,
    }
    for name, rule in rules.items():
        md.add_render_rule(name, _adapt(rule))
    return md


def _adapt(rule: Callable[[Token], str]) -> Callable[..., str]:
    def render(
        self: RendererHTML, tokens: Sequence[Token], at: int, options: object, env: object
    ) -> str:
        return rule(tokens[at])

    return render


def _math_inline(state: StateInline, silent: bool) -> bool:
    found = _MATH.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("math_inline", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _math_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """`$$` on a line, or at its start and end: what stands between is a formula."""

    def line_of(at: int) -> str:
        return state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]].rstrip()

    if state.sCount[first] - state.blkIndent >= 4 or not line_of(first).startswith("$$"):
        return False
    lines, last = [line_of(first)[2:]], first
    while not lines[-1].endswith("$$"):
        last += 1
        if last >= end or (line_of(last) and state.sCount[last] < state.blkIndent):
            return False
        lines.append(line_of(last))
    if silent:
        return True
    token = state.push("math_block", "", 0)
    token.block = True
    token.content = "\n".join(lines)[:-2].strip()
    token.map = [first, last + 1]
    state.line = last + 1
    return True


def _formula(text: str) -> str:
    """Its source: what draws it is a script."""
    return f'<pre class="math" tabindex="0"><code class="math">{escape(text)}</code></pre>\n'


def _code_block(token: Token) -> str:
    if token.info.strip() == "math":
        return _formula(token.content.strip())
    language = _LANGUAGE.match(token.info.strip())
    kind = f' class="language-{language[0].lower()}"' if language else ""
    return f'<pre tabindex="0"><code{kind}>{escape(token.content, quote=True)}</code></pre>\n'


def _bare_tags(html: str) -> str:
    def keep(found: re.Match[str]) -> str:
        tag = (found[2] or "").lower()
        return f"<{found[1]}{tag}>" if tag in HTML_TAGS else escape(found[0], quote=False)

    return _TAG.sub(keep, _COMMENT.sub("", html))


def _link_attributes(target: PageLink) -> dict[str, str | int | float]:
    attributes: dict[str, str | int | float] = {"href": target.href} if target.href else {}
    if target.is_missing:
        attributes |= {"class": "missing", "title": "This page does not exist yet"}
    return attributes


def _name_headings(tokens: Sequence[Token]) -> list[str]:
    titles: list[str] = []
    used: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        children = tokens[at + 1].children or []
        text = "".join(it.content for it in children if it.type in _TITLE_TOKENS).strip()
        base = slug(text) or "section"
        seen = used.get(base, 0)
        used[base] = seen + 1
        token.attrSet("id", f"{base}-{seen}" if seen else base)
        titles.append(text)
    return titles


def _tidy(tokens: list[Token], resolve: Resolve, picture: ShowPicture | None) -> None:
    """Alignments as classes, tasks, callouts, addresses."""
    for at, token in enumerate(tokens):
        align = re.search(r"text-align:(\w+)", str(token.attrGet("style") or ""))
        if align:
            token.attrs = {} if align[1] == "left" else {"class": f"align-{align[1]}"}
        if token.type == "list_item_open":
            _tidy_task(token, tokens[at + 2])
        if token.type == "blockquote_open":
            _tidy_callout(tokens, at)
        for child in token.children or []:
            _resolve_address(child, resolve, picture)


def _tidy_task(item: Token, inline: Token) -> None:
    first = (inline.children or [None])[0] if inline.type == "inline" else None
    found = re.match(r"\[([ xX])\] ", first.content) if first else None
    if first is None or found is None:
        return
    first.content = f"{'☐' if found[1] == ' ' else '☑'} {first.content[4:]}"
    item.attrJoin("class", "task")


def _tidy_callout(tokens: list[Token], at: int) -> None:
    """`> [!kind] Name`: its first line is the name, the rest is text. With `-` or `+` it folds."""
    inline = tokens[at + 2]
    children = (inline.children or []) if inline.type == "inline" else []
    found = _CALLOUT.fullmatch(children[0].content) if children else None
    if found is None:
        return
    kind, fold, name = found.groups()
    quote = tokens[at]
    quote.tag = "details" if fold else "div"
    quote.attrs = {"class": f"callout {CALLOUTS.get(kind.lower(), '')}".strip()}
    if fold == "+":
        quote.attrs["open"] = ""
    for it in tokens[at:]:
        if it.type == "blockquote_close" and it.level == quote.level:
            it.tag = quote.tag
            break
    breaks = (n for n, it in enumerate(children) if it.type in ("softbreak", "hardbreak"))
    end = next(breaks, None)
    line = children[:end]
    line[0].content = name if name or len(line) > 1 else kind[0].upper() + kind[1:]
    opened, closed = tokens[at + 1], tokens[at + 3]
    if end is not None:
        body = replace(inline, children=children[end + 1 :])
        tokens[at + 4 : at + 4] = [replace(opened, attrs={}), body, replace(closed)]
        inline.children = line
    opened.attrs = {"class": "callout-name"}
    if fold:
        opened.tag = closed.tag = "summary"


def _resolve_address(token: Token, resolve: Resolve, picture: ShowPicture | None) -> None:
    if token.type == "image":
        source = picture(str(token.attrGet("src") or "")) if picture else None
        if source is not None:
            token.attrSet("src", source)
            return
        # Pictures need a signed address: their description stands in their place.
        token.type, token.content, token.children = "text", f"[{token.content or 'image'}]", None
        return
    if token.type != "link_open" or token.markup:
        return
    href = str(token.attrGet("href") or "")
    if _ABSOLUTE.match(href):
        token.attrSet("class", "external")
        token.attrSet("rel", "noopener noreferrer")
        return
    target, _, anchor = href.partition("#")
    token.attrs = _link_attributes(resolve(unquote(target), unquote(anchor)))
