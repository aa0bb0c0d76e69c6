"""SciFact as users have it: a Markdown file per abstract, crawled, and asked through the MCP tool.

`bench/retrieval.py` asks the same of the ranking alone; the two should agree.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from bench import result
from bench.ingestion.asked import ask, wait_until_indexed
from bench.ingestion.local import Pecia
from bench.memories.server import ENVIRONMENT
from bench.retrieval import DATA
from pecia.app.evaluation.beir import read_collection
from pecia.kernel.corpus.evaluation.metrics import compute_metrics

SOURCE = "abstracts"
ENDPOINTS = {"reference": "/mcp/lake", "agents": "/mcp"}


def measure() -> dict[str, Any]:
    collection = read_collection(DATA / "scifact")
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="pecia-scifact-") as place, Pecia(Path(place)) as pecia:
        folder = Path(place) / SOURCE
        folder.mkdir()
        for it in collection.documents:
            text = f"# {it.title}\n\n{it.text}\n"
            (folder / f"{it.id}.md").write_text(text, encoding="utf-8")
        pecia.add_folder(source_id=SOURCE, folder=str(folder), trim_mode="open")
        wait_until_indexed(pecia, SOURCE, len(collection.documents))
        found: dict[str, Any] = {"files": len(collection.documents)}
        for name, path in ENDPOINTS.items():
            for mode in ("lexical", "hybrid"):
                run = {
                    id_: [
                        Path(hit["key"]).stem
                        for hit in ask(pecia.url + path, "search_content", query=query, mode=mode)[
                            "structuredContent"
                        ]["hits"]
                    ]
                    for id_, query in collection.queries.items()
                }
                found[f"{mode}, for {name}"] = compute_metrics(run, collection.qrels)
                print(name, mode, json.dumps(found[f"{mode}, for {name}"]), flush=True)
    return found


def main() -> Path:
    return result.write("scifact-files", measure())


if __name__ == "__main__":
    print(main())
