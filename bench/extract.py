"""How fast files become text, and what the worst of them cost.

`PECIA_BENCH_PDFS` may name a folder of real PDFs; without it the handbook's and the ones of
installed Debian packages are read. Pages and files are counted per second of CPU, that of the
children's start and of this process included.
"""

import os
import resource
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import psutil

from bench import result
from pecia.adapters.extraction.extractor import open_extractor
from pecia.adapters.extraction.model import MB, ExtractedDocument, ExtractionLimits
from tests.unit.adapters.extraction import samples

ROOT = Path(__file__).parents[1]
LINES = [f"Line {number}: the quick brown fox jumps over the lazy dog." for number in range(45)]


@dataclass(slots=True)
class Cost:
    wall_s: float = 0.0
    cpu_s: float = 0.0
    child_peak_mb: float = 0.0
    parent_grew_mb: float = 0.0


def main() -> str:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        figures = {
            "text_pdfs": _pdfs(place),
            "markdown": _markdown(),
            "ten_thousand_pages": _ten_thousand(place),
            "hostile": _hostile(),
        }
    path = result.write("extract", figures)
    return path.read_text(encoding="utf-8")


def _pdfs(place: Path) -> dict[str, Any]:
    generated = place / "generated.pdf"
    _write_pdf(generated, 1_000)
    sources = [generated, *_real_pdfs()]
    figures = {it.name: _pdf_figures(it) for it in sources}
    return {**figures, "the real ones together": _together(sources[1:])}


def _together(sources: Sequence[Path]) -> dict[str, Any]:
    """One child for all of them, as in a crawl: its start weighs on a small file, not on these."""
    found, cost = _measure([(it, "") for it in sources], ExtractionLimits(children=1))
    pages = sum(len(it.units) for it in found)
    return {
        "files": len(found),
        "pages": pages,
        "cpu_s": round(cost.cpu_s, 2),
        "pages_per_cpu_s": round(pages / cost.cpu_s),
        "child_peak_mb": round(cost.child_peak_mb),
    }


def _real_pdfs() -> list[Path]:
    named = os.environ.get("PECIA_BENCH_PDFS")
    folders = [Path(named)] if named else [Path("/usr/share/doc")]
    found = [it for folder in [ROOT / "examples", *folders] for it in sorted(folder.rglob("*.pdf"))]
    return list({it.name: it for it in found}.values())


def _pdf_figures(path: Path) -> dict[str, Any]:
    (found,), cost = _measure([(path, "")], ExtractionLimits(children=1))
    pages = len(found.units)
    return {
        "status": found.status,
        "pages": pages,
        "letters": len(found.text),
        "headings": len(found.facts.outline),
        "cpu_s": round(cost.cpu_s, 2),
        "pages_per_cpu_s": round(pages / cost.cpu_s),
        "child_peak_mb": round(cost.child_peak_mb),
    }


def _markdown() -> dict[str, Any]:
    notes = [it.read_bytes() for it in sorted((ROOT / "examples" / "handbook").rglob("*.md"))]
    files = [(notes[number % len(notes)], f"note-{number}.md") for number in range(2_000)]
    figures: dict[str, Any] = {"files": len(files), "bytes": sum(len(it) for it, _ in files)}
    for children in (1, 2):
        found, cost = _measure(files, ExtractionLimits(children=children))
        assert all(it.status == "ok" for it in found)
        figures[f"{children}_children"] = {
            "files_per_s": round(len(files) / cost.wall_s),
            "files_per_cpu_s": round(len(files) / cost.cpu_s),
            "child_peak_mb": round(cost.child_peak_mb),
        }
    return figures


def _ten_thousand(place: Path) -> dict[str, Any]:
    path = place / "ten-thousand.pdf"
    _write_pdf(path, 10_000)
    (found,), cost = _measure([(path, "")], ExtractionLimits(children=1))
    return {
        "status": found.status,
        "pages": len(found.units),
        "letters": len(found.text),
        "file_mb": round(path.stat().st_size / MB, 1),
        "wall_s": round(cost.wall_s, 1),
        "pages_per_cpu_s": round(len(found.units) / cost.cpu_s),
        "child_peak_mb": round(cost.child_peak_mb),
        "parent_grew_mb": round(cost.parent_grew_mb),
    }


