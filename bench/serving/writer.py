"""Writes files into a tenant of a bench and keeps its index up to date, until stdin ends.

`python -m bench.serving.writer HOME TENANT` says `writing`, and in the end how many files a second.
"""

import sys
import time
from itertools import count
from pathlib import Path
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from bench.corpus_store import article
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put_many
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.store.cluster import ClusterOptions, open_cluster
from pecia.kernel.store.store import Store

PER_S, TOGETHER = 200, 10


async def main(home: Path, tenant: UUID) -> None:
    options = ClusterOptions(system=home / "s")
    async with await open_cluster(home, report=lambda _: None, options=options) as cluster:
        store = Store(cluster.logins)
        await store.open()
        writer = await IndexWriter.acquire(store, "bench", home / "index", tenant)
        assert writer is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, writer)
            tasks.start_soon(write, store, tenant)
            print("writing", flush=True)
            await run_sync(sys.stdin.read)
            tasks.cancel_scope.cancel()
        await writer.close()
        await store.close()
    print(round(WRITTEN[0] / (time.perf_counter() - BEGAN), 1))


async def write(store: Store, tenant: UUID) -> None:
    for turn in count():
        await anyio.sleep(max(0.0, BEGAN + turn * TOGETHER / PER_S - time.perf_counter()))
        files = [
            (FileMetadata("s1", f"new/{BEGAN}/{turn}-{it}.md"), article(turn * TOGETHER + it))
            for it in range(TOGETHER)
        ]
        async with store.system() as tx:
            await put_many(tx, files, tenant_id=tenant)
        WRITTEN[0] += len(files)


async def follow(writer: IndexWriter) -> None:
    while True:
        await writer.catch_up()
        await anyio.sleep(0.5)


BEGAN = time.perf_counter()
WRITTEN = [0]

if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), UUID(sys.argv[2]))
