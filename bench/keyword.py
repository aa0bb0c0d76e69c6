"""The keyword index at 100,000 and 1,000,000 chunks of Debian's documentation.

`PECIA_BENCH_TEXTS` names a folder with unpacked documentation packages (`apt-get download`,
`dpkg-deb -x`); what is built from it is kept beside it for the next run.
`PECIA_BENCH_SIZES` names other sizes. The same queries go to SQLite FTS5 and to PostgreSQL's
`ts_rank_cd` at the smallest size. Figures are milliseconds, on the clock or, with `cpu_`, of CPU.
"""

import gzip
import hashlib
import html
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from uuid import UUID

import anyio
import psutil
import psycopg

from bench import result
from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.corpus.keyword.index import (
    ANALYZER_VERSION,
    NO_FILTER,
    Filter,
    IndexEntry,
    KeywordIndex,
    Query,
    parse_query,
)
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.store.cluster import ClusterOptions, open_cluster

SIZES = (100_000, 1_000_000)
QUERIES = 200
SLOW_QUERIES = 60
TOP = 20
CLASSES = 10_000
SHARES = {"100 %": None, "50 %": 5000, "10 %": 1000, "1 %": 100}
LIMITS = {"p50": 6.0, "p95_over_p50": 4.0}
TENANTS = 500
FILES_PER_S = 200
BUILD_BYTES = 256_000_000

SQLITE_ALL = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?"
SQLITE_SEEN = (
    "SELECT t.rowid FROM t JOIN c ON c.id = t.rowid JOIN seen USING (acl)"
    " WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?"
)
POSTGRES = (
    "SELECT id FROM t, to_tsquery('english', %(words)s) q"
    " WHERE words @@ q AND (%(acl)s::int[] IS NULL OR acl = ANY (%(acl)s::int[]))"
    " ORDER BY ts_rank_cd(words, q) DESC LIMIT %(top)s"
)


class Timing(NamedTuple):
    """Milliseconds on the clock, and of CPU: on a busy machine only the latter can be compared."""

    wall: float
    cpu: float


def main() -> Path:
    """Measure and write the figures."""
    texts = Path(os.environ["PECIA_BENCH_TEXTS"])
    sizes = [int(it) for it in os.environ.get("PECIA_BENCH_SIZES", "").split(",") if it]
    figures: dict[str, Any] = {"targets": LIMITS, "queries": QUERIES, "top": TOP}
    for size in sizes or SIZES:
        print(f"{size} chunks", flush=True)
        figures[str(size)] = at_size(texts, size)
    smallest = min(sizes or SIZES)
    ours = figures[str(smallest)]["shares"]
    figures["others"] = {
        "chunks": smallest,
        "sqlite_fts5": compared(ours, sqlite_times(texts, smallest)),
        "postgres_ts_rank_cd": compared(ours, anyio.run(postgres_times, texts, smallest)),
    }
    figures["tenants"] = many_tenants(texts)
    return result.write("keyword", figures)


def at_size(texts: Path, size: int) -> dict[str, Any]:
    folder = texts.with_name(f"{texts.name}.index-v{ANALYZER_VERSION}-{size}")
    figures: dict[str, Any] = {}
    if not (folder / "built.json").exists():
        build(texts, size, folder)
    figures["build"] = json.loads((folder / "built.json").read_text("utf-8"))
    index = KeywordIndex.open_reader(folder / "index")
    queries = asked(texts, size)
    figures["shares"] = {name: timed(index, queries, it) for name, it in callers(size).items()}
    figures["exact"] = exact(index, queries, size)
    figures["explain_20_hits"] = percentiles([explained(index, it) for it in queries[:50]])
    figures["while_writing"] = while_writing(folder / "index", queries)
    return figures


def build(texts: Path, size: int, folder: Path) -> None:
    """One writer, one thread, as in production; files of a few hundred at a time."""
    shutil.rmtree(folder, ignore_errors=True)
    index = KeywordIndex.open(folder / "index", BUILD_BYTES)
    began, cpu = time.perf_counter(), time.process_time()
    portion: list[IndexEntry] = []
    for entry in entries(texts, size):
        if len(portion) >= 5000 and entry.group != portion[-1].group:
            index.stage([], portion)
            portion = []
        portion.append(entry)
    index.apply([], portion, 1)
    index.close_writer()
    built = {
        "s": round(time.perf_counter() - began, 1),
        "cpu_s": round(time.process_time() - cpu, 1),
        "mb": round(sum(it.stat().st_size for it in (folder / "index").iterdir()) / 1e6, 1),
    }
    (folder / "built.json").write_text(json.dumps(built), encoding="utf-8")


