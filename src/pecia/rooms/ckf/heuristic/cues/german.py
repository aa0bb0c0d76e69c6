"""The function words of German rules. Grammar only: never a word that belongs to a subject."""

from pecia.rooms.ckf.heuristic.cues.kind import CueLists, Kind

STOPWORDS = (
    "der die das den dem des ein eine einen einem einer eines und oder in im zu zum zur von vom mit"
    " auf für ist sind war wird werden nicht auch an am als bei aus nach über unter durch sich es"
    " er sie wir ihr kann können muss müssen soll sollen wenn dass nur noch wie so hat haben"
)

CUES: CueLists = {
    Kind.DEFINITION: (
        "bedeutet|bezeichnet|bezieht sich auf|ist definiert als|heißt|wird genannt|werden genannt"
        "|besteht aus|ist ein|ist eine|ist der|ist die|ist das|versteht man"
    ),
    Kind.OBLIGATION: (
        "muss|müssen|soll|sollen|sollte|sollten|hat zu|haben zu|ist erforderlich"
        "|sind erforderlich|ist verpflichtet|sind verpflichtet|ist notwendig|immer|stets"
        "|stellen sie sicher|verpflichtend"
    ),
    Kind.PROHIBITION: (
        "darf nicht|dürfen nicht|darf kein|dürfen keine|darf keine|soll nicht|sollen nicht"
        "|sollte nicht|sollten nicht|kann nicht|können nicht|niemals|nie|vermeiden|vermeide"
        "|ist verboten|sind verboten|ist untersagt|sind untersagt|nicht erlaubt"
        "|nicht gestattet|nicht zulässig|unzulässig|keinen anspruch|nicht berechtigt"
        "|keinesfalls|auf keinen fall|unter keinen umständen"
    ),
    Kind.PERMISSION: (
        "darf|dürfen|kann|können|ist erlaubt|sind erlaubt|ist gestattet|sind gestattet|ist zulässig"
        "|ist berechtigt|sind berechtigt|optional|wahlweise"
    ),
    Kind.CONDITION: (
        "wenn|falls|sobald|sofern|im falle|im fall|für den fall|solange|vorausgesetzt"
        "|unter der bedingung|wo|je nach|soweit"
        "|nur wenn|es sei denn|auch wenn|selbst wenn|außer wenn|erst wenn|im zweifel"
    ),
    Kind.PRECONDITION: (
        "erfordert|erfordern|setzt voraus|setzen voraus|hängt von|hängen von"
        "|vorbehaltlich|erst nach|erst wenn|nur wenn|nur nach|nur dann"
        "|es sei denn|bevor|vorher|zuvor|nicht bevor|benötigt|benötigen"
    ),
    Kind.EXCEPTION: (
        "es sei denn|außer|außer wenn|ausgenommen|ausnahmsweise|befreit|abgesehen von"
        "|mit ausnahme|gilt nicht|gelten nicht|auch wenn|selbst wenn|obwohl|nur wenn|nur dann"
        "|andernfalls|ansonsten|stattdessen|ändert nichts|berührt nicht|entfällt|entfallen"
        "|unberührt|jedoch nur|aber nur|erstreckt sich nicht|erstrecken sich nicht"
        "|bleibt außer betracht|bleiben außer betracht"
    ),
    Kind.OVERRIDE: (
        "hat vorrang|haben vorrang|geht vor|gehen vor|ersetzt|ersetzen|hebt auf|ungeachtet"
        "|unabhängig von|unabhängig davon|trotz|egal|anstelle|statt"
    ),
    Kind.CONTRAST: (
        "jedoch|aber|allerdings|dennoch|trotzdem|hingegen|während|im gegensatz|sondern|doch|dagegen"
    ),
    Kind.SCOPE: (
        "nur|ausschließlich|lediglich|beschränkt auf|begrenzt auf|gilt für|gelten für|gilt|gelten"
        "|im rahmen|mindestens|höchstens|maximal|minimal|bis zu|weniger als|mehr als|unter|über"
        "|im sinne|in bezug auf|hinsichtlich|außerhalb|ebenfalls|zusätzlich"
    ),
    Kind.SEQUENCE: (
        "zuerst|erstens|zunächst|zweitens|drittens|danach|anschließend|schließlich"
        "|zuletzt|der reihe nach|als nächstes|erst nach|erst wenn"
    ),
    Kind.ORDINAL: "erste|zweite|dritte|dann",
    Kind.ORDER: "vor|nach|bevor|nachdem|bis|sobald",
    Kind.TEMPORAL: (
        "bis|bis zum|ab|ab dem|seit|vor dem|nach dem|spätestens|frühestens|innerhalb von"
        "|innerhalb|binnen|während|gültig ab|in kraft|rückwirkend|frist|bisher|läuft ab|zum"
    ),
    Kind.CAUSE: "weil|da|wegen|aufgrund|infolge|denn|dank|durch",
    Kind.RESULT: (
        "daher|deshalb|deswegen|folglich|somit|infolgedessen|führt zu|führen zu|verursacht"
        "|verursachen|bewirkt|bewirken|sodass|so dass|damit"
    ),
    Kind.TENDENCY: (
        "oft|häufig|meistens|meist|in der regel|normalerweise|üblicherweise|gewöhnlich|tendiert"
        "|neigt|neigen|im allgemeinen|manchmal|selten|standardmäßig|typischerweise"
    ),
    Kind.ADVICE: (
        "faustregel|bewährte praxis|empfohlen|empfiehlt|empfehlen|am besten|vorzugsweise"
        "|im zweifel|es lohnt sich|besser|bevorzugen|ratsam"
    ),
    Kind.MODEL: (
        "stellen sie sich|ist wie|sind wie|wirkt wie|funktioniert wie|analogie|denkmodell"
        "|mentales modell|kann als|metapher"
    ),
    Kind.OPINION: "ich denke|wir denken|ich glaube|wir glauben|meiner meinung|unserer meinung",
    Kind.HEDGE: "vielleicht|möglicherweise|wahrscheinlich|scheint|scheinen|vermutlich|könnte",
    Kind.GAP: (
        "einschränkungen|noch nicht|unklar|unbekannt|ungewiss|nicht bekannt"
        "|offene frage|nicht festgelegt"
    ),
    Kind.ASSUMPTION: "angenommen|annahme|annahmen|nehmen an|setzt voraus|unterstellt",
    Kind.OUTDATED: "veraltet|nicht mehr|früher|wurde ersetzt|überholt",
    Kind.DISPUTE: "widerspricht|widersprechen|widerspruch|umstritten|verzerrung|uneinig",
    Kind.PURPOSE: "um zu|zweck|ziel ist|dient dazu|dienen dazu|dient der|soll helfen",
    Kind.CASE: "während|solange",
    Kind.NEGATION: "nicht|kein|keine|keinen|keinem|keiner|ohne|weder|niemand",
    Kind.SUBSTITUTE: "statt|anstatt|anstelle",
    Kind.IDIOM: "auf einmal|noch einmal",
}

