"""Trains a student: `python train.py contextual|static --lessons DIR --tokenizer FILE --out DIR`.

It runs on a GPU where there is one. The teacher's vectors are made from the shipped MiniLM on the
way. `--minutes` bounds the training itself; the learning rate follows the clock, so a shorter run
is a whole run. `--state FILE` goes on from where a run before stopped, towards `--minutes` in all.
"""

import argparse
import itertools
import json
import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lessons as data
import minilm
import numpy as np
import torch
from judge import judge
from students import Contextual, Static, quantise, shipped
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).parent
SHIPPED = HERE.parent.parent / "pecia-minilm" / "src" / "pecia_minilm"
MINILM = Path(os.environ.get("MINILM", SHIPPED))
# Multiples of eight: attention on a GPU wants them.
WIDTHS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256)
SCALE = 20.0
SEED = 22
# Shares of the training time.
FROZEN_UNTIL, ROUNDED_FROM = 0.06, 0.6
CROPPED_FROM, CROP_WEIGHT = 32, 0.5
# This share of the batches holds texts of few subjects; two texts whose English is this close are
# not held against each other.
NEAR_SHARE, SUBJECTS, TOO_NEAR = 0.35, 2048, 0.9


@torch.no_grad()
def subjects_of(vectors: Tensor) -> Tensor:
    """The nearest of some vectors, drawn by chance: texts with the same one have a subject."""
    chosen = vectors[torch.randperm(len(vectors), device=vectors.device)[:SUBJECTS]]
    parts = [(it @ chosen.T).argmax(1) for it in vectors.split(65536)]
    return torch.cat(parts).to(torch.int32)


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
    shuffled anew in every round, a part of them by subject."""

    def __init__(self, lessons: data.Lessons, tokens: int, subjects: Tensor) -> None:
        self.lessons, self.tokens, self.subjects = lessons, tokens, subjects
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
            near = int(len(inside) * NEAR_SHARE)
            for part in (self._by_subject(inside[:near]), inside[near:]):
                found += [(it, width) for it in part.split(size) if len(it) > size // 4]
            below = width
        random.shuffle(found)
        return found

    def _by_subject(self, rows: Tensor) -> Tensor:
        places = torch.randperm(SUBJECTS, device=rows.device)
        return rows[places[self.subjects[self.lessons.targets[rows]].long()].argsort(stable=True)]


@torch.no_grad()
def too_near(y: Tensor) -> Tensor:
    """Which rows are not held against each other: of one target, or nearly."""
    same = (y @ y.T) > TOO_NEAR
    return same.fill_diagonal_(False)


def contrast(x: Tensor, y: Tensor, same: Tensor) -> Tensor:
    """Each row of x closer to its row of y than to the others."""
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
    same = too_near(y)
    loss = contrast(x, y, same) + 4 * (1 - (x * y).sum(-1)).mean()
    if width >= CROPPED_FROM:
        ids, mask = data.gather_crops(lessons, rows, (width // 2 + 15) // 8 * 8)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            part = model(ids, mask).float()
        loss = loss + CROP_WEIGHT * (contrast(part, x, same) + 0.5 * contrast(part, y, same))
    return loss


def groups_of(model: nn.Module, *, is_begun: bool) -> list[dict[str, Any]]:
    """Parameters by learning rate. What was trained before begins again with two thirds of it."""
    table = [it for name, it in model.named_parameters() if not name.startswith("body.")]
    rest = [it for name, it in model.named_parameters() if name.startswith("body.")]
    is_static, part = isinstance(model, Static), 2 / 3 if is_begun else 1
    groups = [{"params": table, "peak": part * (3e-3 if is_static else 1.5e-3), "lr": 0.0}]
    return groups if is_static else [*groups, {"params": rest, "peak": part * 3e-4, "lr": 0.0}]


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
    is_begun = options.begin is not None
    groups = groups_of(model, is_begun=is_begun)
    optimizer = torch.optim.AdamW(
        groups, betas=(0.9, 0.98), weight_decay=0.0, fused=device == "cuda"
    )
    batches = Batches(lessons, options.batch_tokens, subjects_of(vectors))
    spent, step = 0.0, 0
    if options.state and options.state.exists():
        saved = torch.load(options.state, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        spent, step = saved["spent"], saved["step"]
    total, stop = options.minutes * 60, (options.pause or options.minutes) * 60
    if options.compile and isinstance(model, Contextual):
        turns = itertools.cycle(batches.round()[:5])
        choose_stance(lambda: loss_of(model, lessons, *next(turns), vectors, device), device)
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
                group["lr"] = rate(done, group["peak"], frozen=number == 1 and not is_begun)
            model.is_rounded = done > ROUNDED_FROM  # type: ignore[assignment]
            loss = loss_of(model, lessons, rows, width, vectors, device)
            take_step(model, optimizer, loss)
            step, seen = step + 1, seen + rows.numel() * width
            running.append(loss.detach())
            if step % options.report == 0:
                tell(step, time.time() - began, seen / max(1, time.time() - began - spent), running)
            if time.time() - saved_at > 60 * options.save_every:
                save(model, options.out, f"{options.student}-so-far")
                saved_at = time.time()
    model.is_rounded = True  # type: ignore[assignment]
    if options.state:
        content = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**content, "spent": time.time() - began, "step": step}, options.state)
    print(f"trained {step} steps, {time.time() - began:.0f} s", flush=True)


def tell(step: int, seconds: float, pace: float, running: list[Tensor]) -> None:
    value = torch.stack(running).mean().item()
    print(f"step {step} {seconds:.0f} s loss {value:.4f} {pace / 1e6:.2f} M/s", flush=True)
    running.clear()


def choose_stance(step: Callable[[], Tensor], device: str) -> None:
    """Compiled steps where they work and are faster than plain ones."""
    seconds = {}
    for stance in ("default", "force_eager"):
        torch.compiler.set_stance(stance)
        try:
            for turn in range(15):
                if turn == 10:
                    synchronize(device)
                    began = time.time()
                step().backward()
            synchronize(device)
            seconds[stance] = time.time() - began
        except Exception as error:  # noqa: BLE001 - a compiler may fail in any way; training goes on
            print("not compiled:", repr(error)[:300], flush=True)
    best = min(seconds, key=seconds.__getitem__)
    torch.compiler.set_stance(best)
    print("five steps", {it: round(value, 3) for it, value in seconds.items()}, flush=True)


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


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


def options_given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("student", choices=["contextual", "static"])
    parser.add_argument("--lessons", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--begin", type=Path, help="a shipped model.onnx, to train it further")
    parser.add_argument("--compile", action="store_true", help="fuse the body's steps (a GPU)")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--pause", type=float, help="stop after this many minutes, to go on later")
    parser.add_argument("--most", type=int, help="only so many English strings")
    parser.add_argument("--batch-tokens", type=int, default=65536)
    parser.add_argument("--save-every", type=float, default=4, help="minutes")
    parser.add_argument("--report", type=int, default=250)
    parser.add_argument("--test", type=Path, help="a folder with XQuAD, for figures at the end")
    return parser.parse_args()


def main() -> None:
    options = options_given()
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
    elif options.begin:
        model = shipped(options.begin).to(device)
    else:
        model = Contextual(
            first_table(tokenizer, device), minilm.load(MINILM / "model.int8.onnx")[1]
        ).to(device)
    if options.compile and isinstance(model, Contextual):
        model.body.compile(dynamic=True)
    train(model, lessons, vectors, options, device)
    save(model, options.out, options.student)
    torch.compiler.set_stance("force_eager")
    figures = judge(
        model.eval(), tokenizer, options, lambda texts: teach(texts, device, 65536), device
    )
    (options.out / f"{options.student}.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
