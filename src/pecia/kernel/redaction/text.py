"""A text without anything that has the shape of a secret. Pure.

Each rule is a pattern and what is left of its match. What is longer than a rule's bound is hidden
up to the bound; the bounds keep every rule linear in hostile text.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TypeAlias
from urllib.parse import unquote

from pecia.kernel.redaction.names import is_secret_name, is_secret_query_name, is_weak
from pecia.kernel.redaction.programs import (
    PROGRAM_NAMES,
    redact_any_command,
    redact_commands,
)

REDACTED = "[redacted]"

MAX_MATCH_CHARS = 9_000
"""Most characters of one secret. Callers pass less than this of untrusted text."""

Rule: TypeAlias = Callable[[str], str]
Shape: TypeAlias = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""A pattern, and what is left of its match."""
Accept: TypeAlias = Callable[[str, str, str], bool]
"""Whether a name, what stands between and the value are a secret."""

_HARMLESS = frozenset(
    (
        *("str", "string", "int", "number", "bool", "boolean", "bytes", "none", "null", "true"),
        *("false", "secretstr", "optional", "any", "required", REDACTED),
    )
)
"""Types and constants, as code and schemas have them after a name."""
_PROSE = frozenset(
    (
        *("expected", "must", "is", "are", "was", "not", "no", "none", "the", "a", "an", "see"),
        *("set", "unset", "missing", "required", "cannot", "use", "needs", "takes", "at", "empty"),
        *("only", "to", "for", "if", "it", "this", "you", "we", "how", "what", "when", "where"),
    )
)
"""After a colon these begin a sentence, as our own messages do."""

_NO_LOGINS = frozenset(
    (
        *("mailto", "mail", "email", "e-mail", "to", "cc", "bcc", "from", "sender", "contact"),
        *("author", "user", "by", "sip", "sips", "xmpp", "acct"),
    )
)
"""Before the colon of an address of a person, not of a machine."""
_DIGESTS = frozenset(("sha256", "sha384", "sha512", "md5"))
"""After the `@` of an image of a container."""

# Without one of these no rule can match. Looking for fixed words costs a tenth of any pattern.
_HINTS = (
    *("pass", "pwd", "secret", "token", "key", "auth", "cookie", "bearer", "basic", "credential"),
    *("://", ":\\/", "%3a%2f", "eyj", "pat", "sk-", "k_live", "k_test", "ghp_", "gho_", "ghu_"),
    *("ghs_", "ghr_", "xox", "xapp-", "akia", "asia", "aiza", "npm_", "hf_", "pypi-", "sg."),
    *("ya29", "dop_v1_", "whsec_", "hooks.slack", "jwt", "otp", "code=", "sig=", "signature="),
    *("hmac=", "sid=", "session=", "peciaown_"),
)


_FLAGS = ("-u", "-p ", "--user")
_LINE = re.compile(r"[^\r\n]+")
_COMMAND_LINE = re.compile(r"(?:[^\r\n\\]|\\\r?\n|\\)+")
"""A backslash at its end continues a line of a shell."""


def redact(text: str) -> str:
    """The text, its secrets replaced. Doing it again changes nothing."""
    low = text.lower()
    has_command = "-" in low and _has_any(low, PROGRAM_NAMES)
    if "@" in low and ":" in low:
        text = _login().sub(_redact_login, text)
    if not has_command and not _has_any(low, _HINTS) and not _has_any(low, _FLAGS):
        return text
    for rule in _rules():
        text = rule(text)
    if has_command:
        text = _COMMAND_LINE.sub(_commands, text)
    return _LINE.sub(_any_command, text) if _has_any(low, _FLAGS) else text


def _has_any(text: str, words: Iterable[str]) -> bool:
    # A loop and no generator: this stands in the way of every call.
    for it in words:  # noqa: SIM110 - half the time of any().
        if it in text:
            return True
    return False


# Compiled at first use: every start imports this through the errors.
@cache
def _rules() -> tuple[Rule, ...]:
    parameter = re.compile(r"[?&#;]([\w.%-]{1,100})(=)")
    flag = re.compile(r"(?<![A-Za-z0-9_])--?([A-Za-z][\w-]{0,100})(\s+\\*|=\\*)(?!-{1,2}[A-Za-z])")
    pair = re.compile(
        r"(?<![A-Za-z0-9_])([A-Za-z_][\w.-]{0,100})"
        r"(\\*[\"']?[ \t]{0,8}(?::?={1,2}>?|:)[ \t]{0,8}\\*)"
    )
    return (
        *(partial(shape.sub, kept) for shape, kept in (*_keys(), *_addresses(), *_lines())),
        partial(_redact_named, parameter, re.compile(r"()([^&\s\"'#<>]+)"), _is_parameter),
        partial(_redact_named, flag, _value(), _is_flag),
        partial(_redact_named, pair, _value(), _is_pair),
    )


