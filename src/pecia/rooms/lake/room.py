"""The lake: files found by search, read by window and cited; crawled from where they lie."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pecia.kernel.corpus.search import Corpus
from pecia.kernel.errors import Json
from pecia.kernel.jobs.job import Job
from pecia.kernel.room import Room
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.rooms.lake.browse import browse_tools
from pecia.rooms.lake.capacity import Capacity, Figures, capacity_route
from pecia.rooms.lake.census import census_tools
from pecia.rooms.lake.crawl import Connect, Crawler, OfShard, OfSource
from pecia.rooms.lake.credential import Credentials
from pecia.rooms.lake.delivery import delivery_job
from pecia.rooms.lake.files import Extraction
from pecia.rooms.lake.finding import finding_tools
from pecia.rooms.lake.ingest import Intake
from pecia.rooms.lake.keeping import Keeping, RequirePlace, keeping_tools
from pecia.rooms.lake.links import Links
from pecia.rooms.lake.prompt import answer_from_sources
from pecia.rooms.lake.readers import Readers
from pecia.rooms.lake.reading import reading_tools
from pecia.rooms.lake.resources import file_resources, file_template
from pecia.rooms.lake.uploads import upload_tools
from pecia.rooms.lake.watching import Watch, Watcher

CRAWL_S = 6 * 3600


@dataclass(frozen=True, slots=True)
class Ways:
    """How the lake reaches outside: places that files lie in, and children that read them."""

    connect: Connect
    extraction: Extraction
    watch: Watch
    credentials: Credentials
    require_place: RequirePlace
    confirmations: Confirmations


@dataclass(frozen=True, slots=True)
class Given:
    """What the installation sets: links to originals if they are on, and limits to be told."""

    index_root: Path
    links: Links | None = None
    limits: Mapping[str, Json] = field(default_factory=dict[str, Json])


def lake(store: Store, corpus: Corpus, ways: Ways, given: Given) -> Room:
    """The room, over one store."""
    figures = Figures()
    capacity = Capacity(corpus, figures, given.index_root, given.limits)
    readers = Readers(ways.extraction)
    crawling, reading = lake_jobs(ways, readers)
    return Room(
        "lake",
        tools=(
            *finding_tools(corpus, given.links, figures),
            *reading_tools(store),
            *browse_tools(store),
            *keeping_tools(
                Keeping(store, crawling, ways.credentials, ways.require_place, ways.confirmations)
            ),
            *census_tools(store),
            *upload_tools(store, crawling),
        ),
        resources=file_resources(store),
        templates=(file_template(store),),
        routes=(capacity_route(capacity),),
        prompts=(answer_from_sources(),),
        jobs=(crawling, reading, delivery_job(ways.connect)),
        tending=(
            readers.keep,
            ways.credentials.announce,
            Watcher(store, crawling, reading, ways.watch).run,
        ),
        migrations="pecia.rooms.lake.schema",
    )


def lake_jobs(ways: Ways, readers: Readers) -> tuple[Job, Job]:
    """The job that lists a source, and the one that reads what was found new in a shard of it."""
    intake = Intake(ways.connect, readers.reading)
    reading = Job(
        "lake",
        "read",
        intake.read_shard,
        OfShard,
        key=lambda it: f"{it.source_id}\n{it.shard}",
        timeout_s=CRAWL_S,
    )
    crawler = Crawler(ways.connect, reading)
    crawling = Job(
        "lake", "crawl", crawler.crawl, OfSource, key=lambda it: it.source_id, timeout_s=CRAWL_S
    )
    return crawling, reading
