// Markdown as the wiki writes it: GFM, [[links]], frontmatter. Without grammars of other languages:
// they would weigh more than the editor.

import { HighlightStyle, Language, defineLanguageFacet, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { Tag, styleTags, tags as t } from "@lezer/highlight";
import { GFM, parser, type MarkdownConfig } from "@lezer/markdown";

const wikiLink = Tag.define();
const wikiMark = Tag.define();
const frontmatter = Tag.define();

const WikiLinks: MarkdownConfig = {
  defineNodes: [{ name: "WikiLink", style: wikiLink }, { name: "WikiLinkMark", style: wikiMark }],
  parseInline: [
    {
      name: "WikiLink",
      before: "Link",
      parse(cx, next, pos) {
        if (next !== 91 || cx.char(pos + 1) !== 91) return -1;
        const rest = cx.slice(pos + 2, cx.end);
        const end = /^[^[\]\n]+\]\]/.exec(rest)?.[0].length;
        if (!end) return -1;
        const to = pos + 2 + end;
        return cx.addElement(
          cx.elt("WikiLink", pos, to, [cx.elt("WikiLinkMark", pos, pos + 2), cx.elt("WikiLinkMark", to - 2, to)]),
        );
      },
    },
  ],
};

const FrontmatterBlock: MarkdownConfig = {
  defineNodes: [{ name: "Frontmatter", block: true, style: frontmatter }],
  parseBlock: [
    {
      name: "Frontmatter",
      before: "HorizontalRule",
      parse(cx, line) {
        if (cx.lineStart !== 0 || !/^\uFEFF?---\s*$/.test(line.text)) return false;
        while (cx.nextLine()) {
          if (!/^(---|\.\.\.)\s*$/.test(line.text)) continue;
          cx.nextLine();
          break;
        }
        cx.addElement(cx.elt("Frontmatter", 0, cx.prevLineEnd()));
        return true;
      },
    },
  ],
};

const markdown = parser.configure([
  GFM,
  WikiLinks,
  FrontmatterBlock,
  { props: [styleTags({ "HeaderMark QuoteMark ListMark EmphasisMark CodeMark LinkMark TaskMarker TableDelimiter StrikethroughMark": t.processingInstruction })] },
]);

const language = new Language(defineLanguageFacet({ commentTokens: { block: { open: "<!--", close: "-->" } } }), markdown, [], "markdown");

const style = HighlightStyle.define([
  { tag: t.heading1, class: "tok-h1" },
  { tag: [t.heading2, t.heading3, t.heading4, t.heading5, t.heading6], class: "tok-h" },
  { tag: t.strong, class: "tok-strong" },
  { tag: t.emphasis, class: "tok-em" },
  { tag: t.strikethrough, class: "tok-strike" },
  { tag: t.monospace, class: "tok-code" },
  { tag: t.processingInstruction, class: "tok-sign" },
  { tag: [t.link, t.url, wikiLink], class: "tok-link" },
  { tag: wikiMark, class: "tok-sign" },
  { tag: t.quote, class: "tok-quote" },
  { tag: [frontmatter, t.comment], class: "tok-meta" },
]);

export const wikiMarkdown: Extension = [language.extension, syntaxHighlighting(style)];
