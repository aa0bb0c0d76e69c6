"""What is corrected no longer holds, in the words of many languages; another fact always does."""

from typing import Any

import pytest

from pecia.features.memory.core.compare.correction import (
    corrects_in_words,
    is_correction,
    needs_context,
)
from tests.features.memory.conftest import Memories

CORRECTED = [
    (
        "Der Zug nach Ulm fährt um 7:20.",
        "Korrektur: Der Zug nach Ulm fährt um 7:50, nicht um 7:20.",
    ),
    ("Unser Makler ist Herr Vogt.", "Seit gestern ist unser Makler Herr Pohl."),
    ("Léa habite à Metz.", "Léa n'habite plus à Metz."),
    ("La réunion est prévue le 4 mai.", "La réunion est reportée au 11 mai."),
    ("La llave está en el cajón.", "Perdón, me equivoqué: la llave está en el armario."),
    ("O Rui trabalha no banco.", "O Rui já não trabalha no banco, agora trabalha na escola."),
    ("Il corso è il 3 giugno.", "Il corso è stato spostato al 10 giugno."),
    ("Onze bakker is Jansen.", "Sinds vorige week is onze bakker De Wit."),
    ("Анна живёт в Омске.", "Анна больше не живёт в Омске."),
    ("Wizyta jest 7 maja.", "Wizyta została przełożona na 14 maja."),
    ("Mötet är på 12 våningen.", "Rättelse: mötet är på 14 våningen, inte 12."),
    ("李明负责销售。", "李明不再负责销售了。"),
    ("Das Limit ist jetzt 250.", "Das Limit ist jetzt 300."),
    ("The course takes 45 minutes.", "The course takes 60 minutes now."),
    ("The fair is on 3 May 2026.", "The fair was moved to 4 May 2026."),
    ("The shop opens at 9 on Saturdays.", "The shop opens at 10 on Saturdays now."),
    ("Kim is in room 101.", "Kim is in room 102 now."),
    ("El curso es el 3 de mayo.", "El curso es ahora el 4 de junio."),
    ("Die Miete beträgt 900 Euro.", "Die Miete beträgt jetzt 950 Euro."),
    ("The fair is in the park.", "Correction: the fair is in the hall, not in the park."),
]
OTHERS = [
    ("Der Zug nach Ulm fährt um 7:20.", "Der Zug nach Bonn fährt jetzt um 7:50."),
    ("Jonas ist Lehrer.", "Jonas ist jetzt Vater."),
    ("Wir nutzen Jenkins.", "Wir nutzen jetzt Grafana."),
    ("Le budget 2024 est de 500 euros.", "Le budget 2025 est maintenant de 700 euros."),
    ("Bis heute ist der Markt am Montag.", "Bis jetzt ist der Markt am Sonntag."),
    ("Die Lampe ist blau.", "Die Lampe ist jetzt kaputt."),
    ("Unser Makler ist Herr Vogt.", "Vielleicht ist unser Makler jetzt Herr Pohl."),
    ("Léa habite à Metz.", "Le frère de Léa n'habite plus à Metz."),
    ("Léa parle italien.", "Léa parle maintenant espagnol."),
    ("La llave está en el cajón.", "La llave del coche está ahora en el armario."),
    ("Il corso è il 3 giugno.", "Anche il seminario è stato spostato al 10 giugno."),
    ("Onze bakker is Jansen.", "Onze slager is nu De Wit."),
    ("Анна живёт в Омске.", "Если Анна больше не живёт в Омске, позвони мне."),
    ("Wizyta jest 7 maja.", "Czy wizyta została przełożona na 14 maja?"),
    ("李明负责销售。", "李明的哥哥不再负责销售了。"),
    ("The room has 12 chairs.", "The room now has 3 windows."),
    ("The tenant may export data.", "The tenant must not export data."),
    # What a number or an identifier names is another thing.
    ("Rack A3 is on floor 2", "Rack A4 is now on floor 2"),
    ("Server 10.0.0.1 is down now.", "Server 10.0.0.2 is down now."),
    ("Room 101 is closed now.", "Room 102 is closed now."),
    ("Version 1.2 of libfoo is now deprecated.", "Version 1.3 of libfoo is now deprecated."),
    ("Backup of db1 now runs at 3.", "Backup of db2 now runs at 3."),
    ("The backup of db1 runs daily.", "The backup of db2 now runs daily."),
    ("The code of door 3 is 1188.", "The code of door 4 is now 1188."),
    ("Bus 42 stops here now.", "Bus 43 stops here now."),
    ("Monday's class is full now.", "Tuesday's class is full now."),
    ("Der Server alpha01 hat jetzt 64 GB.", "Der Server alpha02 hat jetzt 64 GB."),
    ("La salle 12 est fermée.", "La salle 14 est maintenant fermée."),
    ("Комната 101 закрыта.", "Комната 102 теперь закрыта."),
    ("El autobús 7 llega tarde.", "El autobús 8 ahora llega tarde."),
    ("Bus 7 is here.", "Bus 8 is here now."),
    ("Sal 4 har 20 platser.", "Sal 5 har nu 30 platser."),
    ("Host 10.0.0.1 has 8 GB.", "Host 10.0.0.2 now has 16 GB."),
    ("La salle 4 a 20 places.", "La salle 5 a maintenant 30 places."),
    ("101房间关闭了。", "102房间现在关闭了。"),
]


