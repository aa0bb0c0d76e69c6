# /// script
# requires-python = ">=3.11"
# dependencies = ["reportlab==5.1.0"]
# ///
"""Sets the two PDFs of the handbook from the texts in examples/pdf. It never touches anything else.

Run it after a change to a text, and commit the PDFs:

    python -m venv /tmp/pdf && /tmp/pdf/bin/pip install reportlab==5.1.0
    /tmp/pdf/bin/python examples/make_pdfs.py

reportlab (BSD) is no dependency of the project; only this script uses it. The same text and the
same release of reportlab give the same bytes. Each PDF carries the sha-256 of its text as a
keyword, so that a test can tell a stale one.
"""

# Some calls of reportlab are untyped in its stubs.
# pyright: reportUnknownMemberType=false

import hashlib
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reportlab.lib.colors import HexColor, white
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ListStyle, ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    KeepTogether,
    ListFlowable,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

HERE = Path(__file__).parent
INK, SEA, MIST, SAND, RUST = map(HexColor, ("#1d2b36", "#1f5f7a", "#e8f0f3", "#fbf3e2", "#c0622b"))
MARGIN = 22 * mm
WIDTH = A4[0] - 2 * MARGIN
COVER = 46 * mm

BODY = ParagraphStyle("body", fontSize=10.5, leading=15, textColor=INK, spaceAfter=7)
CELL = ParagraphStyle("cell", BODY, fontSize=9.5, leading=12.2, spaceAfter=0)
NUMBER = ParagraphStyle("number", CELL, alignment=TA_RIGHT)
NOTE = ParagraphStyle("note", BODY, spaceAfter=0)
ITEM = ParagraphStyle("item", BODY, spaceAfter=1)
H1 = ParagraphStyle(
    "h1", BODY, fontName="Helvetica-Bold", fontSize=17, leading=23, textColor=SEA, spaceBefore=8
)
H2 = ParagraphStyle("h2", H1, fontSize=12, leading=16, spaceBefore=8, spaceAfter=4)
LIST = ListStyle("list", bulletType="bullet", leftIndent=15, bulletFontSize=10.5, bulletColor=SEA)
CAPTION = ParagraphStyle("caption", CELL, fontName="Helvetica-Bold", spaceAfter=3)
TILE = ParagraphStyle("tile", H1, fontSize=15, leading=18, alignment=1)
TILE_LABEL = ParagraphStyle("tile label", CELL, alignment=1)


@dataclass(frozen=True, slots=True)
class Text:
    """One text file: its head, its pages, and the hash that the PDF will carry."""

    head: dict[str, str]
    pages: list[str]
    sha256: str


def main() -> None:
    for path in sorted((HERE / "pdf").glob("*.txt")):
        build(read(path))


def read(path: Path) -> Text:
    raw = path.read_bytes()
    head, *pages = raw.decode().split("===page===\n")
    keys = dict(re.findall(r"^(\w+): (.+)$", head, re.MULTILINE))
    return Text(keys, pages, hashlib.sha256(raw).hexdigest())


def build(text: Text) -> None:
    target = HERE / "handbook" / text.head["output"]
    story: list[Flowable] = []
    for number, page in enumerate(text.pages):
        story += ([PageBreak()] if number else []) + set_page(page)
    low, high = 20 * mm, A4[1] - 20 * mm
    first = Frame(MARGIN, low, WIDTH, high - low - COVER, 0, 0, 0, 0)
    later = Frame(MARGIN, low, WIDTH, high - low, 0, 0, 0, 0)
    document = BaseDocTemplate(
        str(target),
        pagesize=A4,
        invariant=1,
        lang="en",
        title=f"{text.head['title']}: {text.head['subtitle']}",
        author="Quayload",
        subject=text.head["edition"],
        creator="examples/make_pdfs.py",
        keywords=f"source-sha256={text.sha256}",
    )
    cover, foot = partial(paint_cover, head=text.head), partial(paint_foot, head=text.head)
    templates = [
        PageTemplate("first", [first], cover, foot, autoNextPageTemplate="later"),
        PageTemplate("later", [later], onPageEnd=foot),
    ]
    document.addPageTemplates(templates)
    document.build(story)
    if document.page != len(text.pages):
        raise SystemExit(f"{target.name}: {document.page} pages set, {len(text.pages)} written")