def _keys() -> tuple[Shape, ...]:
    """Secrets with a known shape, anywhere."""
    # No letter or digit before a shape: `task-force` is not a key that begins with `sk-`.
    start = r"(?<![A-Za-z0-9])"
    alone = rf"\1{REDACTED}"
    return (
        (
            re.compile(
                r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z0-9 ]{0,20}-----.*?"
                r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z0-9 ]{0,20}-----|\Z)",
                re.DOTALL,
            ),
            REDACTED,
        ),
        (re.compile(rf"{start}eyJ[\w-]{{6,}}(?:\.[\w-]*)+"), REDACTED),
        (
            re.compile(
                rf"(?i){start}bearer\s+(?!token)"
                r"(?=[\w.~+/=-]*(?:[\d_~+/=]|\.\w)|\w{16})[\w.~+/=-]+"
            ),
            f"Bearer {REDACTED}",
        ),
        (
            re.compile(
                rf"{start}([Bb]asic|BASIC)\s+(?=[\w+/]*[A-Z])(?=[\w+/]*(?:\d|=|[a-z][A-Z]))[\w+/=]{{12,}}"
            ),
            rf"\1 {REDACTED}",
        ),
        (re.compile(r"((?:pecia|kdbl)pat_|peciaown_)[\w.~+/=-]+"), alone),
        (
            re.compile(
                rf"{start}(sk-)(?:[A-Za-z0-9]{{1,12}}-){{0,3}}(?=[a-z_]*[0-9A-Z])\w{{12,}}[\w-]*"
            ),
            alone,
        ),
        (re.compile(rf"{start}([srp]k_(?:live|test)_)\w{{8,}}"), alone),
        (
            re.compile(
                rf"{start}(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|AKIA|ASIA|AIza|shpat_|dop_v1_"
                r"|whsec_)[\w-]{10,}"
            ),
            alone,
        ),
        (re.compile(rf"{start}(npm_|hf_)[A-Za-z0-9]{{30,}}"), alone),
        (re.compile(rf"{start}(pypi-|ya29\.)[\w-]{{40,}}"), alone),
        (re.compile(rf"{start}(SG\.)[\w-]{{16,}}\.[\w-]{{16,}}"), alone),
        (re.compile(r"(?i)(hooks\.slack\.com/services/)[\w/-]+"), alone),
    )


def _addresses() -> tuple[Shape, ...]:
    """Passwords before the host of a URL."""
    return (
        # Behind a key of a known shape, also where the scheme was forgotten.
        (re.compile(r"(\[redacted\]:)[^\s\"'<>]{1,1000}(@)"), rf"\1{REDACTED}\2"),
        # A number after the colon and then the path is a port. The password ends at the last `@`.
        (
            re.compile(
                r"(:(?:\\*/){2}(?:[^\s:/@\[\]?#\"'<>\\]|\[redacted\]){0,200}:)"
                r"(?!\d{1,5}(?:[/?#\s\"'<>\\]|[)\],;.](?:\s|$)|$))[^\s\"'<>]{0,1000}(@)"
            ),
            rf"\1{REDACTED}\2",
        ),
        (
            re.compile(r"(?i)(%3a%2f%2f)(?:(?!%2f)[^\s\"'<>&]){0,1000}?(%40)"),
            rf"\1{REDACTED}\2",
        ),
        # Alone before the host of a site or a forge: a token, unless it is short or a plain word.
        (
            re.compile(
                r"(?i)(https?:(?:\\*/){2})"
                r"(?=[^\s:/@\"'<>]{16}|(?=[^\s:/@\"'<>]{0,16}\d)(?=[^\s:/@\"'<>]{0,16}[a-z])"
                r"[^\s:/@\"'<>]{8})[^\s:/@\[\]?#\"'<>\\]{8,1000}(@)"
            ),
            rf"\1{REDACTED}\2",
        ),
        (
            re.compile(
                r"(:(?:\\*/){2})(?=[^\s:/@\"'<>]{0,200}\d)[^\s:/@\[\]?#\"'<>\\]{16,1000}(@)"
            ),
            rf"\1{REDACTED}\2",
        ),
    )


