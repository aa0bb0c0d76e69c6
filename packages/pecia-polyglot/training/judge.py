"""Figures of a student in training: held-out pairs, and XQuAD where it is at hand (a test only)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lessons as data
import numpy as np
import torch
from torch import Tensor, nn


@torch.no_grad()
def embed(model: nn.Module, tokenizer: Any, texts: list[str], device: str) -> Tensor:
    begin, end = tokenizer.token_to_id(data.BEGIN), tokenizer.token_to_id(data.END)
    rows = [
        it.ids[: data.MAX_TOKENS - 2]
        for it in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]
    found = []
    for at in range(0, len(rows), 256):
        part = [[begin, *it, end] for it in rows[at : at + 256]]
        width = max(len(it) for it in part)
        ids = torch.zeros(len(part), width, dtype=torch.long)
        mask = torch.zeros(len(part), width, dtype=torch.bool)
        for row, it in enumerate(part):
            ids[row, : len(it)] = torch.tensor(it)
            mask[row, : len(it)] = True
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found.append(model(ids.to(device), mask.to(device)).float())
    return torch.cat(found)


def hits(queries: Tensor, passages: Tensor, right: Any) -> list[float]:
    """Share of queries whose passage is first, and among the first five."""
    best = (queries @ passages.T).topk(min(5, len(passages))).indices.cpu().numpy()
    right = np.asarray(right)
    return [
        round(float((best[:, 0] == right).mean()), 4),
        round(float((best == right[:, None]).any(1).mean()), 4),
    ]


def xquad(folder: Path, language: str) -> tuple[list[str], list[str], list[int]]:
    passages, questions, right = [], [], []
    for article in data.load_json(folder / f"{language}.json")["data"]:
        for paragraph in article["paragraphs"]:
            passages.append(paragraph["context"])
            for question in paragraph["qas"]:
                questions.append(question["question"])
                right.append(len(passages) - 1)
    return passages, questions, right


def judge(
    model: nn.Module,
    tokenizer: Any,
    options: Any,
    teach: Callable[[list[str]], Tensor],
    device: str,
) -> dict[str, Any]:
    figures: dict[str, Any] = {"held": {}, "xquad": {}}
    for language, pairs in data.load_json(options.lessons / "held.json").items():
        if len(pairs) >= 50:
            ours = teach([it[0] for it in pairs]).float()
            theirs = embed(model, tokenizer, [it[1] for it in pairs], device)
            figures["held"][language] = [*hits(theirs, ours, range(len(pairs))), len(pairs)]
    means = np.array([it[:2] for it in figures["held"].values()]).mean(0) if figures["held"] else []
    print(
        "held out, translation to English",
        [round(float(it), 4) for it in means],
        figures["held"],
        flush=True,
    )
    if options.test:
        english = None
        for language in ("en", "ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"):
            passages, questions, right = xquad(options.test, language)
            asked = embed(model, tokenizer, questions, device)
            found = hits(asked, embed(model, tokenizer, passages, device), right)
            if english is None:
                english = teach(passages).float()
                teacher = hits(teach(questions).float(), english, right)
                figures["xquad"]["teacher"] = teacher
                print("XQuAD en, teacher", teacher, flush=True)
            across = hits(asked, english, right)
            figures["xquad"][language] = {"same": found, "to_english": across}
            print("XQuAD", language, "same language", found, "to English", across, flush=True)
    return figures