def paint_cover(canvas: Canvas, _: BaseDocTemplate, *, head: dict[str, str]) -> None:
    canvas.setFillColor(SEA)
    canvas.rect(0, A4[1] - COVER - 8 * mm, A4[0], COVER + 8 * mm, stroke=0, fill=1)
    canvas.setFillColor(white)
    for key, font, size, drop in (
        ("title", "Helvetica-Bold", 27, 27),
        ("subtitle", "Helvetica", 13, 36),
        ("edition", "Helvetica", 9.5, 45),
    ):
        canvas.setFont(font, size)
        canvas.drawString(MARGIN, A4[1] - drop * mm, head[key])


def paint_foot(canvas: Canvas, document: BaseDocTemplate, *, head: dict[str, str]) -> None:
    canvas.setStrokeColor(SEA)
    canvas.line(MARGIN, 15 * mm, A4[0] - MARGIN, 15 * mm)
    canvas.setFillColor(INK)
    canvas.setFont("Helvetica", 8)
    canvas.drawString(MARGIN, 10.5 * mm, f"Quayload · {head['title']} · {head['subtitle']}")
    canvas.drawRightString(A4[0] - MARGIN, 10.5 * mm, f"Page {document.page}")


def set_page(page: str) -> list[Flowable]:
    return [set_block(block) for block in re.split(r"\n\s*\n", page.strip())]


def set_block(block: str) -> Flowable:
    lines = block.splitlines()
    for start, setter in SETTERS.items():
        if re.match(start, lines[0]):
            return setter(lines)
    return Paragraph(inline(" ".join(lines)), BODY)


def inline(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped)


def heading(lines: list[str]) -> Flowable:
    marks, title = lines[0].split(" ", 1)
    return Heading(inline(title), H1 if marks == "#" else H2)


def note(lines: list[str]) -> Flowable:
    box = Table([[Paragraph(inline(" ".join(lines)[2:]), NOTE)]], colWidths=[WIDTH])
    style = [("BACKGROUND", (0, 0), (-1, -1), SAND), ("LINEBEFORE", (0, 0), (0, -1), 3, RUST)]
    pads = [(f"{side}PADDING", (0, 0), (-1, -1), 6) for side in ("TOP", "BOTTOM")]
    box.setStyle(TableStyle([*style, *pads, ("LEFTPADDING", (0, 0), (-1, -1), 9)]))
    return KeepTogether([Spacer(0, 2), box, Spacer(0, 8)])


def bullets(lines: list[str]) -> Flowable:
    return items([line[2:] for line in lines], ListStyle("bullets", LIST, start="•"))


def steps(lines: list[str]) -> Flowable:
    style = ListStyle("steps", LIST, bulletType="1", bulletFormat="%s.")
    return items([line.split(". ", 1)[1] for line in lines], style)


def items(texts: list[str], style: ListStyle) -> Flowable:
    return ListFlowable([Paragraph(inline(it), ITEM) for it in texts], style=style, spaceAfter=5)


def table(lines: list[str]) -> Flowable:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    styles = [NUMBER if mark.endswith("-:") else CELL for mark in rows[1]]
    head = [Paragraph(f"<b>{inline(it)}</b>", s) for it, s in zip(rows[0], styles, strict=True)]
    body = [
        [Paragraph(inline(it), s) for it, s in zip(row, styles, strict=True)] for row in rows[2:]
    ]
    made = Table([head, *body], colWidths=widths(rows[:1] + rows[2:]), repeatRows=1)
    made.setStyle(
        TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, 0), MIST),
                ("LINEBELOW", (0, 0), (-1, 0), 0.8, SEA),
                ("LINEBELOW", (0, 1), (-1, -1), 0.25, HexColor("#c9d4da")),
                ("TOPPADDING", (0, 0), (-1, -1), 2.6),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 3.2),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
            ]
        )
    )
    return KeepTogether([made, Spacer(0, 8)])


def widths(rows: list[list[str]]) -> list[float]:
    """Columns share the page by their longest cell, within reason."""
    longest = [min(max(len(row[i]) for row in rows), 48) + 5 for i in range(len(rows[0]))]
    return [WIDTH * it / sum(longest) for it in longest]


def tiles(lines: list[str]) -> Flowable:
    pairs = [it.split(" = ") for it in lines[0].removeprefix("tiles: ").split(" | ")]
    cells = [[Paragraph(value, TILE), Paragraph(label, TILE_LABEL)] for value, label in pairs]
    made = Table([cells], colWidths=[WIDTH / len(cells)] * len(cells))
    grid = [("BACKGROUND", (0, 0), (-1, -1), MIST), ("INNERGRID", (0, 0), (-1, -1), 5, white)]
    pads = [(f"{side}PADDING", (0, 0), (-1, -1), 7) for side in ("TOP", "BOTTOM")]
    made.setStyle(TableStyle([*grid, *pads]))
    return KeepTogether([made, Spacer(0, 10)])