# Nouns by which a text names what a part is; they say so of it, but cut no sentence.
NAMES: CueLists = {
    Kind.PRECONDITION: (
        "anforderung|anforderungen|bedingung|bedingungen|voraussetzung|voraussetzungen"
    ),
    Kind.SCOPE: "geltungsbereich|umfang|einschränkung",
    Kind.EXCEPTION: "ausnahme|ausnahmen|sonderfall|sonderfälle",
    Kind.OVERRIDE: "vorrang",
    Kind.SEQUENCE: "schritt|schritte|ablauf|verfahren|anleitung",
    Kind.PROHIBITION: "gegenanzeige|gegenanzeigen|kontraindikation",
}

UNITS = (
    "sekunde sekunden minute minuten stunde stunden tag tage tagen woche wochen monat monate"
    " monaten quartal quartale jahr jahre jahren jahrzehnt"
)
MONTHS = "januar februar märz april mai juni juli august september oktober november dezember"
RELATIVE = "vorige vorigen vorangegangenen folgenden nächsten aktuellen laufenden letzten gleichen"
NUMERALS = (
    "ein eine einem einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
    " fünfzehn zwanzig dreißig vierzig fünfzig sechzig neunzig hundert"
)
ANAPHORA = (
    "dies diese dieser dieses diesem jene jener jenes sie er es solche solcher solches"
    " dabei hierbei dafür"
)
AROUND = "nach vor binnen innerhalb alle pro bis von für seit"
OPENERS = "für während unter bei im in innerhalb außerhalb mit zwischen"
VALID_FROM = "ab|ab dem|seit|seit dem|gültig ab|nach dem"
VALID_TO = "bis|bis zum|vor dem|spätestens am"
CLOSING = "schließlich|zuletzt"
# Before a permission they make it a prohibition.
NOBODY = "niemand kein keine keiner keines"
SCOPING = "für bei innerhalb außerhalb"
# Their clause means the same without them.
PLAIN = "wenn falls sofern"
CONJUNCTIONS = "und oder aber sondern"
THEN = "dann so"
QUESTION = "frage f"
ANSWER = "antwort a"