def callers(size: int) -> dict[str, Filter]:
    """Callers by visible fraction: as many ACL classes as that takes, or one file."""
    dice = random.Random(size)
    drawn = {
        name: Filter(None if held is None else frozenset(dice.sample(range(CLASSES), held)))
        for name, held in SHARES.items()
    }
    return {**drawn, "one file": Filter(frozenset({CLASSES}))}


def timed(index: KeywordIndex, queries: list[Query], asked: Filter) -> dict[str, float]:
    for query in queries[:20]:
        index.search(query, asked, TOP)
    return percentiles([took(lambda it=it: index.search(it, asked, TOP)) for it in queries])


def exact(index: KeywordIndex, queries: list[Query], size: int) -> dict[str, Any]:
    """Every top list against all hits, filtered by hand."""
    checked = queries[:: max(1, len(queries) // (20 if size <= 100_000 else 5))]
    acl = {it.id: it.acl for it in index.iter_chunks()}
    wrong = 0
    for query in checked:
        everything = index.search(query, NO_FILTER, size)
        for asked in callers(size).values():
            fitting = (
                it for it in everything if asked.classes is None or acl[it.id] in asked.classes
            )
            wrong += index.search(query, asked, TOP) != list(islice(fitting, TOP))
    return {"compared": len(checked) * (len(SHARES) + 1), "different": wrong}


def explained(index: KeywordIndex, query: Query) -> Timing:
    ids = [it.id for it in index.search(query, limit=TOP)]
    return took(lambda: index.explain(query, ids))


def while_writing(path: Path, queries: list[Query]) -> dict[str, Any]:
    """A reader beside a process that replaces files of the same index, at lower priority."""
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        copy = Path(scratch) / "index"
        shutil.copytree(path, copy)
        root = Path(scratch) / "home"
        place = IndexDirectory.of(root, UUID(int=1))
        place.folder.mkdir(parents=True)
        copy.rename(place.folder / "live")
        place.publish(place.folder / "live")
        shelf = ReaderCache(root)
        quiet = _read(shelf, queries)
        command = [sys.executable, "-m", "bench.keyword", str(place.folder / "live")]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        writer.stdout.readline()
        busy = _read(shelf, queries)
        told = writer.stdout.readline()
        writer.kill()
        writer.wait()
    return {
        "quiet": quiet,
        "writing": busy,
        "p50_ratio": round(busy["p50"] / quiet["p50"], 2),
        "cpu_p50_ratio": round(busy["cpu_p50"] / quiet["cpu_p50"], 2),
        "first_second": json.loads(told or "null"),
    }


def _read(shelf: ReaderCache, queries: list[Query]) -> dict[str, float]:
    tenant = UUID(int=1)
    shelf.get_reader(tenant).search(queries[0], NO_FILTER, TOP)
    return percentiles(
        [took(lambda it=it: shelf.get_reader(tenant).search(it, NO_FILTER, TOP)) for it in queries]
    )


def write_for_ever(path: Path) -> None:
    """Two hundred files a second, one commit a second, each file of three chunks."""
    os.nice(10)
    index = KeywordIndex.open(path)
    dice = random.Random(1)
    words = [f"word{it}" for it in range(3000)]
    turn = 0
    print("begun", flush=True)
    while True:
        began = time.perf_counter()
        files = range(10**9 + turn % 5 * FILES_PER_S, 10**9 + (turn % 5 + 1) * FILES_PER_S)
        index.apply(
            [],
            [
                IndexEntry(group * 3 + at, group, body=" ".join(dice.choices(words, k=100)))
                for group in files
                for at in range(3)
            ],
            turn,
        )
        spent = time.perf_counter() - began
        if turn == 0:
            print(json.dumps({"files": FILES_PER_S, "s": round(spent, 2)}), flush=True)
        turn += 1
        time.sleep(max(0.0, 1 - spent))


def many_tenants(texts: Path) -> dict[str, Any]:
    """As many small indexes as a large node has tenants."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        given = entries(texts, TENANTS * 100)
        for number in range(TENANTS):
            place = IndexDirectory.of(root, UUID(int=number))
            index = KeywordIndex.open(place.folder / "live")
            index.apply([], islice(given, 100), 1)
            index.close_writer()
            place.publish(place.folder / "live")
        query = parse_query("install the package from source")
        return {
            "tenants": TENANTS,
            "all_held": _held(ReaderCache(root, TENANTS), query),
            "64_held": _held(ReaderCache(root), query),
        }


def _held(shelf: ReaderCache, query: Query) -> dict[str, Any]:
    before, threads = _memory_mb(), psutil.Process().num_threads()
    first = [
        took(lambda it=it: shelf.get_reader(UUID(int=it)).search(query)) for it in range(TENANTS)
    ]
    again = [
        took(lambda it=it: shelf.get_reader(UUID(int=it)).search(query))
        for it in range(TENANTS - 50, TENANTS)
    ]
    # The engine has a sleeping thread per open index; those of closed ones end within this time.
    time.sleep(1)
    return {
        "first_query": percentiles(first),
        "next_query": percentiles(again),
        "more_memory_mb": round(_memory_mb() - before, 1),
        "more_threads": psutil.Process().num_threads() - threads,
    }


def sqlite_times(texts: Path, size: int) -> dict[str, list[Timing]]:
    """FTS5 with its own stemmer and bm25(); classes by a join."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE t USING fts5(title, body, content='', tokenize='porter')")
    base.execute("CREATE TABLE c (id INTEGER PRIMARY KEY, acl INTEGER)")
    for it in entries(texts, size):
        base.execute(
            "INSERT INTO t (rowid, title, body) VALUES (?, ?, ?)", (it.id, it.title, it.body)
        )
        base.execute("INSERT INTO c VALUES (?, ?)", (it.id, it.acl))
    base.execute("CREATE TEMP TABLE seen (acl INTEGER PRIMARY KEY)")
    queries = [_or(it, " OR ") for it in asked(texts, size)[:SLOW_QUERIES]]
    times: dict[str, list[Timing]] = {}
    for name, caller in callers(size).items():
        base.execute("DELETE FROM seen")
        base.executemany("INSERT INTO seen VALUES (?)", [(it,) for it in caller.classes or ()])
        ask = SQLITE_ALL if caller.classes is None else SQLITE_SEEN
        times[name] = [
            took(lambda it=it, ask=ask: base.execute(ask, (it, TOP)).fetchall()) for it in queries
        ]
    return times


async def postgres_times(texts: Path, size: int) -> dict[str, list[Timing]]:
    with tempfile.TemporaryDirectory() as home:
        options = ClusterOptions(grace_s=0.5)
        cluster = await open_cluster(Path(home), report=print, options=options)
        try:
            with psycopg.connect(cluster.logins.owner, autocommit=True) as base:
                return _postgres_times(base, texts, size)
        finally:
            await cluster.stop()


def _postgres_times(
    base: psycopg.Connection[Any], texts: Path, size: int
) -> dict[str, list[Timing]]:
    base.execute("CREATE TABLE raw (id bigint, acl int, body text)")
    with base.cursor().copy("COPY raw FROM STDIN") as copy:
        for it in entries(texts, size):
            copy.write_row((it.id, it.acl, f"{it.title} {it.body}".replace("\0", " ")))
    base.execute("CREATE TABLE t AS SELECT id, acl, to_tsvector('english', body) AS words FROM raw")
    base.execute("CREATE INDEX ON t USING gin (words)")
    base.execute("ANALYZE t")
    queries = [_or(it, " | ") for it in asked(texts, size)[:SLOW_QUERIES]]
    times: dict[str, list[Timing]] = {}
    for name, caller in callers(size).items():
        seen = {"acl": None if caller.classes is None else list(caller.classes), "top": TOP}
        given = [{"words": it, **seen} for it in queries]
        backend = base.info.backend_pid
        times[name] = [
            took(lambda it=it: base.execute(POSTGRES, it, prepare=False).fetchall(), backend)
            for it in given
        ]
    return times


def compared(ours: dict[str, Any], theirs: dict[str, list[Timing]]) -> dict[str, Any]:
    """Their figures, and the ratio to ours, by visible fraction."""
    told: dict[str, Any] = {}
    for name, times in theirs.items():
        figures = percentiles(times)
        ratio = {f"times_ours_{it}": figures[it] / ours[name][it] for it in ("p50", "cpu_p50")}
        told[name] = {**figures, **{it: round(value, 1) for it, value in ratio.items()}}
    return told


def asked(texts: Path, size: int, queries: int = QUERIES) -> list[Query]:
    """Queries of 3 to 8 words: half of them passages of a text, half words from anywhere in one.

    Fewer are the first of more.
    """
    dice = random.Random(size)
    bodies = [it.body for it in entries(texts, size) if it.id % (size // 4000) == 0]
    found: list[Query] = []
    while len(found) < queries:
        words = re.findall(r"[A-Za-z]{2,}", dice.choice(bodies))
        many = dice.randint(3, 8)
        if len(words) < 20:
            continue
        at = dice.randrange(len(words) - many)
        span = words[at : at + many] if len(found) % 2 else dice.sample(words, many)
        found.append(parse_query(" ".join(span)))
    return found


def entries(texts: Path, size: int) -> Iterator[IndexEntry]:
    """Chunks as a follower would bring them. The first file is in a class of its own."""
    dice = random.Random(5)
    id_ = 0
    for group, (key, bodies) in enumerate(documents(texts), start=1):
        acl = CLASSES if group == 1 else dice.randrange(CLASSES)
        title = Path(key).stem.replace("-", " ")
        for body in bodies:
            id_ += 1
            yield IndexEntry(
                id_, group, acl, "debian", key, "text/plain", None, (), "en", title, "", body
            )
            if id_ == size:
                return


def documents(texts: Path) -> Iterator[tuple[str, list[str]]]:
    """Files and their chunks, in an order that mixes the packages."""
    kept = texts.with_name(f"{texts.name}.chunks.jsonl")
    if not kept.exists():
        fresh = kept.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as out:
            for row in islice(_read_files(texts), 200_000):
                out.write(json.dumps(row) + "\n")
        fresh.rename(kept)
    with kept.open(encoding="utf-8") as lines:
        for line in lines:
            key, bodies = json.loads(line)
            yield key, bodies


def _read_files(texts: Path) -> Iterator[tuple[str, list[str]]]:
    ends = (".html", ".htm", ".xhtml", ".xml", ".txt", ".rst", ".md", ".gz")
    paths = [it for it in texts.rglob("*") if it.is_file() and it.name.endswith(ends)]
    seen: set[int] = set()
    for path in sorted(paths, key=lambda it: hashlib.md5(str(it).encode()).digest()):
        chunks = [it for it in _cut(_plain(path)) if hash(it) not in seen]
        seen.update(map(hash, chunks))
        if chunks:
            yield str(path.relative_to(texts)), chunks


def _plain(path: Path) -> str:
    """The words of a file without its markup; none where it is no text."""
    if not 300 < path.stat().st_size < 3_000_000:
        return ""
    content = path.read_bytes()
    try:
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except (UnicodeDecodeError, OSError, EOFError):
        return ""
    if path.suffix != ".txt" and "<" in text[:2000]:
        text = html.unescape(_TAG.sub(" ", text))
    return " ".join(text.split())


def _cut(text: str) -> Iterator[str]:
    """About 700 characters each, at spaces, at most 400 of one file."""
    at = 0
    for _ in range(400):
        end = at + 700 if at + 700 >= len(text) else max(text.rfind(" ", at, at + 700), at + 100)
        if len(text[at:end]) > 100:
            yield text[at:end].strip()
        at = end


def percentiles(times: Iterable[Timing]) -> dict[str, float]:
    held = list(times)
    wall = quantiles([it.wall for it in held], n=100, method="inclusive")
    cpu = quantiles([it.cpu for it in held], n=100, method="inclusive")
    found = {"p50": wall[49], "p95": wall[94], "cpu_p50": cpu[49], "cpu_p95": cpu[94]}
    return {name: round(it, 3) for name, it in found.items()}


def took(work: Callable[[], object], backend: int | None = None) -> Timing:
    """What a piece of work took. `backend` is the process that did most of it for us."""
    began, cpu, theirs = time.perf_counter(), time.thread_time(), _spent_s(backend)
    work()
    ours = time.thread_time() - cpu + _spent_s(backend) - theirs
    return Timing((time.perf_counter() - began) * 1000, ours * 1000)


def _spent_s(pid: int | None) -> float:
    """CPU seconds of another process; precise on Linux alone."""
    path = Path(f"/proc/{pid}/schedstat")
    return int(path.read_text("ascii").split()[0]) / 1e9 if pid and path.exists() else 0.0


def _or(query: Query, sign: str) -> str:
    return sign.join(query.words)


def _memory_mb() -> float:
    return psutil.Process().memory_info().rss / 1e6


_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]{0,2000}>", re.DOTALL | re.IGNORECASE)

if __name__ == "__main__":
    write_for_ever(Path(sys.argv[1]))
