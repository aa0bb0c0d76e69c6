"""`Not A but B` and `no longer A but B` end what says A, and nothing else."""

import pytest

from pecia.features.memory.core.compare.correction import is_correction
from tests.features.memory.conftest import Memories

CORRECTED = [
    ("The router is a Fritzbox 7590.", "The router is not a Fritzbox 7590 but a Turris Omnia."),
    ("The office is in Leeds.", "The office is no longer in Leeds but in York."),
    ("Our caterer is Nordin.", "Our caterer is not Nordin but Halvorsen."),
    ("The meeting is on Monday.", "The meeting is not on Monday but on Thursday."),
    ("The shop opens at 8.", "The shop does not open at 8 but at 9."),
    ("Anna runs the archive.", "Not Anna but Berta runs the archive."),
    (
        "The backup runs at 02:00 on Sundays.",
        "The backup runs not at 02:00 but at 03:00 on Sundays.",
    ),
    ("The default branch is master.", "The default branch is no longer master but main."),
    ("The spare key is under the mat.", "The spare key isn't under the mat, but in the shed."),
    (
        "Der Router ist eine Fritzbox 7590.",
        "Der Router ist keine Fritzbox 7590, sondern ein Turris.",
    ),
    ("Das Büro ist in Mainz.", "Das Büro ist nicht in Mainz, sondern in Worms."),
    ("Das Büro ist in Mainz.", "Das Büro ist nicht mehr in Mainz, sondern in Worms."),
    ("The router is a Fritzbox 7590.", "The router is no longer a Fritzbox 7590 but a Turris."),
    ("Le bureau est à Metz.", "Le bureau n'est pas à Metz mais à Nancy."),
    ("El taller está en Lugo.", "El taller no está en Lugo sino en Vigo."),
    ("A chave está na gaveta.", "A chave não está na gaveta mas na mesa."),
    ("La chiave è nel cassetto.", "La chiave non è nel cassetto ma nel garage."),
    ("Het kantoor is in Zwolle.", "Het kantoor is niet in Zwolle maar in Deventer."),
    ("Ключ лежит в ящике.", "Ключ лежит не в ящике, а в шкафу."),
    ("Ключ лежить у шухляді.", "Ключ лежить не у шухляді, а в шафі."),
    ("Klucz jest w szufladzie.", "Klucz jest nie w szufladzie, lecz w szafie."),
    ("Kontoret ligger i Lund.", "Kontoret ligger inte i Lund utan i Malmö."),
    ("Kontoret ligger i Vejle.", "Kontoret ligger ikke i Vejle men i Odense."),
    ("办公室在三楼。", "办公室不在三楼而在五楼。"),
    ("Das Büro ist jeden Montag geschlossen.", "Das Büro ist jetzt jeden Mittwoch geschlossen."),
    ("The office is closed every Monday.", "The office is now closed every Wednesday."),
]
OTHERS = [
    ("The router is a Fritzbox 7590.", "The router is not only a Fritzbox 7590 but also a server."),
    ("The router is a Fritzbox 7590.", "The switch is not a Fritzbox 7590 but a Turris Omnia."),
    ("The office is in Leeds.", "The office is not in Leeds but in York on Fridays."),
    ("The office is in Leeds.", "The warehouse is no longer in Leeds but in York."),
    ("Our caterer is Nordin.", "Maybe our caterer is not Nordin but Halvorsen."),
    ("The spare key is under the mat.", "The spare key is not on the mat but in the shed."),
    ("The meeting is on Monday.", "The meeting is not always on Monday but often."),
    ("The shop opens at 8.", "The shop does not open at 8 but at 9 if it rains."),
    ("Anna runs the archive.", "Not Anna but Berta runs the library."),
    ("The router is a Fritzbox 7590.", "The router was not a Fritzbox 7590 but a Turris Omnia."),
    ("The tea is hot.", "The soup is not hot but the tea is."),
    ("Service A runs Go.", "Service B runs not Go but Rust."),
    ("Das Büro ist in Mainz.", "Das Lager ist nicht in Mainz, sondern in Worms."),
    ("Das Büro ist in Mainz.", "Das Büro ist nicht nur in Mainz, sondern auch in Worms."),
    ("Das Büro ist jeden Montag geschlossen.", "Die Küche ist jetzt jeden Mittwoch geschlossen."),
    ("Das Büro ist am Montag geschlossen.", "Das Büro ist jetzt am Mittwoch geschlossen."),
    ("Ben ist jeden Montag müde.", "Ben ist jetzt jeden Mittwoch müde."),
]


@pytest.mark.parametrize(("old", "new"), CORRECTED)
def test_what_is_denied_no_longer_holds(old: str, new: str) -> None:
    assert is_correction(new, old)


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_another_fact_holds_beside_it(old: str, new: str) -> None:
    assert not is_correction(new, old)


@pytest.mark.anyio
async def test_what_is_denied_is_superseded_and_its_neighbours_are_not(memories: Memories) -> None:
    denial = "The router is not a Fritzbox 7590 but a Turris Omnia."
    await memories.remember(memories.bo, "The router is a Fritzbox 7590.", "The router is loud.")
    await memories.remember(memories.bo, denial)
    assert await memories.listed(memories.bo) == ["The router is loud.", denial]
    known = await memories.listed(memories.bo, include=["superseded"])
    assert "The router is a Fritzbox 7590." in known
