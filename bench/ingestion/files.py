"""Files to ingest: the same ones every time, each with a word that nothing else holds."""

import random
from pathlib import Path

from tests.unit.adapters.extraction import samples

LINES = [
    f"The quick heron number {it} counts reeds by the quiet water at dawn." for it in range(36)
]


def spelled(number: int) -> str:
    """A word of letters alone that nothing else holds: digits would be cut off and found apart."""
    letters = "".join(chr(ord("a") + int(it)) for it in f"{number:06}")
    return f"zq{letters}"


def write_markdown(folder: Path, count: int) -> None:
    """Notes of one to four kilobytes, a hundred folders of them."""
    dice = random.Random(7)
    words = [_word(dice) for _ in range(8_000)]
    for number in range(count):
        path = folder / f"{number % 100:02}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_note(number, dice, words), encoding="utf-8")


def write_pdf(path: Path, pages: int, title: str) -> None:
    """A text PDF; its title is on the last page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for piece in samples.pdf_parts(
            [f"# {title if no == pages else 'Page'} {no}", *LINES] for no in range(1, pages + 1)
        ):
            file.write(piece)


def _word(dice: random.Random) -> str:
    return "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 9)))


def _note(number: int, dice: random.Random, words: list[str]) -> str:
    size = dice.randint(1_000, 4_000)
    pieces = [f"# Note {number}\n\n{spelled(number)}\n"]
    held = len(pieces[0])
    while held < size:
        if dice.random() < 0.2:
            pieces.append(f"\n## {' '.join(dice.choices(words, k=4)).title()}\n\n")
        pieces.append(" ".join(dice.choices(words, k=dice.randint(8, 16))).capitalize() + ".\n")
        held = sum(map(len, pieces))
    return "".join(pieces)
