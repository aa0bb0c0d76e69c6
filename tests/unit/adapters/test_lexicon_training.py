"""Aligned texts become the translation tables that the product reads, in small."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pecia.adapters.embedding.lexicon import Lexicon
from pecia.adapters.embedding.model_files import find_shipped_model

TRAINING = Path(__file__).parents[3] / "packages" / "pecia-polyglot" / "training"
THINGS = {"door": "дверь", "window": "окно", "table": "стол", "lamp": "лампа", "book": "книга"}
STATES = {"broken": "сломана", "new": "новая", "red": "красная", "dirty": "грязная"}
PLACES = {"garden": "саду", "kitchen": "кухне", "office": "офисе"}


def run(*arguments: str | Path) -> None:
    command = [sys.executable, str(TRAINING / "lexicon.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def write_texts(folder: Path, name: str, texts: list[str]) -> None:
    """Each string beside the English one of the same number, as steps from one to the next."""
    steps = np.array([0, *[1] * (len(texts) - 1)], "<i4")
    (folder / f"{name}.txt").write_text("".join(f"{it}\n" for it in texts), encoding="utf-8")
    (folder / f"{name}.num").write_bytes(steps.tobytes())


@pytest.mark.anyio
async def test_words_that_stand_in_translations_of_each_other_are_linked(tmp_path: Path) -> None:
    lessons, tables = tmp_path / "lessons", tmp_path / "tables"
    lessons.mkdir()
    chosen = [*itertools.product(THINGS, STATES, PLACES)]
    write_texts(lessons, "english", [f"the {a} is {b} in the {c}" for a, b, c in chosen])
    write_texts(lessons, "ru", [f"{THINGS[a]} {STATES[b]} в {PLACES[c]}" for a, b, c in chosen])
    run(lessons, tables)
    run("--pack", tables, tmp_path / "lexicon.zip")
    lexicon = Lexicon(tmp_path / "lexicon.zip", find_shipped_model().tokenizer)
    found = await lexicon.translate("Красная лампа в кухне?")
    assert [next(term for term, _ in it.terms) for it in found] == ["red", "lamp", "kitchen"]
    assert await lexicon.translate("The red lamp in the kitchen?") == ()
    run("--pack", tables, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "lexicon.zip").read_bytes()
