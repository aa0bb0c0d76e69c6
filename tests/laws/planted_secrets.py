"""Secrets of every shape that people paste, in texts and in JSON; and plain text that is none."""

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

ALNUM = string.ascii_letters + string.digits
SCHEMES = ("https", "http", "postgresql", "redis", "amqp", "mongodb+srv", "ftp", "git+https")
NAMES = ("password", "db_password", "apiKey", "api-key", "client_secret", "ACCESS_TOKEN", "token")
VARIABLES = ("GITHUB_TOKEN", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "DB_PASS")
FLAGS = ("token", "password", "api-key", "auth-token", "client-secret", "passphrase")
HEADERS = ("Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization", "X-Auth-Token")
KINDS = ("Bearer ", "Basic ", "Token ", "", "Custom-Scheme ")
WORDS = (
    *("bike", "the", "workshop", "token", "password", "basic", "key", "secret", "task-force"),
    *("monday", "bearer", "cookies", "author", "risk-register", "desk", "passage", "monkey", "p"),
)


@dataclass(frozen=True, slots=True)
class Planted:
    """Something to pass as an argument, and the secret that no record of the call may hold."""

    value: Any
    secret: str


def _core(least: int = 10, most: int = 30, alphabet: str = ALNUM) -> st.SearchStrategy[str]:
    # The digit in front keeps it apart from every word of a text around it.
    return st.text(alphabet, min_size=least, max_size=most).map(lambda it: f"7{it}3x9Q")


# What a password may hold where nothing else ends it.
_wild = _core(alphabet=ALNUM + "!$*+,-._~:;=@#%^(){}|")
_quoted = _core(alphabet=ALNUM + " !$*+,-._~:;=@#%^(){}|&<>/")


def _with(
    core: st.SearchStrategy[str], *made: Callable[[str], str]
) -> st.SearchStrategy[tuple[str, str]]:
    return core.flatmap(lambda it: st.sampled_from([(make(it), it) for make in made]))


def _addresses() -> st.SearchStrategy[tuple[str, str]]:
    place = st.tuples(st.sampled_from(SCHEMES), st.sampled_from(("ana", "", "a.b-c", "9")))
    password = _core(alphabet=ALNUM + "!$*+,-._~;=@%^():/")
    with_user = st.tuples(place, password).map(
        lambda it: (f"{it[0][0]}://{it[0][1]}:{it[1]}@host.example:5432/db?x=1", it[1])
    )
    # Instead of a user, as forges take them.
    alone = st.tuples(
        st.sampled_from(("https", "http", "git+https")),
        st.one_of(_core(3), st.text(string.ascii_lowercase, min_size=16, max_size=40)),
    ).map(lambda it: (f"{it[0]}://{it[1]}@host.example/a/b.git", it[1]))
    signed = st.tuples(st.sampled_from(("sig", "X-Goog-Signature", "hmac", "key")), _core()).map(
        lambda it: (f"https://host.example/a?page=2&{it[0]}={it[1]}", it[1])
    )
    return st.one_of(with_user, alone, signed)


def _named() -> st.SearchStrategy[tuple[str, str]]:
    parts = st.tuples(st.sampled_from(NAMES), _core(), _quoted)
    return parts.flatmap(
        lambda it: st.sampled_from(
            [
                (f"https://host.example/a?{it[0]}={it[1]}&page=2", it[1]),
                (f"https://host.example/a?page=2&{it[0]}={it[1]}#top", it[1]),
                (f"{it[0]}={it[1]}", it[1]),
                (f'{{"{it[0]}": "{it[2]}", "a": 1}}', it[2]),
                (f"{it[0]}='{it[2]}'", it[2]),
                (f"{it[0]}: {it[1]}", it[1]),
            ]
        )
    )


def _flagged() -> st.SearchStrategy[tuple[str, str]]:
    parts = st.tuples(st.sampled_from(FLAGS), _wild.map(lambda it: it.lstrip("-")), _quoted)
    return parts.flatmap(
        lambda it: st.sampled_from(
            [
                (f"run --{it[0]} {it[1]} --verbose", it[1]),
                (f"run --{it[0]}={it[1]} --verbose", it[1]),
                (f'run --{it[0]} "{it[2]}" --verbose', it[2]),
                (f"run -{it[0]} {it[1]}", it[1]),
            ]
        )
    )


