"""Taking files in, through `pecia start`: what a page and a file cost until they can be found.

`python -m bench.ingest 0.02` takes a fiftieth of everything. CPU is that of all processes
together: server, worker, readers and database. Search by meaning is off for what is counted,
because a page is found by words before it has a vector; a line of its own says when that came.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil

from bench import result
from pecia.kernel.store.cluster import Options
from pecia.kernel.store.cluster.places import find_places
from tests.unit.adapters.extract import samples

PDFS, PDF_PAGES, LONG_PAGES = 50, 100, 10_000
FILES, SAVES = 100_000, 20
LINES = [
    f"The quick heron number {it} counts reeds by the quiet water at dawn." for it in range(36)
]
WORDS = ("harbour", "lantern", "meadow", "otter", "willow", "barley", "copper", "thimble")
LOOK_EVERY_S = 0.02
FOLLOW_EVERY_S = 0.25
"""As often as `pecia source crawl --wait` asks; oftener, the asking would be a part of the cost."""


@dataclass
class Meter:
    """CPU seconds and memory of a tree of processes, sampled while it works."""

    roots: Callable[[], list[psutil.Process]]
    cpu_s: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])
    spent_s: dict[str, float] = field(default_factory=dict[str, float])
    peak_mb: dict[str, float] = field(default_factory=dict[str, float])
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Generator["Meter"]:
        thread = threading.Thread(target=self._watch, daemon=True)
        self._look()
        before = {**self.cpu_s}
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            thread.join()
            self._look()
            for who, cpu_s in self.cpu_s.items():
                spent_s = self.spent_s.get(who[0], 0) + cpu_s - before.get(who, 0)
                self.spent_s[who[0]] = round(spent_s, 2)

    def _watch(self) -> None:
        while not self.over.wait(0.1):
            self._look()

    def _look(self) -> None:
        sums: dict[str, float] = {}
        for root in self.roots():
            with suppress(psutil.NoSuchProcess):
                for it in [root, *root.children(recursive=True)]:
                    with suppress(psutil.NoSuchProcess):
                        kind, times = _kind(it), it.cpu_times()
                        self.cpu_s[kind, it.pid] = times.user + times.system
                        # What processes share counts once: the database's buffers above all.
                        held = (
                            it.memory_full_info().uss
                            if kind == "database"
                            else it.memory_info().rss
                        )
                        sums[kind] = sums.get(kind, 0) + held / 1e6
        for kind, held in sums.items():
            self.peak_mb[kind] = round(max(self.peak_mb.get(kind, 0), held))


class Pecia:
    """One `pecia start` in a home of its own."""

    def __init__(self, place: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.home = place / "pecia"
        notes = place / "notes"
        notes.mkdir()
        environ = {**os.environ, "PECIA_HOME": str(self.home), "HOME": str(place)}
        command = [sys.executable, "-m", "pecia", "start", str(notes), "--port", str(port)]
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not self._answers():
            time.sleep(0.1)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        body = json.dumps(arguments).encode()
        asked = Request(
            f"{self.url}/api/v1/{tool}", data=body, headers={"content-type": "application/json"}
        )
        with urlopen(asked, timeout=120) as answer:
            return json.load(answer)

    def finds(self, word: str, source: str) -> bool:
        asked = {"query": word, "mode": "lexical", "source_id": source, "limit": 1}
        return bool(self.call("lake/search_content", **asked)["hits"])

    def processes(self) -> list[psutil.Process]:
        """The server, and the database, which is nobody's child."""
        places = find_places(self.home, Options().system)
        assert places is not None
        databases = [it for it in psutil.process_iter() if str(places.data) in _line(it)]
        return [psutil.Process(self.process.pid), *databases]

    def meter(self) -> Meter:
        roots = self.processes()
        return Meter(lambda: roots)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def _answers(self) -> bool:
        with suppress(URLError, ConnectionError):
            self.call("lake/list_sources")
            return True
        return False


def crawl(pecia: Pecia, source: str, folder: Path, word: str, **more: Any) -> dict[str, Any]:
    """Add a folder, crawl it, and wait until its last word is found."""
    asked = {"source_id": source, "folder": str(folder), "watch": False, "hybrid": False, **more}
    pecia.call("office/add_source", **asked)
    meter = pecia.meter()
    with meter.running():
        began = time.perf_counter()
        pecia.call("office/crawl_source", source_id=source)
        told, longest_s, status = _followed(pecia, source)
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
        "progress": {"times_told": told, "longest_silence_s": round(longest_s, 1)},
    }


