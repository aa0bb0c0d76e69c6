"""Precision, recall and calibration of compiled packages, by kind, on labelled passages. Pure.

A passage is a hit of a kind when an item of that kind rests on it. Items whose basis is
`uncertain` are counted apart: the package itself calls them possible only.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.heuristic.rate import KIND_BY_ATOM, KIND_BY_SECTION, POSSIBLE_BASIS
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Item, Package, integer_of, text_of
from pecia.kernel.errors import InvalidEnum, Json, NotFound

KINDS = ("rule", "exception", "definition", "step", "fact")
# Passages and sentences were cut by two splitters; this share of the shorter one is the same one.
ENOUGH = 0.5
BINS = 10


@dataclass(frozen=True, slots=True)
class LabelledPassage:
    text: str
    start: int
    end: int
    kind: str
    also: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Prediction:
    """A kind that a package gives a passage, and whether the label agrees."""

    kind: str
    confidence: float
    possible: bool
    right: bool
    passage: LabelledPassage


def measure_kinds(labels: Path, texts: Path, half: str, level: str = "standard") -> dict[str, Any]:
    """The figures of one half: those of all items that are not marked as possible only."""
    passages = read_labels(labels, half)
    found = [
        it
        for name in sorted({it.text for it in passages})
        for it in _predict(
            name, (texts / f"{name}.txt"), [it for it in passages if it.text == name], level
        )
    ]
    stated = [it for it in found if not it.possible]
    return {
        "half": half,
        "passages": len(passages),
        "kinds": {it: _figures(it, stated, found, passages) for it in KINDS},
        "calibration_error": round(_calibration_error(found), 3),
        "calibration_error_stated": round(_calibration_error(stated), 3),
    }


def read_labels(folder: Path, half: str) -> list[LabelledPassage]:
    """The labels of the texts of a half, from `labels.jsonl`, `labels-*.jsonl` and `texts.json`."""
    try:
        catalog = json.loads((folder / "texts.json").read_text("utf-8"))["texts"]
        lines = (folder / "labels.jsonl").read_text("utf-8").splitlines()
        for more in sorted(folder.glob("labels-*.jsonl")):
            lines += more.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise NotFound(f"no labels in {folder}: it needs labels.jsonl and texts.json") from error
    halves = sorted({str(it["half"]) for it in catalog})
    if half not in halves:
        allowed: list[Json] = [*halves]
        message = f'"half" must be one of {", ".join(halves)}'
        raise InvalidEnum(message, field="half", got=half, allowed=allowed)
    names = {it["name"] for it in catalog if it["half"] == half}
    rows = [json.loads(it) for it in lines]
    return [
        LabelledPassage(
            it["text"], it["start"], it["end"], it["kind"], frozenset(it.get("also", ()))
        )
        for it in rows
        if it["text"] in names
    ]


def _predict(
    name: str, path: Path, passages: list[LabelledPassage], level: str
) -> Iterator[Prediction]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"the labelled text {name} is not in {path.parent}") from error
    package = compile_text(SourceText(text), CompileOptions(compression_level=level))
    spans = list(_item_spans(package))
    for passage in passages:
        best: dict[str, tuple[bool, float]] = {}
        for kind, item, start, end in spans:
            if not _is_same(passage, start, end):
                continue
            stated = text_of(item, "source_basis") != POSSIBLE_BASIS
            best[kind] = max(best.get(kind, (False, 0.0)), (stated, _confidence(item)))
        for kind, (stated, confidence) in best.items():
            right = kind == passage.kind or kind in passage.also
            yield Prediction(kind, confidence, not stated, right, passage)


def _item_spans(package: Package) -> Iterator[tuple[str, Item, int, int]]:
    rows: dict[str, list[Item]] = {}
    for row in package.trace:
        rows.setdefault(text_of(row, "extracted_item_id"), []).append(row)
    for section, item in package.iter_items():
        kind = KIND_BY_SECTION.get(section)
        if section == "atomic_units":
            kind = KIND_BY_ATOM.get(text_of(item, "type"))
        if kind is None:
            continue
        own = rows.get(text_of(item, "id"), [])
        # An exception first quotes the rule that it changes, and its own case last.
        for row in own[-1:] if kind == "exception" else own:
            start = integer_of(row, "source_char_start")
            end = integer_of(row, "source_span_end") or integer_of(row, "source_char_end")
            if start is not None and end is not None:
                yield kind, item, start, end


def _is_same(passage: LabelledPassage, start: int, end: int) -> bool:
    shared = min(passage.end, end) - max(passage.start, start)
    return shared > 0 and shared >= ENOUGH * min(passage.end - passage.start, end - start)


def _confidence(item: Item) -> float:
    found = item.get("confidence")
    return float(found) if isinstance(found, int | float) else 0.0


def _figures(
    kind: str,
    stated: list[Prediction],
    found: list[Prediction],
    passages: list[LabelledPassage],
) -> dict[str, Any]:
    own = [it for it in stated if it.kind == kind]
    right = sum(it.right for it in own)
    labelled = sum(it.kind == kind for it in passages)
    hits = sum(it.passage.kind == kind for it in own)
    possible = sum(it.passage.kind == kind for it in found if it.kind == kind)
    return {
        "precision": _share(right, len(own)),
        "recall": _share(hits, labelled),
        "recall_with_possible": _share(possible, labelled),
        "calibration_error": round(_calibration_error([it for it in found if it.kind == kind]), 3),
        "stated": len(own),
        "labelled": labelled,
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _calibration_error(found: Iterable[Prediction]) -> float:
    """Expected calibration error over ten bins of equal width."""
    bins: list[list[Prediction]] = [[] for _ in range(BINS)]
    for it in found:
        bins[min(BINS - 1, int(it.confidence * BINS))].append(it)
    total = sum(map(len, bins))
    return sum(
        abs(sum(it.confidence for it in one) - sum(it.right for it in one)) for one in bins
    ) / max(1, total)
