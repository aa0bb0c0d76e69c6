"""The training texts as tensors: pieces of each text, and the English text whose vector it gets."""

import json
import multiprocessing
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from texts import content, language_names, read_language
from tokenizers import Tokenizer
from torch import Tensor

MAX_TOKENS = 256
BEGIN, END, PAD = "<s>", "</s>", "<pad>"
BATCH_OF_TEXTS = 100_000
# English strings that follow each other make a paragraph: this many at a time, in turn.
PARAGRAPHS = (2, 3, 5, 8)


@dataclass
class Lessons:
    """All examples: their pieces one after the other, where each begins, and its target."""

    pieces: Tensor
    starts: Tensor
    lengths: Tensor
    targets: Tensor
    languages: Tensor
    names: list[str]


def encode(tokenizer: Any, texts: list[str]) -> tuple[Any, Any]:
    """Pieces of all texts without the signs around them, and how many each has."""
    flat, lengths = [], []
    for at in range(0, len(texts), BATCH_OF_TEXTS):
        for it in tokenizer.encode_batch_fast(
            texts[at : at + BATCH_OF_TEXTS], add_special_tokens=False
        ):
            ids = it.ids[: MAX_TOKENS - 2]
            flat.append(np.array(ids, np.int32))
            lengths.append(len(ids))
    return np.concatenate([np.empty(0, np.int32), *flat]), np.array(lengths, np.int64)


def paragraph_plan(count: int) -> tuple[Any, Any]:
    """First and last string of each paragraph, over the English strings in reading order."""
    firsts, lasts, at, turn = [], [], 0, 0
    while at + 2 <= count:
        size = PARAGRAPHS[turn % len(PARAGRAPHS)]
        firsts.append(at)
        lasts.append(min(at + size, count))
        at, turn = at + size, turn + 1
    return np.array(firsts), np.array(lasts)


@dataclass(frozen=True)
class Part:
    """The examples of one language."""

    pieces: Any
    lengths: Any
    targets: Any


def read_part(folder: Path, tokenizer_file: Path, name: str, english: int) -> Part:
    """Strings of one language, and paragraphs where it has every string of one."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    begin, end = tokenizer.token_to_id(BEGIN), tokenizer.token_to_id(END)
    texts, numbers = read_language(folder, name)
    within = numbers < english
    flat, lengths = encode(tokenizer, [it for it, ok in zip(texts, within, strict=True) if ok])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    keep = np.flatnonzero(lengths > 0)
    rows = [flat[starts[it] : starts[it + 1]] for it in keep]
    targets = numbers[within][keep]
    joined, which = join_paragraphs(rows, targets, english)
    rows += joined
    framed = [np.concatenate([[begin], it, [end]]).astype(np.int32) for it in rows]
    sizes = np.array([len(it) for it in framed], np.int64)
    return Part(
        np.concatenate([np.empty(0, np.int32), *framed]), sizes, np.concatenate([targets, which])
    )


def join_paragraphs(rows: list[Any], targets: Any, english: int) -> tuple[list[Any], Any]:
    first_at = dict(zip(targets[::-1].tolist(), range(len(targets) - 1, -1, -1), strict=True))
    joined, which = [], []
    for number, (first, last) in enumerate(zip(*paragraph_plan(english), strict=True)):
        places = [first_at.get(it) for it in range(first, last)]
        if None not in places:
            pieces = np.concatenate([rows[it] for it in places])  # type: ignore[index]
            if len(pieces) <= MAX_TOKENS - 2:
                joined.append(pieces)
                which.append(english + number)
    return joined, np.array(which, np.int64)


def build(
    folder: Path, tokenizer_file: Path, device: str, most: int | None = None
) -> tuple[Lessons, list[str]]:
    """The examples, and the English texts that their targets count: strings, then paragraphs."""
    began = time.time()
    english, _ = read_language(folder, "english")
    english = english[:most] if most else english
    names = ["english", *language_names(folder)]
    arguments = [(folder, tokenizer_file, name, len(english)) for name in names]
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with multiprocessing.get_context("spawn").Pool(min(16, os.cpu_count() or 1)) as pool:
        parts = pool.starmap(read_part, arguments, chunksize=1)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    spans = zip(*paragraph_plan(len(english)), strict=True)
    paragraphs = [" ".join(english[first:last]) for first, last in spans]
    lengths = np.concatenate([it.lengths for it in parts])
    languages = np.concatenate([np.full(len(it.lengths), at) for at, it in enumerate(parts)])
    lessons = Lessons(
        torch.from_numpy(np.concatenate([it.pieces for it in parts])).to(device),
        torch.from_numpy(np.cumsum(lengths) - lengths).to(device),
        torch.from_numpy(lengths).to(device),
        torch.from_numpy(np.concatenate([it.targets for it in parts])).to(device),
        torch.from_numpy(languages).to(device),
        names,
    )
    print(
        f"{len(lengths)} examples, {len(lessons.pieces)} pieces, {time.time() - began:.0f} s",
        flush=True,
    )
    return lessons, english + paragraphs


def gather(lessons: Lessons, rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The pieces of those examples, padded to `width`, and the mask."""
    span = torch.arange(width, device=rows.device)
    mask = span[None, :] < lessons.lengths[rows][:, None]
    at = (lessons.starts[rows][:, None] + span[None, :]).clamp(max=len(lessons.pieces) - 1)
    return torch.where(mask, lessons.pieces[at].long(), 0), mask


def gather_crops(lessons: Lessons, rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """A part of each example, a fifth to a half of it, with the signs around a text."""
    inner = lessons.lengths[rows] - 2
    draw = torch.rand(2, len(rows), device=rows.device)
    size = (inner * (0.2 + 0.3 * draw[0])).long().clamp(min=3, max=width - 2).minimum(inner)
    first = (draw[1] * (inner - size + 1)).long()
    span = torch.arange(width, device=rows.device)
    mask = span[None, :] < (size + 2)[:, None]
    at = ((lessons.starts[rows] + first)[:, None] + span[None, :]).clamp(
        max=len(lessons.pieces) - 1
    )
    ids = torch.where(mask, lessons.pieces[at].long(), 0)
    ids[:, 0] = lessons.pieces[lessons.starts[rows]].long()
    last = lessons.pieces[lessons.starts[rows] + lessons.lengths[rows] - 1].long()
    return ids.scatter(1, (size + 1)[:, None], last[:, None]), mask


def load_json(path: Path) -> Any:
    return json.loads(content(path))
