"""Trains a student: `python train.py contextual|static --lessons DIR --tokenizer FILE --out DIR`.

It runs on a GPU where there is one. The teacher's vectors are made from the shipped MiniLM on the
way. `--minutes` bounds the training itself; the learning rate follows the clock, so a shorter run
is a whole run. `--state FILE` goes on from where a run before stopped, towards `--minutes` in all.
"""

import argparse
import json
import math
import os
import random
import time
from pathlib import Path
from typing import Any

import lessons as data
import minilm
import numpy as np
import torch
from judge import judge
from students import Contextual, Static, quantise
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).parent
SHIPPED = HERE.parent.parent / "pecia-minilm" / "src" / "pecia_minilm"
MINILM = Path(os.environ.get("MINILM", SHIPPED))
WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
SCALE = 20.0
SEED = 22
# Shares of the training time.
FROZEN_UNTIL, ROUNDED_FROM = 0.06, 0.6
CROPPED_FROM, CROP_WEIGHT = 32, 0.5


@torch.no_grad()
def teach(texts: list[str], device: str, batch_tokens: int) -> Tensor:
    """The teacher's vector of each text, in half precision."""
    tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    table, body = minilm.load(MINILM / "model.int8.onnx")
    table, body = table.to(device), body.to(device).eval()
    vectors = torch.zeros(len(texts), minilm.HIDDEN, dtype=torch.float16, device=device)
    rows = [np.array(it.ids, np.int32) for it in tokenizer.encode_batch(texts)]
    lengths = np.array([len(it) for it in rows])
    starts = torch.from_numpy(np.cumsum(lengths) - lengths).to(device)
    flat = torch.from_numpy(np.concatenate(rows)).to(device)
    # The longest first: the first of a batch says how wide it is.
    order = np.argsort(-lengths, kind="stable")
    sizes, at = torch.from_numpy(lengths).to(device), 0
    while at < len(order):
        width = int(lengths[order[at]])
        batch = order[at : at + max(8, batch_tokens // width)]
        span = torch.arange(width, device=device)
        at += len(batch)
        batch = torch.from_numpy(batch).to(device)
        mask = span[None, :] < sizes[batch][:, None]
        places = (starts[batch][:, None] + span[None, :]).clamp(max=len(flat) - 1)
        ids = torch.where(mask, flat[places].long(), 0)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            vectors[batch] = body(functional.embedding(ids, table), mask).half()
    return vectors


def first_table(tokenizer: Any, device: str) -> Tensor:
    """A piece that MiniLM's pieces can spell begins as their mean; the others as noise."""
    theirs = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    theirs.no_padding()
    table, _ = minilm.load(MINILM / "model.int8.onnx")
    pieces = [tokenizer.id_to_token(it) for it in range(tokenizer.get_vocab_size())]
    spelled = theirs.encode_batch([it.replace("▁", "") for it in pieces], add_special_tokens=False)
    unknown = theirs.token_to_id("[UNK]")
    mean = table.mean(0)
    made = mean + torch.randn(len(pieces), minilm.HIDDEN) * 0.02
    for number, it in enumerate(spelled):
        if it.ids and unknown not in it.ids:
            made[number] = 0.7 * table[it.ids].mean(0) + 0.3 * made[number]
    for ours, their in ((data.BEGIN, "[CLS]"), (data.END, "[SEP]")):
        made[tokenizer.token_to_id(ours)] = table[theirs.token_to_id(their)]
    return made.to(device)


class Batches:
    """Batches of like length, each language drawn by the root of its size; texts of one length are
    shuffled anew in every round."""

    def __init__(self, lessons: data.Lessons, tokens: int) -> None:
        self.lessons, self.tokens = lessons, tokens
        counts = (
            torch.bincount(lessons.languages, minlength=len(lessons.names)).float().clamp(min=1)
        )
        typical = counts.median()
        share = ((typical / counts) ** 0.5).clamp(0.4, 3)
        share[0] = 0.5
        self.share = share[lessons.languages]

    def round(self) -> list[tuple[Tensor, int]]:
        drawn = torch.floor(self.share + torch.rand_like(self.share)).long()
        rows = torch.repeat_interleave(torch.arange(len(drawn), device=drawn.device), drawn)
        lengths = self.lessons.lengths[rows]
        found: list[tuple[Tensor, int]] = []
        below = 0
        for width in WIDTHS:
            inside = rows[(lengths > below) & (lengths <= width)]
            inside = inside[torch.randperm(len(inside), device=inside.device)]
            size = max(16, self.tokens // width)
            found += [(it, width) for it in inside.split(size) if len(it) > size // 4]
            below = width
        random.shuffle(found)
        return found


def contrast(x: Tensor, y: Tensor, targets: Tensor) -> Tensor:
    """Each row of x closer to its row of y than to rows of other targets."""
    same = targets[:, None] == targets[None, :]
    same.fill_diagonal_(False)
    own = torch.arange(len(x), device=x.device)
    return functional.cross_entropy((x @ y.T * SCALE).masked_fill(same, -1e4), own)


def loss_of(
    model: nn.Module, lessons: data.Lessons, rows: Tensor, width: int, vectors: Tensor, device: str
) -> Tensor:
    """Close to the teacher's vector, and closer to it than to those of the rest of the batch; a
    part of a long text is closer to the whole, and to its English, than to other texts."""
    ids, mask = data.gather(lessons, rows, width)
    targets = lessons.targets[rows]
    y = vectors[targets].float()
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        x = model(ids, mask).float()
    loss = contrast(x, y, targets) + 4 * (1 - (x * y).sum(-1)).mean()
    if width >= CROPPED_FROM:
        ids, mask = data.gather_crops(lessons, rows, width // 2 + 8)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            part = model(ids, mask).float()
        loss = loss + CROP_WEIGHT * (contrast(part, x, targets) + 0.5 * contrast(part, y, targets))
    return loss


def groups_of(model: nn.Module) -> list[dict[str, Any]]:
    table = [it for name, it in model.named_parameters() if not name.startswith("body.")]
    rest = [it for name, it in model.named_parameters() if name.startswith("body.")]
    is_static = isinstance(model, Static)
    groups = [{"params": table, "peak": 3e-3 if is_static else 1.5e-3, "lr": 0.0}]
    return groups if is_static else [*groups, {"params": rest, "peak": 3e-4, "lr": 0.0}]


def rate(done: float, peak: float, *, frozen: bool) -> float:
    """Linear up, cosine down."""
    begun = FROZEN_UNTIL if frozen else 0.0
    if done < begun:
        return 0.0
    here = (done - begun) / (1 - begun)
    return peak * min(here / 0.03, 1) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * here)))


def take_step(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def train(
    model: nn.Module, lessons: data.Lessons, vectors: Tensor, options: Any, device: str
) -> None:
    """Trains until the clock says so. What is trained so far is saved every few minutes: a
    machine may be lost."""
    groups = groups_of(model)
    optimizer = torch.optim.AdamW(
        groups, betas=(0.9, 0.98), weight_decay=0.0, fused=device == "cuda"
    )
    batches = Batches(lessons, options.batch_tokens)
    spent, step = 0.0, 0
    if options.state and options.state.exists():
        saved = torch.load(options.state, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        spent, step = saved["spent"], saved["step"]
    total, stop = options.minutes * 60, (options.pause or options.minutes) * 60
    is_static = isinstance(model, Static)
    began, seen = time.time() - spent, 0
    saved_at = time.time()
    running: list[Tensor] = []
    model.train()
    while time.time() - began < stop:
        for rows, width in batches.round():
            done = (time.time() - began) / total
            if time.time() - began >= stop:
                break
            for number, group in enumerate(optimizer.param_groups):
                group["lr"] = rate(done, group["peak"], frozen=number == 1 and not is_static)
            model.is_rounded = done > ROUNDED_FROM  # type: ignore[assignment]
            loss = loss_of(model, lessons, rows, width, vectors, device)
            take_step(model, optimizer, loss)
            step, seen = step + 1, seen + rows.numel() * width
            running.append(loss.detach())
            if step % options.report == 0:
                value = torch.stack(running).mean().item()
                pace = seen / max(1, time.time() - began - spent) / 1e6
                spent_s = f"{time.time() - began:.0f} s"
                print(f"step {step} {spent_s} loss {value:.4f} {pace:.2f} M/s", flush=True)
                running.clear()
            if time.time() - saved_at > 60 * options.save_every:
                save(model, options.out, f"{options.student}-so-far")
                saved_at = time.time()
    model.is_rounded = True  # type: ignore[assignment]
    if options.state:
        content = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**content, "spent": time.time() - began, "step": step}, options.state)
    print(f"trained {step} steps, {time.time() - began:.0f} s", flush=True)


def save(model: nn.Module, out: Path, name: str) -> None:
    """The table in four bits, two numbers a byte, and the rest in half precision."""
    out.mkdir(parents=True, exist_ok=True)
    state = {key: it.detach().float().cpu() for key, it in model.state_dict().items()}
    numbers, scale = quantise(state.pop("table"))
    flat = (numbers.reshape(len(numbers), -1) + 8).to(torch.uint8).numpy()
    arrays = {
        "table": flat[:, ::2] | (flat[:, 1::2] << 4),
        "scale": scale.squeeze(-1).half().numpy(),
    }
    arrays |= {f"rest.{key}": it.half().numpy() for key, it in state.items()}
    np.savez(out / f"{name}.npz", **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("student", choices=["contextual", "static"])
    parser.add_argument("--lessons", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--pause", type=float, help="stop after this many minutes, to go on later")
    parser.add_argument("--most", type=int, help="only so many English strings")
    parser.add_argument("--batch-tokens", type=int, default=65536)
    parser.add_argument("--save-every", type=float, default=4, help="minutes")
    parser.add_argument("--report", type=int, default=250)
    parser.add_argument("--test", type=Path, help="a folder with XQuAD, for figures at the end")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(SEED)
    torch.backends.cuda.matmul.allow_tf32 = True
    began = time.time()
    if options.cache and options.cache.exists():
        lessons, vectors = torch.load(options.cache, map_location=device, weights_only=False)
    else:
        lessons, texts = data.build(options.lessons, options.tokenizer, device, options.most)
        vectors = teach(texts, device, 4 * options.batch_tokens)
        if options.cache:
            torch.save((lessons, vectors), options.cache)
    print(f"prepared {time.time() - began:.0f} s, {len(vectors)} teacher vectors", flush=True)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    if options.student == "static":
        model: nn.Module = Static(tokenizer.get_vocab_size()).to(device)
    else:
        model = Contextual(
            first_table(tokenizer, device), minilm.load(MINILM / "model.int8.onnx")[1]
        ).to(device)
    train(model, lessons, vectors, options, device)
    save(model, options.out, options.student)
    figures = judge(
        model.eval(), tokenizer, options, lambda texts: teach(texts, device, 65536), device
    )
    (options.out / f"{options.student}.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
