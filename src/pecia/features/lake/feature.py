"""The lake: files crawled from their sources, found by search, read by window and cited."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.features.lake.answer_model import AnswerModel
from pecia.features.lake.capacity import CapacityPage, SearchMetrics, capacity_route
from pecia.features.lake.crawl.crawler import (
    CrawlArguments,
    Crawler,
    IngestArguments,
    OpenConnector,
)
from pecia.features.lake.crawl.file_reader import OpenExtractor
from pecia.features.lake.crawl.ingest import Ingester
from pecia.features.lake.crawl.shared_extractor import SharedExtractor
from pecia.features.lake.crawl.watcher import SourceWatcher, WatchSource
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.downloads.delivery import delivery_job
from pecia.features.lake.downloads.link import DownloadLinks
from pecia.features.lake.prompt import answer_from_sources
from pecia.features.lake.resources import file_resources, file_template
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import Json
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.on_demand import deferred_tools

if TYPE_CHECKING:
    from pecia.features.lake.tools.sources import RequireOrigin

CRAWL_TIMEOUT_S = 6 * 3600
MAX_DESCRIBED = 50

INSTRUCTIONS = (
    "Files of many sources, searched and read under your rights. Begin with search_content: lead "
    "with the most distinctive terms, and search again in the documents' own wording if no hit "
    "answers. Read around a hit with get_file_window, start a little before its seq. Cite the file "
    "by its pecia:// URI, with the page and the exact words. If nothing answers, say so."
)


@dataclass(frozen=True, slots=True)
class LakeAdapters:
    """The lake's adapters: connectors of sources, and text extraction."""

    connect: OpenConnector
    extraction: OpenExtractor
    watch: WatchSource
    credentials: SourceCredentials
    require_origin: "RequireOrigin"
    confirmations: Confirmations
    kinds: ConnectorRegistry


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """Options of the installation: links to originals if enabled, and limits to report."""

    index_root: Path
    links: DownloadLinks | None = None
    limits: Mapping[str, Json] = field(default_factory=dict[str, Json])
    console_url: str = ""
    """Where people open the files of hits; empty where nobody knows."""
    answer_model: AnswerModel | None = None


def build_lake(store: Store, corpus: Corpus, ways: LakeAdapters, options: LakeOptions) -> Feature:
    """The feature, over one store."""
    figures = SearchMetrics()
    capacity = CapacityPage(corpus, figures, options.index_root, options.limits)
    readers = SharedExtractor(ways.extraction)
    crawling, reading = build_lake_jobs(ways, readers)
    return Feature(
        "lake",
        instructions=INSTRUCTIONS,
        tools=(
            *deferred_tools(
                "pecia.features.lake.tools.ask:search_and_ask_tools",
                corpus,
                options.links,
                figures,
                ways.kinds,
                options.console_url,
                options.answer_model,
            ),
            *deferred_tools("pecia.features.lake.tools.quotations:quotation_tools", store),
            *deferred_tools("pecia.features.lake.tools.file_text:file_text_tools", store),
            *deferred_tools(
                "pecia.features.lake.tools.catalog:catalog_tools", store, options.links
            ),
            *deferred_tools(
                "pecia.features.lake.tools.sources:source_tools",
                store,
                crawling,
                ways.credentials,
                ways.require_origin,
                ways.confirmations,
                ways.kinds,
            ),
            *deferred_tools(
                "pecia.features.lake.tools.source_stats:source_stats_tools",
                store,
                corpus.embedder.name if corpus.embedder else None,
            ),
            *deferred_tools("pecia.features.lake.tools.uploads:upload_tools", store, crawling),
        ),
        resources=file_resources(store),
        templates=(file_template(store),),
        routes=(capacity_route(capacity),),
        prompts=(answer_from_sources(),),
        overview=partial(describe_sources, store),
        jobs=(crawling, reading, delivery_job(ways.connect)),
        background_tasks=(
            readers.keep_warm,
            ways.credentials.publish_with_retry,
            SourceWatcher(store, crawling, reading, ways.watch).run,
        ),
    )


async def describe_sources(store: Store, caller: Caller) -> list[str]:
    """The first sources that a caller may search, one line each."""
    async with store.reading(caller) as tx:
        found = await catalog.list_sources(tx, after="", limit=MAX_DESCRIBED)
    return [f"{it.source_id} ({it.protocol})" for it in found if it.enabled]


def build_lake_jobs(ways: LakeAdapters, readers: SharedExtractor) -> tuple[Job, Job]:
    """The job that lists a source, and the one that reads what was found new in a shard of it."""
    intake = Ingester(ways.connect, readers.acquire)
    reading = Job(
        "lake",
        "read",
        intake.ingest_shard,
        IngestArguments,
        key=lambda it: f"{it.source_id}\n{it.shard}",
        timeout_s=CRAWL_TIMEOUT_S,
    )
    crawler = Crawler(ways.connect, reading)
    crawling = Job(
        "lake",
        "crawl",
        crawler.crawl,
        CrawlArguments,
        key=lambda it: it.source_id,
        timeout_s=CRAWL_TIMEOUT_S,
    )
    return crawling, reading
