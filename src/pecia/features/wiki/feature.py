"""The wiki: Markdown files of a folder, read, searched, linked and written by agents and people."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pecia.features.wiki.config.files import ConfigFiles
from pecia.features.wiki.core.catalog import page_path
from pecia.features.wiki.history.port import OpenVersions
from pecia.features.wiki.jobs import CatalogMaintenance
from pecia.features.wiki.live.cleanup import LiveCleanup
from pecia.features.wiki.live.limits import LiveLimits
from pecia.features.wiki.live.server import LiveServer
from pecia.features.wiki.pages.routes import page_routes
from pecia.features.wiki.preview import PreviewSettings
from pecia.features.wiki.remote.jobs import SyncSchedule, sync_job
from pecia.features.wiki.remote.port import RemoteAccess
from pecia.features.wiki.remote.reconcile import SpaceReconciler
from pecia.features.wiki.settings import WikiSettings
from pecia.features.wiki.skills import WikiSkills
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.feature import Feature
from pecia.kernel.settings.account import expand_user
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.on_demand import deferred_tools

FEATURE = "wiki"

INSTRUCTIONS = (
    f"A wiki: a folder of Markdown documents. Begin at {page_path('')}, which read_document shows: "
    "it lists the documents of the top folder and the catalogs of those below. Read with "
    "read_document, list_documents, search and exec. Write with write_document and edit_document, "
    "and not with file tools of your own: people may have the document open. Say in `summary` what "
    "a change is for. If an answer has `suggestion`, the write waits for somebody to accept it and "
    "the document is unchanged. Files that .gitignore and .okignore leave out are not part of it. "
    "Show the person the preview link once, where an answer has one. If a call fails, say so "
    "before you go on with other tools."
)


@dataclass(frozen=True, slots=True)
class WikiRemotes:
    """What syncs with git remotes need."""

    access: RemoteAccess
    confirmations: Confirmations


def wiki_feature(
    corpus: Corpus,
    settings: WikiSettings,
    versions: OpenVersions,
    roots: SpaceRoots,
    remotes: WikiRemotes,
) -> Feature:
    """The feature, over the spaces in the store."""
    store = roots.store
    configs = ConfigFiles(store, expand_user(Path(settings.user_file), "wiki.user_file"))
    ways = PreviewSettings(settings.desktop_links, settings.preview_base_url)
    it = Wiki(store, corpus, configs, versions, roots, ways, settings.start_wait_s)
    live = LiveServer(it, LiveLimits.from_settings(settings))
    reconciler = SpaceReconciler(it, remotes.access)
    syncing = sync_job(reconciler)
    return Feature(
        FEATURE,
        instructions=INSTRUCTIONS,
        overview=it.overview,
        tools=(
            *deferred_tools("pecia.features.wiki.tools.workflows:workflow_tools", it),
            *deferred_tools("pecia.features.wiki.tools.documents:document_tools", it),
            *deferred_tools("pecia.features.wiki.tools.search:search_tools", it),
            *deferred_tools("pecia.features.wiki.tools.shell:shell_tools", it),
            *deferred_tools("pecia.features.wiki.tools.links:link_tools", it),
            *deferred_tools("pecia.features.wiki.tools.config:config_tools", it),
            *deferred_tools("pecia.features.wiki.tools.edits:edit_tools", it),
            *deferred_tools("pecia.features.wiki.tools.writes:write_tools", it),
            *deferred_tools("pecia.features.wiki.tools.writes:template_tools", it),
            *deferred_tools("pecia.features.wiki.tools.renames:rename_tools", it),
            *deferred_tools("pecia.features.wiki.tools.versions:version_tools", it),
            *deferred_tools("pecia.features.wiki.tools.suggestions:suggestion_tools", it),
            *deferred_tools("pecia.features.wiki.tools.transfer:transfer_tools", it),
            *deferred_tools("pecia.features.wiki.tools.conflicts:conflict_tools", it),
            *deferred_tools(
                "pecia.features.wiki.tools.remotes:remote_tools",
                it,
                syncing,
                remotes.access.policy,
                remotes.confirmations,
            ),
        ),
        jobs=(syncing,),
        skills=WikiSkills(it).list_skills,
        routes=page_routes(it),
        sockets=(live.socket(),),
        lifespan=partial(_lifespan, live, it),
        services=(roots, reconciler),
        background_tasks=(
            CatalogMaintenance(store, it.sync, roots).run,
            LiveCleanup(store, it.flusher).run,
            SyncSchedule(store, syncing).run,
        ),
    )


@asynccontextmanager
async def _lifespan(live: LiveServer, wiki: Wiki) -> AsyncGenerator[None]:
    try:
        async with wiki.sync.work.lifespan(), live.lifespan():
            yield
    finally:
        wiki.sync.close()
        if wiki.roots.claims is not None:
            wiki.roots.claims.close()
