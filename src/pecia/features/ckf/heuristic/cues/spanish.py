"""The function words of Spanish rules. Grammar only: never a word that belongs to a subject."""

from pecia.features.ckf.heuristic.cues.kind import CueKind, CueLists

STOPWORDS = (
    "el la los las un una unos unas de del al en y o que no se es son fue ser por para con sin su"
    " sus lo le les más como pero este esta esto ese esa eso ya cuando muy también sólo solo entre"
    " hasta desde hay está están debe deben puede pueden si cada todo todos sobre"
)

CUES: CueLists = {
    CueKind.DEFINITION: (
        "significa|se refiere a|se refieren a|se define como|se definen como|denota|se llama"
        "|se conoce como|consiste en|es un|es una|es el|es la|son un tipo de|se entiende por"
        "|se entenderá por|se entiende como|se considera|se consideran|se considerará|se denomina"
        "|se denominan|tendrán la consideración de|tendrá la consideración de|es aquel|es aquella"
        "|son aquellos|son aquellas"
    ),
    CueKind.OBLIGATION: (
        "debe|deben|deberá|deberán|tiene que|tienen que|hay que|es obligatorio|es obligatoria"
        "|es necesario|es necesaria|se requiere|se requieren|siempre|asegúrese|asegure|necesita"
        "|necesitan"
    ),
    CueKind.PROHIBITION: (
        "no debe|no deben|no puede|no pueden|no podrá|no podrán|nunca|jamás|evite|evitar"
        "|eviten|está prohibido|está prohibida|están prohibidos|se prohíbe|se prohíben"
        "|queda prohibido|no se permite|no se permiten|no está permitido|no tiene derecho"
        "|no tienen derecho|en ningún caso|bajo ningún concepto|bajo ninguna circunstancia"
    ),
    CueKind.PERMISSION: (
        "puede|pueden|podrá|podrán|se permite|se permiten|está permitido|tiene derecho a"
        "|tienen derecho a|opcional|opcionalmente"
    ),
    CueKind.CONDITION: (
        "si|cuando|siempre que|en caso de|en caso de que|en cuanto|tan pronto como|con tal de que"
        "|a condición de que|una vez que|donde|según|dependiendo de"
        "|solo si|sólo si|solo cuando|sólo cuando|únicamente si|a menos que|incluso si"
        "|aun si|aun cuando|en caso de duda"
    ),
    CueKind.PRECONDITION: (
        "exige|exigen|requiere|requieren|depende de|dependen de|requisito previo|sujeto a|sujeta a"
        "|solo después|sólo después|solo si|sólo si|solo cuando|sólo cuando|únicamente si"
        "|a menos que|antes de|antes de que|previamente|no hasta"
    ),
    CueKind.EXCEPTION: (
        "a menos que|salvo|salvo que|excepto|exento|exenta|exentos|exentas|con excepción de"
        "|a excepción de|excluyendo|excluidos|excluidas|no se aplica|no se aplican|incluso si"
        "|aun si|aunque|aun cuando|solo cuando|sólo cuando|solo si|sólo si|únicamente si"
        "|de lo contrario|en su lugar|no afecta|no cambia|queda exento|pero solo|pero sólo"
        "|no se extiende|no se extienden|no cuenta|no cuentan|queda suspendido"
        "|quedan suspendidos"
    ),
    CueKind.OVERRIDE: (
        "prevalece|prevalecen|prevalece sobre|tiene prioridad|tiene precedencia|sustituye"
        "|sustituyen|reemplaza|anula|deroga|independientemente de|con independencia de"
        "|no obstante|a pesar de|no importa|en lugar de"
    ),
    CueKind.CONTRAST: (
        "sin embargo|pero|no obstante|mientras que|en vez de|por el contrario|por otro lado|sino"
    ),
    CueKind.SCOPE: (
        "solo|sólo|solamente|únicamente|exclusivamente|restringido a|limitado a|limitada a"
        "|se aplica a|se aplican a|se aplica|se aplican|en el ámbito de|al menos|por lo menos"
        "|como máximo|como mínimo|hasta|menos de|más de|inferior a|superior a|por debajo de"
        "|por encima de|a efectos de|en cuanto a|también|fuera de"
    ),
    CueKind.SEQUENCE: (
        "en segundo lugar|en primer lugar|a continuación|por último"
        "|finalmente|posteriormente|en orden|solo después|sólo después"
    ),
    CueKind.ORDINAL: "luego|entonces|primero|primera|segundo|segunda|tercero|después",
    CueKind.ORDER: "antes|antes de|tras|después de|hasta que|en cuanto",
    CueKind.TEMPORAL: (
        "hasta|a partir de|antes de|después de|desde|vigente|en vigor|en el plazo de|dentro de"
        "|durante|a más tardar|retroactivo|retroactivamente|vence|plazo|anteriormente"
    ),
    CueKind.CAUSE: "porque|a causa de|debido a|debido al|ya que|puesto que|dado que|gracias a",
    CueKind.RESULT: (
        "por lo tanto|por tanto|por eso|por consiguiente|en consecuencia|así que|conduce a"
        "|conducen a|lleva a|llevan a|resulta en|causa|causan|provoca|provocan|de modo que|para que"
    ),
    CueKind.TENDENCY: (
        "generalmente|normalmente|a menudo|con frecuencia|frecuentemente|suele|suelen|tiende a"
        "|tienden a|por lo general|en la mayoría de los casos|a veces|rara vez|por defecto"
    ),
    CueKind.ADVICE: (
        "regla general|regla práctica|buena práctica|buenas prácticas|se recomienda|es recomendable"
        "|recomendado|prefiera|es mejor|considere|conviene|de preferencia|en caso de duda"
    ),
    CueKind.MODEL: (
        "piense en|es como|son como|actúa como|funciona como|analogía|modelo mental|imagine"
        "|puede verse como|metáfora"
    ),
    CueKind.OPINION: (
        "creo que|creemos que|pienso que|pensamos que|en mi opinión|en nuestra opinión|a mi juicio"
    ),
    CueKind.HEDGE: "quizás|quizá|tal vez|posiblemente|probablemente|parece|parecen|sugiere|podría",
    CueKind.GAP: (
        "limitación|limitaciones|salvedad|todavía no|aún no|no está claro|desconocido|incierto"
        "|no se sabe|no especificado|sin especificar"
    ),
    CueKind.ASSUMPTION: "supone|suponemos|asume|asumimos|presupone|supuesto|suposición",
    CueKind.OUTDATED: "desactualizado|obsoleto|ya no|antiguamente|fue reemplazado|en desuso",
    CueKind.DISPUTE: (
        "discrepa|discrepan|contradice|contradicción|controvertido|sesgo|inconsistente"
    ),
    CueKind.PURPOSE: (
        "a fin de|con el fin de|con el objetivo de|el objetivo de|está destinado a|para ayudar"
        "|tiene por objeto"
    ),
    CueKind.CASE: "durante|mientras",
    CueKind.NEGATION: "no|sin|ni|ningún|ninguno|ninguna|nadie",
    CueKind.SUBSTITUTE: "en lugar de|en vez de",
    CueKind.IDIOM: "a la vez|de una vez|una vez por|más de una vez",
}

