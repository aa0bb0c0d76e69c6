"""The one namespace of who may see what: `<kind>:<scope>:<value>`.

Pure. It says when two names mean the same person or group, and never who is in a group.
"""

import re
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from enum import Enum, StrEnum, auto
from unicodedata import normalize

from pecia.kernel.errors import InvalidEnum, InvalidFormat, MissingField, PayloadTooLarge

# A PostgreSQL index entry holds about 2,700 bytes, and every principal is looked up by an index.
MAX_BYTES = 2048


class PrincipalKind(StrEnum):
    """What sort of name it is. The last three are ours, the others come from outside."""

    OID = "oid"
    EMAIL = "email"
    UPN = "upn"
    SID = "sid"
    POSIXUID = "posixuid"
    POSIXGID = "posixgid"
    NAME = "name"
    GROUP = "group"
    USER = "user"
    ROLE = "role"
    EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Principal:
    """A name in its one normal form; there is no way to hold another form of it.

    `at` is where the name came from, and begins the `field` of every error.
    """

    kind: PrincipalKind
    scope: str
    value: str
    at: InitVar[str] = "principal"

    def __post_init__(self, at: str) -> None:
        rule = _RULES[self.kind]
        object.__setattr__(self, "scope", _normal(self.scope, rule.case, f"{at}.scope"))
        object.__setattr__(self, "value", _normal(self.value, rule.case, f"{at}.value"))
        rule.check(self, at)
        _refuse_long(self.render(), at)

    @classmethod
    def parse(cls, text: str, *, at: str = "principal") -> "Principal":
        """Read `<kind>:<scope>:<value>`. In the scope a colon is `%3A`, a per cent sign `%25`."""
        _refuse_long(text, at)
        _refuse_unprintable(text, at)
        kind, _, rest = text.partition(":")
        scope, separator, value = rest.partition(":")
        if not separator:
            raise InvalidFormat(
                f"{at} must have the form <kind>:<scope>:<value>, and {text!r} has not",
                field=at,
                expected="<kind>:<scope>:<value>",
                got=text,
            )
        return cls(_kind(kind, at), _unescape(scope, at), value, at=at)

    def render(self) -> str:
        """The text that `parse` reads back as this principal, and as no other."""
        scope = self.scope.replace("%", "%25").replace(":", "%3A")
        return f"{self.kind}:{scope}:{self.value}"

    def __str__(self) -> str:
        return self.render()


class _Scope(Enum):
    REQUIRED = auto()
    OPTIONAL = auto()
    ABSENT = auto()


_ANYTHING = re.compile(r".+", re.DOTALL)
_NOTHING = re.compile(r"")
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_SID = re.compile(r"S-1(-(0X[0-9A-F]+|[0-9]+)){2,16}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class _Rule:
    """What the scope and the value of one kind look like."""

    scope: _Scope
    value: re.Pattern[str]
    expected: str
    case: Callable[[str], str] = str

    def check(self, principal: Principal, at: str) -> None:
        if self.scope is _Scope.REQUIRED and not principal.scope:
            raise MissingField(
                f"a principal of kind {principal.kind} needs a scope", field=f"{at}.scope"
            )
        if self.scope is _Scope.ABSENT and principal.scope:
            raise InvalidFormat(
                f"a principal of kind {principal.kind} has no scope; got {principal.scope!r}",
                field=f"{at}.scope",
                expected="",
                got=principal.scope,
            )
        # The mark of a scope whose colon was not escaped: `oid:https://issuer:…` would else be
        # read as somebody else's name.
        if not self.value.fullmatch(principal.value) or principal.value.startswith("//"):
            raise InvalidFormat(
                f"{at}.value must be {self.expected}; got {principal.value!r}",
                field=f"{at}.value",
                expected=self.expected,
                got=principal.value,
            )


def _upper(text: str) -> str:
    # The long s, for one, would turn into a plain S.
    return text.upper() if text.isascii() else text


# Groups keep their case: two groups of one issuer may differ by nothing else.
_RULES = {
    PrincipalKind.OID: _Rule(
        _Scope.REQUIRED, _ANYTHING, "an identifier, after a scope with %3A for colons"
    ),
    PrincipalKind.EMAIL: _Rule(
        _Scope.ABSENT, _ADDRESS, "an address such as ana@example.com", case=str.lower
    ),
    PrincipalKind.UPN: _Rule(
        _Scope.ABSENT, _ADDRESS, "a name such as ana@example.com", case=str.lower
    ),
    PrincipalKind.SID: _Rule(
        _Scope.ABSENT, _SID, "a security identifier such as S-1-5-21-1-2-3-500", case=_upper
    ),
    PrincipalKind.POSIXUID: _Rule(_Scope.REQUIRED, _NUMBER, "a user number without leading zeros"),
    PrincipalKind.POSIXGID: _Rule(_Scope.REQUIRED, _NUMBER, "a group number without leading zeros"),
    PrincipalKind.NAME: _Rule(_Scope.OPTIONAL, _ANYTHING, "an account name", case=str.lower),
    PrincipalKind.GROUP: _Rule(
        _Scope.OPTIONAL, _ANYTHING, "a group, after a scope with %3A for colons"
    ),
    PrincipalKind.USER: _Rule(_Scope.OPTIONAL, _ANYTHING, "a user of ours"),
    PrincipalKind.ROLE: _Rule(_Scope.OPTIONAL, _ANYTHING, "a role of ours"),
    PrincipalKind.EVERYONE: _Rule(_Scope.OPTIONAL, _NOTHING, "empty"),
}

# Neither has a place in a name: what cannot be printed on one line, or stored as UTF-8.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# The three signs that normalising turns into ASCII (Greek question mark, varia, Kelvin): with
# them someone else's address would become ana's.
_DISGUISED_ASCII = re.compile("[\u037e\u1fef\u212a]")
_ESCAPE = re.compile(r"%(3[Aa]|25)?")


def _normal(text: str, case: Callable[[str], str], field: str) -> str:
    _refuse_unprintable(text, field)
    if _DISGUISED_ASCII.search(text) or text != text.strip():
        raise InvalidFormat(
            f"{field} must have no spaces around it and no look-alikes of ASCII; got {text!r}",
            field=field,
            expected="text without spaces around it",
            got=ascii(text),
        )
    return normalize("NFC", case(normalize("NFC", text)))


def _refuse_unprintable(text: str, field: str) -> None:
    if _UNPRINTABLE.search(text):
        raise InvalidFormat(
            f"{field} must be printable text; got {text!r}",
            field=field,
            expected="printable text",
            got=ascii(text),
        )


def _kind(text: str, at: str) -> PrincipalKind:
    if text not in PrincipalKind.__members__.values():
        allowed = [kind.value for kind in PrincipalKind]
        raise InvalidEnum(
            f"{at}.kind must be one of {', '.join(allowed)}; got {text!r}",
            field=f"{at}.kind",
            allowed=list(allowed),
            got=text,
        )
    return PrincipalKind(text)


def _unescape(scope: str, at: str) -> str:
    def character(found: re.Match[str]) -> str:
        if not found[1]:
            raise InvalidFormat(
                f"{at}.scope has a % that is neither %3A nor %25: {scope!r}",
                field=f"{at}.scope",
                expected="%3A for a colon, %25 for a per cent sign",
                got=scope,
            )
        return "%" if found[1] == "25" else ":"

    return _ESCAPE.sub(character, scope)


def _refuse_long(text: str, at: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise PayloadTooLarge(
            f"{at} has {size} bytes, at most {MAX_BYTES} are allowed", field=at, max=MAX_BYTES
        )