# Compiled at first use, as the rules are.
@cache
def _login() -> re.Pattern[str]:
    """`user:password@host`, as people type it where a URL is asked for: without its scheme.

    One start for a run without blanks: nothing of a name may stand before it. After a slash it is
    a URL, which has rules of its own.
    """
    host = r"([A-Za-z][\w.-]{0,252}|\d{1,3}(?:\.\d{1,3}){3})(?![\w.-])([:/]?)"
    return re.compile(
        rf"(?<![\w.@:/%+\]-])([A-Za-z_][\w.+-]{{0,100}}):(?![\\/])([^\s\"'<>]{{6,1000}})@{host}"
    )


def _redact_login(found: re.Match[str]) -> str:
    """Followed by a path or a port it is a password; else where no name looks like it."""
    name, secret, host, mark = found.groups()
    is_name = not mark and (len(secret) < 8 or not any(it.isdigit() for it in secret))
    if name.lower() in _NO_LOGINS or host.lower() in _DIGESTS or is_name:
        return found[0]
    return f"{name}:{REDACTED}@{host}{mark}"


def _lines() -> tuple[Shape, ...]:
    """Headers and variables, whose value ends with their line."""
    alone = rf"\1{REDACTED}"
    return (
        (
            re.compile(
                r"(?i)((?:authorization|(?<![\w-])x-[\w-]{0,60}(?:token|key|secret|auth))\\*[\"']?\s*[=:]\s*+\\*[\"']?(?>(?:(?:bearer|basic|digest"
                r"|token|negotiate|apikey|dpop)\s+)?))(?!\[redacted\])[^\s\"'\\][^\r\n\"'\\]*"
            ),
            alone,
        ),
        (
            re.compile(
                r"(?i)((?:set-)?cookie\\*[\"']?\s*:\s*\\*[\"']?)"
                r"(?!\[redacted\])(?=[^\r\n\"']{0,4000}=)[^\r\n\"'\\]+"
            ),
            alone,
        ),
        # A variable that is all of the text: its value has no other end.
        (
            re.compile(r"\A(\s*(?:export\s+)?)([A-Z_][A-Z0-9_]*)=(.*)\Z", re.DOTALL),
            _variable,
        ),
    )


@cache
def _value() -> re.Pattern[str]:
    """In quotes, to their end or that of the text; or a run without blanks, whose last sign is no
    punctuation of the sentence around it.
    """
    return re.compile(
        r"([\"'])((?:(?!\1)[^\\]|\\.)*)|()([^\s&\"'<>]*[^\s&\"'<>;,.)\]}])", re.DOTALL
    )


def _redact_named(head: re.Pattern[str], value: re.Pattern[str], accept: Accept, text: str) -> str:
    """The text without the values that follow such a head. What is declined is looked at again:
    in `note: TOKEN=…` the value is a pair itself.
    """
    kept: list[str] = []
    done = position = 0
    while found := head.search(text, position):
        position = found.end()
        name = unquote(found[1])
        if not is_secret_query_name(name):
            continue
        held = value.match(text, position, position + MAX_MATCH_CHARS)
        if held is None or held.end() == position:
            continue
        group = 2 if held[2] is not None else 4
        if held[group] in ("", REDACTED, REDACTED[:-1]) or not accept(name, found[2], held[group]):
            continue
        kept += (text[done : held.start(group)], REDACTED)
        done = position = held.end()
    return "".join((*kept, text[done:])) if kept else text


def _variable(found: re.Match[str]) -> str:
    lead, name, value = found.groups()
    return f"{lead}{name}={REDACTED}" if value and is_secret_name(name) else found[0]


def _is_parameter(name: str, between: str, value: str) -> bool:
    if name.lower() == "key":
        return looks_random(value)
    is_signature = name.lower().endswith(("sig", "signature", "hmac"))
    return is_secret_name(name) or is_signature or (is_secret_query_name(name) and len(value) >= 6)


def _is_flag(name: str, between: str, value: str) -> bool:
    if name == "key":
        return looks_random(value)
    return is_secret_name(name) and not name.startswith("no-")


def _is_pair(name: str, between: str, value: str) -> bool:
    # What follows `Authorization` has a rule of its own: its first word may be the scheme.
    if not is_secret_name(name) or name.lower().endswith("authorization"):
        return False
    if value.lower() in _HARMLESS:
        return False
    if "=" in between:
        return True
    return value.lower() not in _PROSE and (not is_weak(name) or looks_random(value))


def _any_command(found: re.Match[str]) -> str:
    return redact_any_command(found[0], REDACTED)


def _commands(found: re.Match[str]) -> str:
    return redact_commands(found[0], REDACTED)


def looks_random(value: str) -> bool:
    """Whether no word of a language looks like it."""
    has_digit = any(it.isdigit() for it in value)
    return len(value) >= 8 and (has_digit or len(value) >= 20) and "/" not in value
