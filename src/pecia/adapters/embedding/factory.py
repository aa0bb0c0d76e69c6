"""The configured embedder. The model is loaded with the first text."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from anyio.to_thread import run_sync

from pecia.adapters.embedding.model_client import SharedEmbedder
from pecia.adapters.embedding.model_files import ModelFiles, find_shipped_model, load_model_files
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.adapters.embedding.settings import ChosenKind, EmbedSettings, Kind
from pecia.adapters.embedding.static import StaticEmbedder
from pecia.kernel.corpus.vectors.embedder import Embedder

if TYPE_CHECKING:
    from pecia.adapters.embedding.endpoint import EndpointEmbedder
    from pecia.adapters.embedding.lexicon import Lexicon


@asynccontextmanager
async def open_embedder(
    settings: EmbedSettings, home: Path | None = None
) -> AsyncGenerator[Embedder | None]:
    """One embedder for the life of a process; None where search is lexical only.

    With a home, models run in its process, if there is one.
    """
    threads = settings.threads
    match choose_kind(settings.kind):
        case "none":
            yield None
        case "polyglot":
            from pecia.adapters.embedding.polyglot import PolyglotEmbedder, find_student

            english, others = find_shipped_model(), find_student()
            async with _model(english, home, threads) as one, _model(others, home, threads) as two:
                yield PolyglotEmbedder(one, two)
        case "minilm":
            async with _model(find_shipped_model(), home, threads) as model:
                yield model
        case "onnx":
            async with _model(await _own_files(settings), home, threads) as model:
                yield model
        case "static":
            yield StaticEmbedder(await _own_files(settings))
        case "endpoint":
            async with _endpoint(settings) as embedder:
                yield embedder


@asynccontextmanager
async def _model(
    files: ModelFiles, home: Path | None, threads: int
) -> AsyncGenerator[OnnxEmbedder | SharedEmbedder]:
    if home is None:
        yield OnnxEmbedder(files, threads=threads)
        return
    shared = SharedEmbedder(files, home, threads=threads)
    try:
        yield shared
    finally:
        await shared.close()


def open_lexicon(settings: EmbedSettings) -> "Lexicon | None":
    """The words of other languages in English, where the embedder knows them too."""
    if choose_kind(settings.kind) != "polyglot":
        return None
    from pecia.adapters.embedding.lexicon import find_lexicon

    return find_lexicon()


def choose_kind(kind: Kind) -> ChosenKind:
    """The kind that `auto` stands for on this install; any other as it is."""
    if kind == "auto":
        return "polyglot" if find_spec("pecia_polyglot") else "minilm"
    return kind


def _endpoint(settings: EmbedSettings) -> "EndpointEmbedder":
    from pecia.adapters.embedding.endpoint import EndpointEmbedder, EndpointOptions
    from pecia.adapters.http.egress_rules import EgressRules
    from pecia.adapters.http.guard import EgressGuard
    from pecia.adapters.models.providers import compatible_provider

    url = cast(str, settings.url)
    return EndpointEmbedder(
        compatible_provider(url, default_model=settings.model),
        language=settings.language,
        key=settings.key.get_secret_value() if settings.key else "",
        options=EndpointOptions(settings.timeout_s, settings.retries, settings.batch),
        # What the operator names in a setting may be an internal host.
        guard=EgressGuard(EgressRules.from_trusted_hosts([_origin_of(url)])),
    )


async def _own_files(settings: EmbedSettings) -> ModelFiles:
    def read() -> ModelFiles:
        # The settings have checked that both are there.
        return load_model_files(
            cast(Path, settings.model_file),
            cast(Path, settings.tokenizer_file),
            max_tokens=settings.max_tokens,
            language=settings.language,
        )

    return await run_sync(read)


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        return str(ip_address(host))
    except ValueError:
        return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