# Nouns by which a text names what a part is; they say so of it, but cut no sentence.
NAMES: CueLists = {
    CueKind.PRECONDITION: "requisito|requisitos|condición|condiciones",
    CueKind.SCOPE: "ámbito|alcance|elegibilidad|restricción|restricciones",
    CueKind.EXCEPTION: "excepción|excepciones|exención|caso especial|casos especiales",
    CueKind.OVERRIDE: "precedencia",
    CueKind.SEQUENCE: "paso|pasos|etapa|etapas|procedimiento|cómo",
    CueKind.PROHIBITION: "contraindicación|contraindicaciones",
}

UNITS = (
    "segundo segundos minuto minutos hora horas día días semana semanas mes meses trimestre"
    " trimestres año años década décadas"
)
MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
RELATIVE = "anterior siguiente próximo próxima actual corriente mismo pasado"
NUMERALS = (
    "un una dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte"
    " treinta cuarenta cincuenta sesenta noventa cien"
)
ANAPHORA = (
    "este esta estos estas ese esa esos esas esto eso aquel aquella él ella ellos ellas tal tales"
)
AROUND = "en tras antes después durante cada por hasta dentro de"
OPENERS = "para durante bajo en con dentro fuera entre"
VALID_FROM = "a partir de|a partir del|desde|desde el|después del"
VALID_TO = "hasta|hasta el|antes del|antes de"
CLOSING = "por último|finalmente"
# Before a permission they make it a prohibition.
NOBODY = "nadie ningún ninguno ninguna"
SCOPING = "para bajo dentro fuera"
# Their clause means the same without them.
PLAIN = "si cuando donde"
CONJUNCTIONS = "y e o u pero ni"
THEN = "entonces"
QUESTION = "pregunta p"
ANSWER = "respuesta r"
