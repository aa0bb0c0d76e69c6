"""A question that names a long file is answered from the right page of it."""

from collections.abc import AsyncGenerator

import pytest

from tests.features.lake.conftest import Lake, OpenLake
from tests.features.lake.test_semantic_search import embed

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


STATEMENTS = ("Risks", "Statement of Cash Flows", "Balance Sheet", "Notes on Leases")


def report(name: str) -> str:
    """A report of four parts of six pages each; only its first page and its name tell whose."""
    pages = [f"Annual report of {name}\n\nWe speak of risks, cash flows and leases at {name}."]
    for title in STATEMENTS:
        for part in range(6):
            rows = "\n".join(f"Line {row} of part {part}: {row * 7 + part}" for row in range(12))
            pages.append(f"{title}\n\nThe year at {name} in {name} terms.\n{rows}")
    return "\f".join(pages)


@pytest.fixture(scope="module")
async def reports(
    open_lake: OpenLake, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Lake]:
    async with open_lake(tmp_path_factory.mktemp("reports")) as lake:
        lake.write(
            {
                f"{name.replace(' ', '').upper()}_{year}.txt": report(name)
                for name in ("Blue Harbor", "Northwind", "Old Mill")
                for year in (2021, 2022)
            }
        )
        await lake.crawl()
        yield lake


async def test_the_named_file_comes_first_with_the_pages_that_answer(reports: Lake) -> None:
    question = "What does the cash flow statement of Blue Harbor for FY2021 say?"
    hits = (await reports.search(question, mode="lexical", limit=10))["hits"]
    first = [it for it in hits if it["key"] == "BLUEHARBOR_2021.txt"]
    assert hits[0] == first[0]
    assert [it["page_no"] for it in first[:6]] == [*range(8, 14)]


async def test_pages_of_such_an_answer_neither_overlap_nor_skip(reports: Lake) -> None:
    question = "the balance sheet of Northwind in 2022"
    whole = (await reports.search(question, mode="lexical", limit=60))["hits"]
    paged: list[tuple[str, int]] = []
    cursor = None
    while len(paged) < 60:
        more = {} if cursor is None else {"cursor": cursor}
        page = await reports.search(question, mode="lexical", limit=9, **more)
        paged += [(it["key"], it["seq"]) for it in page["hits"]]
        cursor = page["next_cursor"]
    assert paged[:60] == [(it["key"], it["seq"]) for it in whole]
    assert len({*paged}) == len(paged)


async def test_an_explanation_says_what_the_file_earned(reports: Lake) -> None:
    question = "leases of Old Mill in 2022"
    found = await reports.search(question, mode="lexical", explain=True)
    parts = found["hits"][0]["explain"]["parts"]
    assert parts["file"] > 0
    assert sum(parts.values()) == pytest.approx(found["hits"][0]["explain"]["score"])


NOTE = """# Log of the cellar

The coolant pump broke down on a Sunday night. The machine room reached 41 degrees before anybody
came, and two racks were switched off by hand.
"""


def manual(subject: str) -> str:
    """A manual of thirty pages on something else, which says its subject on each."""
    page = f"{subject} is set up here. Read what {subject} does before you change it. "
    return "\f".join(page * 4 + f"Part {number}." for number in range(30))


OTHERS = (
    "backup",
    "cron",
    "disk quota",
    "firewall",
    "group policy",
    "locale",
    "mail relay",
    "mount",
)
PLACES = ("room", "pump", "machine", "night", "hand")


