"""The wiki: Markdown files of a folder, read, searched, linked and written by agents and people."""

from pathlib import Path

from pecia.kernel.corpus.search import Corpus
from pecia.kernel.room import Room
from pecia.kernel.settings.account import expanded
from pecia.rooms.wiki.catalog import page_path
from pecia.rooms.wiki.config.files import ConfigFiles
from pecia.rooms.wiki.history.port import OpenVersions
from pecia.rooms.wiki.live.bounds import Bounds
from pecia.rooms.wiki.live.leftovers import Leftovers
from pecia.rooms.wiki.live.live import Live
from pecia.rooms.wiki.preview import Ways
from pecia.rooms.wiki.roots import SpaceRoots
from pecia.rooms.wiki.settings import WikiSettings
from pecia.rooms.wiki.tending import Tending
from pecia.rooms.wiki.tools.configuring import configuring_tools
from pecia.rooms.wiki.tools.executing import executing_tools
from pecia.rooms.wiki.tools.flows import flow_tools
from pecia.rooms.wiki.tools.graphing import graphing_tools
from pecia.rooms.wiki.tools.moving import moving_tools
from pecia.rooms.wiki.tools.reading import ROOM, reading_tools
from pecia.rooms.wiki.tools.remembering import remembering_tools
from pecia.rooms.wiki.tools.searching import searching_tools
from pecia.rooms.wiki.tools.writing import writing_tools
from pecia.rooms.wiki.wiki import Wiki

INSTRUCTIONS = (
    f"A wiki: a folder of Markdown documents. Begin at {page_path('')}, which read_document shows: "
    "it lists the documents of the top folder and the catalogs of those below. Read with "
    "read_document, list_documents, search and exec. Write with write_document and edit_document, "
    "and not with file tools of your own: people may have the document open. Say in `summary` what "
    "a change is for. Files that .gitignore and .okignore leave out are not part of it. Show the "
    "person the preview link once, where an answer has one. If a call fails, say so before you go "
    "on with other tools."
)


def wiki(corpus: Corpus, settings: WikiSettings, versions: OpenVersions, roots: SpaceRoots) -> Room:
    """The room, over the spaces that the store knows."""
    store = roots.store
    configs = ConfigFiles(store, expanded(Path(settings.user_file), "wiki.user_file"))
    ways = Ways(settings.desktop_links, settings.preview_base_url)
    it = Wiki(store, corpus, configs, versions, roots, ways)
    live = Live(it, Bounds.of(settings))
    return Room(
        ROOM,
        instructions=INSTRUCTIONS,
        tools=(
            *flow_tools(it),
            *reading_tools(it),
            *searching_tools(it),
            *executing_tools(it),
            *graphing_tools(it),
            *configuring_tools(it),
            *writing_tools(it),
            *moving_tools(it),
            *remembering_tools(it),
        ),
        sockets=(live.socket(),),
        running=live.running,
        settings=(WikiSettings,),
        tending=(Tending(store, it.library, roots).run, Leftovers(store, it.filing).run),
        migrations="pecia.rooms.wiki.schema",
    )
