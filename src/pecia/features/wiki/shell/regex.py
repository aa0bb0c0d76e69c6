"""Translates grep patterns, basic and extended, to Python's `re`. Pure.

Allowlist: only understood syntax is emitted, nothing of Python's own gets through.
"""

import re
from dataclasses import dataclass

from pecia.features.wiki.shell.options import UsageError

CLASSES = {
    "alpha": "^\\W\\d_",
    "digit": "0-9",
    "alnum": "^\\W_",
    "upper": "A-Z",
    "lower": "a-z",
    "space": "\\s",
    "blank": " \\t",
    "punct": "!-/:-@\\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "word": "\\w",
}
MAX_PATTERN_CHARS = 2000
MAX_REPEATS = 1000
_ESCAPES = {
    "w": "\\w",
    "W": "\\W",
    "s": "\\s",
    "S": "\\S",
    "b": "\\b",
    "B": "\\B",
    "<": "\\b(?=\\w)",
    ">": "\\b(?<=\\w)",
    "`": "\\A",
    "'": "\\Z",
}


@dataclass(frozen=True, slots=True)
class GrepPattern:
    """A pattern. `kind` is basic, extended, fixed or perl."""

    patterns: tuple[str, ...]
    kind: str = "basic"
    fold: bool = False
    word: bool = False
    line: bool = False


def compile_pattern(wanted: GrepPattern) -> re.Pattern[str]:
    """One expression for all patterns; UsageError for an invalid one."""
    parts = [it for pattern in wanted.patterns for it in pattern.split("\n")]
    whole = "|".join(f"(?:{_translate(it, wanted.kind)})" for it in parts)
    if wanted.line:
        whole = f"^(?:{whole})$"
    elif wanted.word:
        whole = f"(?<!\\w)(?:{whole})(?!\\w)"
    try:
        return re.compile(whole, re.IGNORECASE if wanted.fold else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"invalid pattern: {error}") from None


def may_backtrack(wanted: GrepPattern) -> bool:
    """Whether a line exists on which this backtracks for very long."""
    if wanted.kind == "fixed":
        return False
    if wanted.kind == "perl":
        return True
    signs = sum(it.count("*") + it.count("+") + it.count("{") for it in wanted.patterns)
    grouped = any("(" in it for it in wanted.patterns)
    return signs > 1 or bool(signs and grouped) or any(_BACK.search(it) for it in wanted.patterns)


def has_repetition(wanted: GrepPattern) -> bool:
    """Whether time may be superlinear in the line: then long lines need a timeout too."""
    return wanted.kind != "fixed" and any(_REPEATS.search(it) for it in wanted.patterns)


def _translate(pattern: str, kind: str) -> str:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise UsageError(f"the pattern is longer than {MAX_PATTERN_CHARS} characters")
    if kind == "fixed":
        return re.escape(pattern)
    if kind == "perl":
        return pattern
    return _Reader(pattern, extended=kind == "extended").read()