@pytest.fixture(scope="module")
async def manuals(
    open_lake: OpenLake, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Lake]:
    """One note, and manuals whose names have plain words in them."""
    async with open_lake(tmp_path_factory.mktemp("manuals")) as lake:
        lake.write({"notes/cellar.md": NOTE})
        lake.write(
            {
                "pg-hot-standby.txt": manual("The hot standby"),
                "apt-get.txt": manual("apt-get"),
                **{f"{it.replace(' ', '-')}.txt": manual(it) for it in OTHERS},
                **{
                    f"about/{it}-{n}.txt": f"A {it} of {n} parts."
                    for it in PLACES
                    for n in range(8)
                },
            }
        )
        await lake.crawl()
        yield lake


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    "question",
    [
        "How hot did the machine room get when the pump broke down?",
        "how many degrees did the room get to when the pump broke",
        "Did anybody mount a fan when the machine room got hot?",
    ],
)
async def test_a_plain_word_that_is_also_in_the_name_of_a_file_names_no_file(
    manuals: Lake, question: str, mode: str
) -> None:
    hits = (await manuals.search(question, mode=mode, limit=10))["hits"]
    assert "notes/cellar.md" in [it["key"] for it in hits[:3]]


async def test_neighbours_in_a_name_still_name_it(manuals: Lake) -> None:
    hits = (await manuals.search("what does the hot standby do", mode="lexical", limit=10))["hits"]
    assert {it["key"] for it in hits[:5]} == {"pg-hot-standby.txt"}


async def test_the_best_hit_stays_among_the_first_where_a_file_is_named_by_accident(
    lake: Lake,
) -> None:
    lake.write({"cellar.md": NOTE} | {f"Sunday {n}.txt": manual("The sunday") for n in range(3)})
    lake.write({f"other/{n}.txt": f"The night and the pump of {n}." for n in range(30)})
    await lake.crawl()
    question = "Which racks did the coolant pump switch off on Sunday night?"
    hits = (await lake.search(question, mode="lexical", limit=10))["hits"]
    assert "cellar.md" in [it["key"] for it in hits]


READER = '''"""Weights of hives, as the platform under each says them."""


class ScaleReader:
    """Reads one platform over its serial line."""

    def read_grams(self) -> int:
        return int(self.line.readline().split()[1])

    def read_settled(self, times: int = 5) -> int:
        """The weight once it has settled: bees move, and a gust of wind adds half a kilogram."""
        seen = [self.read_grams() for _ in range(times)]
        while max(seen) - min(seen) > 50:
            seen = [*seen[1:], self.read_grams()]
        return sum(seen) // len(seen)

    def record(self, log: list[tuple[str, int]], hive: str) -> None:
        """Write down the weight of a hive, with the hour, for the table of the season."""
        log.append((hive, self.read_settled()))
        if len(log) > 1 and log[-2][1] - log[-1][1] > 2000:
            self.warn(f"{hive} lost two kilograms in an hour: a swarm, or thieves")
'''
REGISTRY = """package hives

// QueenRegistry knows which queen is in which hive, and since when.
type QueenRegistry struct {
\tqueens map[string]string
}
"""


@pytest.fixture(scope="module")
async def workshop(
    open_lake: OpenLake, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Lake]:
    """Code, and office files that are named like parts of its identifiers."""
    async with open_lake(tmp_path_factory.mktemp("workshop")) as lake:
        lake.write(
            {
                "code/weigh.py": READER,
                "code/util.go": REGISTRY,
                "office/scale.md": "# Scale\n\nThe scale of the workshop was calibrated in May.",
                "office/Registry.txt": "Entries of the registry of associations, by number and "
                "date.",
                "office/reader.md": "# Reader\n\nA reader for the course on honey.",
                **{
                    f"notes/{n}.md": f"Note {n}: frames, wax and syrup of hive {n}."
                    for n in range(30)
                },
            }
        )
        await lake.crawl()
        await embed(lake.house)
        yield lake


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("ScaleReader", "code/weigh.py"),
        ("QueenRegistry", "code/util.go"),
        ("where is ScaleReader defined", "code/weigh.py"),
    ],
)
async def test_an_identifier_in_a_text_wins_over_a_file_that_is_named_like_a_part_of_it(
    workshop: Lake, query: str, key: str, mode: str
) -> None:
    found = await workshop.search(query, mode=mode, limit=5)
    assert found["hits"][0]["key"] == key
    assert not found["unlikely"] or " " in query