def bars(lines: list[str]) -> Flowable:
    series = lines[-1].removeprefix("series: ").split(" | ")
    rows = [line.split(" | ") for line in lines[1:-1]]
    caption = Paragraph(inline(lines[0].removeprefix("bars: ")), CAPTION)
    return KeepTogether([Spacer(0, 4), caption, Bars(series, rows), Spacer(0, 8)])


def figure(_: list[str]) -> Flowable:
    caption = Paragraph("Figure 1. Front axle from above, the rider is below.", CAPTION)
    return KeepTogether([Steering(), caption, Spacer(0, 4)])


SETTERS = {
    r"#": heading,
    r"! ": note,
    r"- ": bullets,
    r"\d+\. ": steps,
    r"\|": table,
    r"tiles: ": tiles,
    r"bars: ": bars,
    r"figure: ": figure,
}


class Heading(Paragraph):
    """A heading that also appears in the outline of the PDF."""

    def draw(self) -> None:
        title = self.getPlainText()
        self.canv.bookmarkHorizontal(title, 0, self.height)
        self.canv.addOutlineEntry(title, title, 0 if self.style is H1 else 1)
        super().draw()


class Bars(Flowable):
    """Horizontal bars, one group per row, one bar per series, each with its value."""

    def __init__(self, series: list[str], rows: list[list[str]]) -> None:
        super().__init__()
        self.series, self.rows = series, rows
        self.width, self.height = WIDTH, 24 * len(rows) + 16

    def draw(self) -> None:
        top = max(float(value) for _, *values in self.rows for value in values)
        for at, (label, *values) in enumerate(self.rows):
            base = self.height - 24 * (at + 1)
            self.text(0, base + 7, label)
            for which, value in enumerate(values):
                length = (WIDTH - 130) * float(value) / top
                self.bar(90, base + 11 - 10 * which, length, which)
                self.text(94 + length, base + 13 - 10 * which, value)
        for which, name in enumerate(self.series):
            self.bar(90 + 55 * which, 2, 9, which)
            self.text(103 + 55 * which, 3, name)

    def bar(self, x: float, y: float, length: float, which: int) -> None:
        self.canv.setFillColor((HexColor("#9fbecb"), SEA)[which])
        self.canv.rect(x, y, length, 8.5, stroke=0, fill=1)

    def text(self, x: float, y: float, words: str) -> None:
        self.canv.setFillColor(INK)
        self.canv.setFont("Helvetica", 8)
        self.canv.drawString(x, y, words)


class Steering(Flowable):
    """The front axle of the Wherry: two wheels, two kingpins, the tie rod and the damper."""

    def __init__(self) -> None:
        super().__init__()
        self.width, self.height = WIDTH, 104

    def draw(self) -> None:
        pen, middle = self.canv, WIDTH / 2
        pen.setStrokeColor(INK)
        pen.setFillColor(MIST)
        pen.roundRect(middle - 62, 42, 124, 58, 6, fill=1)
        for side in (-1, 1):
            wheel, pin = middle + side * 112, middle + side * 92
            pen.setFillColor(INK)
            pen.roundRect(wheel - 6, 40, 12, 62, 6, stroke=0, fill=1)
            pen.setLineWidth(3)
            pen.line(middle + side * 62, 71, wheel, 71)
            pen.line(pin, 71, pin - side * 6, 28)
            pen.setFillColor(RUST)
            pen.circle(pin, 71, 5, stroke=0, fill=1)
            pen.circle(pin - side * 6, 28, 3.6, stroke=0, fill=1)
        pen.setStrokeColor(SEA)
        pen.line(middle - 86, 28, middle + 86, 28)
        pen.setLineWidth(1.4)
        pen.setDash(3, 2)
        pen.line(middle - 89, 44, middle - 62, 50)
        pen.setDash()
        self.labels(middle)

    def labels(self, middle: float) -> None:
        self.canv.setFillColor(INK)
        self.canv.setFont("Helvetica", 8)
        self.canv.drawCentredString(middle, 68, "box mount, 20 Nm")
        self.canv.drawCentredString(middle, 14, "tie rod")
        self.canv.drawRightString(middle - 124, 42, "damper, left side only")
        self.canv.drawString(middle + 124, 68, "kingpin, 55 Nm")
        self.canv.drawString(middle + 124, 25, "ball joint, 22 Nm")


if __name__ == "__main__":
    main()