def _commands() -> st.SearchStrategy[tuple[str, str]]:
    return _with(
        _core(),
        lambda it: f"mysql -u root -p{it} shop",
        lambda it: f"sshpass -p {it} ssh host",
        lambda it: f"docker login -u ana -p {it} registry.example",
        lambda it: f"curl -u ana:{it} https://host.example/",
        lambda it: f"redis-cli -h host -a {it} ping",
        lambda it: f'curl -H "Authorization: Bearer {it}" https://host.example/',
        lambda it: f"curl -H 'X-Api-Key: {it}' https://host.example/",
        # Programs that nobody has heard of.
        lambda it: f"shoptool -u ana:{it} list",
        lambda it: f"shoptool --user ana:{it} list",
        lambda it: f"shoptool --user=ana:{it} list",
        lambda it: f"./shoptool -p {it} list",
        lambda it: f"shoptool --key {it} list",
    )


def _shapes() -> st.SearchStrategy[tuple[str, str]]:
    long = _core(34, 60)
    block = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n-----END {0}PRIVATE KEY-----"
    return st.one_of(
        _with(long, lambda it: f"peciapat_{it}", lambda it: f"sk-{it}", lambda it: f"sk-proj-{it}"),
        _with(long, lambda it: f"ghp_{it}", lambda it: f"github_pat_{it}", lambda it: f"hf_{it}"),
        _with(long, lambda it: f"xoxb-1234567890-{it}", lambda it: f"glpat-{it}"),
        _with(long, lambda it: f"AIza{it}", lambda it: f"sk_live_{it}"),
        _with(_core(12, 12, string.ascii_uppercase).map(str.upper), lambda it: f"AKIA{it}"),
        _with(long, lambda it: f"eyJhbGciOiJIUzI1NiJ9.{it}.{it}", lambda it: f"Bearer {it}"),
        _with(long, lambda it: block.format("RSA ", it), lambda it: block.format("", it)),
    )


def _lines() -> st.SearchStrategy[tuple[str, str]]:
    variable = st.tuples(st.sampled_from(VARIABLES), _quoted).map(
        lambda it: (f"{it[0]}={it[1]}", it[1])
    )
    header = st.tuples(st.sampled_from(HEADERS), st.sampled_from(KINDS), _core()).map(
        lambda it: (
            f"{it[0]}: a=1; sid={it[2]}" if it[0] == "Cookie" else f"{it[0]}: {it[1]}{it[2]}",
            it[2],
        )
    )
    return st.one_of(variable, header)


def _around(text: tuple[str, str], before: Sequence[str], after: Sequence[str]) -> Planted:
    return Planted(" ".join((*before, text[0], *after)), text[1])


words = st.lists(st.sampled_from(WORDS), max_size=6)

texts: st.SearchStrategy[Planted] = st.one_of(
    st.builds(
        _around,
        st.one_of(_addresses(), _named(), _flagged(), _commands(), _shapes()),
        words,
        words,
    ),
    _lines().map(lambda it: Planted(*it)),
)
"""A text with a secret in it."""

