"""Named SQL: `-- name: x` blocks of a .sql file, loaded once. No SQL is built in Python."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

from pecia.kernel.errors import InternalError

_NAME = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$", re.MULTILINE)


class Queries(dict[str, LiteralString]):
    """The statements of one file, by name."""

    def __init__(self, path: str, by_name: Mapping[str, LiteralString]) -> None:
        super().__init__(by_name)
        self._path = path

    def __missing__(self, name: str) -> LiteralString:
        raise InternalError(f"{self._path} has no query {name!r}")


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
