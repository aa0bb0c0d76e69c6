"""How well `find_tools` finds our own tools by what people say, with and without the phrases.

`bench/requests/own_tools.json` was written before any result was seen: of each pair of requests the
first was used for development, the second was held back. MetaTool, which has no phrases, shows that
other tools are found as before.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from bench import result
from bench.retrieval import measure_metatool
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.features.discovery.rank import PhrasesByTool, ToolFinder
from pecia.kernel.tool.view import ToolView, combine_tools
from scripts.reference import described_features

REQUESTS = Path(__file__).parent / "requests" / "own_tools.json"
TOP = (1, 3, 5)


def own_tools() -> ToolView:
    """Every tool of ours, to be found and never called."""
    features = described_features()
    return combine_tools(tool for feature in features for tool in feature.tools).for_agents()


async def measure() -> dict[str, Any]:
    view, embedder = own_tools(), OnnxEmbedder(find_shipped_model())
    pairs: list[tuple[str, list[str]]] = json.loads(REQUESTS.read_text("utf-8"))["requests"]
    halves = {"development": pairs[::2], "held back": pairs[1::2]}
    ways: Mapping[str, tuple[OnnxEmbedder | None, PhrasesByTool | None]] = {
        "hybrid": (embedder, None),
        "lexical": (None, None),
        "hybrid without phrases": (embedder, {}),
        "lexical without phrases": (None, {}),
    }
    found: dict[str, Any] = {"tools": len(view.tools), "requests": len(pairs)}
    for name, (using, phrases) in ways.items():
        finder = ToolFinder(view, using, phrases)
        while not finder.is_ready:
            await finder.find("warm up")
        found[name] = {half: await _hits(finder, asked) for half, asked in halves.items()}
        print(name, json.dumps(found[name]), flush=True)
    found["metatool"] = await measure_metatool(embedder)
    return found


async def _hits(finder: ToolFinder, asked: list[tuple[str, list[str]]]) -> dict[str, float]:
    ranks: list[int] = []
    for words, wanted in asked:
        names = [name for name, _ in await finder.find(words)]
        places = [names.index(it) for it in wanted if it in names]
        ranks.append(min(places, default=len(names)))
    return {f"hit@{top}": round(sum(it < top for it in ranks) / len(ranks), 3) for top in TOP}


def main() -> Path:
    return result.write("find_tools", anyio.run(measure))


if __name__ == "__main__":
    print(main())
