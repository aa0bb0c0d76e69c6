"""Confirmation by a person of what an agent requests, outside the agent's own request.

A client that supports elicitation is asked. For others the action waits under an id until a person
confirms it elsewhere; then the same call runs it, once. No tool confirms anything.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Literal, LiteralString, TypeAlias

import orjson

from pecia.kernel.errors import ConfirmationRequired, Forbidden, Json, NotFound, Unprocessable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call, ClientReply, FormWithheld

SQL = load_queries("pecia.kernel.tool", "confirmation.sql")

CONFIRMATION_TTL_S = 900.0
MAX_PENDING = 100
"""Pending actions of one user; the oldest are dropped."""

MAX_QUESTION_CHARS = 20_000
CONTEXT = "confirmation"
KEY = "confirm"
FORM: Mapping[str, Json] = {"type": "object", "properties": {}}

ConfirmationKind: TypeAlias = Literal["folder", "program", "remote", "removal", "tools"]


@dataclass(frozen=True, slots=True)
class ConfirmableAction:
    """The action. `facts` identify it fully; they are never shown nor stored."""

    kind: ConfirmationKind
    question: str
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PendingConfirmation:
    """A pending action."""

    id: str
    tool: str
    kind: str
    question: str
    asked_at: datetime
    expires_at: datetime
    user: str

    def as_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "tool": self.tool,
            "kind": self.kind,
            "question": self.question,
            "asked_at": self.asked_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "user": self.user,
        }


@dataclass(frozen=True, slots=True)
class Confirmations:
    """Pending actions of all tenants."""

    store: Store
    keyring: Keyring

    async def require(self, call: Call, act: ConfirmableAction) -> None:
        """Returns if a person confirmed exactly this; else asks for it, and raises."""
        digest = self._digest(call, act)
        if digest in call.confirmed:
            return
        if not await self._spend(call, digest):
            await self._ask_person(call, act, digest)
        call.confirmed.add(digest)

    async def list_pending(self, caller: Caller) -> list[PendingConfirmation]:
        """Pending actions of the caller's tenant, oldest first."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["pending"], tenant_id=caller.tenant_id)
        return [PendingConfirmation(**it) for it in rows]

    async def confirm(self, caller: Caller, confirmation_id: str) -> None:
        """Confirm as this caller, who is a person: the calling interface has made sure of that."""
        await self._answer(SQL["confirm"], caller, confirmation_id)

    async def refuse(self, caller: Caller, confirmation_id: str) -> None:
        await self._answer(SQL["refuse"], caller, confirmation_id)

    async def _answer(self, statement: LiteralString, caller: Caller, confirmation_id: str) -> None:
        async with self.store.system() as tx:
            found = await tx.fetch_optional(
                statement,
                tenant_id=caller.tenant_id,
                id=confirmation_id,
                credential_id=caller.credential_id,
            )
        if found is None:
            raise NotFound(
                f"no pending confirmation {confirmation_id[:40]!r}: answered, or expired",
                hint="pecia confirm lists pending confirmations",
            )

    async def _spend(self, call: Call, digest: bytes) -> bool:
        caller = call.caller
        async with self.store.system() as tx:
            row = await tx.fetch_optional(
                SQL["spend"], tenant_id=caller.tenant_id, user_id=caller.user_id, digest=digest
            )
        return row is not None

    async def _ask_person(self, call: Call, act: ConfirmableAction, digest: bytes) -> None:
        withheld = ""
        try:
            reply = await _reply(call, act)
        except FormWithheld as error:
            reply, withheld = ClientReply("cancel"), f" No form was shown: {error.message}."
        if reply.action == "accept":
            return
        if reply.action == "decline":
            raise Forbidden("a person was asked and refused", question=act.question)
        waits = await self._add_pending(call, act, digest)
        raise ConfirmationRequired(
            f"a person must confirm this first: `pecia confirm {waits}` in a "
            f"terminal, or the console. Then make the same call again.{withheld}",
            confirmation=waits,
            kind=act.kind,
            question=act.question,
            expires_in_s=CONFIRMATION_TTL_S,
        )

    async def _add_pending(self, call: Call, act: ConfirmableAction, digest: bytes) -> str:
        caller = call.caller
        whose = {"tenant_id": caller.tenant_id, "user_id": caller.user_id}
        async with self.store.system() as tx:
            await tx.execute(SQL["forget"], **whose, most=MAX_PENDING - 1)
            row = await tx.fetch_one(
                SQL["ask"],
                "no confirmation was made",
                **whose,
                id=secrets.token_hex(6),
                tool=call.trace.tool,
                kind=act.kind,
                question=act.question,
                digest=digest,
                lasts_s=CONFIRMATION_TTL_S,
            )
        return str(row["id"])

    def _digest(self, call: Call, act: ConfirmableAction) -> bytes:
        """A keyed digest of the action: there may be a password among the facts."""
        whole = [call.trace.tool, act.kind, act.question, dict(act.facts)]
        said = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
        return sha256(self.keyring.sign(CONTEXT, said).mac).digest()


def escape_unprintable(text: str) -> str:
    """Untrusted text on one line, with control characters spelled out: what a person confirms must
    look like what it is."""
    return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in text)


async def _reply(call: Call, act: ConfirmableAction) -> ClientReply:
    """The answer of the person at the client; `cancel` if there is none."""
    if len(act.question) > MAX_QUESTION_CHARS:
        raise Unprocessable(
            f"the question for a person has at most {MAX_QUESTION_CHARS} characters; ask for less"
        )
    try:
        return await call.elicit_confirmation(KEY, act.question, FORM)
    except FormWithheld:
        raise
    except Unprocessable:
        return ClientReply("cancel")
