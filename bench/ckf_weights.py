"""Fits the weights by which the compiler estimates what a sentence states.

    python -m bench.ckf_weights TEXTS [--write]

On the development and training texts of `bench/ckf_labels`, and on our own marked cases. Says what
it would be worth on texts that it was not fitted to.
"""

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.ckf import OTHER_CASES, OWN_CASES, own_cases
from pecia.app.evaluation.ckf_kinds import LabelledPassage, read_labels
from pecia.features.ckf.heuristic.cues.grammar import load_grammar, lowercase_aligned
from pecia.features.ckf.heuristic.parse.language import resolve_language
from pecia.features.ckf.heuristic.parse.text import ParsedText, parse_text
from pecia.features.ckf.heuristic.probability import KINDS, WEIGHTS, iter_features
from pecia.features.ckf.heuristic.rate import MIN_STATED
from pecia.features.ckf.model import SourceText

LABELS = Path(__file__).with_name("ckf_labels")
HALVES = ("development", "training")
MIN_TEXTS = 3
# A shorter one is a number or a mark that our parser cut from its sentence.
MIN_CHARS = 6
# Chosen by the figures of texts left out.
PENALTY = 3.0
CASE_WEIGHT = 0.3
ROUNDS = 30
FOLDS = 8
KINDS_BY_MARK = {"exception": ("exception", "rule"), "override": ("exception", "rule")}
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    features: frozenset[str]
    kinds: frozenset[str]
    main: str
    weight: float


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", type=Path)
    options.add_argument("--write", action="store_true", help="write the weights, without figures")
    asked = options.parse_args()
    rows = [*labelled_rows(asked.texts), *case_rows()]
    if not asked.write:
        print(json.dumps(left_out_figures(rows), indent=1))
    else:
        names, weights = fit(rows)
        table = {
            name: [round(float(it), 3) for it in row]
            for name, row in zip(names, weights.T, strict=True)
        }
        lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(table.items())]
        WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return 0


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


def left_out_figures(rows: list[Row]) -> dict[str, str]:
    """Precision and recall on texts that the weights are not fitted to, in folds of texts.

    Translations of one text are in one fold.
    """
    chances: list[tuple[Row, Array, int]] = []
    for fold in range(FOLDS):
        own = [it for it in rows if it.weight == 1 and _fold(it.text) == fold]
        names, weights = fit([it for it in rows if it.weight < 1 or _fold(it.text) != fold])
        totals = _matrix(own, names) @ weights.T
        stated, homes = _sigmoid(totals[:, : len(KINDS)]), totals[:, len(KINDS) :].argmax(axis=1)
        chances += zip(own, stated, (int(it) for it in homes), strict=True)
    found: dict[str, str] = {}
    for at, kind in enumerate(KINDS):
        said = [it for it, p, home in chances if home == at and p[at] >= MIN_STATED]
        labelled = sum(it.main == kind for it, _, _ in chances)
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
    """Ridge-penalised logistic regressions by Newton steps, two per kind.

    The first: whether a sentence states the kind; the second: whether the kind is its main one.
    """
    texts: dict[str, set[str]] = {}
    for it in rows:
        for name in it.features:
            texts.setdefault(name, set()).add(it.text)
    names = ["", *sorted(it for it in texts if len(texts[it]) >= MIN_TEXTS)]
    matrix = _matrix(rows, names)
    weight = np.array([it.weight for it in rows])
    penalty = np.full(len(names), PENALTY)
    penalty[0] = 1e-3
    targets = [
        *([float(kind in it.kinds) for it in rows] for kind in KINDS),
        *([float(kind == it.main) for it in rows] for kind in KINDS),
    ]
    found = [_newton(matrix, np.array(it), weight, penalty) for it in targets]
    return names, np.stack(found)


def _newton(matrix: Array, target: Array, weight: Array, penalty: Array) -> Array:
    beta = np.zeros(matrix.shape[1])
    for _ in range(ROUNDS):
        chance = _sigmoid(matrix @ beta)
        slope = matrix.T @ (weight * (chance - target)) + penalty * beta
        curve = (matrix.T * (weight * chance * (1 - chance))) @ matrix + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        beta -= step
        if np.abs(step).max() < 1e-6:
            break
    return beta


def _matrix(rows: list[Row], names: list[str]) -> Array:
    place = {it: at for at, it in enumerate(names)}
    found = np.zeros((len(rows), len(names)))
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
