"""The function words of German rules. Grammar only: never a word that belongs to a subject."""

from pecia.features.ckf.heuristic.cues.kind import CueKind, CueLists

STOPWORDS = (
    "der die das den dem des ein eine einen einem einer eines und oder in im zu zum zur von vom mit"
    " auf für ist sind war wird werden nicht auch an am als bei aus nach über unter durch sich es"
    " er sie wir ihr kann können muss müssen soll sollen wenn dass nur noch wie so hat haben"
)

CUES: CueLists = {
    CueKind.DEFINITION: (
        "bedeutet|bezeichnet|bezieht sich auf|ist definiert als|heißt|wird genannt|werden genannt"
        "|besteht aus|ist ein|ist eine|ist der|ist die|ist das|versteht man|gilt als|gelten als"
        "|gilt auch als|gelten auch als|im sinne dieses|im sinne dieser|im sinne des|im sinne der"
        "|im sinne von|ist jede|ist jeder|ist jedes|sind alle|sind die"
    ),
    CueKind.OBLIGATION: (
        "muss|müssen|soll|sollen|sollte|sollten|hat zu|haben zu|ist erforderlich"
        "|sind erforderlich|ist verpflichtet|sind verpflichtet|ist notwendig|immer|stets"
        "|stellen sie sicher|verpflichtend"
    ),
    CueKind.PROHIBITION: (
        "darf nicht|dürfen nicht|darf kein|dürfen keine|darf keine|soll nicht|sollen nicht"
        "|sollte nicht|sollten nicht|kann nicht|können nicht|niemals|nie|vermeiden|vermeide"
        "|ist verboten|sind verboten|ist untersagt|sind untersagt|nicht erlaubt"
        "|nicht gestattet|nicht zulässig|unzulässig|keinen anspruch|nicht berechtigt"
        "|keinesfalls|auf keinen fall|unter keinen umständen"
    ),
    CueKind.PERMISSION: (
        "darf|dürfen|kann|können|ist erlaubt|sind erlaubt|ist gestattet|sind gestattet|ist zulässig"
        "|ist berechtigt|sind berechtigt|optional|wahlweise"
    ),
    CueKind.CONDITION: (
        "wenn|falls|sobald|sofern|im falle|im fall|für den fall|solange|vorausgesetzt"
        "|unter der bedingung|wo|je nach|soweit"
        "|nur wenn|es sei denn|auch wenn|selbst wenn|außer wenn|erst wenn|im zweifel"
    ),
    CueKind.PRECONDITION: (
        "erfordert|erfordern|setzt voraus|setzen voraus|hängt von|hängen von"
        "|vorbehaltlich|erst nach|erst wenn|nur wenn|nur nach|nur dann"
        "|es sei denn|bevor|vorher|zuvor|nicht bevor|benötigt|benötigen"
    ),
    CueKind.EXCEPTION: (
        "es sei denn|außer|außer wenn|ausgenommen|ausnahmsweise|befreit|abgesehen von"
        "|mit ausnahme|gilt nicht|gelten nicht|auch wenn|selbst wenn|obwohl|nur wenn|nur dann"
        "|andernfalls|ansonsten|stattdessen|ändert nichts|berührt nicht|entfällt|entfallen"
        "|unberührt|jedoch nur|aber nur|erstreckt sich nicht|erstrecken sich nicht"
        "|bleibt außer betracht|bleiben außer betracht"
    ),
    CueKind.OVERRIDE: (
        "hat vorrang|haben vorrang|geht vor|gehen vor|ersetzt|ersetzen|hebt auf|ungeachtet"
        "|unabhängig von|unabhängig davon|trotz|egal|anstelle|statt"
    ),
    CueKind.CONTRAST: (
        "jedoch|aber|allerdings|dennoch|trotzdem|hingegen|während|im gegensatz|sondern|doch|dagegen"
    ),
    CueKind.SCOPE: (
        "nur|ausschließlich|lediglich|beschränkt auf|begrenzt auf|gilt für|gelten für|gilt|gelten"
        "|im rahmen|mindestens|höchstens|maximal|minimal|bis zu|weniger als|mehr als|unter|über"
        "|im sinne|in bezug auf|hinsichtlich|außerhalb|ebenfalls|zusätzlich"
    ),
    CueKind.SEQUENCE: (
        "zuerst|erstens|zunächst|zweitens|drittens|danach|anschließend|schließlich"
        "|zuletzt|der reihe nach|als nächstes|erst nach|erst wenn"
    ),
    CueKind.ORDINAL: "erste|zweite|dritte|dann",
    CueKind.ORDER: "vor|nach|bevor|nachdem|bis|sobald",
    CueKind.TEMPORAL: (
        "bis|bis zum|ab|ab dem|seit|vor dem|nach dem|spätestens|frühestens|innerhalb von"
        "|innerhalb|binnen|während|gültig ab|in kraft|rückwirkend|frist|bisher|läuft ab|zum"
    ),
    CueKind.CAUSE: "weil|da|wegen|aufgrund|infolge|denn|dank|durch",
    CueKind.RESULT: (
        "daher|deshalb|deswegen|folglich|somit|infolgedessen|führt zu|führen zu|verursacht"
        "|verursachen|bewirkt|bewirken|sodass|so dass|damit"
    ),
    CueKind.TENDENCY: (
        "oft|häufig|meistens|meist|in der regel|normalerweise|üblicherweise|gewöhnlich|tendiert"
        "|neigt|neigen|im allgemeinen|manchmal|selten|standardmäßig|typischerweise"
    ),
    CueKind.ADVICE: (
        "faustregel|bewährte praxis|empfohlen|empfiehlt|empfehlen|am besten|vorzugsweise"
        "|im zweifel|es lohnt sich|besser|bevorzugen|ratsam"
    ),
    CueKind.MODEL: (
        "stellen sie sich|ist wie|sind wie|wirkt wie|funktioniert wie|analogie|denkmodell"
        "|mentales modell|kann als|metapher"
    ),
    CueKind.OPINION: "ich denke|wir denken|ich glaube|wir glauben|meiner meinung|unserer meinung",
    CueKind.HEDGE: "vielleicht|möglicherweise|wahrscheinlich|scheint|scheinen|vermutlich|könnte",
    CueKind.GAP: (
        "einschränkungen|noch nicht|unklar|unbekannt|ungewiss|nicht bekannt"
        "|offene frage|nicht festgelegt"
    ),
    CueKind.ASSUMPTION: "angenommen|annahme|annahmen|nehmen an|setzt voraus|unterstellt",
    CueKind.OUTDATED: "veraltet|nicht mehr|früher|wurde ersetzt|überholt",
    CueKind.DISPUTE: "widerspricht|widersprechen|widerspruch|umstritten|verzerrung|uneinig",
    CueKind.PURPOSE: "um zu|zweck|ziel ist|dient dazu|dienen dazu|dient der|soll helfen",
    CueKind.CASE: "während|solange",
    CueKind.NEGATION: "nicht|kein|keine|keinen|keinem|keiner|ohne|weder|niemand",
    CueKind.SUBSTITUTE: "statt|anstatt|anstelle",
    CueKind.IDIOM: "auf einmal|noch einmal",
}

# Nouns by which a text names what a part is; they say so of it, but cut no sentence.
NAMES: CueLists = {
    CueKind.PRECONDITION: (
        "anforderung|anforderungen|bedingung|bedingungen|voraussetzung|voraussetzungen"
    ),
    CueKind.SCOPE: "geltungsbereich|umfang|einschränkung",
    CueKind.EXCEPTION: "ausnahme|ausnahmen|sonderfall|sonderfälle",
    CueKind.OVERRIDE: "vorrang",
    CueKind.SEQUENCE: "schritt|schritte|ablauf|verfahren|anleitung",
    CueKind.PROHIBITION: "gegenanzeige|gegenanzeigen|kontraindikation",
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
