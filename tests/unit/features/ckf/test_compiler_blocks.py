"""Lines gathered into blocks."""

from pecia.features.ckf.heuristic.parse.blocks import BlockShape, parse_blocks


def test_frontmatter_is_kept_whole_and_is_no_sentence() -> None:
    text = "---\ntitle: Stolen bikes\nupdated: 2026-04-02\n---\n\n# Stolen bikes\n\nCall 112.\n"
    first, heading, rule = parse_blocks(text)
    assert first.shape is BlockShape.CODE
    assert first.span.of(text) == "---\ntitle: Stolen bikes\nupdated: 2026-04-02\n---"
    assert (heading.shape, rule.shape) == (BlockShape.HEADING, BlockShape.PARAGRAPH)
