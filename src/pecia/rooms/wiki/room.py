"""The wiki: Markdown files of a folder, read, searched, linked and written by agents and people."""

from pathlib import Path

from pecia.kernel.corpus.search import Corpus
from pecia.kernel.room import Room
from pecia.kernel.store.store import Store
from pecia.rooms.wiki.config.files import ConfigFiles
from pecia.rooms.wiki.history.port import OpenVersions
from pecia.rooms.wiki.preview import Ways
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


def wiki(store: Store, corpus: Corpus, settings: WikiSettings, versions: OpenVersions) -> Room:
    """The room, over the spaces that the store knows."""
    configs = ConfigFiles(store, Path(settings.user_file).expanduser())
    ways = Ways(settings.desktop_links, settings.preview_base_url)
    it = Wiki(store, corpus, configs, versions, ways)
    return Room(
        ROOM,
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
        settings=(WikiSettings,),
        tending=(Tending(store, it.library).run,),
        migrations="pecia.rooms.wiki.schema",
    )
