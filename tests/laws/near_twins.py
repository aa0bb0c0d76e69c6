"""Pairs of sentences that differ in what makes them two facts, and ways to say one fact again.

Only meaning is stated here: nothing in this file knows how the code compares.
"""

from dataclasses import dataclass

from hypothesis import strategies as st

# What a place in a sentence may hold. Any two of a row are two different things.
FILLS: dict[str, tuple[str, ...]] = {
    "host": ("alpha01", "alpha02", "db-7.fra", "db-8.fra", "kronos", "hermes"),
    "name": ("Maria", "Mario", "O'Brien", "O'Bryan", "Weiß", "Weiss", "Jone", "Jones"),
    "city": ("Frankfurt", "Freiburg", "Berlin", "Köln"),
    "product": ("PostgreSQL", "MySQL", "C", "C++", "C#", ".NET", "NET"),
    "version": ("15", "15.2", "v1.9.0", "v1.90", "16"),
    "number": ("64", "46", "6.4", "-64", "64k"),
    "date": ("2024-03-01", "2024-01-03", "March", "May", "3/1"),
    "unit": ("GB", "Gb", "GiB", "MB", "TB"),
    "sign": ("<=", ">=", "<", "=", "!="),
    "amount": ("All", "Some", "No", "Most", "Two"),
    "often": ("always", "never", "often", "not"),
    "day_de": ("Montag", "Freitag", "24. Mai", "25. Mai"),
    "city_ru": ("Москве", "Казани", "Минске"),
    "city_ja": ("東京", "京都", "大阪"),
    "number_ja": ("三", "四", "64"),
    "time_ar": ("الاثنين", "الجمعة", "الأحد"),
}

SHAPES: tuple[tuple[str, ...], ...] = (
    (
        *("Server ", "{host}", " in the ", "{city}", " data centre runs ", "{product}", " "),
        *("{version}", " with ", "{number}", " ", "{unit}", " of memory."),
    ),
    ("{name}", " owns the ", "{product}", " build since ", "{date}", "."),
    ("The service on ", "{host}", " is ", "{often}", " restarted by hand."),
    ("{amount}", " of the hosts in ", "{city}", " are backed up at night."),
    ("Retry while attempts ", "{sign}", " ", "{number}", " and the answer is late."),
    ("- owner: ", "{name}", "\n- host: ", "{host}", "\n- since: ", "{date}"),
    ("Der Dienst auf ", "{host}", " wird am ", "{day_de}", " in ", "{city}", " gewartet."),
    ("Le serveur ", "{host}", " est géré par ", "{name}", " depuis ", "{date}", "."),
    ("Сервер ", "{host}", " стоит в ", "{city_ru}", " с ", "{number}", " ", "{unit}", " памяти."),
    ("サーバー", "{host}", "は", "{city_ja}", "にあり、", "{number_ja}", "台です。"),
    ("يعمل الخادم ", "{host}", " يوم ", "{time_ar}", " فقط."),
)

# A word that turns a sentence into another one, and where it goes.
TURNS: tuple[tuple[str, str], ...] = (
    ("The nightly job {}deletes old logs of the tenant.", "never "),
    ("We {}deploy the API on Fridays.", "do not "),
    ("{}servers of the cluster restart after an update.", "Some "),
    ("{}all requests to the gateway are logged.", "Not "),
    ("The key is rotated {}every month by the operator.", "at most "),
    ("Wir verschlüsseln {}die Sicherungen der Kunden.", "nicht "),
    ("Nous {}gardons les journaux pendant un an{}.", "ne "),
    ("We use PostgreSQL {}for the ledger.", "16 "),
    ("The office in {}Petersburg closes at noon.", "St. "),
)


@dataclass(frozen=True, slots=True)
class Twins:
    """Two facts. `swapped` says that a word stands for another, not beside it."""

    one: str
    other: str
    swapped: bool = True


@st.composite
def swapped(draw: st.DrawFn) -> Twins:
    """The same sentence with one place filled otherwise, or several."""
    shape = draw(st.sampled_from(SHAPES))
    slots = [it for it in shape if it.startswith("{")]
    held = {it: draw(st.sampled_from(FILLS[it[1:-1]])) for it in slots}
    changed = draw(st.sets(st.sampled_from(slots), min_size=1, max_size=min(3, len(slots))))
    others = {
        it: draw(st.sampled_from([fill for fill in FILLS[it[1:-1]] if fill != held[it]]))
        for it in sorted(changed)
    }
    one = "".join(held.get(it, it) for it in shape)
    other = "".join({**held, **others}.get(it, it) for it in shape)
    return Twins(one, other)


@st.composite
def turned(draw: st.DrawFn) -> Twins:
    """A sentence with and without the word that turns it, either of them first."""
    shape, word = draw(st.sampled_from(TURNS))
    plain, turned_ = shape.replace("{}", ""), shape.replace("{}", word, 1).replace("{}", "")
    pair = (plain, turned_) if draw(st.booleans()) else (turned_, plain)
    return Twins(*pair, swapped=False)


twins = st.one_of(swapped(), turned())
sentences = twins.map(lambda it: it.one)


@st.composite
def restated(draw: st.DrawFn) -> tuple[str, str]:
    """A sentence, and the same again but for blanks, case and the signs around sentences."""
    text = draw(sentences)
    again = draw(st.sampled_from((str, str.upper, str.lower, str.capitalize)))(text)
    again = again.rstrip(".。") + draw(st.sampled_from((".", "", "!", "…")))
    blank = draw(st.sampled_from((" ", "  ", "\n", "\t ")))
    again = blank.join(again.split())
    return text, draw(st.sampled_from(("{}", " {} ", '"{}"', "({})"))).format(again)
