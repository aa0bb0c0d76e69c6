"""Text without a declared encoding is read as what was written, also when it is short."""

import pytest

from pecia.kernel.text.charset import decode

WESTERN = [
    "The naïve gasket",
    "façade niño mañana Voilà déjà vu garçon",
    "A café résumé",
    "He said “no” — twice…",
    "Price: £20, or €25 each",
    "The temperature was 20 °C ± 1",
    "© 2024 Brontë & Sons",
    "Où est la bibliothèque ?",
    "Ça va très bien, merci",
    "Noël à la forêt",
    "L’été dernier, nous étions là",
    "cœur et œuvre",
    "Un garçon a mangé une crêpe brûlée",
    "¿Dónde está el baño?",
    "El niño comió piñas",
    "¡Qué lástima! Mañana será otro día",
    "Señor Muñoz vive en Málaga",
    "La cigüeña está allí",
    "Schöne Grüße aus München",
    "Die Straße ist naß",
    "Über den Wolken",
    "Größe: 10 Stück, Tür öffnen",
    "Äpfel, Öl und Übermut",
    "Não há pão",
    "São Paulo é uma cidade grande",
    "A ação começou às três horas",
    "Olá, você está bem?",
    "Coração, mãe e irmãos",
    "Perché no? È così",
    "La città è più bella",
    "Lunedì andrò all’università",
    "Ærø og Ålborg",
    "Räksmörgås på ön",
    "naïve",
    "é",
    "Motörhead",
    "½ cup of milk, 20 °C",
    "¿Que hacen?",
    "Informações, ação, coração",
    "ESPAÑA Y CAÑÓN",
    "Jürgen Müller, François Mitterrand, José Peña, Søren Åkesson",
]
OTHERS = [
    (
        "cp1250",
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. "
        "Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu "
        "braterstwa. Każdy człowiek ma prawo do życia, wolności i bezpieczeństwa swej osoby.",
    ),
    (
        "cp1250",
        "Zażółć gęślą jaźń. Wczoraj poszłam do sklepu, żeby kupić chleb, mąkę i świeże jabłka, "
        "ale sprzedawczyni powiedziała, że już wszystko się skończyło.",
    ),
    (
        "cp1250",
        "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni "
        "rozumem a svědomím a mají spolu jednat v duchu bratrství. Každý má právo na život, "
        "svobodu a osobní bezpečnost.",
    ),
    (
        "cp1250",
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Včera jsme šli do města, abychom koupili "
        "čerstvý chléb, ale obchod byl už zavřený, protože byla neděle.",
    ),
    (
        "cp1250",
        "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, "
        "ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy "
        "viseltessenek. Az őrült nő sűrű ködben ült.",
    ),
    (
        "cp1251",
        "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены "
        "разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    ),
    ("cp1251", "Привет, как дела? Вчера мы ходили в библиотеку и взяли три новые книги."),
    (
        "koi8_r",
        "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены "
        "разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    ),
    (
        "cp1253",
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. "
        "Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ "
        "τους με πνεύμα αδελφοσύνης.",
    ),
    (
        "shift_jis",
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
        "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
    ),
    ("shift_jis", "昨日は図書館に行って、新しい本を三冊借りました。とても面白かったです。"),
    (
        "euc_jp",
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
        "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
    ),
    (
        "gb18030",
        "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
        "人人有资格享受本宣言所载的一切权利和自由。",
    ),
    (
        "cp1257",
        "Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās. Viņi ir apveltīti "
        "ar saprātu un sirdsapziņu, un viņiem jāizturas citam pret citu brālības garā.",
    ),
    (
        "cp1254",
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana "
        "sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
    ),
]


@pytest.mark.parametrize("text", WESTERN)
def test_western_text_is_read_as_western_however_short(text: str) -> None:
    found = decode(text.encode("cp1252"))
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize("text", WESTERN)
def test_western_lines_among_english_are_read_as_western(text: str) -> None:
    whole = f"Notes of the meeting\n\n{text}\n\nNothing else was said, and we went home.\n" * 3
    found = decode(whole.encode("cp1252"))
    assert found is not None
    assert found.text == whole


@pytest.mark.parametrize(("encoding", "text"), OTHERS)
def test_text_long_enough_to_tell_is_read_in_its_own_code_page(encoding: str, text: str) -> None:
    found = decode(text.encode(encoding))
    assert found is not None
    assert found.text == text