def measure(place: Path, share: float) -> dict[str, Any]:
    pecia = Pecia(place)
    try:
        return {
            "share": share,
            "text_pdfs": _pdfs(pecia, place, share),
            "markdown": _markdown(pecia, place, share),
            "saved_file": _saves(pecia, place, share),
            "long_pdf": _long(pecia, place, share),
        }
    finally:
        pecia.stop()


def main(share: float = 1.0) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        name = "ingest" if share == 1 else f"ingest-{share:g}"
        return result.write(name, measure(Path(folder), share))


def _pdfs(pecia: Pecia, place: Path, share: float) -> dict[str, Any]:
    folder = place / "pdfs"
    folder.mkdir()
    count = max(2, round(PDFS * share))
    for number in range(count):
        _write_pdf(folder / f"{number:04}.pdf", PDF_PAGES, f"Report {spelled(number)}")
    figures = crawl(pecia, "pdfs", folder, spelled(count - 1))
    pages = count * PDF_PAGES
    return {
        "pages": pages,
        "pages_per_cpu_s": round(pages / figures["cpu_s"]),
        "target": 100,
    } | figures


def _markdown(pecia: Pecia, place: Path, share: float) -> dict[str, Any]:
    folder = place / "markdown"
    count = max(200, round(FILES * share))
    for number in range(count):
        path = folder / f"{number % 100:02}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = " ".join(WORDS[(number + it) % len(WORDS)] for it in range(60))
        path.write_text(f"# Note {number}\n\n{spelled(number)} {words}\n", encoding="utf-8")
    figures = crawl(pecia, "markdown", folder, spelled(count - 1))
    again = _again(pecia, "markdown")
    rate = round(count / figures["wall_s"])
    return {"files": count, "files_per_s": rate, "unchanged_again_s": again} | figures


def _again(pecia: Pecia, source: str) -> float:
    began = time.perf_counter()
    pecia.call("office/crawl_source", source_id=source)
    _followed(pecia, source)
    return round(time.perf_counter() - began, 2)


def _saves(pecia: Pecia, place: Path, share: float) -> dict[str, Any]:
    """In the folder of the Markdown files, watched, and in an almost empty one."""
    figures: dict[str, Any] = {"target_s": 2}
    few = place / "few"
    few.mkdir()
    for name, folder in (("few_files", few), ("many_files", place / "markdown")):
        source = f"watched-{name}"
        pecia.call(
            "office/add_source", source_id=source, folder=str(folder), hybrid=name == "few_files"
        )
        while pecia.call("lake/list_sources") and not _is_done(pecia, source):
            time.sleep(0.1)
        # The watcher looks for new folders every five seconds, and lists one first.
        times = [
            _save(pecia, source, folder, number) for number in range(max(5, round(SAVES * share)))
        ]
        figures[name] = {
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


def _long(pecia: Pecia, place: Path, share: float) -> dict[str, Any]:
    folder = place / "long"
    folder.mkdir()
    pages = max(500, round(LONG_PAGES * share))
    _write_pdf(folder / "long.pdf", pages, "A long one yankeex")
    return {"pages": pages} | crawl(pecia, "long", folder, "yankeex")


def spelled(number: int) -> str:
    """A word of letters alone that nothing else holds: digits would be cut off and found apart."""
    letters = "".join(chr(ord("a") + int(it)) for it in f"{number:06}")
    return f"zq{letters}"


def _is_done(pecia: Pecia, source: str) -> bool:
    try:
        return pecia.call("office/crawl_status", source_id=source)["state"] == "done"
    except URLError:
        # Not yet begun.
        return False


def _followed(pecia: Pecia, source: str) -> tuple[int, float, dict[str, Any]]:
    """How often the progress changed, the longest time that it did not, and how it ended."""
    told, longest_s, last, at = 0, 0.0, None, time.perf_counter()
    while True:
        found = pecia.call("office/crawl_status", source_id=source)
        now = time.perf_counter()
        shown = (found["state"], found["seen"], found["read"])
        if shown != last:
            told, longest_s, last, at = told + 1, max(longest_s, now - at), shown, now
        if found["state"] not in ("waiting", "listing", "reading"):
            return told, longest_s, found
        time.sleep(FOLLOW_EVERY_S)


def _line(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _kind(process: psutil.Process) -> str:
    line = _line(process)
    if "extract" in line:
        return "readers"
    if "postgres" in line:
        return "database"
    return "worker" if " worker" in line else "server"


def _write_pdf(path: Path, pages: int, title: str) -> None:
    with path.open("wb") as file:
        for piece in samples.pdf_parts(
            [f"# {title if no == pages else 'Page'} {no}", *LINES] for no in range(1, pages + 1)
        ):
            file.write(piece)


if __name__ == "__main__":
    print(main(*map(float, sys.argv[1:2])))
