"""Builds the ckf feature with its adapters: the corpus and the web."""

from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.fetch import Fetcher, HttpFetchLimits
from pecia.adapters.http.guard import EgressGuard
from pecia.app.composition.chat_models import build_provider_models
from pecia.features.cascade.registry import CascadeRegistry
from pecia.features.cascade.resources import ConceptResources
from pecia.features.ckf.feature import ckf_feature
from pecia.features.ckf.library.store import StoredLibrary
from pecia.features.ckf.llm.quota import StoredQuotaCounter
from pecia.features.ckf.model import ReadSource
from pecia.features.ckf.pages.context import PageServices
from pecia.features.ckf.settings import CkfSettings
from pecia.features.ckf.sources import StoredFiles, add_concept_reader, file_source_reader
from pecia.features.ckf.tools.compile_llm import LlmServices
from pecia.features.lake.settings import LakeSettings
from pecia.kernel.corpus.file_uri import file_uri, parse_file_uri
from pecia.kernel.errors import UpstreamError
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.store.store import Store

MAX_PACKAGE_BYTES = 2_000_000
FETCH_TIMEOUT_S = 10.0


def build_ckf(context: FeatureContext) -> Feature:
    """The ckf feature."""
    settings, store = context.settings, context.store
    kernel, llm = settings.kernel, settings.part(CkfSettings)
    # Any caller of any tenant names the address: on a server none is trusted for all.
    own = settings.part(LakeSettings).trusted_hosts if kernel.mode == "local" else ()
    guard = EgressGuard(EgressRules.from_trusted_hosts(own))

    async def fetch(url: str) -> bytes:
        limits = HttpFetchLimits(max_bytes=MAX_PACKAGE_BYTES, timeout_s=FETCH_TIMEOUT_S)
        async with Fetcher(guard) as fetcher:
            found = await fetcher.fetch(url, limits=limits)
        if found.status != 200:
            raise UpstreamError(f"{url} answered {found.status}", status=found.status)
        return found.body

    return ckf_feature(
        kernel.public_url or f"http://{kernel.host}:{kernel.port}",
        _sources(store, context.service(CascadeRegistry)),
        StoredLibrary(store, context.corpus),
        PageServices("ckf" in kernel.public_toolsets, fetch, StoredFiles(store, file_uri)),
        LlmServices(build_provider_models(llm), llm, StoredQuotaCounter(store)),
    )


def _sources(store: Store, cascades: CascadeRegistry) -> ReadSource:
    """Reads files and documents by `pecia://file/…`, and concepts by `okf://…`."""
    files = file_source_reader(store, _address)
    return add_concept_reader(files, ConceptResources(cascades).text)


def _address(uri: str) -> tuple[str, str]:
    """By URI, or as `pecia search` prints it: `SOURCE/KEY`."""
    source_id, slash, key = uri.partition("/")
    if slash and key and "://" not in uri:
        return source_id, key
    found = parse_file_uri(uri)
    return found.source_id, found.key
