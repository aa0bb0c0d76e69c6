"""Lines gathered into blocks."""

from pecia.rooms.ckf.heuristic.blocks import Shape, read_blocks


def test_frontmatter_is_kept_whole_and_is_no_sentence() -> None:
    text = "---\ntitle: Stolen bikes\nupdated: 2026-04-02\n---\n\n# Stolen bikes\n\nCall 112.\n"
    first, heading, rule = read_blocks(text)
    assert first.shape is Shape.CODE
    assert first.span.of(text) == "---\ntitle: Stolen bikes\nupdated: 2026-04-02\n---"
    assert (heading.shape, rule.shape) == (Shape.HEADING, Shape.PARAGRAPH)
