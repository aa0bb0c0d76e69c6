"""100 questions over 300 real files of all kinds, as users have them: crawled, asked through MCP.

`bench/questions/README.md` says how they were written. PECIA_BENCH_FILES names the folder that
`bench.questions.fetch` wrote; PECIA_BENCH_HELD=1 asks the held-back half too; PECIA_BENCH_URL is a
server that has those files already.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import result
from bench.ingestion.asked import ask, wait_until_indexed
from bench.ingestion.local import Pecia
from bench.memories.server import ENVIRONMENT

QUESTIONS = Path(__file__).parent / "questions" / "questions.jsonl"
SOURCE = "files"
ENDPOINTS = {"agents": "/mcp", "reference": "/mcp/lake"}


def measure(folder: Path) -> dict[str, Any]:
    questions = [json.loads(it) for it in QUESTIONS.read_text("utf-8").splitlines()]
    halves = {"development": questions[::2]}
    if os.environ.get("PECIA_BENCH_HELD"):
        halves["held back"] = questions[1::2]
    files = sum(it.is_file() for it in folder.rglob("*"))
    found: dict[str, Any] = {"files": files, "questions": len(questions)}
    with _serving(folder, files) as url:
        for half, asked in halves.items():
            for name, path in ENDPOINTS.items():
                for mode in ("hybrid", "lexical"):
                    found[f"{half}, {mode}, for {name}"] = rate(
                        asked, lambda it, path=path, mode=mode: _search(url + path, mode, it)
                    )
    return found


@contextmanager
def _serving(folder: Path, files: int) -> Generator[str]:
    """The URL of a server that has read, indexed and embedded the files."""
    if url := os.environ.get("PECIA_BENCH_URL"):
        yield url
        return
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="pecia-files-") as place, Pecia(Path(place)) as pecia:
        pecia.add_folder(source_id=SOURCE, folder=str(folder), trim_mode="open")
        wait_until_indexed(pecia, SOURCE, files)
        yield pecia.url


def rate(
    questions: Sequence[Mapping[str, Any]], search: Callable[[str], Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Shares of questions whose file, answer and page stand among the first hits."""
    outcomes: dict[str, list[bool]] = {}
    missed: list[str] = []
    for it in questions:
        hits = search(it["question"])
        scored = _score(it, hits)
        for name, value in scored.items():
            outcomes.setdefault(name, []).append(value)
        if not scored["answer@5"]:
            missed.append(it["id"])
    rates = {name: round(sum(them) / len(them), 3) for name, them in sorted(outcomes.items())}
    return {**rates, "questions": len(questions), "answer missed": missed}


def _search(endpoint: str, mode: str, question: str) -> Sequence[Mapping[str, Any]]:
    answer = ask(endpoint, "search_content", query=question, mode=mode)
    return answer["structuredContent"]["hits"]


def _score(question: Mapping[str, Any], hits: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    scored: dict[str, bool] = {}
    for top in (1, 5):
        first = hits[:top]
        own = [it for it in first if it["key"] in question["files"]]
        scored[f"file@{top}"] = bool(own)
        # In the text that is shown of a right file: elsewhere the words may stand by chance.
        scored[f"answer@{top}"] = any(
            _plain(question["answer"]) in _plain(it["text"]) for it in own
        )
    if "page" in question:
        scored["page@5"] = any(
            question["page"] in _pages_of(it) for it in hits[:5] if it["key"] in question["files"]
        )
    return scored


def _pages_of(hit: Mapping[str, Any]) -> range:
    if "page_no" in hit:
        return range(hit["page_no"] or 0, (hit["page_no"] or 0) + 1)
    found = re.search(r"pages? (\d+)(?:–(\d+))?$", hit.get("where") or "")
    return range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)


def _plain(text: str) -> str:
    """Without what differs by how a file is read: white space, case, escapes of manual pages."""
    return " ".join(text.replace("\\", "").split()).casefold()


def main() -> Path:
    folder = os.environ.get("PECIA_BENCH_FILES")
    if not folder:
        raise SystemExit(f"set PECIA_BENCH_FILES: {__doc__}")
    return result.write("file-questions", measure(Path(folder)))


if __name__ == "__main__":
    print(main())
