"""Somebody or something took the place of another, in seven languages and in any order."""

import pytest

from pecia.features.memory.core.compare.correction import is_correction
from tests.features.memory.conftest import Memories

TAKEN = [
    # A role, or what one person does.
    (
        "Karin is the owner of the billing service.",
        "Tomas is now the owner of the billing service.",
    ),
    ("The treasurer of the club is Hana.", "The new treasurer of the club is Olek."),
    ("Our landlord is Mr Doyle.", "Mr Byrne has taken over as our landlord."),
    ("Ines leitet das Datenteam.", "Seit heute leitet Marek das Datenteam."),
    (
        "Karin ist für den Abrechnungsdienst zuständig.",
        "Für den Abrechnungsdienst ist jetzt Tomas zuständig.",
    ),
    ("El tesorero del club es Olek.", "La nueva tesorera del club es Hana."),
    ("Olek est le trésorier du club.", "C'est désormais Hana qui est la trésorière du club."),
    ("O tesoureiro do clube é o Olek.", "A tesoureira do clube agora é a Hana."),
    ("Ines guida il team dati.", "Da oggi Marek guida il team dati."),
    ("Olek is de penningmeester van de club.", "Hana is sinds mei de penningmeester van de club."),
    # From one thing to another.
    ("Our chat runs on Mattermost.", "We moved from Mattermost to Zulip for our chat."),
    (
        "Das Frontend wird mit webpack gebaut.",
        "Wir sind beim Frontend von webpack auf Vite umgestiegen.",
    ),
    ("El frontend se construye con webpack.", "Hemos pasado de webpack a Vite para el frontend."),
    ("Guardamos as receitas no Notion.", "Passámos as receitas do Notion para o Obsidian."),
    # `From now on` tells of a switch.
    ("Unser Chat läuft auf Mattermost.", "Ab jetzt läuft unser Chat auf Zulip."),
    ("Notre messagerie tourne sur Mattermost.", "Désormais notre messagerie tourne sur Zulip."),
    # A home.
    ("I live in Bristol.", "I have moved to Cardiff."),
    ("Ich wohne in Bremen.", "Ich bin nach Leipzig umgezogen."),
    ("Abito a Bologna.", "Mi sono trasferito a Torino."),
    # A date or an amount.
    (
        "The deadline for the audit report is 12 May.",
        "The deadline for the audit report slipped to 26 May.",
    ),
    (
        "The retention period for logs is 30 days.",
        "We raised the retention period for logs to 90 days.",
    ),
    ("De contributie is 15 euro.", "De contributie is gestegen naar 18 euro."),
    (
        "The API allows 200 requests per minute.",
        "The API now allows 300 requests per minute.",
    ),
    (
        "Il limite dell'API è di 100 richieste al minuto.",
        "Il limite dell'API non è più di 100 ma di 60 richieste al minuto.",
    ),
    ("Logs worden 30 dagen bewaard.", "Logs worden nu 90 dagen bewaard."),
]
BESIDE = [
    # Another role, or one that several may have.
    ("Karin is the owner of the billing service.", "Tomas is now the owner of the search service."),
    ("Karin is the owner of the billing service.", "Tomas is now an owner of the billing service."),
    ("Karin is the owner of the billing service.", "Karin is now the owner of the mail service."),
    ("Hana est la trésorière du club.", "Olek est maintenant le secrétaire du club."),
    ("Die Chefin leitet Ulm.", "Jetzt leitet die Chefin Bonn."),
    ("Ines leitet das Datenteam.", "Seit heute leitet Marek auch das Datenteam."),
    ("Ines leads the data team.", "Marek leads the data team."),
    ("Ines leads the data team.", "Marek will now lead the data team."),
    # Something else was changed for another.
    ("Our chat runs on Mattermost.", "We moved from Mattermost to Zulip for our alerts."),
    ("Our chat history is stored in Mattermost.", "We moved from Mattermost to Zulip."),
    ("Our chat runs on Mattermost.", "We may have moved from Mattermost to Zulip for our chat."),
    ("The app runs on iOS.", "The app now runs on Android."),
    # Somebody else's home, or a home of the past.
    ("I live in Bristol.", "Tom has moved to Cardiff."),
    ("I live in Bristol.", "I moved to Cardiff in 2010."),
    ("Ich wohne in Bremen.", "Mein Bruder ist nach Leipzig umgezogen."),
    ("Vivo en Sevilla.", "Se ha mudado a Valencia."),
    # By how much, not to what.
    ("The build takes 30 minutes.", "The build was extended by 5 minutes."),
    ("Die Frist beträgt 30 Tage.", "Die Frist wurde um 14 Tage verlängert."),
    ("El alquiler es de 900 euros.", "El alquiler ha bajado 50 euros."),
    ("Le loyer est de 900 euros.", "Le loyer a baissé de 50 euros."),
    ("L'affitto è di 900 euro.", "L'affitto è sceso di 50 euro."),
    # Two events, and one number written in two ways.
    ("Rent rose to 910 euros.", "Rent rose to 940 euros."),
    ("The rent was raised to 1,180 euros.", "They raised the rent to 1180 euros."),
]


@pytest.mark.parametrize(("old", "new"), TAKEN)
def test_what_took_the_place_of_another_ends_it(old: str, new: str) -> None:
    assert is_correction(new, old)


@pytest.mark.parametrize(("old", "new"), BESIDE)
def test_what_took_the_place_of_something_else_ends_nothing(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.anyio
async def test_a_successor_is_found_and_the_predecessor_stays_readable(memories: Memories) -> None:
    await memories.remember(memories.bo, "Ines leitet das Datenteam.", "Ines leitet den Chor.")
    made = await memories.remember(memories.bo, "Seit heute leitet Marek das Datenteam.")
    listed = await memories.listed(memories.bo)
    assert listed == ["Ines leitet den Chor.", "Seit heute leitet Marek das Datenteam."]
    assert "Ines leitet das Datenteam." in await memories.listed(
        memories.bo, include=["superseded"]
    )
    await memories.call(memories.bo, "memory_undo", id=made["summary"][0]["undo"])
    assert "Ines leitet das Datenteam." in await memories.listed(memories.bo)


@pytest.mark.anyio
async def test_what_was_said_before_ends_nothing_that_was_said_later(memories: Memories) -> None:
    later, before = "The price is 250 euros.", "The price is now 100 euros."
    times = [{"said_at": f"2026-{month}-10T10:00:00Z"} for month in ("11", "10")]
    await memories.remember(memories.bo, later, memoryMetadata=times[0])
    await memories.remember(memories.bo, before, memoryMetadata=times[1])
    assert await memories.listed(memories.bo) == [later, before]
    assert (await memories.recall(memories.bo, "What is the price?"))[0] == later


@pytest.mark.anyio
async def test_what_ends_before_it_begins_is_refused(memories: Memories) -> None:
    times = {"valid_from": "2026-12-01", "valid_to": "2026-11-01"}
    with pytest.raises(Exception, match="valid_to is before valid_from"):
        await memories.remember(memories.bo, "The window is open.", memoryMetadata=times)