fields: st.SearchStrategy[Planted] = st.one_of(
    st.tuples(st.sampled_from((*NAMES, *VARIABLES, *HEADERS)), _quoted).flatmap(
        lambda it: st.sampled_from(
            [
                Planted({it[0]: it[1], "a": 1}, it[1]),
                Planted({it[0]: [it[1]]}, it[1]),
                Planted({"name": it[0], "value": it[1]}, it[1]),
                Planted([{"key": it[0], "value": it[1]}], it[1]),
            ]
        )
    ),
    st.tuples(st.sampled_from(("Authorization", "Cookie", "GITHUB_TOKEN")), _quoted).map(
        lambda it: Planted([[it[0], it[1]], ["Accept", "text/html"]], it[1])
    ),
    st.tuples(st.sampled_from(FLAGS), _quoted).map(
        lambda it: Planted({"command": "run", "args": ["-v", f"--{it[0]}", it[1], "x"]}, it[1])
    ),
    st.tuples(st.sampled_from(("mysql", "/usr/bin/mysql", "sshpass")), _quoted).flatmap(
        lambda it: st.sampled_from(
            [
                Planted({"command": it[0], "args": ["-v", f"-p{it[1]}"]}, it[1]),
                Planted([it[0], "-p", it[1], "x"], it[1]),
            ]
        )
    ),
    # A program that nobody has heard of, and what only its place among the arguments tells.
    st.tuples(st.sampled_from(("npx", "./shoptool", "uvx")), _quoted).flatmap(
        lambda it: st.sampled_from(
            [
                Planted({"command": it[0], "args": ["shop", "-p", it[1]]}, it[1]),
                Planted({"command": it[0], "args": ["shop", "-u", f"ana:{it[1]}"]}, it[1]),
                Planted({"command": it[0], "args": ["shop", f"--user=ana:{it[1]}"]}, it[1]),
                Planted({"args": ["-v", "--user", f"ana:{it[1]}"]}, it[1]),
                Planted({"args": ["-p", it[1]]}, it[1]),
                Planted([it[0], "-p", it[1]], it[1]),
                Planted([it[0], "-u", f"ana:{it[1]}"], it[1]),
                Planted(["-p", it[1]], it[1]),
            ]
        )
    ),
    # A variable may have any name.
    st.tuples(st.sampled_from(("SHOP_KEY", "SHOP", "DSN", "shop")), _quoted).flatmap(
        lambda it: st.sampled_from(
            [
                Planted({"env": {it[0]: it[1], "HOME": "/srv"}}, it[1]),
                Planted({"command": "npx", "env": [f"{it[0]}={it[1]}"]}, it[1]),
            ]
        )
    ),
    _core(40, 60).map(
        lambda it: Planted(
            ["-----BEGIN PRIVATE KEY-----", it, it, "-----END PRIVATE KEY-----", "after"], it
        )
    ),
)
"""JSON in which only the place says that something is a secret."""


def _nested(inner: Planted, steps: Sequence[str | int]) -> Planted:
    value = inner.value
    for step in steps:
        value = {step: value, "z": "plain"} if isinstance(step, str) else ["plain"] * step + [value]
    return Planted(value, inner.secret)


_keys = texts.map(lambda it: Planted({it.value: "plain"}, it.secret))
_steps = st.lists(
    st.one_of(st.sampled_from(("env", "headers", "config", "a b", "")), st.integers(0, 3)),
    max_size=8,
)

planted: st.SearchStrategy[Planted] = st.builds(_nested, st.one_of(texts, fields, _keys), _steps)
"""A secret of any shape at any place of any JSON."""

_hash = st.text("0123456789abcdef", min_size=7, max_size=64)
_parts = ("bike", "task-force", "token", "password-reset", "docs", "v1.2", "2024-06-01")
_file = st.tuples(
    st.lists(st.sampled_from(_parts), min_size=1, max_size=4),
    st.sampled_from((".md", ".tar.gz", ".py", "")),
).map(lambda it: "/".join(it[0]) + it[1])
_link = st.tuples(st.sampled_from(("https", "http", "lake", "wiki", "ssh")), _file, _hash).flatmap(
    lambda it: st.sampled_from(
        [
            f"{it[0]}://host.example/{it[1]}",
            f"{it[0]}://host.example:8080/{it[1]}?page=2&sort=asc#{it[2]}",
            f"{it[0]}://host.example/{it[1]}@{it[2]}",
            f"ssh://git@host.example/{it[1]}",
        ]
    )
)

plain: st.SearchStrategy[str] = st.lists(
    st.one_of(
        # A hash behind this one word is how a credential is written.
        st.sampled_from([it for it in WORDS if it != "bearer"]),
        _hash,
        _hash.map(lambda it: f"rev:{it}"),
        _hash.map(lambda it: f"[1]@{it}"),
        st.uuids().map(str),
        st.integers().map(str),
        _file,
        _link,
        st.sampled_from(("ana@example.org", "git@host.example:a/b.git", "-v", "a=b", "x: 1")),
    ),
    max_size=10,
).map(" ".join)
"""Ordinary text: words, file names, links, hashes, numbers."""

_commands_without = st.sampled_from(
    (
        *("ssh -p 22 host.example", "mkdir -p docs/a", "docker run -p 8080:80 -u 1000:1000 web"),
        *("cp -p a b", "git log -p docs", "psql -p 5432 -U ana shop", "shoptool -p 8080"),
        *("python -u run.py", "sudo -u postgres psql", "pytest -p no:cacheprovider"),
        *("curl -u ana https://host.example/", "https://ana@host.example/a.git"),
    )
)

plain_commands: st.SearchStrategy[str] = _commands_without
"""Commands whose short flags are no secrets."""
