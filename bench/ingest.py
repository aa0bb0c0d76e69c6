"""Ingestion through `pecia start`: what a page and a file cost until they can be found.

`python -m bench.ingest --files 5000 --pages 1000` takes less of everything. Each part has a Pecia
of its own, so that its memory is that part's alone. CPU is that of all processes together: server,
worker, readers and database. Semantic search is off for what is counted by the second, because a
page is found lexically before it has a vector; a part of its own embeds.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.error import URLError

from bench import result
from bench.ingestion.files import spelled, write_markdown, write_pdf
from bench.ingestion.local import Meter, Pecia

PDFS, PDF_PAGES = 50, 100
FILES, LONG_PAGES, EMBEDDED, SAVES = 100_000, 10_000, 2_000, 20
EMBED_S = 60
PARTS: tuple[str, ...] = ("text_pdfs", "markdown", "embedded", "saved_file", "long_pdf")
LOOK_EVERY_S = 0.02
FOLLOW_EVERY_S = 0.25
"""The interval of `pecia source crawl --wait`; polling more often would add to the cost."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is taken in."""

    files: int = FILES
    long_pages: int = LONG_PAGES

    @property
    def pdfs(self) -> int:
        return max(2, round(PDFS * min(1, self.long_pages / LONG_PAGES)))

    @property
    def name(self) -> str:
        return "ingest" if self == Size() else f"ingest-{self.files}-{self.long_pages}"


def main(size: Size | None = None, parts: Sequence[str] = PARTS) -> Path:
    size = size or Size()
    # A run of some parts is no result to be compared, and takes no name from one that is.
    name = size.name if len(parts) == len(PARTS) else f"{size.name}-{'-'.join(parts)}"
    return result.write(name, measure(size, parts))


def measure(size: Size, parts: Sequence[str]) -> dict[str, Any]:
    every = dict(zip(PARTS, (_pdfs, _markdown, _embedded, _saves, _long), strict=True))
    figures: dict[str, Any] = {"files": size.files, "long_pages": size.long_pages}
    for name in parts:
        part = every[name]
        with tempfile.TemporaryDirectory() as folder, Pecia(Path(folder) / "place") as pecia:
            figures[name] = part(pecia, Path(folder), size)
            print(name, figures[name], flush=True)
    return figures


def crawl(pecia: Pecia, source: str, folder: Path, word: str, **more: Any) -> dict[str, Any]:
    """Add a folder, crawl it, and wait until its last word is found."""
    asked = {"source_id": source, "folder": str(folder), "watch": False, "hybrid": False, **more}
    pecia.add_folder(**asked)
    meter = pecia.meter()
    with meter.running():
        began = time.perf_counter()
        pecia.call("admin/crawl_source", source_id=source)
        followed = CrawlProgress(meter)
        status = followed.to_the_end(pecia, source)
        crawled_s = time.perf_counter() - began
        while not pecia.finds(word, source):
            time.sleep(LOOK_EVERY_S)
        wall_s = time.perf_counter() - began
    return {
        "state": status["state"],
        "seen": status["seen"],
        "failed": status["failed"],
        "crawled_s": round(crawled_s, 2),
        "wall_s": round(wall_s, 2),
        "cpu_s": round(sum(meter.spent_s.values()), 2),
        "cpu_s_by_part": meter.spent_s,
        "peak_mb": meter.peak_mb,
        "mb_on_the_way": followed.thinned(),
        "progress": followed.progress(),
        "cpu_ms_per_file": followed.per_file(),
    }


