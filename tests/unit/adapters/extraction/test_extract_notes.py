"""What a reader noticed is told with the reason, and never without end."""

from pecia.adapters.extraction.assemble import ExtractionBuilder, assemble
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About, Ending
from pecia.kernel.text.canonical import RawUnit, UnitKind

ENDING = Ending(ExtractionStatus.OK, "It was read.")


def read(*notes: str) -> ExtractionBuilder:
    about = About("text/plain", "pecia", "1", notes=("It was guessed.",))
    return ExtractionBuilder(about, [RawUnit(1, UnitKind.SECTION, "words")], notes=[*notes])


def test_notes_stand_in_the_reason() -> None:
    found = assemble(read("Page 2 is damaged."), ENDING)
    assert found.reason == "It was read. It was guessed. Page 2 is damaged."


def test_of_many_notes_the_first_are_told_and_the_others_counted() -> None:
    found = assemble(read(*(f"Page {it} is damaged." for it in range(1000))), ENDING)
    assert found.reason.endswith("Page 3 is damaged. There are 996 more notes.")
    assert len(found.facts.notes) == 1001
