"""An import never destroys what somebody wrote, and the second one changes nothing."""

from hypothesis import given
from hypothesis import strategies as st

from pecia.features.wiki.transfer.import_plan import FoundFiles, ImportOutcome, decide
from pecia.features.wiki.transfer.origin_record import (
    ImportedFile,
    OriginRecord,
    file_digest,
    parse_record,
)

bodies = st.sampled_from([b"a", b"b", b"c"])
paths = st.sampled_from(["x.md", "y.md"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["import", "edit", "delete", "move"]),
            paths,
            bodies,
        ),
        max_size=12,
    )
)
def test_whatever_people_do_between_imports_their_texts_stay(
    steps: list[tuple[str, str, bytes]],
) -> None:
    files: dict[str, bytes] = {}
    theirs: set[str] = set()
    known: ImportedFile | None = None
    for step, path, body in steps:
        if step == "edit":
            files[path] = body + b" by hand"
            theirs.add(path)
        elif step == "delete":
            files.pop(path, None)
            theirs.discard(path)
        elif step == "move" and path in files:
            other = "x.md" if path == "y.md" else "y.md"
            if other not in files:
                files[other] = files.pop(path)
                theirs.add(other)
                theirs.discard(path)
        elif step == "import":
            before = {it: files[it] for it in theirs}
            former = files.get(known.path) if known and known.path != path else None
            found = FoundFiles(files.get(path), former)
            decision = decide(path, body, known, found)
            if decision.replaces is not None:
                del files[decision.replaces]
            if decision.writes:
                files[path] = body
            done = decision.outcome in (
                ImportOutcome.CREATED,
                ImportOutcome.UPDATED,
                ImportOutcome.UNCHANGED,
            )
            if done and files.get(path) == body:
                known = ImportedFile(path, file_digest(body))
                theirs.discard(path)
                again = decide(path, body, known, FoundFiles(files.get(path)))
                assert again.outcome is ImportOutcome.UNCHANGED
            kept = {it: text for it, text in before.items() if text != body}
            assert kept.items() <= files.items()


names = st.text(max_size=20)


@given(st.dictionaries(names, st.dictionaries(names, st.tuples(names, names), max_size=4)))
def test_a_record_is_read_back_as_it_was_written(
    sources: dict[str, dict[str, tuple[str, str]]],
) -> None:
    record = OriginRecord({})
    for source, items in sources.items():
        for origin, (path, digest) in items.items():
            record.put(source, origin, ImportedFile(path, digest))
    assert parse_record(record.dump()).sources == record.sources


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_a_damaged_record_is_an_empty_one_and_no_error(body: bytes) -> None:
    assert isinstance(parse_record(body), OriginRecord)
