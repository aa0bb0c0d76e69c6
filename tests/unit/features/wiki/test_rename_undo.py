"""Links of a rename that was undone, in a text that somebody edited meanwhile."""

import pytest

from pecia.features.wiki.core.rename import undo_rewrites

BEFORE = "# Index\n\nSee [one](d/one.md) and [[d/one]].\n\nAlso [[d/one|this]].\n"
AFTER = BEFORE.replace("d/one", "n/m/two")
LAST_LINE_BACK = AFTER.replace("Also [[n/m/two", "Also [[d/one")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        # Other lines, before, between and behind.
        (f"New\n{AFTER}", f"New\n{BEFORE}"),
        (AFTER.replace("\n\nAlso", "\nNew\n\nAlso"), BEFORE.replace("\n\nAlso", "\nNew\n\nAlso")),
        (f"{AFTER}New\n", f"{BEFORE}New\n"),
        # Elsewhere on the line.
        (AFTER.replace("this]].", "this]] too."), BEFORE.replace("this]].", "this]] too.")),
        # The rename undone by hand, and an editor that had the old text.
        (BEFORE, BEFORE),
        (f"{BEFORE}New\n", f"{BEFORE}New\n"),
        # The link, or what is between two: theirs stays; the other line goes back.
        (AFTER.replace("two.md", "three.md"), LAST_LINE_BACK.replace("two.md", "three.md")),
        (AFTER.replace("and", "or"), LAST_LINE_BACK.replace("and", "or")),
        ("All new\n", "All new\n"),
    ],
)
def test_links_go_back_where_nobody_touched_them(now: str, expected: str) -> None:
    assert undo_rewrites(BEFORE, AFTER, now) == expected