class CrawlProgress:
    """A crawl as a waiting client sees it, and what it took at each step."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.began = time.perf_counter()
        self.steps: list[dict[str, Any]] = []
        # When something was heard, and when that was more than that somebody is at it.
        self.heard_at: list[float] = [self.began]
        self.moved_at: list[float] = [self.began]

    def to_the_end(self, pecia: Pecia, source: str) -> dict[str, Any]:
        moved = heard = None
        while True:
            found = pecia.call("admin/crawl_status", source_id=source)
            now = time.perf_counter()
            last_moved, last_heard = moved, heard
            pages = [it["pages_read"] for it in found["underway"]]
            moved = (found["state"], found["seen"], found["read"], pages)
            heard = (moved, [it["reported_at"] for it in found["underway"]])
            if heard != last_heard:
                self.heard_at.append(now)
            if moved != last_moved:
                self.moved_at.append(now)
                self._step(found["read"], sum(pages))
            if found["state"] not in ("waiting", "listing", "reading"):
                return found
            time.sleep(FOLLOW_EVERY_S)

    def progress(self) -> dict[str, Any]:
        return {
            "times_told": len(self.heard_at) - 1,
            "longest_silence_s": _longest(self.heard_at),
            "longest_without_advance_s": _longest(self.moved_at),
        }

    def per_file(self) -> dict[str, float]:
        """CPU in the first and in the last tenth of the files: whether the later cost more."""
        files = max((it["read"] for it in self.steps), default=0)
        first = [it for it in self.steps if 0 < it["read"] <= files / 10]
        last = [it for it in self.steps if it["read"] >= files * 9 / 10]
        found = {"first_tenth": _ms_per_file(first), "last_tenth": _ms_per_file(last)}
        return {name: cost for name, cost in found.items() if cost is not None}

    def _step(self, read: int, pages: int) -> None:
        at_s, cpu_s = time.perf_counter() - self.began, self.meter.total_s
        step = {"at_s": round(at_s, 1), "cpu_s": round(cpu_s, 1), "read": read, "pages": pages}
        self.steps.append(step | self.meter.now_mb)

    def thinned(self, most: int = 12) -> list[dict[str, Any]]:
        """A few of the steps, the last among them: whether memory grows shows in a dozen."""
        every = max(1, len(self.steps) // most)
        return [*reversed(self.steps[::-1][::every])]


def _longest(moments: Sequence[float]) -> float:
    return round(max((after - before for before, after in pairwise(moments)), default=0), 1)


def _ms_per_file(steps: Sequence[dict[str, Any]]) -> float | None:
    """None where too little was seen to say."""
    files = steps[-1]["read"] - steps[0]["read"] if steps else 0
    if not files:
        return None
    return round(1000 * (steps[-1]["cpu_s"] - steps[0]["cpu_s"]) / files, 2)


def _pdfs(pecia: Pecia, place: Path, size: Size) -> dict[str, Any]:
    folder = place / "pdfs"
    for number in range(size.pdfs):
        write_pdf(folder / f"{number:04}.pdf", PDF_PAGES, f"Report {spelled(number)}")
    figures = crawl(pecia, "pdfs", folder, spelled(size.pdfs - 1))
    pages = size.pdfs * PDF_PAGES
    rate = round(pages / figures["cpu_s"])
    return {"pages": pages, "pages_per_cpu_s": rate, "target": 100} | figures


def _markdown(pecia: Pecia, place: Path, size: Size) -> dict[str, Any]:
    folder = place / "markdown"
    write_markdown(folder, size.files)
    figures = crawl(pecia, "markdown", folder, spelled(size.files - 1))
    rates = {
        "files_per_s": round(size.files / figures["wall_s"]),
        "files_per_cpu_s": round(size.files / figures["cpu_s"]),
        "target_files_per_s": 200,
        "unchanged_again_s": _again(pecia, "markdown"),
    }
    return rates | figures


def _again(pecia: Pecia, source: str) -> float:
    began = time.perf_counter()
    pecia.call("admin/crawl_source", source_id=source)
    CrawlProgress(pecia.meter()).to_the_end(pecia, source)
    return round(time.perf_counter() - began, 2)


def _embedded(pecia: Pecia, place: Path, size: Size) -> dict[str, Any]:
    """With semantic search on: what that costs the crawl, and the memory while it catches up."""
    folder, count = place / "embedded", min(EMBEDDED, size.files)
    write_markdown(folder, count)
    figures = crawl(pecia, "embedded", folder, spelled(count - 1), hybrid=True)
    meter = pecia.meter()
    with meter.running():
        time.sleep(EMBED_S)
    rate = {"files_per_s": round(count / figures["wall_s"])}
    return rate | figures | {"peak_mb_while_embedding": meter.peak_mb}


def _saves(pecia: Pecia, place: Path, size: Size) -> dict[str, Any]:
    """In the folder of the Markdown files, watched, and in an almost empty one."""
    figures: dict[str, Any] = {"target_s": 2}
    few, many = place / "few", place / "many"
    few.mkdir()
    write_markdown(many, min(10_000, size.files))
    for name, folder in (("few_files", few), ("many_files", many)):
        source = f"watched-{name}"
        pecia.add_folder(source_id=source, folder=str(folder), hybrid=name == "few_files")
        # The watcher polls for new folders every five seconds, and lists one first.
        while not _is_done(pecia, source):
            time.sleep(0.1)
        times = [_save(pecia, source, folder, number) for number in range(SAVES)]
        figures[name] = {
            "first_three_after_the_crawl_s": [round(it, 2) for it in times[:3]],
            "p50_s": round(statistics.median(times), 2),
            "worst_s": round(max(times), 2),
            "times": len(times),
        }
    figures["found_by_meaning_s"] = _meant(pecia, "watched-few_files", few)
    return figures


def _save(pecia: Pecia, source: str, folder: Path, number: int) -> float:
    word = f"{spelled(number)}saved"
    began = time.perf_counter()
    (folder / f"saved-{number}.md").write_text(f"# Saved\n\n{word}\n", encoding="utf-8")
    while not pecia.finds(word, source):
        time.sleep(LOOK_EVERY_S)
    return time.perf_counter() - began


def _meant(pecia: Pecia, source: str, folder: Path) -> float | None:
    """How long until a file is found that shares no word with the question."""
    asked = {"query": "doctor looked at a sick kid", "source_id": source, "limit": 3}
    if pecia.call("lake/search_content", **asked)["degraded"]:
        return None
    began = time.perf_counter()
    text = "The physician examined the ailing child.\n"
    (folder / "visit.md").write_text(text, encoding="utf-8")
    while time.perf_counter() - began < 120:
        hits = pecia.call("lake/search_content", **asked)["hits"]
        if any(it["key"] == "visit.md" for it in hits):
            return round(time.perf_counter() - began, 2)
        time.sleep(LOOK_EVERY_S)
    return None


def _long(pecia: Pecia, place: Path, size: Size) -> dict[str, Any]:
    folder = place / "long"
    write_pdf(folder / "long.pdf", size.long_pages, "A long one yankeex")
    return {"pages": size.long_pages} | crawl(pecia, "long", folder, "yankeex")


def _is_done(pecia: Pecia, source: str) -> bool:
    try:
        return pecia.call("admin/crawl_status", source_id=source)["state"] == "done"
    except URLError:
        # Not yet begun.
        return False


def _asked(arguments: list[str]) -> tuple[Size, tuple[str, ...]]:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest")
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--pages", type=int, default=LONG_PAGES, help="Of the one long PDF.")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    found = parser.parse_args(arguments)
    return Size(found.files, found.pages), tuple(found.parts)


if __name__ == "__main__":
    print(main(*_asked(sys.argv[1:])))
