"""Each statement of the lake and the corpus names the tenant: no policy is the only wall."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "pecia"
FILES = [
    file
    for folder in (SOURCE / "features" / "lake", SOURCE / "kernel" / "corpus")
    for file in sorted(folder.rglob("*.sql"))
    if file.parent.name != "schema"
]

# The house's own, over all tenants at once.
HOUSE = {"forget_nodes", "publish_key", "sealing_key"}

_NAMED = re.compile(r"-- name: (\w+)\n(.*?)(?=\n-- name:|\Z)", re.DOTALL)
_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:kernel|lake)\.[a-z_]+\b(?!\s*\()")


@pytest.mark.requirement("lake.trim.tenant_filter")
@pytest.mark.parametrize("file", FILES, ids=lambda it: str(it.relative_to(SOURCE)))
def test_a_statement_names_the_tenant(file: Path) -> None:
    bare = [
        name
        for name, sql in _NAMED.findall(file.read_text(encoding="utf-8"))
        if _TABLE.search(sql) and "tenant" not in sql and name not in HOUSE
    ]
    assert bare == []
