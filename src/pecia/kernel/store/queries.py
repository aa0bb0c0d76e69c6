"""Named SQL: `-- name: x` blocks of a .sql file, loaded once. No SQL is built in Python."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

from pecia.kernel.errors import InternalError

_NAME = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Queries:
    """The statements of one file, by name."""

    path: str
    by_name: Mapping[str, LiteralString]

    def __getitem__(self, name: str) -> LiteralString:
        if name not in self.by_name:
            raise InternalError(f"{self.path} has no query {name!r}")
        return self.by_name[name]


@cache
def load_queries(package: str, file: str = "queries.sql") -> Queries:
    """Every named statement of `file` in `package`."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    # A file shipped in the wheel is as much ours as a literal in the code.
    statements: dict[str, LiteralString] = {
        name: cast(LiteralString, _strip_comments(sql)) for name, sql in named.items()
    }
    return Queries(f"{package}/{file}", statements)


def _strip_comments(sql: str) -> str:
    lines = (line for line in sql.splitlines() if not line.startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")
