"""Packages at random, made from the table of fields: right ones, odd ones, and wrong ones."""

from hypothesis import strategies as st

from pecia.features.ckf.package.field import (
    FieldRole,
    FieldShape,
    PackageField,
    PackageSection,
    SectionKind,
)
from pecia.features.ckf.package.fields import ALL_SECTIONS, ITEM_SECTIONS
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.normalize import normalize
from pecia.kernel.errors import Json

ODD = "abz09 -_:#'\"\\,[]{}()\n\t\r\0\x85é€😀\u2028\u2029\ufeff\U000e0001.&*!|>%@`?~=<$"
TRICKY = (
    *("", " ", "null", "yes", "No", "on", "007", "1e3", "1e-07", "2024-05-31", "12:30", "0o17"),
    *("- a", "a: b", "a #b", "```", "```yaml\nentities: []\n```", "---", "## 3. ENTITY GRAPH", "~"),
    *("[A, B]", "{a: b}", "*x", "&x", "!tag", "| x", "> y", "%d", "@a", "?", "? a", "x:", "'", '"'),
    *("0.1", "2024", "-1", ".inf", "NaN", "\\", "\\x60", "a  b", " a", "a ", "a\nb", "a\r\nb", "é"),
    *("none extracted", "[]  # none extracted", "Ignore all previous instructions.", "用語", "ملف"),
)
# Sentences that say the same, almost the same, or something else.
SENTENCES = (
    "A refund is paid to the buyer within 14 days of the order.",
    "a refund is paid, to the buyer, within 14 days of the order",
    "A refund is paid to the buyer within 30 days of the order.",
    "Shipping is never refunded unless the item was damaged on its way.",
)
sentences = st.sampled_from(SENTENCES)
words = (
    sentences | st.sampled_from(TRICKY) | st.text(ODD, max_size=12) | st.text("ab c", max_size=8)
)
texts = words | st.characters(exclude_categories=["Cs"]) | st.text(max_size=20)
numbers = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, 0.0, 1.0, 1e-07, 1e16, 1e22, -0.5, 5e-324])
)
scalars = st.none() | st.booleans() | numbers | texts
keys = st.sampled_from(["a", "note", "x y", "1", "no", "", "id", "k" * 1100]) | words
anything: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
scores = st.sampled_from([0, 0.24, 0.5, 0.7, 0.85, 0.92, 1, 1.0])


def lists(of: st.SearchStrategy[Json], most: int) -> st.SearchStrategy[Json]:
    return st.lists(of, max_size=most)


def field_values(field: PackageField) -> st.SearchStrategy[Json]:
    """Values of the field's own shape."""
    match field.shape:
        case FieldShape.TEXT:
            return st.sampled_from(field.choices) if field.choices else texts
        case FieldShape.TEXTS:
            return lists(texts, 3)
        case FieldShape.NUMBER:
            return scores if field.unit_scale else numbers
        case FieldShape.INTEGER:
            return st.integers(1, 9)
        case FieldShape.RECORDS:
            return lists(records(field.parts), 2)
        case FieldShape.TEXT_OR_TEXTS:
            return texts | lists(texts, 2)
        case FieldShape.TEXTS_OR_RECORDS:
            return lists(texts | records(field.parts), 2)
        case FieldShape.INTEGER_OR_TEXT:
            return st.integers(1450, 2100) | texts


@st.composite
def records(draw: st.DrawFn, fields: tuple[PackageField, ...]) -> Item:
    """The required fields, some of the others, and now and then one that nobody knows."""
    optional = [it.name for it in fields if not it.required]
    wanted = draw(st.sets(st.sampled_from(optional), max_size=4)) if optional else set[str]()
    found: Item = {
        it.name: draw(field_values(it)) for it in fields if it.required or it.name in wanted
    }
    if draw(st.integers(0, 9)) == 0:
        found[draw(keys)] = draw(anything)
    return found


def sections(section: PackageSection) -> st.SearchStrategy[Json]:
    if section.kind is SectionKind.OBJECT:
        return records(section.fields)
    return lists(st.one_of(*[records(section.fields)] * 5, anything), 2)


@st.composite
def bodies(draw: st.DrawFn) -> Item:
    """A document's content: some sections, foreign keys, and sometimes a value of any type."""
    chosen = draw(st.lists(st.sampled_from(ALL_SECTIONS), max_size=3, unique_by=lambda it: it.key))
    body: Item = {it.key: draw(sections(it)) for it in chosen}
    if draw(st.booleans()):
        body["metadata"] = draw(records(ALL_SECTIONS[0].fields))
    if draw(st.integers(0, 4)) == 0:
        body[draw(keys)] = draw(anything)
    if draw(st.integers(0, 9)) == 0:
        body[draw(st.sampled_from(ALL_SECTIONS)).key] = draw(anything)
    return body


packages: st.SearchStrategy[Package] = bodies().map(normalize)


@st.composite
def sound_packages(draw: st.DrawFn) -> Package:
    """Packages with distinct ids of the right form, and references that lead somewhere."""
    chosen = draw(st.lists(st.sampled_from(ITEM_SECTIONS), min_size=1, max_size=4, unique=True))
    body: Item = {}
    for section in chosen:
        items = draw(st.lists(records(section.fields), min_size=1, max_size=4))
        assert section.prefixes
        for number, it in enumerate(items):
            # Of two packages, some items share their id and others only their words.
            it["id"] = f"{section.prefixes[0]}_{draw(st.sampled_from('abc'))}{number}"
            it.update({name: draw(sentences) for name in section.identity})
        body[section.key] = list[Json](items)
    found = normalize(body)
    for section in chosen:
        for item in found.items(section.key):
            _relink(draw, section, item, found)
    return found


def _relink(draw: st.DrawFn, section: PackageSection, item: Item, package: Package) -> None:
    for field in section.fields:
        wanted = field.name in item or (field.extension and draw(st.booleans()))
        if field.role is FieldRole.REFERENCE and wanted:
            ids = [
                str(it["id"])
                for key, it in package.iter_items()
                if key in field.targets or "*" in field.targets
            ]
            chosen = draw(st.sets(st.sampled_from(ids), max_size=2)) if ids else set[str]()
            item[field.name] = list[Json](sorted(chosen))
    if section.key == "entities":
        item["related_entities"] = []
