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

from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.transport import GuardedTransport
from pecia.adapters.models.errors import translate_error
from pecia.adapters.models.key_transport import KeyedTransport, require_valid_key
from pecia.adapters.models.messages import (
    ChatMessage,
    ChatOptions,
    StructuredReply,
    TextReply,
    TokenUsage,
)
from pecia.adapters.models.providers import ModelProvider, require_secure_origin
from pecia.adapters.models.pydantic_ai_client import (
    ModelCall,
    ModelReply,
    load_library,
    send_request,
)
from pecia.adapters.models.response_schema import ResponseSchema, SchemaMismatch, parse_json_object
from pecia.kernel.errors import MissingField, UpstreamError

T = TypeVar("T")


class ProviderChatModel:
    """One model of one provider, reached under the guard's rules. It holds no key."""

    def __init__(
        self,
        provider: ModelProvider,
        *,
        name: str = "",
        guard: EgressGuard | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.provider = provider
        self.name = name or provider.default_model
        self._guard = guard or EgressGuard()
        self._tls = tls
        if not self.name:
            raise MissingField(f"{provider.name} has no default model", field="model")

    async def chat(
        self, messages: Sequence[ChatMessage], *, key: str, options: ChatOptions | None = None
    ) -> TextReply:
        """What the model says to this. An empty key is for a server that needs none."""
        said = await self._ask(
            ModelCall(self.provider, self.name, messages, options or ChatOptions()), key
        )
        return TextReply(said.text, said.model, said.usage, said.truncated)

    async def chat_structured(
        self,
        messages: Sequence[ChatMessage],
        shape: ResponseSchema[T],
        *,
        key: str,
        options: ChatOptions | None = None,
    ) -> StructuredReply[T]:
        """A value of this shape. An answer that misses it is asked for again, with the reason."""
        request = ModelCall(self.provider, self.name, messages, options or ChatOptions(), shape)
        usage, problem = TokenUsage(), ""
        for attempt in range(1, request.options.attempts + 1):
            said = await self._ask(request, key)
            usage += said.usage
            self._require_not_truncated(said)
            try:
                found = (
                    parse_json_object(said.text) if said.called_with is None else said.called_with
                )
                return StructuredReply(shape.check(found), said.model, usage, attempt)
            except SchemaMismatch as misfit:
                problem = str(misfit)
            request = replace(
                request, messages=[*request.messages, *_correction_messages(said, problem)]
            )
        raise UpstreamError(
            f"the answers of {self.provider.name} miss the shape: {problem}",
            provider=self.provider.name,
            reason="bad_answer",
        )

    async def _ask(self, request: ModelCall, key: str) -> ModelReply:
        origin = require_secure_origin(self.provider, self._guard.rules)
        header = self.provider.key_header(require_valid_key(key)) if key else None
        await run_sync(load_library, self.provider.wire)
        timeout_s = request.options.timeout_s
        inner = GuardedTransport(self._guard, tls=self._tls)
        transport = KeyedTransport(inner, origin, header)
        # Ours is the deadline that counts; the client's own is for what would outlive it.
        client = httpx2.AsyncClient(transport=transport, timeout=timeout_s + 1, trust_env=False)
        async with client:
            try:
                with anyio.fail_after(timeout_s):
                    return self._require_not_empty(await send_request(request, client))
            # An answer that is not what the library expects can raise anything at all in it.
            except Exception as error:  # noqa: BLE001
                failure = translate_error(error, self.provider, timeout_s=timeout_s, key=key)
        # Raised out here, it is not linked to the library's error and what that holds.
        raise failure

    def _require_not_empty(self, said: ModelReply) -> ModelReply:
        # Some libraries make an empty answer of what they do not understand.
        if not said.text and said.called_with is None and not said.truncated:
            name = self.provider.name
            raise UpstreamError(f"{name} answered nothing", provider=name, reason="no_answer")
        return said

    def _require_not_truncated(self, said: ModelReply) -> None:
        if said.truncated:
            raise UpstreamError(
                f"the answer of {self.provider.name} was cut off at its token limit",
                provider=self.provider.name,
                reason="cut_off",
                retryable=False,
                hint="Raise max_tokens, or send less.",
            )


def _correction_messages(said: ModelReply, problem: str) -> list[ChatMessage]:
    answered = said.text or orjson.dumps(said.called_with).decode()
    asked = f"That does not fit: {problem}. Answer again, in the shape that was asked for."
    return [ChatMessage("assistant", answered), ChatMessage("user", asked)]