async def test_an_identifier_that_is_in_many_texts_still_wins_over_a_part_in_a_name(
    lake: Lake,
) -> None:
    """A part that only one file is named by is rarer than the identifier."""
    lake.write({f"code/use{n}.py": f"{READER}\n# Use {n} of it." for n in range(12)})
    lake.write({"office/scale.md": "# Scale\n\nIt was calibrated in May."})
    await lake.crawl()
    hits = (await lake.search("ScaleReader", mode="lexical", limit=5))["hits"]
    assert hits[0]["key"].startswith("code/")


async def test_a_file_named_by_all_parts_of_an_identifier_is_found_by_it(lake: Lake) -> None:
    lake.write({"scale_reader.md": "How weights arrive.", "scale.md": "Calibrated in May."})
    await lake.crawl()
    hits = (await lake.search("ScaleReader", mode="lexical"))["hits"]
    assert [it["key"] for it in hits] == ["scale_reader.md", "scale.md"]


async def test_a_year_in_a_joined_word_names_the_file_of_that_year(reports: Lake) -> None:
    """`FY2021` is written nowhere, and neither is `BlueHarbor`: both are names of files."""
    for year in (2021, 2022):
        found = await reports.search(f"BlueHarbor FY{year} balance sheet", limit=3)
        assert {it["key"] for it in found["hits"]} == {f"BLUEHARBOR_{year}.txt"}


@pytest.mark.parametrize("query", ["ScaleReader", "calibrated", "xkqjzvwpfh"])
async def test_whether_an_answer_is_unlikely_does_not_depend_on_how_many_hits_are_shown(
    workshop: Lake, query: str
) -> None:
    said = {(await workshop.search(query, limit=it))["unlikely"] for it in (1, 3, 5, 20, 50)}
    assert len(said) == 1


def handbook(clinic: str) -> str:
    """Pages with the words of a question, and one that answers it in others."""
    pages = [f"Handbook of the {clinic} clinic"]
    for number in range(150):
        pages.append(
            f"Stationery {number}\n\nLabels for drawer {number} are printed in blue, with the "
            "words sick, child and treats in capitals, on paper of the thickest kind."
        )
    pages.insert(25, "Duties\n\nThe physician examines the ailing youngsters every morning.")
    return "\f".join(pages)


async def test_a_page_of_a_named_file_is_found_by_meaning_too(lake: Lake) -> None:
    lake.write(
        {
            f"{name}_clinic_handbook.txt": handbook(name)
            for name in ("Westbrook", "Alderley", "Quinton")
        }
    )
    # Nearer than any page of it.
    lake.write({f"notes/{n}.md": f"A doctor treats a sick child, ward {n}." for n in range(30)})
    await lake.crawl()
    await embed(lake.house)
    question = "Who treats a sick child, by the Westbrook clinic handbook?"
    found = await lake.search(question, limit=20, explain=True)
    assert found["degraded"] == []
    places = [(it["key"], it["page_no"]) for it in found["hits"]]
    assert ("Westbrook_clinic_handbook.txt", 26) in places[:8]
    assert len({*places}) == len(places)
    ranks = [it["rank"] for it in found["hits"]]
    assert ranks == sorted(ranks, reverse=True)
    for it in found["hits"]:
        assert sum(it["explain"]["parts"].values()) == pytest.approx(it["explain"]["score"])
    # What words find comes first as before, and pages go on where the last ended.
    lexical = (await lake.search(question, mode="lexical", limit=20))["hits"]
    assert (lexical[0]["key"], places[0][0]) == ("Westbrook_clinic_handbook.txt",) * 2
    first = await lake.search(question, limit=7)
    rest = await lake.search(question, limit=13, cursor=first["next_cursor"])
    paged = [(it["key"], it["page_no"]) for it in (*first["hits"], *rest["hits"])]
    assert paged == places