def _hostile() -> dict[str, Any]:
    pdf = samples.pdf([["Some words to lose."]] * 30)
    docx = samples.docx(samples.paragraph("Words."))
    laughs = "<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><w:document/>"
    corpus = {
        "zero.pdf": b"",
        "password.pdf": samples.encrypted_pdf("secret"),
        "owner-password.pdf": samples.encrypted_pdf(""),
        "half.pdf": pdf[: len(pdf) // 2],
        "bomb-2-gb.pdf": samples.pdf_bomb(2_000_000_000),
        "scan.pdf": samples.scanned_pdf(),
        "half.docx": docx[: len(docx) // 2],
        "bomb-2-gb.docx": samples.zip_bomb(2_000_000_000),
        "laughs.docx": samples.office(
            "word/document.xml", "wordprocessingml.document", {"word/document.xml": laughs}
        ),
        "deep-200k.html": b"<div>" * 200_000 + b"Deep words." + b"</div>" * 200_000,
        "word-named.pdf": docx,
        "pdf-named.txt": pdf,
        "archive.zip": samples.zipped({"a.txt": "words"}),
        "noise.bin": bytes(range(256)) * 1_000,
    }
    return {name: _hostile_figures(data, name) for name, data in corpus.items()}


def _hostile_figures(data: bytes, name: str) -> dict[str, Any]:
    (found,), cost = _measure([(data, name)], ExtractionLimits(children=1))
    return {
        "status": found.status,
        "reason": found.reason,
        "notes": found.facts.notes,
        "wall_s": round(cost.wall_s, 2),
        "child_peak_mb": round(cost.child_peak_mb),
        "parent_grew_mb": round(cost.parent_grew_mb),
    }


def _measure(
    files: Sequence[tuple[Path | bytes, str]], limits: ExtractionLimits
) -> tuple[list[ExtractedDocument], Cost]:
    cost = Cost()
    me = psutil.Process()
    before_mb = me.memory_info().rss / MB
    cpu_s = _cpu_s()
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(me, cost, done))
    watcher.start()
    try:
        found = anyio.run(_extract, files, limits, cost)
    finally:
        done.set()
        watcher.join()
    cost.cpu_s = _cpu_s() - cpu_s
    cost.parent_grew_mb = me.memory_info().rss / MB - before_mb
    return found, cost


async def _extract(
    files: Sequence[tuple[Path | bytes, str]], limits: ExtractionLimits, cost: Cost
) -> list[ExtractedDocument]:
    found: dict[int, ExtractedDocument] = {}
    async with open_extractor(limits) as extractor:
        # The child is started before the clock is.
        await extractor.extract(b"Words.", name="warm.txt")

        async def read(numbers: Sequence[int]) -> None:
            for number in numbers:
                source, name = files[number]
                found[number] = await extractor.extract(source, name=name)

        began = time.perf_counter()
        async with anyio.create_task_group() as group:
            for lane in range(limits.children):
                group.start_soon(read, range(lane, len(files), limits.children))
        cost.wall_s = time.perf_counter() - began
    return [found[number] for number in range(len(files))]


def _watch(me: psutil.Process, cost: Cost, done: threading.Event) -> None:
    while not done.wait(0.02):
        for child in me.children():
            try:
                cost.child_peak_mb = max(cost.child_peak_mb, child.memory_info().rss / MB)
            except psutil.Error:
                continue


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _write_pdf(path: Path, pages: int) -> None:
    with path.open("wb") as out:
        for piece in samples.pdf_parts([f"# Page {no}", *LINES] for no in range(1, pages + 1)):
            out.write(piece)


if __name__ == "__main__":
    print(main())
