"""Escape sequences of roff as plain characters. Pure, and linear in the text."""

import re

_MAX_EXPANDED_CHARS = 200_000
_MAX_STRING_CHARS = 200

_NAMED = r"""
aq '  dq "  em —  en –  hy -  mi −  bu •  co ©  rs \  ti ~  ha ^  lq “  rq ”  oq ‘  cq ’
ga `  ul _  pl +  mu ×  di ÷  <= ≤  >= ≥  != ≠  == ≡  -> →  <- ←  <> ↔  +- ±  de °  rg ®
tm ™  sc §  ps ¶  sl /  ba |  or |  at @  sh #  eq =  ct ¢  Po £  Ye ¥  Eu €  eu €  lA ⇐
rA ⇒  if ∞  no ¬  Fo «  Fc »  bq „  lh ☜  rh ☞  sq □  dg †  dd ‡  lB [  rB ]  lC {  rC }
la ⟨  ra ⟩  fm ′  12 ½  ss ß  ae æ  AE Æ  oe œ  OE Œ  /o ø  /O Ø  oa å  oA Å  ,c ç  ,C Ç
~n ñ  ~N Ñ  -D Ð  Tp þ  TP Þ
"""
_CHARACTERS = {
    **dict(zip(_NAMED.split()[::2], _NAMED.split()[1::2], strict=True)),
    **{f":{it}": to for it, to in zip("aeiouyAEIOU", "äëïöüÿÄËÏÖÜ", strict=True)},
    **{f"'{it}": to for it, to in zip("aeiouyAEIOUY", "áéíóúýÁÉÍÓÚÝ", strict=True)},
    **{f"`{it}": to for it, to in zip("aeiouAEIOU", "àèìòùÀÈÌÒÙ", strict=True)},
    **{f"^{it}": to for it, to in zip("aeiouAEIOU", "âêîôûÂÊÎÔÛ", strict=True)},
    **{f"~{it}": to for it, to in zip("aoAO", "ãõÃÕ", strict=True)},
}
_STRINGS = {"lq": "“", "rq": "”", "R": "®", "Tm": "™", "S": "", "aq": "'", "q": '"'}
_SINGLE = {"e": "\\", "\\": "\\", "-": "-", "~": " ", " ": " ", "0": " ", "t": "\t", "'": "´"} | {
    it: it for it in "`_."
}
_SILENT = "acdpru"
_ESCAPE = re.compile(
    r"""\\(?:
    (?P<comment>["\#].*)
    |[fFgkmMnVY](?:\([^\n]{2}|\[[^\]\n]{0,80}\]|[+-]?[^\n(\[])
    |s(?:[+-]?\([^\n]{2}|[+-]?\[[^\]\n]{0,20}\]|[+-]?'[^'\n]{0,20}'|[+-]?\d{1,2}|.)
    |\*(?P<string>\([^\n]{2}|\[[^\]\n]{0,80}\]|[^\n(\[])
    |(?P<named>\([^\n]{2}|\[[^\]\n]{0,80}\])
    |C'(?P<called>[^'\n]{1,80})'
    |N'(?P<code>\d{1,7})'
    |[ABbDhHlLoRSvwxXZ]'[^'\n]{0,200}'
    |z
    |(?P<single>.)
    |$)""",
    re.VERBOSE | re.MULTILINE,
)


class RoffEscapes:
    """Replaces escapes; remembers the strings that the page defines."""

    def __init__(self) -> None:
        self._strings = dict(_STRINGS)
        self._left = _MAX_EXPANDED_CHARS

    def define(self, name: str, value: str) -> None:
        self._strings[name] = self.to_text(value)[:_MAX_STRING_CHARS]

    def to_text(self, text: str) -> str:
        return _ESCAPE.sub(self._replace, text) if "\\" in text else text

    def _replace(self, found: re.Match[str]) -> str:
        if (single := found["single"]) is not None:
            is_kept = single.isalnum() and single not in _SILENT
            return _SINGLE.get(single, single if is_kept else "")
        if (name := found["string"]) is not None:
            return self._expand(name.strip("([]"))
        name = found["named"] or found["called"]
        if name is not None:
            return _character(name.removeprefix("(") if name[0] == "(" else name.strip("[]"))
        if (code := found["code"]) is not None:
            return _from_code(int(code))
        return ""

    def _expand(self, name: str) -> str:
        value = self._strings.get(name, "")
        self._left -= len(value)
        return value if self._left > 0 else ""


def _character(name: str) -> str:
    if found := _CHARACTERS.get(name):
        return found
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6}){0,3}", name):
        return "".join(_from_code(int(it, 16)) for it in name[1:].split("_"))
    if re.fullmatch(r"char\d{1,3}", name):
        return _from_code(int(name[4:]))
    return ""


def _from_code(code: int) -> str:
    is_character = 32 <= code < 0xD800 or 0xE000 <= code < 0x110000
    return chr(code) if is_character else ""
