"""The database's failures as ours. What a caller may act on keeps its meaning."""

from collections.abc import Callable, Sequence

import psycopg
from psycopg import errors as pg

from pecia.kernel.errors import (
    Collision,
    Conflict,
    Forbidden,
    InternalError,
    InvalidInput,
    NotFound,
    PeciaError,
    QuotaExceeded,
    StorageFull,
    Timeout,
    Unavailable,
    UpstreamError,
)
from pecia.kernel.identity.token_error import refused_token

RETRYABLE_ERRORS = (pg.SerializationFailure, pg.DeadlockDetected)
# The last: a value is too large for an index, though its kind says that the database is not well.
REJECTED_VALUE_ERRORS = (
    pg.CheckViolation,
    pg.NotNullViolation,
    pg.DataError,
    pg.ProgramLimitExceeded,
)
# The same code is given where the server itself is at its end: notifications that nobody has
# received yet, transactions that no number is left for. Messages are translated; where they are
# raised is not.
SERVER_LIMIT_SOURCES = frozenset({"async.c", "varsup.c", "multixact.c", "xact.c"})


def as_pecia_error(error: psycopg.Error) -> PeciaError:
    """The nearest of our errors. Details of rows and constraints stay in the cause."""
    if isinstance(error, RETRYABLE_ERRORS):
        return Collision("write conflict; try again")
    if (error.sqlstate or "").startswith("PE"):
        return _from_own_sqlstate(error)
    if _is_server_limit(error):
        return Unavailable("the database is read-only at the moment; try again shortly")
    for kind, build in _KNOWN:
        if isinstance(error, kind):
            return build(error)
    # A statement the database does not understand is a mistake of ours, not a failure of its.
    return InternalError("the database refused the statement")


def is_value_rejected(error: PeciaError) -> bool:
    """Whether the database is well, and will not hold what was written: not now, and not later."""
    return isinstance(error.__cause__, REJECTED_VALUE_ERRORS) and not _is_server_limit(
        error.__cause__
    )


def _is_server_limit(error: BaseException) -> bool:
    return (
        isinstance(error, pg.ProgramLimitExceeded)
        and error.diag.source_file in SERVER_LIMIT_SOURCES
    )


def _from_own_sqlstate(error: psycopg.Error) -> PeciaError:
    """Raised by our own functions, with codes of our own."""
    said = error.diag.message_primary or "refused"
    match error.sqlstate:
        case "PE401":
            return refused_token(said)
        case "PE404":
            return NotFound(said)
        case "PE429":
            most, used = (error.diag.message_detail or "0 0").split()
            return QuotaExceeded(
                f"the tenant's quota of {said} is used up ({used} of {most})",
                quota=said,
                limit=int(most),
                used=int(used),
            )
        case _:
            return Forbidden(said)


def _taken_error(error: psycopg.Error) -> PeciaError:
    # Under row-level security the database does not say which value it was, only which rule.
    rule = (error.diag.constraint_name or "").removesuffix("_key").removesuffix("_pkey")
    field = rule.split("tenant_id_")[-1] or "value"
    return Conflict(
        f"this {field} exists already", field=field, hint=f"Choose another {field}, or change it."
    )


def _reference_error(error: psycopg.Error) -> PeciaError:
    return Conflict("this refers to something missing", constraint=error.diag.constraint_name)


def _out_of_shape(error: psycopg.Error) -> PeciaError:
    field = error.diag.column_name or error.diag.constraint_name or "value"
    return InvalidInput("a value is not one the store accepts", field=field)


def _not_allowed(error: psycopg.Error) -> PeciaError:
    return Forbidden("your role does not allow this change")


def _disk_full(error: psycopg.Error) -> PeciaError:
    return StorageFull("the database's disk is full; free space, then try again")


def _read_only(error: psycopg.Error) -> PeciaError:
    return Forbidden("this call is read-only")


def _too_slow(error: psycopg.Error) -> PeciaError:
    return Timeout("the database took too long")


def _away(error: psycopg.Error) -> PeciaError:
    return UpstreamError("the database is not reachable")


_KNOWN: Sequence[tuple[type[psycopg.Error], Callable[[psycopg.Error], PeciaError]]] = (
    (pg.UniqueViolation, _taken_error),
    (pg.ForeignKeyViolation, _reference_error),
    *((kind, _out_of_shape) for kind in REJECTED_VALUE_ERRORS),
    (pg.InsufficientPrivilege, _not_allowed),
    (pg.DiskFull, _disk_full),
    (pg.ReadOnlySqlTransaction, _read_only),
    (pg.QueryCanceled, _too_slow),
    (psycopg.OperationalError, _away),
)
