"""Search in twelve languages, as users have it: XQuAD's paragraphs as files, asked through MCP.

`XQUAD` names the folder of google-deepmind/xquad, whose files are not ours to ship. Nothing was
fitted on them. Each language is a source of its own; a question is put to the source in its own
language, and to the English one.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from bench import result
from bench.ingestion.asked import ask, wait_until_indexed
from bench.ingestion.local import Pecia
from bench.memories.server import ENVIRONMENT

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
MODES = ("lexical", "hybrid")
STEP = 12
"""Every twelfth question: 100 of each language."""


class XquadSet(NamedTuple):
    """Paragraphs, and questions with the number of the paragraph that answers each."""

    paragraphs: list[str]
    questions: list[tuple[str, int]]


def read_language(folder: Path, language: str) -> XquadSet:
    found = XquadSet([], [])
    for article in json.loads((folder / f"xquad.{language}.json").read_bytes())["data"]:
        for paragraph in article["paragraphs"]:
            number = len(found.paragraphs)
            found.paragraphs.append(paragraph["context"])
            found.questions.extend((it["question"], number) for it in paragraph["qas"])
    return found


def hits_at(pecia: Pecia, source: str, mode: str, asked: list[tuple[str, int]]) -> dict[str, float]:
    """The share of questions whose paragraph is first, and among the first five."""
    ranks: list[int] = []
    for question, number in asked:
        answer = ask(
            f"{pecia.url}/mcp/lake",
            "search_content",
            query=question,
            source_id=source,
            mode=mode,
            limit=5,
        )
        keys = [int(Path(it["key"]).stem) for it in answer["structuredContent"]["hits"]]
        ranks.append(keys.index(number) if number in keys else len(keys) + 5)
    return {f"hit@{most}": round(sum(it < most for it in ranks) / len(ranks), 3) for most in (1, 5)}


def measure() -> dict[str, Any]:
    os.environ.update(ENVIRONMENT)
    sets = {it: read_language(Path(os.environ["XQUAD"]), it) for it in LANGUAGES}
    found: dict[str, Any] = {"questions": len(sets["en"].questions[::STEP])}
    with tempfile.TemporaryDirectory(prefix="pecia-xquad-") as place, Pecia(Path(place)) as pecia:
        for language, texts in sets.items():
            folder = Path(place) / language
            folder.mkdir()
            for number, text in enumerate(texts.paragraphs):
                (folder / f"{number}.txt").write_text(text, encoding="utf-8")
            pecia.add_folder(source_id=language, folder=str(folder), trim_mode="open")
        for language, texts in sets.items():
            wait_until_indexed(pecia, language, len(texts.paragraphs))
        for language, texts in sets.items():
            asked = texts.questions[::STEP]
            found[language] = {it: hits_at(pecia, language, it, asked) for it in MODES}
            if language != "en":
                for mode in MODES:
                    found[language][f"{mode}, to English"] = hits_at(pecia, "en", mode, asked)
            print(language, json.dumps(found[language]), flush=True)
    return found


def main() -> Path:
    return result.write("languages", measure())


if __name__ == "__main__":
    print(main())
