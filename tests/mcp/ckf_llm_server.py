"""A served ckf feature whose models are a loopback provider, and a small source for it to read."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from pecia.adapters.models.chat_model import ProviderChatModel
from pecia.adapters.models.providers import PROVIDERS
from pecia.app.app import App
from pecia.app.composition.chat_models import ProviderModel, ProviderModels
from pecia.features.ckf.feature import no_sources
from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.library.library import ShippedLibrary
from pecia.features.ckf.llm.quota import StoredQuotaCounter
from pecia.features.ckf.model import ReadSource
from pecia.features.ckf.settings import CkfSettings
from pecia.features.ckf.tools.compile_llm import LlmServices, compile_llm_tool, llm_compiler
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.feature import Feature
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.view import combine_tools
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia, open_unserved
from tests.provider import Calls, LoopbackProvider

PATH = "/api/mcp"
SOURCE = (
    "# Refunds\n\n"
    "A refund is money that is returned to a buyer. Refunds must be paid within 14 days. "
    "If the item is damaged, the shop pays the shipping costs of 24.90 euros.\n\n"
    "# Limits\n\n"
    "Vouchers are not refunded, unless they were bought less than 30 days ago."
)
KEYS = {
    "openai": "sk-borrowed-0123456789abcdefABCDEF",
    "anthropic": "sk-ant-borrowed-0123456789abcdefABC",
    "gemini": "AIzaBorrowed0123456789abcdefABCDEF",
    "deepseek": "sk-0123456789abcdef0123456789abcdef",
    "openrouter": "sk-or-v1-borrowed-0123456789abcdef",
}
KEY = KEYS["openai"]


def item(quote: str, **fields: Any) -> dict[str, Any]:
    """An item as a model gives it, with one quotation."""
    trace = {"source_basis": "explicit", "confidence": 0.95, "source_excerpts": [quote]}
    return {**trace, **fields}


def answer(**sections: Any) -> dict[str, Any]:
    """What a good model says of SOURCE, with other sections where a test wants them."""
    refund = "A refund is money that is returned to a buyer."
    paid = "Refunds must be paid within 14 days."
    voucher = "Vouchers are not refunded, unless they were bought less than 30 days ago."
    return {
        "core_intent": {"primary_purpose": "To tell buyers when they get their money back."},
        "entities": [item(refund, name="shop", type="organisation", description="It sells.")],
        "concepts": [item(refund, label="refund", definition="Money returned to a buyer.")],
        "decision_rules": [
            item(paid, condition="a refund is due", decision="pay it within 14 days")
        ],
        "exceptions": [
            item(
                voucher,
                general_rule="Vouchers are not refunded",
                exception_case="bought less than 30 days ago",
            )
        ],
        "retrieval_chunks": [
            item(paid, title="Refunds", compressed_knowledge="Refunds are paid within 14 days.")
        ],
        "atomic_units": [
            item(paid, statement="Refunds must be paid within 14 days.", type="rule"),
            item(voucher, statement=voucher, type="rule"),
        ],
        "qa_pairs": [
            item(
                paid,
                question="When are refunds paid?",
                ideal_answer="Within 14 days.",
                source_concepts=["refund"],
            )
        ],
        **sections,
    }


@dataclass(frozen=True, slots=True)
class Llm:
    """A server, and who may call it: ana administers, bo is a member, a stranger has no token."""

    pecia: Pecia
    tokens: Mapping[tuple[str, str], str]

    async def call(self, who: str = "bo", /, **arguments: Any) -> dict[str, Any]:
        """The result of ckf.compile_llm for that caller."""
        params = {"name": "ckf.compile_llm", "arguments": {"text": SOURCE, **arguments}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        response = await self.pecia.http.post(PATH, json=body, headers=self.headers(who))
        return response.json()["result"]

    async def made(self, who: str = "bo", /, **arguments: Any) -> dict[str, Any]:
        result = await self.call(who, **arguments)
        assert not result.get("isError"), result["content"]
        return result["structuredContent"]

    async def error(self, who: str = "bo", /, **arguments: Any) -> dict[str, Any]:
        result = await self.call(who, **arguments)
        assert result.get("isError"), result
        return result["structuredContent"]["error"]

    def headers(self, who: str) -> dict[str, str]:
        token = self.tokens.get(("north", who))
        return bearing(token) if token else {}


@asynccontextmanager
async def serving_llm(
    database: DatabaseLogins,
    home: Path,
    provider: LoopbackProvider,
    read_source: ReadSource = no_sources,
    **settings: Any,
) -> AsyncGenerator[Llm]:
    """The feature, also for anonymous users, with this provider instead of every other."""
    async with open_unserved(database, home) as first:
        tokens = first.tokens
    held = CkfSettings(**settings)
    async with open_pecia(
        database,
        home,
        mounts=[mount_mcp],
        change=lambda app: with_models(app, asking_of(provider, held, app.store), read_source),
        public_toolsets="ckf",
        public_tenant="north",
    ) as pecia:
        yield Llm(pecia, tokens)


def asking_of(provider: LoopbackProvider, settings: CkfSettings, store: Store) -> LlmServices:
    there = {name: provider.as_provider(name) for name in PROVIDERS}
    own = ProviderModel(ProviderChatModel(provider.as_provider(), guard=provider.guard))
    operator = own if settings.operator_url else None
    return LlmServices(
        ProviderModels(operator, there, provider.guard), settings, StoredQuotaCounter(store)
    )


def with_models(app: App, asking: LlmServices, read_source: ReadSource = no_sources) -> App:
    """The same App, whose compiler asks other models."""
    made = compile_llm_tool(
        llm_compiler(read_source, asking, PackageHandles(ShippedLibrary(), read_source))
    )
    features = tuple(_asking(it, made) if it.name == "ckf" else it for it in app.features)
    return replace(
        app,
        features=features,
        full_view=combine_tools(tool for feature in features for tool in feature.tools),
    )


def _asking(feature: Feature, made: AnyTool) -> Feature:
    tools = (
        replace(made, public=it.public) if it.name == "ckf.compile_llm" else it
        for it in feature.tools
    )
    return replace(feature, tools=tuple(tools))


def operated(**others: Any) -> Mapping[str, Any]:
    """Settings of a server with a model of its own."""
    known = {
        "operator_url": "http://127.0.0.1/v1",
        "operator_model": "loopback",
        "operator_key": SecretStr("the-key-of-the-house"),
    }
    return {**known, **others}


GOOD = Calls(answer(), tokens=(900, 300))
