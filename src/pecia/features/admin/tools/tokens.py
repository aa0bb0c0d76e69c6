"""Personal access tokens: shown once, revoked at once, never with more scopes than the maker's."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from pydantic import Field

from pecia.kernel.errors import Forbidden, NotFound, list_hint
from pecia.kernel.identity import pat
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "tokens.sql")
FEATURE = "admin"


class TokenOut(Output):
    id: UUID
    kind: str
    user: str
    label: str
    hint: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewTokenOut(TokenOut):
    token: str = Field(description="Shown this once; only its hash is stored.")


class TokensOut(Output):
    tokens: list[TokenOut]
    next_cursor: str | None = None


class ListTokens(Input):
    user: str | None = Field(default=None, max_length=200, description="Only this user's.")
    include_revoked: bool = False
    cursor: UUID | None = None
    limit: int = Field(default=50, ge=1, le=200)


class MakeToken(Input):
    label: str = Field(min_length=1, max_length=200, description="What it is for.")
    scopes: list[Scope] = Field(
        default_factory=lambda: [Scope.SEARCH, Scope.READ], min_length=1, max_length=4
    )
    user: str | None = Field(default=None, max_length=200, description="Yourself unless given.")
    expires_in_days: int | None = Field(default=90, ge=1, le=3650, description="Null: never.")


class TokenTarget(Input):
    id: UUID


@dataclass(frozen=True, slots=True)
class TokenTools:
    """The handlers over tokens."""

    store: Store

    async def list_tokens(self, call: Call, ask: ListTokens) -> TokensOut:
        """Your tokens, or as an administrator everybody's. Secrets are not stored."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.fetch_all(
                SQL["tokens"],
                user=ask.user,
                include_revoked=ask.include_revoked,
                after=ask.cursor,
                limit=ask.limit + 1,
            )
        more = len(rows) > ask.limit
        page = rows[: ask.limit]
        return TokensOut(
            tokens=[TokenOut(**it) for it in page],
            next_cursor=str(page[-1]["id"]) if more else None,
        )

    async def make_token(self, call: Call, ask: MakeToken) -> NewTokenOut:
        """Make a personal access token. It is shown this once and never again."""
        _require_own_scopes(call, ask.scopes)
        secret = pat.mint()
        days = ask.expires_in_days
        async with self.store.writing(call.caller, call.trace) as tx:
            made = await tx.fetch_one(
                SQL["make_token"],
                f"no user {ask.user!r}",
                user=ask.user or call.caller.user,
                hash=pat.check(secret),
                hint=pat.hint(secret),
                label=ask.label,
                scopes=[it.value for it in dict.fromkeys(ask.scopes)],
                expires_at=datetime.now(UTC) + timedelta(days=days) if days else None,
            )
            row = await tx.fetch_one(SQL["token"], "the token was not made", id=made["id"])
        return NewTokenOut(token=secret, **row)

    async def revoke_token(self, call: Call, ask: TokenTarget) -> TokenOut:
        """Revoke a token, for good. It stops working with the next call."""
        async with self.store.writing(call.caller, call.trace) as tx:
            if not await tx.execute(SQL["revoke_token"], id=ask.id):
                raise NotFound(f"no token {ask.id}", hint=list_hint("pecia token list"))
            return TokenOut(**await tx.fetch_one(SQL["token"], f"no token {ask.id}", id=ask.id))


def token_tools(store: Store) -> tuple[AnyTool, ...]:
    """The tools over tokens."""
    it = TokenTools(store)
    return (
        Tool(FEATURE, "list_tokens", Scope.READ, ListTokens, TokensOut, it.list_tokens),
        Tool(
            FEATURE,
            "make_token",
            Scope.ADMIN,
            MakeToken,
            NewTokenOut,
            it.make_token,
            read_only=False,
        ),
        Tool(
            FEATURE,
            "revoke_token",
            Scope.ADMIN,
            TokenTarget,
            TokenOut,
            it.revoke_token,
            read_only=False,
            destructive=True,
            idempotent=True,
        ),
    )


def _require_own_scopes(call: Call, scopes: list[Scope]) -> None:
    """PostgreSQL enforces this too; here the error names the scope."""
    for scope in scopes:
        if scope not in call.caller.scopes:
            raise Forbidden(
                f"you cannot give a token the scope {scope.value}, which yours does not have",
                scope=scope.value,
            )
