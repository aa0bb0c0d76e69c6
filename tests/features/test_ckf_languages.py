"""The same words give the same rules, wherever they are read, in every language that is known."""

from pathlib import Path
from typing import Any

import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.features.ckf.heuristic.cues.grammar import LANGUAGES
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, House, house_flags, no_fetch
from tests.features.cascade_fixture import write_layers

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

RULES = ("decision_rules", "if_then_rules", "exceptions", "heuristics", "principles")

TEXTS = {
    "en": "# Loans\n\nA loan is money that is lent to a member of the club. Every loan must be "
    "repaid within 30 days. If a member is late, then the desk must not lend to them again, "
    "unless the board agrees. Never lend more than 500 euros.\n",
    "pt": "# Empréstimos\n\nUm empréstimo é dinheiro que o clube empresta a um membro. Todo "
    "empréstimo deve ser pago em 30 dias. Se o membro se atrasar, a mesa não deve emprestar de "
    "novo, exceto quando a diretoria concordar. Nunca empreste mais de 500 euros.\n",
    "es": "# Préstamos\n\nUn préstamo es dinero que el club presta a un miembro. Todo préstamo "
    "debe ser devuelto en 30 días. Si el miembro se retrasa, la mesa no debe prestar de nuevo, "
    "excepto cuando la junta esté de acuerdo. Nunca preste más de 500 euros.\n",
    "fr": "# Prêts\n\nUn prêt est de l'argent que le club prête à un membre. Chaque prêt doit être "
    "remboursé dans les 30 jours. Si le membre est en retard, le bureau ne doit pas lui prêter de "
    "nouveau, sauf si le conseil est d'accord. Ne prêtez jamais plus de 500 euros.\n",
    "de": "# Darlehen\n\nEin Darlehen ist Geld, das der Verein einem Mitglied leiht. Jedes "
    "Darlehen muss innerhalb von 30 Tagen zurückgezahlt werden. Wenn ein Mitglied zu spät ist, "
    "darf das Büro ihm nicht wieder leihen, es sei denn, der Vorstand stimmt zu. Niemals mehr als "
    "500 Euro leihen.\n",
}


def rules(compiled: dict[str, Any]) -> dict[str, list[Any]]:
    """Every rule with the words it stands on."""
    package = compiled["package"]
    return {
        section: [it["source_excerpts"] for it in package[section]]
        for section in RULES
        if package[section]
    }


async def test_a_text_has_the_same_rules_by_itself_and_by_every_address(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    assert TEXTS.keys() == LANGUAGES.keys()
    folder, space = tmp_path / "docs", tmp_path / "space"
    for it in (folder, space):
        it.mkdir()
    for language, text in TEXTS.items():
        (folder / f"{language}.md").write_text(text, "utf-8")
    manifest = write_layers(tmp_path / "c", {"company": TEXTS})
    flags = house_flags(database, tmp_path / "home") | {"cascade.manifests": f"kb={manifest}"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        house = House(app, ana, ana, "")
        await house.call(ana, "add_source", source_id="docs", folder=str(folder), trim_mode="open")
        await house.call(ana, "crawl_source", source_id="docs")
        await run_until_idle(app.store, app.jobs)
        await house.call(ana, "add_space", folder=str(space), name="notes")
        for language, text in TEXTS.items():
            await house.call(
                ana,
                "wiki.write_document",
                space="notes",
                docName=language,
                markdown=text,
                position="replace",
            )
            by_text = await house.call(ana, "ckf.compile", text=text)
            assert by_text["package"]["metadata"]["language"] == language
            assert rules(by_text), f"no rule was found in {language}"
            for uri in (
                f"pecia://file/docs/{language}.md",
                f"pecia://file/wiki%3Anotes/{language}.md",
                f"wiki:notes/{language}.md",
                f"okf://kb/{language}",
            ):
                by_uri = await house.call(ana, "ckf.compile", uri=uri)
                assert by_uri["package"]["metadata"]["language"] == language, uri
                assert rules(by_uri) == rules(by_text), uri
        with pytest.raises(NotFound) as missing:
            await house.call(ana, "ckf.compile", uri="notes: en.md")
        # Who guessed the form of an address is told it.
        assert "pecia://file/wiki%3Anotes/" in str(missing.value.fields["hint"])


async def test_a_file_says_its_language_with_the_code_that_everybody_uses(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for language, text in TEXTS.items():
        (folder / f"{language}.md").write_text(text, "utf-8")
    flags = house_flags(database, tmp_path / "home")
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        house = House(app, ana, ana, "")
        await house.call(ana, "add_source", source_id="docs", folder=str(folder), trim_mode="open")
        await house.call(ana, "crawl_source", source_id="docs")
        await run_until_idle(app.store, app.jobs)
        async with app.store.reading(ana) as tx:
            rows = await tx.fetch_all(
                "SELECT key, language FROM kernel.file WHERE source_id = 'docs'"
            )
    assert {it["key"]: it["language"] for it in rows} == {f"{it}.md": it for it in TEXTS}


@pytest.mark.parametrize("named", ["German", "deutsch", "deu", "de-AT"])
async def test_a_language_may_be_called_by_its_name(house: House, named: str) -> None:
    by_tag = await house.call(house.ana, "ckf.compile", text=TEXTS["de"], language="de")
    by_name = await house.call(house.ana, "ckf.compile", text=TEXTS["de"], language=named)
    assert rules(by_name) == rules(by_tag)
    assert by_name["package"]["metadata"]["language"].startswith("de")