@pytest.mark.parametrize(("old", "new"), CORRECTED)
def test_a_correction_is_told_by_its_words(old: str, new: str) -> None:
    assert corrects_in_words(new, old)


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_another_fact_corrects_nothing(old: str, new: str) -> None:
    assert not corrects_in_words(new, old)


@pytest.mark.parametrize(
    "text",
    [
        "Actually it is Tuesdays now.",
        "Eigentlich ist sie jetzt dienstags.",
        "En fait c'est le mardi maintenant.",
        "На самом деле теперь по вторникам.",
        "Sorry, I meant 21 degrees.",
        "其实现在改到星期二了。",
    ],
)
def test_a_correction_that_names_nothing_needs_what_was_said_before(text: str) -> None:
    assert needs_context(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Skiing costs 40 euros in winter.", "Skiing costs 25 euros in summer now."),
        (
            "The library closes at 18:00 on Fridays.",
            "The library closes at 16:00 on Saturdays now.",
        ),
    ],
)
def test_what_holds_at_another_time_corrects_nothing(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Parking is free on weekdays.", "Parking is free on weekends now."),
        ("Parking is free on weekdays.", "Parking is now free on weekends."),
        ("The rate is 20 euros for welders.", "The rate is 30 euros for painters now."),
        ("The limit is 100 requests for guests.", "The limit is 500 requests for members now."),
        ("The heating runs until 10 on weekdays.", "The heating runs until 11 on weekends now."),
        ("Dogs are allowed in the garden.", "Dogs are allowed in the hall now."),
        ("Dogs are allowed in room 4.", "Dogs are allowed in room 5 now."),
        ("The shop is open on Sundays.", "The shop is open on Mondays now."),
        ("Entry is free before noon.", "Entry is free after six now."),
        ("Der Eintritt ist frei für Kinder.", "Der Eintritt ist jetzt frei für Studenten."),
        ("Le parking est gratuit le lundi.", "Le parking est maintenant gratuit le mardi."),
        ("El museo es gratis los domingos.", "El museo es ahora gratis los sábados."),
    ],
)
def test_what_holds_under_another_condition_corrects_nothing(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The fee is 5 euros for children.", "The fee is 9 euros for children now."),
        ("The store is open until 6.", "The store is open until 8 now."),
        ("The report is due on Friday.", "The report is due on Monday now."),
        ("The backups are stored on tape.", "The backups are stored on disks now."),
        ("Parking is free on weekdays.", "Sorry, I meant parking is free on weekends."),
        ("Parking is free on weekdays.", "Parking is free on weekends instead."),
        ("Parking is free on weekdays.", "Parking is no longer free on weekdays."),
        ("The office is in Bonn.", "The office is in Berlin now."),
    ],
)
def test_what_holds_under_the_same_condition_is_corrected(old: str, new: str) -> None:
    assert is_correction(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Oskar is allergic to penicillin.", "Oskar is now allergic to latex."),
        ("We have a warehouse in Graz.", "We now have a warehouse in Bern."),
        ("We hold 20 shares of Arm.", "We now hold 20 shares of Intel."),
        ("Ben does not eat pork.", "Ben now does not eat shellfish."),
        ("Nadia is a manager in Leeds.", "Nadia is now a manager in York."),
        ("Tom is the engineer for the database.", "Tom is now the engineer for the network."),
        ("Some of the tests run on Windows.", "Some of the tests now run on macOS."),
        ("Service Alpha uses Redis.", "Service Alpha now uses Kafka."),
        ("The bus from Ulm to Bonn costs 9 euros.", "The bus from Bonn to Ulm now costs 8 euros."),
        ("Vendemos pan de centeno.", "Ahora vendemos pan de maíz."),
        ("Femke traint de pupillen.", "Femke traint nu de senioren."),
        ("Leo koopt bij Lang brood.", "Leo koopt nu bij Lang kaas."),
    ],
)
def test_what_may_have_several_values_is_ended_only_by_what_says_so(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ida lives in Bergen.", "Ida now lives in Oslo."),
        ("I work at Acme.", "I now work at Globex."),
        ("Leo reports to Amira.", "Leo now reports to Viktor."),
        ("The project manager of Orion is Salma.", "The project manager of Orion is now Idris."),
        ("Mara wohnt in Kiel.", "Mara wohnt jetzt in Bremen."),
        ("Vår kassör är Karin.", "Vår kassör är nu Birgitta."),
        ("Onze huisarts is Visser.", "Sinds vorige week is onze huisarts Bakker."),
        ("Naszym trenerem jest pan Lis.", "Od tego miesiąca naszym trenerem jest pan Wilk."),
        ("我住在北京。", "我现在住在上海。"),
        ("We buy our coffee from Allpress.", "We now buy our coffee from Monmouth instead."),
        ("The mill was built in 1921.", "I was wrong, the mill was built in 1931."),
    ],
)
def test_what_has_one_value_at_a_time_is_ended_by_one_that_holds_now(old: str, new: str) -> None:
    assert is_correction(new, old)


