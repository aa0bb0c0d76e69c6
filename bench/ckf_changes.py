"""Counts what `ckf.verify` and `ckf.slice` promise, on real texts.

    python -m bench.ckf_changes FOLDER [--count 1000] [--seed 1]

FOLDER: texts fetched by `python -m bench.ckf_texts`. One character of a source or of a package is
changed, at random, and the package verified; random questions are sliced with random budgets.
"""

import argparse
import json
import random
import string
import sys
from pathlib import Path
from typing import Any

import orjson

from pecia.features.ckf.core.packages import run_slice, run_verify
from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import normalize
from pecia.features.ckf.package.tokens import estimate_tokens
from pecia.features.ckf.package.verify import CurrentSource
from pecia.features.ckf.tools.inputs import SliceInput

LEVELS = ("light", "standard", "dense", "agentic")
# Words that no text of the labels is about.
NOWHERE = "zyzzyva quokka xylophonist brontosaurus"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    chance = random.Random(asked.seed)
    texts = [it.read_text("utf-8") for it in sorted(asked.folder.glob("*.txt"))]
    found = {"sources": 0, "quoted": 0, "quoted_told": 0, "packages": 0, "slices": 0, "nothing": 0}
    for number in range(asked.count):
        text = _excerpt(chance, texts)
        level = LEVELS[number % len(LEVELS)]
        package = compile_text(SourceText(text), CompileOptions(compression_level=level))
        _change_source(chance, text, package, found)
        found["packages"] += _is_change_noticed(chance, text, package)
        found["slices"] += _keeps_budget(chance, text, package)
        found["nothing"] += _says_nothing(package)
    print(json.dumps({"count": asked.count, "seed": asked.seed, **found}))
    whole = ("sources", "packages", "slices", "nothing")
    fine = all(found[it] == asked.count for it in whole)
    return 0 if fine and found["quoted"] == found["quoted_told"] else 1


def _excerpt(chance: random.Random, texts: list[str]) -> str:
    text = chance.choice(texts)
    start = chance.randrange(max(1, len(text) - 3000))
    return text[start : start + chance.randrange(200, 3000)]


def _other(chance: random.Random, text: str, at: int) -> str:
    new = chance.choice([it for it in string.ascii_letters + string.digits if it != text[at]])
    return text[:at] + new + text[at + 1 :]


def _verify(package: Package, text: str) -> Any:
    return run_verify(package, {"": CurrentSource(text)})


def _change_source(
    chance: random.Random, text: str, package: Package, found: dict[str, int]
) -> None:
    at = chance.randrange(len(text))
    told = _verify(package, _other(chance, text, at))
    found["sources"] += bool(told.stale)
    spans = [
        (int(str(it["source_char_start"])), int(str(it.get("source_span_end", 0))) or None, it)
        for it in package.trace
    ]
    if any(start <= at < (end or int(str(it["source_char_end"]))) for start, end, it in spans):
        found["quoted"] += 1
        found["quoted_told"] += not told.holds


def _is_change_noticed(chance: random.Random, text: str, package: Package) -> bool:
    """Whether a changed character of any text in the package shows."""
    body: Any = orjson.loads(orjson.dumps(package.body))
    places = list(_texts(body))
    owner, key = chance.choices(places, [len(owner[key]) for owner, key in places])[0]
    owner[key] = _other(chance, owner[key], chance.randrange(len(owner[key])))
    return not _verify(normalize(body), text).holds


def _texts(value: Any) -> Any:
    pairs: Any = value.items() if hasattr(value, "items") else enumerate(value)
    for key, it in pairs:
        if isinstance(it, str) and it:
            yield value, key
        elif isinstance(it, (dict, list)):
            yield from _texts(it)


def _keeps_budget(chance: random.Random, text: str, package: Package) -> bool:
    words = text.split() or ["?"]
    query = " ".join(chance.choice(words) for _ in range(chance.randrange(1, 7)))[:1000]
    budget = chance.randrange(50, 4000)
    reply = run_slice(SliceInput(package=package.body, query=query, budget_tokens=budget))
    fits = estimate_tokens(reply.model_dump_json()) <= budget and reply.tokens <= budget
    return fits and reply.answered == bool(reply.included) and bool(reply.note) != reply.answered


def _says_nothing(package: Package) -> bool:
    ask = SliceInput(package=package.body, query=NOWHERE, budget_tokens=1500)
    reply = run_slice(ask)
    return not reply.answered and reply.note.startswith("Nothing in the package")


if __name__ == "__main__":
    sys.exit(main())
