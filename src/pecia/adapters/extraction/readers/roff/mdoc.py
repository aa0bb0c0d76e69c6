"""A line of mdoc(7) macros as words. Pure; the section and list macros are the page's own."""

import re
from collections.abc import Callable

_TOKEN = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_MACROS = """
Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Ft Fx Ic In Li Lb Ms No Pa Rv St Sx Sy Tn Va Vt Lk Mt Sm Bx Nx Ox
At Ux Dx Ql Dl D1 Nm Nd Fl Ns Ap Pf Xr Fn Fo Fc Op Oo Oc Bk Ek Ta Rs Re %A %T %B %J %D %R %N %V %P
%I %O %Q %U %C Hf Fr Ot Es En Eo Ec Bsx
"""
_PLAIN = frozenset(_MACROS.split())
_WRAPPED = {
    "Op": ("[", "]"),
    "Dq": ("“", "”"),
    "Qq": ('"', '"'),
    "Sq": ("‘", "’"),
    "Pq": ("(", ")"),
    "Bq": ("[", "]"),
    "Aq": ("<", ">"),
    "Brq": ("{", "}"),
    "Ql": ("‘", "’"),
}
_OPEN = {"Oo": "[", "Do": "“", "Qo": '"', "So": "‘", "Po": "(", "Bo": "[", "Ao": "<", "Bro": "{"}
_CLOSE = {"Oc": "]", "Dc": "”", "Qc": '"', "Sc": "’", "Pc": ")", "Bc": "]", "Ac": ">", "Brc": "}"}
_SYSTEMS = {
    "Fx": "FreeBSD",
    "Nx": "NetBSD",
    "Ox": "OpenBSD",
    "Bx": "BSD",
    "Ux": "UNIX",
    "Dx": "DragonFly BSD",
    "At": "AT&T UNIX",
    "Bsx": "BSD/OS",
}
_SILENT = frozenset({"Sm", "Bk", "Ek", "Rs", "Re", "Fo", "Fc"})
_AFTER = frozenset(".,:;)]?!")
_GLUE = "\0"
_LITERAL = {"Ns": [_GLUE], "Ap": [_GLUE, "'", _GLUE], "Nd": ["-"]}


class MdocLine:
    """Remembers the name of the page, which `.Nm` alone repeats."""

    def __init__(self, to_text: Callable[[str], str]) -> None:
        self._to_text = to_text
        self._name = ""

    def knows(self, name: str) -> bool:
        return name in _PLAIN or name in _WRAPPED or name in _OPEN or name in _CLOSE

    def render(self, line: str) -> str:
        tokens = [
            it[1].replace('""', '"') if it[1] is not None else it[2] for it in _TOKEN.finditer(line)
        ]
        words: list[str] = []
        closing: list[str] = []
        macro = ""
        for number, token in enumerate(tokens):
            if not self.knows(token):
                macro = self._add_word(words, macro, self._to_text(token), number, tokens)
                continue
            macro = token
            self._start(words, closing, macro, tokens[number + 1 :])
        return _join([*words, *(it for close in reversed(closing) for it in (_GLUE, close))])

    def _start(self, words: list[str], closing: list[str], macro: str, rest: list[str]) -> None:
        if macro in _WRAPPED:
            before, after = _WRAPPED[macro]
            words += [before, _GLUE]
            closing.append(after)
        elif macro in _OPEN:
            words += [_OPEN[macro], _GLUE]
        elif macro in _CLOSE:
            words += [_GLUE, _CLOSE[macro]]
        elif macro in _SYSTEMS:
            words.append(_SYSTEMS[macro])
        elif macro in _LITERAL:
            words += _LITERAL[macro]
        elif macro == "Nm" and (not rest or rest[0] in _AFTER or self.knows(rest[0])):
            words.append(self._name)
        elif macro == "Ar" and (not rest or self.knows(rest[0])):
            words.append("file ...")
        elif macro == "Fl" and (not rest or self.knows(rest[0])):
            words += ["-", _GLUE]

    def _add_word(
        self, words: list[str], macro: str, word: str, number: int, tokens: list[str]
    ) -> str:
        """Add the argument of a macro; returns the macro that the next one belongs to."""
        if macro in _SILENT - {"Fo"}:
            return macro
        if word in _AFTER:
            words += [_GLUE, word]
            return macro
        if macro == "Fl":
            words.append(word if word == "|" else f"-{word}")
        elif macro == "Xr" and number > 1 and tokens[number - 2] == "Xr":
            words += [_GLUE, f"({word})"]
        elif macro == "Pf":
            words += [word, _GLUE]
            return ""
        elif macro == "Fn" and tokens[number - 1] == "Fn":
            words.append(f"{word}()")
        else:
            words.append(word)
        if macro == "Nm" and not self._name:
            self._name = word
        return macro


def _join(words: list[str]) -> str:
    text = " ".join(it for it in words if it)
    return (
        text.replace(f" {_GLUE} ", "")
        .replace(f"{_GLUE} ", "")
        .replace(f" {_GLUE}", "")
        .replace(_GLUE, "")
    )
