"""What answers cost an agent, and whether they hold the answer, before and after the lean form.

`/mcp/lake` answers in the shape of its reference, as `/mcp` did before; `/mcp` answers for agents.
Both are asked in one run, over one index, each with its own defaults. Tokens are
those of o200k_base.
PECIA_BENCH_DOCS names a folder in which the packages of `bench/requests/answers.json` are unpacked
(`dpkg -x`); its `usr/share/doc` is read.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import tiktoken

from bench import result
from bench.ingestion.asked import ask, wait_until_indexed
from bench.ingestion.local import Pecia
from pecia.kernel.text.tokens import estimate_tokens

REQUESTS = Path(__file__).parent / "requests" / "answers.json"
SOURCE = "docs"
SHOWN = 5
ENCODING = tiktoken.get_encoding("o200k_base")
WAYS = {"before": "/mcp/lake", "after": "/mcp"}


def count(text: str) -> int:
    return len(ENCODING.encode(text, disallowed_special=()))


def texts(answer: Mapping[str, Any]) -> str:
    return "\n".join(it["text"] for it in answer["content"] if it["type"] == "text")


def wire(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def measure(folder: Path) -> dict[str, Any]:
    about = json.loads(REQUESTS.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="pecia-answers-") as place, Pecia(Path(place)) as pecia:
        files = _copy(folder, about["packages"].values(), Path(place) / "docs")
        pecia.add_folder(source_id=SOURCE, folder=str(Path(place) / "docs"), trim_mode="open")
        wait_until_indexed(pecia, SOURCE, files)
        found: dict[str, Any] = {"files": files, "questions": len(about["questions"])}
        for name, path in WAYS.items():
            found[name] = _search(pecia, path, about["questions"])
            print(name, json.dumps(found[name]), flush=True)
        written = [it for it in about["questions"] if it["task"] == "write"]
        found["sessions"] = [_session(pecia, it, number) for number, it in enumerate(written)]
    return found


def _copy(folder: Path, patterns: Iterable[str], to: Path) -> int:
    number = 0
    for pattern in patterns:
        for it in sorted((folder / "usr/share/doc").glob(pattern)):
            target = to / it.relative_to(folder / "usr/share/doc")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(it, target)
            number += 1
    return number


def _search(pecia: Pecia, path: str, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for it in questions:
        answer = ask(pecia.url + path, "search_content", query=it["question"])
        hits = answer["structuredContent"]["hits"]
        shown = "\n".join(hit["text"] for hit in hits[:SHOWN])
        rows.append(
            {
                "task": it["task"],
                "hits": len(hits),
                "files": len({hit["key"] for hit in hits}),
                "text": count(texts(answer)),
                "wire": count(wire(answer)),
                "estimate": estimate_tokens(texts(answer)),
                "answered": all(word in shown for word in it["answers"]),
            }
        )
    return {
        **_summary(rows),
        "by task": {
            task: _summary([it for it in rows if it["task"] == task])
            for task in dict.fromkeys(it["task"] for it in questions)
        },
    }


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "text": median(it["text"] for it in rows),
        "wire": median(it["wire"] for it in rows),
        "most text": max(it["text"] for it in rows),
        "most wire": max(it["wire"] for it in rows),
        "estimate of text": median(it["estimate"] for it in rows),
        "hits": median(it["hits"] for it in rows),
        "files": median(it["files"] for it in rows),
        f"answer-in-text@{SHOWN}": sum(it["answered"] for it in rows) / len(rows),
    }


def _session(pecia: Pecia, question: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Find, read, cite, write, remember, as an agent at the front desk does."""
    found = ask(f"{pecia.url}/mcp", "search_content", query=question["question"])
    hit = found["structuredContent"]["hits"][0]
    read = ask(f"{pecia.url}/mcp", "read", uri=hit["uri"], start=hit["seq"], max_tokens=800)
    quotation = hit["text"].splitlines()[0]
    page = f"# Note {number}\n\n> {quotation}\n\nSource: {hit['uri']}\n"
    note = {"docName": f"notes/{number}", "markdown": page, "position": "replace"}
    written = ask(f"{pecia.url}/mcp", "write_document", **note)
    fact = f"Remember: {question['question']} is answered in {hit['uri']}, noted in notes/{number}."
    stored = ask(f"{pecia.url}/mcp", "cipher_extract_and_operate_memory", interaction=fact)
    recalled = ask(f"{pecia.url}/mcp", "cipher_memory_search", query=question["question"])
    answers = [found, read, written, stored, recalled]
    return {
        "calls": len(answers),
        "errors": sum(bool(it.get("isError")) for it in answers),
        "cited": quotation.strip() in texts(read),
        "text": sum(count(texts(it)) for it in answers),
        "wire": sum(count(wire(it)) for it in answers),
    }


def main() -> Path:
    folder = os.environ.get("PECIA_BENCH_DOCS")
    if not folder:
        raise SystemExit(f"set PECIA_BENCH_DOCS: {__doc__}")
    return result.write("answers", measure(Path(folder)))


if __name__ == "__main__":
    print(main())