TWO_VALUES = [
    ("Irma owns 30% of Lumen.", "Irma now owns 45% of Quarz."),
    ("Lars pays 12 euros a month to Tidal.", "Lars now pays 18 euros a month to Orange."),
    ("Boat 2 is hired by the Santos in May.", "Boat 2 is now hired by the Kims in June."),
    ("Tess drives a van to Lund.", "Tess now drives a bus to Kiel."),
    ("Olga uses nano for notes.", "Olga switched from nano to Emacs for mail."),
    ("We use Trello for planning with clients.", "We moved from Trello to Asana for hiring."),
    ("Jan fährt mit dem Rad nach Ulm.", "Jan fährt jetzt mit dem Bus nach Bonn."),
    ("Dad takes zinc before lunch.", "Dad now takes melatonin at night."),
    ("The robot mows the lawn in the morning.", "The robot now mows the field at noon."),
]
SWAPPED = [
    ("Vera calls Dad on Sundays.", "Dad now calls Vera on Tuesdays."),
    ("Alba backs up Boro at 2.", "Boro now backs up Alba at 3."),
    ("Uli ruft Kim montags an.", "Kim ruft Uli jetzt freitags an."),
    ("Inès appelle Luc le lundi.", "Luc appelle maintenant Inès le jeudi."),
    ("Marta llama a Iván los lunes.", "Iván llama ahora a Marta los jueves."),
]
ONE_VALUE = [
    ("Irma owns 30% of Lumen.", "Irma now owns 45% of Lumen."),
    ("Olga uses nano for notes.", "Olga switched from nano to Emacs for notes."),
    ("Boat 2 is hired by the Santos.", "Boat 2 is now hired by the Kims."),
    ("Vera calls Dad on Sundays.", "Vera now calls Dad on Tuesdays."),
    ("Uli ruft Kim montags an.", "Uli ruft Kim jetzt freitags an."),
]


