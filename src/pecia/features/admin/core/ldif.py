"""Parse groups from a directory export: LDIF or JSON. Pure; connects to no directory."""

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from pecia.kernel.errors import InvalidFormat, Json

T = TypeVar("T")

FIELD = "file"
EXPECTED_FORMAT = '{"groups": [{"name": "staff", "members": ["ana"]}]} or {"staff": ["ana"]}'

LdifEntry: TypeAlias = Mapping[str, tuple[str, ...]]
"""Attributes of one entry, by lower-case name."""

MembersByGroup: TypeAlias = dict[str, tuple[str, ...]]
"""Members of each group, by user name; ordered, without duplicates."""


def parse_directory(text: str) -> MembersByGroup:
    """The groups in the file. An error gives the line or the JSON path."""
    return (
        _parse_json(text) if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[") else _parse_ldif(text)
    )


def _parse_json(text: str) -> MembersByGroup:
    try:
        found: Json = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_require_distinct)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidFormat(
            f"the file is not valid JSON: {error}", field=FIELD, expected=EXPECTED_FORMAT
        ) from None
    match found:
        case {"groups": list(groups), **rest} if not rest:
            return _require_distinct(
                _read_group(it, f"groups.{at}") for at, it in enumerate(groups)
            )
        case dict():
            return {name: _members(it, name) for name, it in found.items()}
        case _:
            raise _format_error("the file")


def _read_group(group: Json, at: str) -> tuple[str, tuple[str, ...]]:
    match group:
        case {"name": str(name), "members": members, **rest} if not rest:
            return name, _members(members, f"{at}.members")
        case _:
            raise _format_error(at)


def _members(members: Json, at: str) -> tuple[str, ...]:
    if isinstance(members, list) and all(isinstance(it, str) for it in members):
        return tuple(dict.fromkeys(cast(list[str], members)))
    raise _format_error(at)


def _require_distinct(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    """A second group of the same name would overwrite the members of the first."""
    found: dict[str, T] = {}
    for name, it in named:
        if name in found:
            raise InvalidFormat(f"{name!r} is named twice", field=FIELD, got=name)
        found[name] = it
    return found


def _format_error(at: str) -> InvalidFormat:
    return InvalidFormat(f"{at} is not a group", field=FIELD, expected=EXPECTED_FORMAT, at=at)


def _parse_ldif(text: str) -> MembersByGroup:
    entries = {_normalize_dn(it["dn"][0]): it for it in _entries(text)}
    groups = {dn: it for dn, it in entries.items() if GROUP_CLASSES & _classes(it)}
    if not groups:
        raise InvalidFormat(
            "the file names no group",
            field=FIELD,
            expected=f"{EXPECTED_FORMAT}, or LDIF with {CLASSES}",
        )
    return _require_distinct(
        (
            _first(it, "cn") or _rdn_value(it["dn"][0]),
            tuple(dict.fromkeys(_GroupMembers(entries, groups).of(dn))),
        )
        for dn, it in groups.items()
    )


@dataclass(slots=True)
class _GroupMembers:
    """The users of one group, nested groups included; cycles are allowed."""

    entries: Mapping[str, LdifEntry]
    groups: Mapping[str, LdifEntry]
    met: set[str] = field(default_factory=set[str])

    def of(self, dn: str) -> Iterator[str]:
        self.met.add(dn)
        group = self.groups[dn]
        yield from group.get("memberuid", ())
        for member in (*group.get("member", ()), *group.get("uniquemember", ())):
            plain = _normalize_dn(member)
            if plain not in self.groups:
                yield self._person(member)
            elif plain not in self.met:
                yield from self.of(plain)

    def _person(self, dn: str) -> str:
        entry = self.entries.get(_normalize_dn(dn), {})
        known = (_first(entry, it) for it in PERSON_NAMES)
        return next((it for it in known if it), "") or _rdn_value(dn)


GROUP_CLASSES = frozenset(("groupofnames", "groupofuniquenames", "group", "posixgroup"))
CLASSES = ", ".join(sorted(GROUP_CLASSES))
PERSON_NAMES = ("uid", "samaccountname", "userprincipalname", "mail")


def _entries(text: str) -> Iterator[LdifEntry]:
    entry: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate([*_unfold_lines(text), ""], 1):
        if line:
            name, value = _attribute(line, number)
            if name != "version" or entry:
                entry[name] = (*entry.get(name, ()), value)
        elif entry:
            if "dn" not in entry:
                raise InvalidFormat(f"the entry before line {number} has no dn", field=FIELD)
            yield entry
            entry = {}


def _unfold_lines(text: str) -> list[str]:
    """Unfolded lines (RFC 2849), without comments."""
    lines: list[str] = []
    for line in text.lstrip("\ufeff").replace("\r\n", "\n").split("\n"):
        if line.startswith(" ") and lines and lines[-1]:
            lines[-1] += line[1:]
        else:
            lines.append(line)
    return [it for it in lines if not it.startswith("#")]


def _attribute(line: str, number: int) -> tuple[str, str]:
    found = _ATTRIBUTE.fullmatch(line)
    if found is None:
        raise InvalidFormat(f"line {number} of the file is not LDIF: {line[:80]!r}", field=FIELD)
    value = found["value"]
    if found["is_base64"]:
        try:
            value = b64decode(value, validate=True).decode()
        except (NotBase64, ValueError):
            raise InvalidFormat(f"line {number} of the file is not base64", field=FIELD) from None
    return found["name"].lower(), value


# Attribute options, such as a language, do not matter here.
_ATTRIBUTE = re.compile(
    r"(?P<name>[A-Za-z0-9.-]+)(?:;[A-Za-z0-9;.-]*)?:(?P<is_base64>:?) *(?P<value>.*)"
)


def _classes(entry: LdifEntry) -> set[str]:
    return {it.lower() for it in entry.get("objectclass", ())}


def _first(entry: LdifEntry, name: str) -> str:
    return next(iter(entry.get(name, ())), "")


def _normalize_dn(dn: str) -> str:
    """Different spellings of one DN compare equal."""
    return ",".join(it.strip().lower() for it in re.split(r"(?<!\\),", dn))


def _rdn_value(dn: str) -> str:
    """The value of the first RDN: `ana` of `uid=ana,ou=people`."""
    return re.split(r"(?<!\\),", dn)[0].partition("=")[2].strip().replace("\\,", ",")
