"""Whether a document may have links to rewrite, without parsing it. Pure.

Of the documents in a folder that moves, most have none. Everything that stands where a destination
may stand is judged as if it were one, in code and comments too: what is said to have none has none.
"""

import re

from pecia.kernel.text.links.destination import find_target
from pecia.kernel.text.links.html import may_have_html_links
from pecia.kernel.text.links.inline import find_wiki_links
from pecia.kernel.text.links.link import Link, LinkKind, LinkTarget
from pecia.kernel.text.links.rewrite import DocumentRename, JudgedLinks, find_new_target
from pecia.kernel.text.span import Span


def may_need_rewrite(text: str, source: str, rename: DocumentRename) -> bool:
    """Whether `rewrite_links` may change this document, or strand a link of it."""
    if rename.rules.html and may_have_html_links(text):
        return True
    judged = rename.judged_from(source)
    for inline, parenthesis, defined in {*_DESTINATION.findall(text)}:
        run = inline or defined
        if _NESTED.search(run) or (parenthesis and not _EXTERNAL.match(run)):
            # Rare, and not worth a reader of its own.
            return True
        if run not in judged.destinations:
            judged.destinations[run] = _is_rewritten(run, source, rename, judged)
        if judged.destinations[run]:
            return True
    return "[[" in text and any(
        find_new_target(it, source, rename, judged) is not None
        for it in find_wiki_links(text, Span(0, len(text)))
    )


def _is_rewritten(run: str, source: str, rename: DocumentRename, judged: JudgedLinks) -> bool:
    """Of a run of characters, the destination that it begins with."""
    target = find_target(run, 0, len(run))
    if target is None:
        return False
    return find_new_target(_bare_link(target), source, rename, judged) is not None


def _bare_link(target: LinkTarget) -> Link:
    return Link(LinkKind.INLINE, embed=False, span=target.span, target=target, text="")


_ANGLED = r"<(?:[^<>\r\n\\]|\\.)*+>"
# After the brackets of a link, up to a space or a parenthesis; after those of a definition, up to a
# space.
_DESTINATION = re.compile(
    rf"\](?:\([ \t\r\n]*+({_ANGLED}|[^\x00-\x20\x7f()]*+)(\()?+"
    rf"|:[ \t\r\n]*+({_ANGLED}|[^\x00-\x20\x7f]++))"
)
_NESTED = re.compile(r"\][(:]")
_EXTERNAL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*+:)?//")
