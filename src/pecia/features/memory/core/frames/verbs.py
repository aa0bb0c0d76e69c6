"""Verbs and their forms, from `verbs.txt`."""

from collections.abc import Iterator, Mapping
from importlib.resources import files


def _read_sections() -> Mapping[str, list[str]]:
    sections: dict[str, list[str]] = {}
    name = ""
    text = files("pecia.features.memory.core.frames").joinpath("verbs.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif line and not line.startswith("#"):
            sections.setdefault(name, []).append(line)
    return sections


_SECTIONS = _read_sections()
SAME = {it: line.split()[0] for line in _SECTIONS["same"] for it in line.split()}
DOERS = dict(it.split(":") for it in " ".join(_SECTIONS["doers"]).split())


def _inflect(entry: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each form of a verb with its base and what it is: base, s, ing, past or participle."""
    base, *irregular = entry.split(":")
    past = irregular[0] if irregular else _join(base, "ed")
    yield base, (base, "base")
    yield _third(base), (base, "s")
    yield _join(base, "ing"), (base, "ing")
    yield past, (base, "past")
    yield (irregular[-1] if irregular else past), (base, "participle")


def _third(base: str) -> str:
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{base}s"


_DOUBLED = frozenset(
    (
        *("stop", "plan", "drop", "ban", "cut", "fit", "get", "hit", "let", "log", "put", "quit"),
        *("run", "scan", "set", "ship", "shut", "sit", "split", "swim", "win", "wrap", "begin"),
        *("forget", "forbid", "prefer", "submit", "knit", "transfer", "program", "refer"),
    )
)


def _join(base: str, ending: str) -> str:
    if base in _DOUBLED:
        return f"{base}{base[-1]}{ending}"
    if base.endswith("ie") and ending == "ing":
        return f"{base[:-2]}ying"
    if base.endswith("e"):
        keeps = ending == "ing" and base.endswith(("ee", "ye", "oe"))
        return f"{base}ing" if keeps else f"{base[:-1]}{ending}"
    if ending == "ed" and base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}{ending}"


def _read_forms() -> Mapping[str, dict[str, str]]:
    forms: dict[str, dict[str, str]] = {}
    for entry in " ".join(_SECTIONS["verbs"]).split():
        for form, (base, kind) in _inflect(entry):
            forms.setdefault(form, {})[kind] = base
    return forms


FORMS = _read_forms()
