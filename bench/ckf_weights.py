"""Fits the weights by which the compiler estimates what a sentence states.

    python -m bench.ckf_weights TEXTS [--write]

On the development and training texts of `bench/ckf_labels`, on sets that were measured often
enough to be fitted now, and on our own marked cases. Says what
it would be worth on texts that it was not fitted to. The calibration is fitted to the estimates of
such texts too: each text is estimated by weights that have not seen it.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.ckf import OTHER_CASES, OWN_CASES, own_cases
from pecia.app.evaluation.ckf_kinds import LabelledPassage, read_labels
from pecia.features.ckf.heuristic.cues.grammar import load_grammar, lowercase_aligned
from pecia.features.ckf.heuristic.parse.language import resolve_language
from pecia.features.ckf.heuristic.parse.text import ParsedText, parse_text
from pecia.features.ckf.heuristic.probability import (
    CALIBRATION,
    KINDS,
    WEIGHTS,
    WORD_PREFIX,
    iter_features,
)
from pecia.features.ckf.heuristic.rate import MIN_STATED
from pecia.features.ckf.model import SourceText

LABELS = Path(__file__).with_name("ckf_labels")
HALVES = (
    *("development", "training", "fresh", "unseen", "held_back_2", "unseen_2"),
    *("held_back_3", "unseen_3"),
)
MIN_TEXTS = 3
# A word counts only where enough sentences of enough texts have it.
MIN_WORD_ROWS, MIN_WORD_TEXTS = 10, 4
# A shorter one is a number or a mark that our parser cut from its sentence.
MIN_CHARS = 6
# Chosen by the figures of texts left out.
PENALTY = 4.0
WORD_PENALTY = 10.0
# A form that decides by itself must outweigh the genre of its text.
SURE_PENALTY = 0.3
CASE_WEIGHT = 0.3
ROUNDS = 60
FOLDS = 5
# Added to the main-kind model: what is rare is otherwise never the main kind.
HOME_SHIFT = {"exception": 2.0, "definition": 1.0, "step": 1.0}
KINDS_BY_MARK = {"exception": ("exception", "rule"), "override": ("exception", "rule")}
# Single precision where it counts: half the time, and weights have three digits.
Array = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    features: frozenset[str]
    kinds: frozenset[str]
    main: str
    weight: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The logits of a sentence that it states each kind, and its main kind."""

    row: Row
    totals: Array
    home: int


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", type=Path)
    options.add_argument("--write", action="store_true", help="write weights and calibration")
    asked = options.parse_args()
    rows = [*labelled_rows(asked.texts), *case_rows()]
    estimates = list(left_out_estimates(rows))
    calibration = fit_calibration(estimates)
    print(json.dumps(left_out_figures(estimates, calibration), indent=1))
    if asked.write:
        names, weights = fit(rows)
        table = {
            name: [round(float(it), 3) for it in row]
            for name, row in zip(names, weights, strict=True)
        }
        write_table(WEIGHTS, table)
        write_table(CALIBRATION, calibration)
    return 0


