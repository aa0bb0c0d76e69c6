"""A chat model: words in, words or one checked value out.

The key comes with each call. No object that outlives the call holds it, and it appears in no log,
no error and no representation.
"""

import ssl
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import anyio
import httpx2
import orjson
from anyio.to_thread import run_sync

from pecia.adapters.http.guard import Guard
from pecia.adapters.http.transport import GuardedTransport
from pecia.adapters.llm.failure import failure_of
from pecia.adapters.llm.keyed import KeyedTransport, checked_key
from pecia.adapters.llm.library import Ask, Said, ask, load
from pecia.adapters.llm.providers import Provider, checked_origin
from pecia.adapters.llm.shape import Misfit, Shape, object_in
from pecia.adapters.llm.words import Answer, Message, Options, Reply, Usage
from pecia.kernel.errors import MissingField, UpstreamError

T = TypeVar("T")


class Model:
    """One model of one provider, reached under the guard's rules. It holds no key."""

    def __init__(
        self,
        provider: Provider,
        *,
        name: str = "",
        guard: Guard | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.provider = provider
        self.name = name or provider.default_model
        self._guard = guard or Guard()
        self._tls = tls
        if not self.name:
            raise MissingField(f"{provider.name} has no default model", field="model")

    async def chat(
        self, messages: Sequence[Message], *, key: str, options: Options | None = None
    ) -> Reply:
        """What the model says to this. An empty key is for a server that needs none."""
        said = await self._ask(Ask(self.provider, self.name, messages, options or Options()), key)
        return Reply(said.text, said.model, said.usage, said.truncated)

    async def structured(
        self,
        messages: Sequence[Message],
        shape: Shape[T],
        *,
        key: str,
        options: Options | None = None,
    ) -> Answer[T]:
        """A value of this shape. An answer that misses it is asked for again, with the reason."""
        request = Ask(self.provider, self.name, messages, options or Options(), shape)
        usage, problem = Usage(), ""
        for attempt in range(1, request.options.attempts + 1):
            said = await self._ask(request, key)
            usage += said.usage
            self._refuse_cut_off(said)
            try:
                found = object_in(said.text) if said.called_with is None else said.called_with
                return Answer(shape.check(found), said.model, usage, attempt)
            except Misfit as misfit:
                problem = str(misfit)
            request = replace(request, messages=[*request.messages, *_corrected(said, problem)])
        raise UpstreamError(
            f"the answers of {self.provider.name} miss the shape: {problem}",
            provider=self.provider.name,
            reason="bad_answer",
        )

    async def _ask(self, request: Ask, key: str) -> Said:
        origin = checked_origin(self.provider, self._guard.rules)
        header = self.provider.key_header(checked_key(key)) if key else None
        await run_sync(load, self.provider.wire)
        timeout_s = request.options.timeout_s
        inner = GuardedTransport(self._guard, tls=self._tls)
        transport = KeyedTransport(inner, origin, header)
        # Ours is the deadline that counts; the client's own is for what would outlive it.
        client = httpx2.AsyncClient(transport=transport, timeout=timeout_s + 1, trust_env=False)
        async with client:
            try:
                with anyio.fail_after(timeout_s):
                    return self._not_empty(await ask(request, client))
            # An answer that is not what the library expects can raise anything at all in it.
            except Exception as error:  # noqa: BLE001
                failure = failure_of(error, self.provider, timeout_s=timeout_s, key=key)
        # Raised out here, it is not linked to the library's error and what that holds.
        raise failure

    def _not_empty(self, said: Said) -> Said:
        # Some libraries make an empty answer of what they do not understand.
        if not said.text and said.called_with is None and not said.truncated:
            name = self.provider.name
            raise UpstreamError(f"{name} answered nothing", provider=name, reason="no_answer")
        return said

    def _refuse_cut_off(self, said: Said) -> None:
        if said.truncated:
            raise UpstreamError(
                f"the answer of {self.provider.name} was cut off at its token limit",
                provider=self.provider.name,
                reason="cut_off",
                retryable=False,
                hint="Raise max_tokens, or send less.",
            )


def _corrected(said: Said, problem: str) -> list[Message]:
    answered = said.text or orjson.dumps(said.called_with).decode()
    asked = f"That does not fit: {problem}. Answer again, in the shape that was asked for."
    return [Message("assistant", answered), Message("user", asked)]
