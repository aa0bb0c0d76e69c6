"""The chat library behind the models, loaded at its first use, because few servers use it.

Nothing of it leaves this module: words and shapes go in, `Said` comes out. It is never given a key.
"""

import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import httpx2

from pecia.adapters.models.gemini_schema import to_gemini_schema
from pecia.adapters.models.key_transport import NO_KEY
from pecia.adapters.models.messages import ChatMessage, ChatOptions, TokenUsage
from pecia.adapters.models.providers import ModelProvider, Wire
from pecia.adapters.models.response_schema import ResponseSchema
from pecia.kernel.errors import Json, Unavailable

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as LibraryModel
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


# The one of Google's two versions that takes system instructions and JSON schemas for every model.
# Said here, it depends neither on the library's release nor on the environment.
GOOGLE_VERSION = "v1beta"
MAX_TIMEOUT_S = 600.0
# As in pyproject.toml. Named itself, because it is to be had wherever Pecia came from.
REQUIREMENT = "pydantic-ai-slim[openai,anthropic,google]>=2,<3"


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back: text, or what the model called the shape with."""

    text: str
    called_with: Json
    model: str
    usage: TokenUsage
    truncated: bool


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to one model of one provider."""

    provider: ModelProvider
    model: str
    messages: Sequence[ChatMessage]
    options: ChatOptions
    shape: ResponseSchema[Any] | None = None


def load_library(wire: Wire) -> None:
    """Import what this wire needs. It takes a second or two at first: call it in a thread."""
    modules = {"anthropic": ["models.anthropic"], "google": ["models.google"]}
    try:
        for module in ("direct", *modules.get(wire, ["models.openai", "models.openrouter"])):
            import_module(f"pydantic_ai.{module}")
    except ImportError as error:
        raise Unavailable(
            f"chat models are not installed: no {error.name}",
            retryable=False,
            hint=f"{shlex.quote(sys.executable)} -m pip install '{REQUIREMENT}'",
        ) from None


async def send_request(request: ModelCall, client: httpx2.AsyncClient) -> ModelReply:
    """Send it over this client and wait for the whole answer."""
    from pydantic_ai.direct import model_request

    response = await model_request(
        _model(request.provider, request.model, client),
        [_to_library_message(message) for message in request.messages],
        model_settings=_settings(request),
        model_request_parameters=_parameters(request),
        instrument=False,
    )
    return _parse_response(response)


def _parse_response(response: "ModelResponse") -> ModelReply:
    calls = response.tool_calls
    # The arguments of a call are JSON, whichever library read them.
    called_with = cast(Json, calls[0].args_as_dict()) if calls else None
    usage = TokenUsage(response.usage.input_tokens, response.usage.output_tokens)
    truncated = response.finish_reason == "length"
    return ModelReply(response.text or "", called_with, response.model_name or "", usage, truncated)


def _to_library_message(message: ChatMessage) -> "ModelMessage":
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        UserPromptPart,
    )

    match message.role:
        case "system":
            return ModelRequest(parts=[SystemPromptPart(message.text)])
        case "user":
            return ModelRequest(parts=[UserPromptPart(message.text)])
        case "assistant":
            return ModelResponse(parts=[TextPart(message.text)])


def _settings(request: ModelCall) -> "ModelSettings":
    from pydantic_ai.settings import ModelSettings

    options = request.options
    settings = ModelSettings(timeout=options.timeout_s, max_retries=0)
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    max_tokens = options.max_tokens or request.provider.max_tokens
    if max_tokens is not None:
        settings["max_tokens"] = max_tokens
    return settings


def _parameters(request: ModelCall) -> "ModelRequestParameters | None":
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    shape = request.shape
    if shape is None:
        return None
    is_google = request.provider.wire == "google"
    schema = to_gemini_schema(shape.name, shape.schema) if is_google else shape.schema
    tool = ToolDefinition(
        name=shape.name,
        description=shape.description or None,
        parameters_json_schema=dict(schema),
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _model(provider: ModelProvider, name: str, client: httpx2.AsyncClient) -> "LibraryModel":
    if provider.wire == "anthropic":
        return _anthropic(provider, name, client)
    if provider.wire == "google":
        return _google(provider, name, client)
    return _openai(provider, name, client)


def _openai(provider: ModelProvider, name: str, client: httpx2.AsyncClient) -> "LibraryModel":
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.deepseek import DeepSeekProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    sdk = AsyncOpenAI(api_key=NO_KEY, base_url=provider.base_url, http_client=client)
    match provider.wire:
        case "openai":
            return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=sdk))
        case "deepseek":
            return OpenAIChatModel(name, provider=DeepSeekProvider(openai_client=sdk))
        case "openrouter":
            return OpenRouterModel(name, provider=OpenRouterProvider(openai_client=sdk))
        case _:
            service = OpenAICompatibleProvider(provider.name, openai_client=sdk)
            return OpenAIChatModel(name, provider=service)


def _anthropic(provider: ModelProvider, name: str, client: httpx2.AsyncClient) -> "LibraryModel":
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    sdk = AsyncAnthropic(api_key=NO_KEY, base_url=provider.base_url, http_client=client)
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=sdk))


def _google(provider: ModelProvider, name: str, client: httpx2.AsyncClient) -> "LibraryModel":
    from google.genai import Client
    from google.genai.types import HttpOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    options = HttpOptions(
        base_url=provider.base_url,
        api_version=GOOGLE_VERSION,
        httpx_async_client=client,
        timeout=math.ceil((client.timeout.read or MAX_TIMEOUT_S) * 1000),
    )
    sdk = Client(api_key=NO_KEY, http_options=options)
    return GoogleModel(name, provider=GoogleProvider(client=sdk))