def write_table(path: Path, table: Mapping[str, object]) -> None:
    lines = [
        f" {json.dumps(name, ensure_ascii=False)}: {json.dumps(table[name], separators=(',', ':'))}"
        for name in sorted(table)
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def labelled_rows(texts: Path) -> list[Row]:
    passages = [it for half in HALVES for it in read_labels(LABELS, half)]
    found: list[Row] = []
    for name in sorted({it.text for it in passages}):
        parsed = _parse((texts / f"{name}.txt").read_text("utf-8"))
        own = [it for it in passages if it.text == name]
        for line, features in zip(parsed.lines, iter_features(parsed), strict=True):
            passage = next((it for it in own if _is_same(it, line.span.start, line.span.end)), None)
            if passage and line.span.size >= MIN_CHARS:
                kinds = passage.also | {passage.kind}
                found.append(Row(name, frozenset(features), kinds, passage.kind, 1.0))
    return found


def case_rows() -> list[Row]:
    """Our own cases: every sentence of a marked passage is a rule, some are exceptions."""
    found: list[Row] = []
    for case in [*own_cases(OWN_CASES), *own_cases(OTHER_CASES)]:
        parsed = _parse(case.text)
        spans = [
            (mark, at, at + len(words))
            for mark, words in case.passages
            if (at := case.text.find(words)) >= 0
        ]
        for line, features in zip(parsed.lines, iter_features(parsed), strict=True):
            marks = [it[0] for it in spans if it[1] <= line.span.start and line.span.end <= it[2]]
            if marks and not line.title:
                kinds = KINDS_BY_MARK.get(marks[0], ("rule",))
                if "sequence" in marks:
                    kinds = ("step", "rule")
                row = Row(case.name, frozenset(features), frozenset(kinds), kinds[0], CASE_WEIGHT)
                found.append(row)
    return found


def left_out_estimates(rows: list[Row]) -> Iterator[Estimate]:
    """Every labelled sentence, by weights that are not fitted to its text or a translation."""
    for fold in range(FOLDS):
        own = [it for it in rows if it.weight == 1 and _fold(it.text) == fold]
        names, weights = fit([it for it in rows if it.weight < 1 or _fold(it.text) != fold])
        for row, totals in zip(own, _matrix(own, names) @ weights, strict=True):
            yield Estimate(row, totals[: len(KINDS)], int(totals[len(KINDS) :].argmax()))


def fit_calibration(estimates: list[Estimate]) -> dict[str, list[list[float]]]:
    """Shift and slope of each kind's logit, where it is the main kind and where it is not."""
    found: dict[str, list[list[float]]] = {}
    for at, kind in enumerate(KINDS):
        groups = [[it for it in estimates if (it.home == at) is own] for own in (True, False)]
        found[kind] = [_fit_line(it, at) for it in groups]
    return found


def _fit_line(estimates: list[Estimate], at: int) -> list[float]:
    logits = np.array([[1.0, it.totals[at]] for it in estimates])
    target = np.array([[float(KINDS[at] in it.row.kinds)] for it in estimates])
    # A light pull towards no change, for groups of a few sentences.
    prior, penalty = np.array([[0.0], [1.0]]), np.array([0.5, 2.0])
    beta = prior.copy()
    for _ in range(ROUNDS):
        chance = _sigmoid(logits @ beta)
        slope = logits.T @ (chance - target) + penalty[:, None] * (beta - prior)
        curve = (logits.T * (chance * (1 - chance)).T) @ logits + np.diag(penalty)
        beta -= np.linalg.solve(curve, slope)
    return [round(float(it), 3) for it in beta[:, 0]]


def left_out_figures(
    estimates: list[Estimate], calibration: dict[str, list[list[float]]]
) -> dict[str, str]:
    """Precision and recall of the main kind, of texts that the weights are not fitted to."""
    found: dict[str, str] = {}
    for at, kind in enumerate(KINDS):
        shift, slope = calibration[kind][0]
        least = MIN_STATED.get(kind, 1.0)
        said = [
            it.row
            for it in estimates
            if it.home == at and _sigmoid(shift + slope * it.totals[at]) >= least
        ]
        labelled = sum(it.row.main == kind for it in estimates)
        right = sum(kind in it.kinds for it in said)
        hits = sum(it.main == kind for it in said)
        found[kind] = (
            f"P {right}/{len(said)} = {right / max(1, len(said)):.2f}"
            f" R {hits}/{labelled} = {hits / max(1, labelled):.2f}"
        )
    return found


def _fold(text: str) -> int:
    name = text if "articles" in text or "procedures" in text else text.partition("-")[2]
    digest = hashlib.sha256(name.removesuffix("-a").removesuffix("-b").encode()).digest()
    return int.from_bytes(digest[:4]) % FOLDS


def fit(rows: list[Row]) -> tuple[list[str], Array]:
    """Ridge-penalised logistic regressions, two per kind, as the columns of one matrix.

    The first: whether a sentence states the kind; the second: whether the kind is its main one.
    """
    names = ["", *sorted(_choose_features(rows))]
    matrix = _matrix(rows, names)
    weight = np.array([it.weight for it in rows], np.float32)[:, None]
    words = np.array([it.startswith(WORD_PREFIX) for it in names])
    sure = np.array([it.startswith("sure_term") for it in names])
    penalty = np.where(words, WORD_PENALTY, np.where(sure, SURE_PENALTY, PENALTY)).astype(
        np.float32
    )
    penalty[0] = 1e-3
    targets = np.array(
        [
            [
                *(float(kind in it.kinds) for kind in KINDS),
                *(float(kind == it.main) for kind in KINDS),
            ]
            for it in rows
        ],
        np.float32,
    )
    weights = _descend(matrix, targets, weight, penalty)
    weights[0, len(KINDS) :] += [HOME_SHIFT.get(it, 0.0) for it in KINDS]
    return names, weights


def _choose_features(rows: list[Row]) -> Iterator[str]:
    texts: dict[str, Counter[str]] = {}
    for it in rows:
        for name in it.features:
            texts.setdefault(name, Counter())[it.text] += 1
    for name, counts in texts.items():
        if name.startswith(WORD_PREFIX):
            if len(counts) >= MIN_WORD_TEXTS and counts.total() >= MIN_WORD_ROWS:
                yield name
        elif len(counts) >= MIN_TEXTS:
            yield name


def _descend(matrix: Array, targets: Array, weight: Array, penalty: Array) -> Array:
    """All regressions at once: accelerated steps by a bound of the curvature, inverted once."""
    bound = (matrix.T * (weight[:, 0] / 4)) @ matrix + np.diag(penalty)
    inverse = np.linalg.inv(bound.astype(np.float64)).astype(np.float32)
    beta = np.zeros((matrix.shape[1], targets.shape[1]), np.float32)
    ahead, pace = beta, 1.0
    for _ in range(ROUNDS):
        slope = matrix.T @ (weight * (_sigmoid(matrix @ ahead) - targets))
        following = ahead - inverse @ (slope + penalty[:, None] * ahead)
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = following + np.float32((pace - 1) / faster) * (following - beta)
        beta, pace = following, faster
    return beta


def _matrix(rows: list[Row], names: list[str]) -> Array:
    place = {it: at for at, it in enumerate(names)}
    found = np.zeros((len(rows), len(names)), np.float32)
    found[:, 0] = 1
    for at, row in enumerate(rows):
        for name in row.features:
            if name in place:
                found[at, place[name]] = 1
    return found


def _sigmoid(values: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(values, -30, 30)))


def _parse(text: str) -> ParsedText:
    lowered = lowercase_aligned(text)
    return parse_text(text, lowered, load_grammar(resolve_language(SourceText(text), lowered)))


def _is_same(passage: LabelledPassage, start: int, end: int) -> bool:
    shared = min(passage.end, end) - max(passage.start, start)
    return shared > 0 and shared >= 0.5 * min(passage.end - passage.start, end - start)


if __name__ == "__main__":
    sys.exit(main())
