"""The training program of pecia-polyglot, from catalogues to a model that Pecia runs, in small."""

import itertools
import json
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pecia.adapters.embedding.model_files import load_model_files
from pecia.adapters.embedding.onnx import OnnxEmbedder

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("torch") is None or find_spec("onnx") is None,
        reason="torch and onnx are not installed: pip install --group train",
    ),
]

TRAINING = Path(__file__).parents[3] / "packages" / "pecia-polyglot" / "training"
SUBJECTS = {"door": "Tür", "window": "Fenster", "table": "Tisch", "lamp": "Lampe", "book": "Buch"}
VERBS = {
    "is visible": "ist zu sehen",
    "is broken": "ist kaputt",
    "is new": "ist neu",
    "is red": "ist rot",
}
PLACES = {
    "in the garden": "im Garten",
    "in the kitchen": "in der Küche",
    "at work": "bei der Arbeit",
}


def sentences() -> dict[str, str]:
    return {
        f"The {a} {b} {c} today": f"{SUBJECTS[a]} {VERBS[b]} {PLACES[c]} heute"
        for a, b, c in itertools.product(SUBJECTS, VERBS, PLACES)
    }


def write_catalog(path: Path, messages: dict[str, str]) -> None:
    """A compiled message catalogue, as gettext reads it."""
    messages = {"": "Content-Type: text/plain; charset=UTF-8\n", **messages}
    keys = sorted(messages)
    ids, texts = [it.encode() for it in keys], [messages[it].encode() for it in keys]
    count, header = len(keys), 28
    at = header + 16 * count
    tables: list[bytes] = []
    for strings in (ids, texts):
        for it in strings:
            tables.append(struct.pack("<II", len(it), at))
            at += len(it) + 1
    body = b"".join(it + b"\0" for it in [*ids, *texts])
    head = struct.pack("<7I", 0x950412DE, 0, count, header, header + 8 * count, 0, 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(head + b"".join(tables) + body)


def run(program: str, *arguments: str | Path) -> None:
    command = [sys.executable, str(TRAINING / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


async def test_catalogues_become_a_model_that_runs(tmp_path: Path) -> None:
    data, rows, lessons = tmp_path / "data", tmp_path / "rows", tmp_path / "lessons"
    catalog = data / "x" / "house" / "usr/share/locale/de/LC_MESSAGES/house.mo"
    write_catalog(catalog, sentences())
    for empty in ("x/edict", "ddtp", "npm", "courses"):
        (data / empty).mkdir(parents=True)
    tests = tmp_path / "xquad"
    tests.mkdir()
    (tests / "en.json").write_text(json.dumps({"data": []}))
    run("collect.py", data, rows, "a:z")
    run("select_rows.py", tests, lessons, "1", rows)
    run("pieces.py", lessons, tmp_path / "tokenizer.json", "400", "1000")
    run(
        "train.py", "contextual", "--lessons", lessons, "--tokenizer", tmp_path / "tokenizer.json",
        "--out", tmp_path / "out", "--minutes", "0.1", "--batch-tokens", "512",
    )  # fmt: skip
    run(
        "export.py",
        tmp_path / "out" / "contextual.npz",
        tmp_path / "tokenizer.json",
        tmp_path / "made",
    )
    # The exported model is trained further.
    run(
        "train.py", "contextual", "--lessons", lessons, "--tokenizer", tmp_path / "tokenizer.json",
        "--begin", tmp_path / "made" / "model.onnx", "--out", tmp_path / "further",
        "--minutes", "0.05", "--batch-tokens", "512",
    )  # fmt: skip
    first, further = (np.load(tmp_path / it / "contextual.npz") for it in ("out", "further"))
    for name in ("rest.body.layers.0.qkv.weight", "rest.straight.weight", "rest.body.positions"):
        moved = np.abs(further[name].astype("f4") - first[name].astype("f4")).mean()
        assert moved < 0.1 * np.abs(first[name].astype("f4")).mean() + 0.005
    files = load_model_files(
        tmp_path / "made" / "model.onnx",
        tmp_path / "made" / "tokenizer.json",
        max_tokens=256,
        language="",
    )
    vectors = await OnnxEmbedder(files, threads=1).embed([*sentences().values()][:6])
    assert vectors.shape == (6, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert np.isfinite(vectors).all()