class _Reader:
    def __init__(self, pattern: str, *, extended: bool) -> None:
        self.pattern = pattern
        self.extended = extended
        self.at = 0
        self.out: list[str] = []
        self.open = 0
        # Nothing to repeat yet.
        self.fresh = True

    def read(self) -> str:
        while self.at < len(self.pattern):
            sign = self.pattern[self.at]
            self.at += 1
            if sign == "\\":
                self._escape()
            elif sign == "[":
                self._bracket()
            elif sign in "^$.":
                self._plain_special(sign)
            elif sign == "*":
                self._quantifier("*")
            elif self.extended and sign in "+?{()|":
                self._operator(sign)
            else:
                self._literal(sign)
        if self.open:
            raise UsageError("Unmatched ( or \\(")
        return "".join(self.out)

    def _escape(self) -> None:
        if self.at >= len(self.pattern):
            raise UsageError("Trailing backslash")
        sign = self.pattern[self.at]
        self.at += 1
        if not self.extended and sign in "+?{()|":
            self._operator(sign)
        elif sign in _ESCAPES:
            self._emit(_ESCAPES[sign])
        elif sign in "123456789":
            self._emit(f"(?:\\{sign})")
        else:
            self._literal(sign)

    def _operator(self, sign: str) -> None:
        match sign:
            case "(":
                self.out.append("(")
                self.open += 1
                self.fresh = True
            case ")":
                self._close()
            case "|":
                self.out.append("|")
                self.fresh = True
            case _:
                self._quantifier(sign)

    def _close(self) -> None:
        if not self.open:
            if not self.extended:
                raise UsageError("Unmatched ) or \\)")
            self._literal(")")
            return
        self.open -= 1
        self._emit(")")

    def _quantifier(self, sign: str) -> None:
        if self.fresh:
            self._literal(sign)
            return
        if sign != "{":
            # Two in a row are nested; a `?` does not make anything lazy.
            if self.out[-1] in ("*", "+", "?"):
                self.out[-1] = "*"
            else:
                self.out.append(sign)
            return
        close = "}" if self.extended else "\\}"
        end = self.pattern.find(close, self.at)
        found = (
            re.fullmatch(r"(\d{0,5})(,?)(\d{0,5})", self.pattern[self.at : end])
            if end > 0
            else None
        )
        if found is None or not (found[1] or found[3]):
            self._literal("{")
            return
        if max(int(found[1] or 0), int(found[3] or 0)) > MAX_REPEATS:
            raise UsageError("Regular expression too big")
        self.at = end + len(close)
        self.out.append(f"{{{found[1] or 0}{found[2]}{found[3]}}}")
        self.out.append("")

    def _plain_special(self, sign: str) -> None:
        if not self.extended and (
            (sign == "^" and not self.fresh) or (sign == "$" and not self._is_last())
        ):
            self._literal(sign)
        elif sign == ".":
            self._emit(".")
        else:
            self.out.append(sign)

    def _is_last(self) -> bool:
        rest = self.pattern[self.at :]
        return not rest or rest.startswith(("\\)", "\\|"))

    def _bracket(self) -> None:
        at = self.at
        negated = self.pattern[at : at + 1] == "^"
        at += negated
        parts: list[str] = []
        first = True
        while at < len(self.pattern) and (first or self.pattern[at] != "]"):
            first = False
            if found := re.compile(r"\[:(\w+):\]").match(self.pattern, at):
                parts.append(self._class(found[1]))
                at = found.end()
                continue
            sign = self.pattern[at]
            parts.append(
                "-" if sign == "-" and parts and at + 1 < len(self.pattern) else re.escape(sign)
            )
            at += 1
        if at >= len(self.pattern):
            raise UsageError("Unmatched [, [^, [:, [., or [=")
        self.at = at + 1
        if parts and parts[-1] == "-":
            parts[-1] = "\\-"
        self._emit(_set(parts, negated=negated))

    def _class(self, name: str) -> str:
        if name not in CLASSES:
            raise UsageError("Invalid character class name")
        return CLASSES[name]

    def _literal(self, sign: str) -> None:
        self._emit(re.escape(sign))

    def _emit(self, text: str) -> None:
        self.out.append(text)
        self.fresh = False


def _set(parts: list[str], *, negated: bool) -> str:
    """A character set. Negated classes are kept as alternatives beside it."""
    special = [it for it in parts if it.startswith("^")]
    plain = "".join(it for it in parts if not it.startswith("^"))
    choices = [f"[{it}]" for it in special] + ([f"[{plain}]" if plain else ""] if plain else [])
    either = f"(?:{'|'.join(choices)})"
    return f"(?:(?!{either})[\\s\\S])" if negated else either


_BACK = re.compile(r"\\[1-9]")
_REPEATS = re.compile(r"[*+{?]")
