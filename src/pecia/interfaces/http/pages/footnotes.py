"""Footnotes of Markdown: `[^name]` in the text, `[^name]: words` where they stand. Pure.

The rules are those of `web/src/lib/footnotes.ts`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_DEFINITION = re.compile(r"\[\^([^\]\[\s]{1,60})\]:[ \t]*(.*)")
_REFERENCE = re.compile(r"\[\^([^\]\[\s]{1,60})\]")


def add_footnotes(md: MarkdownIt, href: Callable[[str], str]) -> None:
    """`href` gives the address of a place in the document by its id."""
    renderer = md.renderer
    assert isinstance(renderer, RendererHTML)
    notes = _Footnotes(href, renderer)
    md.block.ruler.before("reference", "footnote", notes.define, {"alt": ["paragraph"]})
    md.inline.ruler.before("link", "footnote_reference", notes.refer)
    md.add_render_rule("footnote_reference", _adapt(notes.render_reference))
    md.add_render_rule("footnote_open", _adapt(notes.render_open))
    md.add_render_rule("footnote_close", _adapt(notes.render_close))


def _adapt(rule: Callable[[Sequence[Token], int, Any, Any], str]) -> Callable[..., str]:
    """As a function: markdown-it binds rules to its renderer."""

    def render(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return rule(tokens, at, options, env)

    return render


@dataclass(slots=True)
class _Footnotes:
    """Those of one document: names in the order of their definitions, numbers by first mention."""

    href: Callable[[str], str]
    renderer: RendererHTML
    defined: list[str] = field(default_factory=list[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def define(self, state: StateBlock, first: int, end: int, silent: bool) -> bool:
        def line_of(at: int) -> str:
            return state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]].rstrip()

        found = _DEFINITION.fullmatch(line_of(first))
        if found is None or state.sCount[first] - state.blkIndent >= 4:
            return False
        if silent:
            return True
        lines, following = [found[2]], first + 1
        while following < end and line_of(following):
            if _DEFINITION.fullmatch(line_of(following)):
                break
            lines.append(line_of(following))
            following += 1
        if found[1] not in self.defined:
            self.defined.append(found[1])
        opened = state.push("footnote_open", "p", 1)
        opened.attrs, opened.info = {"class": "footnote"}, found[1]
        inline = state.push("inline", "", 0)
        inline.content, inline.children = "\n".join(lines), []
        state.push("footnote_close", "p", -1).info = found[1]
        opened.map = inline.map = [first, following]
        state.line = following
        return True

    def refer(self, state: StateInline, silent: bool) -> bool:
        found = _REFERENCE.match(state.src, state.pos)
        if found is None or found[1] not in self.defined:
            return False
        if not silent:
            token = state.push("footnote_reference", "", 0)
            token.meta = {"name": found[1], "is_first": found[1] not in self.numbers}
            self.numbers.setdefault(found[1], len(self.numbers) + 1)
        state.pos = found.end()
        return True

    def render_reference(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        name = str(tokens[at].meta["name"])
        named = f' id="{self._id("fnref", name)}"' if tokens[at].meta["is_first"] else ""
        return f"<sup{named}>{self._anchor('fn', name, '', str(self.numbers[name]))}</sup>"

    def render_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        token.attrSet("id", self._id("fn", token.info))
        number = self.numbers.get(token.info, escape(token.info))
        return f"{self.renderer.renderToken(tokens, at, options, env)}<sup>{number}</sup> "

    def render_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        name = tokens[at].info
        if name not in self.numbers:
            return "</p>\n"
        back = self._anchor("fnref", name, ' aria-label="Back to the text"', "↩")
        return f" {back}</p>\n"

    def _id(self, kind: str, name: str) -> str:
        return f"{kind}-{self.defined.index(name) + 1}"

    def _anchor(self, kind: str, name: str, more: str, words: str) -> str:
        return f'<a href="{escape(self.href(self._id(kind, name)))}"{more}>{words}</a>'
