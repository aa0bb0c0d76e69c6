"""Figures of an exported model on question sets: `python measure.py FOLDER OUT.json`.

FOLDER has files in SQuAD's form, `th-iapp.json` and so on; they are tests, and are not shipped. By
vectors alone, in one language: a question to its paragraph among all of the file, up to 300.
`PECIA_POLYGLOT` may name a folder with another `model.onnx` and `tokenizer.json`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

SHIPPED = Path(__file__).parent.parent / "src" / "pecia_polyglot"
MODEL = Path(os.environ.get("PECIA_POLYGLOT", SHIPPED))
MOST_PARAGRAPHS, MOST_QUESTIONS = 300, 600


class Embedder:
    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)

    def embed(self, texts: list[str]) -> Any:
        return np.concatenate([self._one(it) for it in texts])

    def _one(self, text: str) -> Any:
        ids = np.array([self.tokenizer.encode(text).ids], np.int64)
        return self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]


def read(path: Path) -> tuple[list[str], list[str], list[int]]:
    paragraphs: dict[str, int] = {}
    questions: list[tuple[str, int]] = []
    for article in json.loads(path.read_bytes())["data"]:
        for paragraph in article["paragraphs"]:
            if len(paragraphs) == MOST_PARAGRAPHS and paragraph["context"] not in paragraphs:
                continue
            number = paragraphs.setdefault(paragraph["context"], len(paragraphs))
            asked = (it for it in paragraph["qas"] if not it.get("is_impossible"))
            questions += [(it["question"], number) for it in asked]
    step = max(1, len(questions) // MOST_QUESTIONS)
    chosen = questions[::step][:MOST_QUESTIONS]
    return list(paragraphs), [it[0] for it in chosen], [it[1] for it in chosen]


def main() -> None:
    embedder = Embedder(MODEL)
    figures: dict[str, Any] = {}
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        paragraphs, questions, right = read(path)
        scores = embedder.embed(questions) @ embedder.embed(paragraphs).T
        ranks = (scores > scores[np.arange(len(right)), right][:, None]).sum(1)
        figures[path.stem] = {
            "hit@1": round(float((ranks < 1).mean()), 3),
            "hit@5": round(float((ranks < 5).mean()), 3),
            "questions": len(questions),
            "paragraphs": len(paragraphs),
        }
        print(path.stem, figures[path.stem], flush=True)
    Path(sys.argv[2]).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
