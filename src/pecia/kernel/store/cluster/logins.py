"""How each role reaches a database, as libpq conninfo strings. Opens no connection."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

LoginRole: TypeAlias = Literal["owner", "app", "system", "superuser"]

DATABASE = "pecia"

# The superuser makes roles and databases, and nothing else ever logs in as it.
NAME_BY_ROLE: dict[LoginRole, str] = {
    "owner": "pecia_owner",
    "app": "pecia_app",
    "system": "pecia_system",
    "superuser": "postgres",
}


@dataclass(frozen=True, slots=True)
class DatabaseLogins:
    """The three logins of one database: migrations, callers, system.

    The strings hold passwords, so they never show in a repr.
    """

    owner: str = field(repr=False)
    app: str = field(repr=False)
    system: str = field(repr=False)
