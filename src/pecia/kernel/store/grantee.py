"""Who a right is given to: a name as people write it becomes a principal of the caller's tenant."""

from collections.abc import Collection

from pecia.kernel.errors import InvalidFormat, NotFound
from pecia.kernel.identity.principal import Principal
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.kernel.store", "grantee.sql")


async def resolve_grantee(tx: Transaction, text: str, field: str, roles: Collection[str]) -> int:
    """Users and groups by their names here, some roles by their bare name, and everybody else by
    the name they have outside.
    """
    kind, _, name = text.partition(":")
    if kind in ("user", "group") and name and ":" not in name:
        known: int | None = await tx.fetch_value(SQL[kind], name=name)
        if known is None:
            raise NotFound(
                f"there is no {kind} {name!r} here",
                field=field,
                got=text,
                hint=f"make it first: pecia {kind} add {name}; or see which there are: "
                f"pecia {kind} list",
            )
        return known
    if ":" not in text and text not in roles:
        raise InvalidFormat(
            f"{field} {text!r} does not say whether it is a user or a group",
            field=field,
            got=text,
            expected=f"user:{text}, group:{text}, or KIND:SCOPE:VALUE for a name of elsewhere",
        )
    it = Principal.parse(f"role::{text}" if text in roles else text, at=field)
    return await tx.fetch_value(SQL["other"], kind=it.kind.value, scope=it.scope, value=it.value)