@pytest.mark.parametrize(("old", "new"), TWO_VALUES)
def test_where_two_values_differ_another_fact_is_told(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.parametrize(("old", "new"), SWAPPED)
def test_who_does_it_to_whom_is_not_corrected_by_the_other_way_round(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.parametrize(("old", "new"), ONE_VALUE)
def test_where_one_value_differs_it_is_corrected(old: str, new: str) -> None:
    assert is_correction(new, old)


@pytest.mark.parametrize(
    "text",
    [
        "#772 is closed now.",
        "10.1.0.6 is blocked now.",
        "Le 4 mai est désormais férié.",
        "Tuesday is now pasta day.",
        "v1.3 is supported now.",
        "Actually the lift works.",
        "We are in Berlin now.",
        "Na verdade o elevador agora está funcionando.",
        "Should it be Tuesdays now?",
        "The limit is now 250.",
    ],
)
def test_a_statement_with_a_subject_stands_alone(text: str) -> None:
    assert not needs_context(text)


@pytest.mark.anyio
async def test_a_correction_in_another_language_takes_the_place_of_the_memory(
    memories: Memories,
) -> None:
    await memories.remember(memories.bo, "Léa habite à Metz.", "Léa a deux chats.")
    await memories.remember(memories.bo, "Léa n'habite plus à Metz, elle habite à Brest.")
    listed = await memories.listed(memories.bo)
    assert listed == ["Léa a deux chats.", "Léa n'habite plus à Metz, elle habite à Brest."]
    known = await memories.listed(memories.bo, include=["superseded"])
    assert "Léa habite à Metz." in known


@pytest.mark.anyio
async def test_a_correction_without_a_subject_is_found_by_what_it_corrects(
    memories: Memories,
) -> None:
    await memories.remember(memories.bo, "Parking costs 3 euros.")
    await memories.remember(memories.bo, "The gardening club meets on Mondays.")
    made = await memories.remember(memories.bo, "Actually it is Tuesdays now.")
    hits = await _search(memories, "When does the gardening club meet?")
    assert hits[0]["text"].startswith("Actually it is Tuesdays now.")
    assert hits[0]["old_memory"] == "The gardening club meets on Mondays."
    assert "The gardening club meets on Mondays." not in [it["text"] for it in hits]
    undo = made["summary"][0]["undo"]
    await memories.call(memories.bo, "memory_undo", id=undo)
    assert "The gardening club meets on Mondays." in await memories.listed(memories.bo)


@pytest.mark.anyio
async def test_a_correction_of_a_correction_is_one_too(memories: Memories) -> None:
    await memories.remember(memories.bo, "The gardening club meets on Mondays.")
    await memories.remember(memories.bo, "Actually it is Tuesdays now.")
    await memories.remember(memories.bo, "Sorry, I meant Thursdays.")
    [only] = await memories.listed(memories.bo)
    assert only.startswith("Sorry, I meant Thursdays.")
    assert "gardening club" in only


@pytest.mark.anyio
async def test_a_correction_of_another_kind_ends_nothing_and_keeps_its_context(
    memories: Memories,
) -> None:
    await memories.remember(memories.bo, "The gardening club meets in the old barn.")
    await memories.remember(memories.bo, "Actually it is Tuesdays now.")
    listed = await memories.listed(memories.bo)
    assert "The gardening club meets in the old barn." in listed
    [other] = [it for it in listed if it.startswith("Actually")]
    assert "The gardening club meets in the old barn." in other


@pytest.mark.anyio
async def test_nothing_of_another_project_or_another_day_is_the_context(
    memories: Memories,
) -> None:
    long_ago = {"said_at": "2024-03-01T09:00:00Z"}
    there = memories.within(project_name="choir")
    await there.remember(memories.bo, "The choir meets on Mondays.")
    await memories.within(project_name="garden").remember(
        memories.bo, "The garden opens on Fridays.", memoryMetadata=long_ago
    )
    garden = memories.within(project_name="garden")
    await garden.remember(memories.bo, "Actually it is Tuesdays now.")
    assert "Actually it is Tuesdays now." in await garden.listed(memories.bo)
    assert await there.listed(memories.bo) == ["The choir meets on Mondays."]


@pytest.mark.anyio
async def test_two_memories_that_a_correction_may_mean_both_stay(memories: Memories) -> None:
    await memories.remember(memories.bo, "Wir kaufen unser Brot bei Huber.")
    await memories.remember(memories.bo, "Wir kaufen unser Brot bei Moser.")
    await memories.remember(memories.bo, "Seit gestern kaufen wir unser Brot bei Lang.")
    assert len(await memories.listed(memories.bo)) == 3


async def _search(memories: Memories, query: str) -> list[dict[str, Any]]:
    found = await memories.call(memories.bo, "cipher_memory_search", query=query)
    return found["results"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Parking is free on weekdays.", "Parking is free on weekends now."),
        ("The rate is 20 euros for welders.", "The rate is 30 euros for painters now."),
    ],
)
async def test_two_facts_that_only_their_condition_tells_apart_both_hold(
    memories: Memories, old: str, new: str
) -> None:
    await memories.remember(memories.bo, old)
    await memories.remember(memories.bo, new)
    assert {*await memories.listed(memories.bo)} == {old, new}
