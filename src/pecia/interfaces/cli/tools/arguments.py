"""Command-line words as the arguments of a tool, by its JSON Schema. Pure.

Ranges and lengths are validated by the tool: here a word only gets its type.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast

from pecia.kernel.errors import InvalidEnum, InvalidFormat, InvalidInput, Json, MissingField

_INTEGER = re.compile(r"[+-]?[0-9]+")
_INTEGRAL = re.compile(r"([+-]?[0-9]+)\.0+")
_BOOLEANS: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}
# Most specific first: a word is a string only when it is nothing else that the schema allows.
_TYPE_PRECEDENCE = ("integer", "number", "boolean", "null", "enum", "object", "array", "string")

OPTIONS_OF_EVERY_COMMAND = frozenset({"json", "plain", "debug"})


def parse_arguments(
    words: Sequence[str],
    schema: Mapping[str, Any],
    *,
    positional: Sequence[str] = (),
    given: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """The words as arguments of a tool of that schema.

    `--name value`, `--name=value`, `--flag`, `--no-flag`; an object as JSON; a list by repeating
    its flag or as JSON, and of an enum also as `a,b` or `a b`. Words without a flag fill
    `positional`, in order; the last of them takes the rest when it is a list. `given` are arguments
    from elsewhere, which no word may repeat.
    """
    reading = _ArgumentParser(ToolInputSchema(schema), tuple(positional), dict(given or {}))
    reading.parse(words)
    for name in schema.get("required", ()):
        if name not in reading.values:
            raise MissingField(f"{_flag_or_word(name, positional)} is missing", field=name)
    return reading.values


# A value may begin with dashes: frontmatter does. A flag has a name, and no blank in it.
_FLAG = re.compile(r"--[^\s=-][^\s=]*(?:=|\Z)")
_SHOWN_CHARS = 60


def shorten(word: str) -> str:
    """As much of a word as a message shows; … is a cut."""
    return word if len(word) <= _SHOWN_CHARS else f"{word[:_SHOWN_CHARS]}…"


@dataclass(frozen=True, slots=True)
class ToolInputSchema:
    """The properties of a tool's input."""

    schema: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.schema.get("properties", {})

    def argument_name(self, flag: str) -> str | None:
        """The argument that a flag names; dashes equal underscores."""
        if flag in self.properties:
            return flag
        by_dashes = {name.replace("_", "-"): name for name in self.properties}
        return by_dashes.get(flag.replace("_", "-"))

    def value_types(self, name: str) -> dict[str, Mapping[str, Any]]:
        """The types that an argument may have, each with its schema."""
        return dict(self._iter_types(self.properties[name]))

    def item_types(self, name: str) -> dict[str, Mapping[str, Any]]:
        """The same for the items of a list."""
        array = self.value_types(name)["array"]
        return dict(self._iter_types(array.get("items", {"type": "string"})))

    def is_flat(self, name: str) -> bool:
        """Whether a value of it is one word, or a list of words."""
        kinds = self.value_types(name)
        if "array" in kinds:
            kinds = {**kinds, **self.item_types(name)}
            del kinds["array"]
        return not {*kinds} & {"object", "array"}

    def is_table(self, name: str) -> bool:
        """Whether a value of it is a list of objects."""
        return {*self.value_types(name)} <= {"array", "null"} and "object" in self.item_types(name)

    def _iter_types(self, node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        node = self._resolve_ref(node)
        for choice in (*node.get("anyOf", ()), *node.get("oneOf", ())):
            yield from self._iter_types(choice)
        if "enum" in node or "const" in node:
            yield "enum", node
            return
        kinds = node.get("type", () if "anyOf" in node or "oneOf" in node else "string")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield kind, node

    def _resolve_ref(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        name = str(node.get("$ref", "")).removeprefix("#/$defs/")
        return self.schema["$defs"][name] if name else node


@dataclass(slots=True)
class _ArgumentParser:
    shape: ToolInputSchema
    positional: tuple[str, ...]
    values: dict[str, Json]
    from_words: set[str] = field(default_factory=set[str])
    last_list: tuple[str, str] | None = None
    """Flag and value of the list that was given last."""

    def parse(self, words: Sequence[str]) -> None:
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            _require_utf8(word)
            if word == "--":
                for it in waiting:
                    self._parse_positional(it)
                return
            if word.startswith("--"):
                self._parse_flag(word[2:], waiting)
            else:
                self._parse_positional(word)

    def _parse_flag(self, flag: str, waiting: list[str]) -> None:
        flag, has_value, value = flag.partition("=")
        name = self.shape.argument_name(flag)
        if name is None and not has_value and self._is_negated(flag):
            self._set(self.shape.argument_name(flag[3:]) or "", False)
            return
        if name is None:
            raise self._unknown_flag(flag)
        if has_value:
            self._parse_value(name, value)
        elif "boolean" in self.shape.value_types(name):
            self._set(
                name, _BOOLEANS[waiting.pop(0)] if waiting[:1] and waiting[0] in _BOOLEANS else True
            )
        elif not waiting:
            raise MissingField(f"--{flag} needs a value", field=name)
        elif _FLAG.match(waiting[0]):
            word = waiting[0]
            # A cut value would be pasted as it stands.
            value = word if word == shorten(word) else "VALUE"
            raise MissingField(
                f"--{flag} needs a value, and {shorten(word)!r} begins as a flag does: "
                f"if it is the value, write --{flag}={value}",
                field=name,
                got=shorten(word),
            )
        else:
            word = waiting.pop(0)
            self._parse_value(name, word)
            if "array" in self.shape.value_types(name):
                self.last_list = flag, word
                self._parse_further_choices(name, waiting)

    def _parse_further_choices(self, name: str, waiting: list[str]) -> None:
        """`--scopes a b`: a word that the list allows is another item of it."""
        choices = self.shape.item_types(name).get("enum")
        while choices and waiting and waiting[0] in map(str, _enum_values(choices)):
            self._parse_value(name, waiting.pop(0))

    def _is_negated(self, flag: str) -> bool:
        name = self.shape.argument_name(flag[3:]) if flag.startswith("no-") else None
        return name is not None and "boolean" in self.shape.value_types(name)

    def _parse_positional(self, word: str) -> None:
        for name in self.positional:
            if name not in self.from_words:
                self._parse_value(name, word)
                return
        last = self.positional[-1] if self.positional else None
        if last is None or "array" not in self.shape.value_types(last):
            raise InvalidInput(
                f"unexpected word {word!r}; {self._hint(word)}", field="arguments", got=word
            )
        self._parse_value(last, word)

    def _hint(self, word: str) -> str:
        if self.last_list is None:
            return "name its argument with --"
        flag, before = self.last_list
        return f"a list is written --{flag} {shlex.quote(before)} --{flag} {shlex.quote(word)}"

    def _parse_value(self, name: str, word: str) -> None:
        _require_utf8(word)
        if self.shape.properties[name].get("secret"):
            raise InvalidInput(
                f"{name} is a secret, and must not be on a command line: "
                "give it with --args - from stdin",
                field=name,
            )
        branches = self.shape.value_types(name)
        if "array" not in branches:
            self._set(name, convert_word(name, word, branches))
            return
        items = convert_items(name, word, self.shape.item_types(name))
        if name in self.from_words:
            cast(list[Json], self.values[name]).extend(items)
        else:
            self._set(name, items)

    def _set(self, name: str, value: Json) -> None:
        if name in self.values:
            raise InvalidInput(
                f"{name} is given twice{self._several(name, self.values[name], value)}", field=name
            )
        self.values[name] = value
        self.from_words.add(name)

    def _several(self, name: str, *values: Json) -> str:
        """How several are given, where the tool has a list of the same: `tool` and `tools`."""
        plural = f"{name}s"
        if plural not in self.shape.properties or "array" not in self.shape.value_types(plural):
            return ""
        flag = plural.replace("_", "-")
        return "; for several: " + " ".join(f"--{flag} {shlex.quote(str(it))}" for it in values)

    def _unknown_flag(self, flag: str) -> InvalidInput:
        if flag in OPTIONS_OF_EVERY_COMMAND:
            # With nothing after it, it was taken before: it came as `--json=yes`.
            return InvalidInput(f"--{flag} takes no value", field=flag, expected=f"--{flag}")
        known = sorted(name.replace("_", "-") for name in self.shape.properties)
        near = get_close_matches(flag.replace("_", "-"), known, n=1)
        meant = f"; did you mean --{near[0]}?" if near else ""
        return InvalidInput(
            f"--{flag} is not an argument of this tool{meant}",
            field=flag,
            expected=[f"--{it}" for it in known] or "no flags of its own",
            got=f"--{flag}",
        )


def convert_word(name: str, word: str, branches: Mapping[str, Mapping[str, Any]]) -> Json:
    """The word as the most specific type that it fits."""
    kinds = sorted(branches, key=_TYPE_PRECEDENCE.index)
    # Where any text is allowed, `null` is text; to pass null, leave the flag out.
    for kind in (it for it in kinds if not (it == "null" and "string" in kinds)):
        value = _convert_as(kind, word, branches[kind])
        if value is not _NO_MATCH:
            return cast(Json, value)
    # Last: where text or a number is allowed, `1.0` is that.
    if "integer" in branches and (whole := _INTEGRAL.fullmatch(word)):
        return int(whole[1])
    if set(branches) <= {"enum", "null"}:
        allowed = [type_name(kind, node) for kind, node in branches.items()]
        raise InvalidEnum(
            f"{name} must be one of {'|'.join(allowed)}; got {word!r}",
            field=name,
            allowed=[*"|".join(allowed).split("|")],
            got=word,
        )
    wanted = " or ".join(type_name(kind, branches[kind]) for kind in branches)
    raise InvalidInput(
        f"{name} must be {wanted}; got {word!r}", field=name, expected=wanted, got=word
    )


def convert_items(name: str, word: str, branches: Mapping[str, Mapping[str, Any]]) -> list[Json]:
    """The items that a word adds to a list: those of a JSON list, or of `a,b` where only some
    values are allowed; otherwise the word itself."""
    listed = _parse_json(word, list)
    if listed is not _NO_MATCH:
        items = cast(list[Json], listed)
        if all(_fits(it, branches) for it in items):
            return items
    parts = word.split(",") if {*branches} <= {"enum", "null"} else [word]
    return [convert_word(name, it, branches) for it in parts]


def type_name(kind: str, node: Mapping[str, Any]) -> str:
    """A type in words."""
    if kind == "enum":
        return "|".join(map(str, _enum_values(node)))
    return {"object": "JSON object", "array": "list"}.get(kind, kind)


def parse_json_object(text: str, *, field: str) -> dict[str, Json]:
    """A JSON object given as text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidFormat(f"{field} is not JSON: {error}", field=field) from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{field} must be a JSON object", field=field, expected="object")
    return cast(dict[str, Json], value)


def argument_lines(shape: ToolInputSchema, without: Sequence[str] = ()) -> Iterator[str]:
    """The flags of a tool or command, each with its type, default and meaning."""
    required = shape.schema.get("required", ())
    for name, node in shape.properties.items():
        if name in without:
            continue
        flag = f"--{name.replace('_', '-')}"
        yield f"  {flag} {_argument_type(shape, name)}".rstrip() + (
            "  (required)" if name in required else _default_text(node)
        )
        if meaning := node.get("description"):
            yield f"      {meaning}"


def _argument_type(shape: ToolInputSchema, name: str) -> str:
    """The placeholder for an argument's type."""
    branches = shape.value_types(name)
    if "array" in branches:
        items = shape.item_types(name)
        return f"{_type_names(items)} …"
    return "" if set(branches) == {"boolean"} else _type_names(branches)


def _type_names(branches: Mapping[str, Mapping[str, Any]]) -> str:
    return "|".join(
        type_name(kind, node).upper() if kind != "enum" else type_name(kind, node)
        for kind, node in branches.items()
        if kind != "null"
    )


def _default_text(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    silent = default is None or default is False or default in ([], "")
    return "" if silent else f"  (default {default})"


_NO_MATCH = object()


def _flag_or_word(name: str, positional: Sequence[str]) -> str:
    return name.upper() if name in positional else f"--{name.replace('_', '-')}"


def _convert_as(kind: str, word: str, node: Mapping[str, Any]) -> object:
    match kind:
        case "integer":
            return int(word) if _INTEGER.fullmatch(word) else _NO_MATCH
        case "number":
            return _parse_number(word)
        case "boolean":
            return _BOOLEANS.get(word, _NO_MATCH)
        case "null":
            return None if word == "null" else _NO_MATCH
        case "enum":
            return next((it for it in _enum_values(node) if str(it) == word), _NO_MATCH)
        case "object" | "array":
            return _parse_json(word, dict if kind == "object" else list)
        case _:
            return word


def _parse_number(word: str) -> object:
    try:
        value = float(word)
    except ValueError:
        return _NO_MATCH
    # JSON has no infinity and no "not a number".
    return value if value - value == 0 else _NO_MATCH


def _parse_json(word: str, kind: type) -> object:
    try:
        value = json.loads(word)
    except ValueError:
        return _NO_MATCH
    return value if isinstance(value, kind) else _NO_MATCH


def _fits(value: Json, branches: Mapping[str, Mapping[str, Any]]) -> bool:
    if "enum" in branches and value in _enum_values(branches["enum"]):
        return True
    return not branches.keys().isdisjoint(_json_types(value))


def _json_types(value: Json) -> tuple[str, ...]:
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("number",)
        case str():
            return ("string",)
        case dict():
            return ("object",)
        case _:
            return ("array",)


def _enum_values(node: Mapping[str, Any]) -> list[Any]:
    return node["enum"] if "enum" in node else [node["const"]]


def _require_utf8(word: str) -> None:
    """A word that is not UTF-8 cannot be sent as JSON."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise InvalidFormat(f"{word!a} is not UTF-8", field="arguments", got=ascii(word)) from None
