"""The function words of Portuguese rules. Grammar only: never a word that belongs to a subject."""

from pecia.features.ckf.heuristic.cues.kind import CueKind, CueLists

STOPWORDS = (
    "o a os as um uma de do da dos das em no na nos nas por para com sem que não se é são foi ser"
    " mais como mas ao aos à às ou seu sua seus suas ele ela eles elas este esta isso isto aquele"
    " já quando muito também só pelo pela até entre depois você nós há está estão deve devem pode"
)

CUES: CueLists = {
    CueKind.DEFINITION: (
        "significa|refere-se a|referem-se a|é definido como|é definida como|denota|é chamado"
        "|é chamada|é conhecido como|é conhecida como|consiste em|é um|é uma|são um tipo de|é o|é a"
        "|entende-se por|considera-se|consideram-se|denomina-se|chama-se|designa-se|designa-se por"
        "|é aquele|é aquela|são aqueles|são aquelas"
    ),
    CueKind.OBLIGATION: (
        "deve|devem|deverá|deverão|tem de|têm de|tem que|têm que|precisa|precisam|é obrigatório"
        "|é obrigatória|é necessário|é necessária|é exigido|é exigida|são exigidos|sempre"
        "|obrigatoriamente|garanta|assegure|certifique-se"
    ),
    CueKind.PROHIBITION: (
        "não deve|não devem|não pode|não podem|não poderá|não poderão|nunca|jamais|evite"
        "|evitar|evitem|é proibido|é proibida|são proibidos|são proibidas|é vedado|é vedada"
        "|são vedados|não é permitido|não é permitida|fica proibido|fica vedado|não se deve"
        "|não têm direito|não tem direito|em nenhum caso|em hipótese alguma"
        "|em nenhuma hipótese"
    ),
    CueKind.PERMISSION: (
        "pode|podem|poderá|poderão|é permitido|é permitida|são permitidos|tem direito a"
        "|têm direito a|é facultado|opcional|opcionalmente"
    ),
    CueKind.CONDITION: (
        "se|quando|sempre que|caso|no caso de|em caso de|assim que|logo que|desde que|contanto que"
        "|na hipótese de|uma vez que|onde|dependendo de|conforme"
        "|apenas se|somente se|só se|somente quando|apenas quando|a menos que|mesmo se"
        "|mesmo quando|na dúvida"
    ),
    CueKind.PRECONDITION: (
        "exige|exigem|requer|requerem|depende de|dependem de|sujeito a|sujeita a"
        "|somente após|só depois|apenas se|somente se|só se|somente quando|apenas quando"
        "|a menos que"
        "|antes de|antes que|previamente|não até"
    ),
    CueKind.EXCEPTION: (
        "a menos que|a não ser que|exceto|salvo|isento|isenta|isentos|isentas|com exceção de"
        "|excluindo|excluídos|excluídas|não se aplica|não se aplicam|mesmo se|mesmo que"
        "|mesmo quando|ainda que|somente quando|somente se|apenas se|apenas quando|só se"
        "|caso contrário|em vez disso|fora isso|não altera|não alteram|não afeta|dispensado"
        "|dispensada|com ressalva|mas só|mas somente|mas apenas|não se estende"
        "|não se estendem|não conta|não contam|fica suspenso|ficam suspensos"
    ),
    CueKind.OVERRIDE: (
        "prevalece|prevalecem|prevalece sobre|tem precedência|substitui|substituem|anula|revoga"
        "|independentemente de|independente de|não obstante|apesar de|não importa|em lugar de"
    ),
    CueKind.CONTRAST: (
        "no entanto|porém|contudo|entretanto|todavia|mas|embora|enquanto|em vez de|ao contrário"
        "|por outro lado"
    ),
    CueKind.SCOPE: (
        "apenas|somente|só|exclusivamente|restrito a|restrita a|limitado a|limitada a|aplica-se a"
        "|aplicam-se a|aplica-se|aplicam-se|no âmbito de|pelo menos|no máximo|no mínimo|até"
        "|menos de"
        "|mais de|inferior a|superior a|abaixo de|acima de|para fins de|quanto a|também|fora de"
    ),
    CueKind.SEQUENCE: (
        "em segundo lugar|em primeiro lugar|em seguida|por fim|finalmente"
        "|posteriormente|a seguir|por último|na ordem|logo depois|só depois|somente após"
    ),
    CueKind.ORDINAL: "então|primeiro|primeira|segundo|segunda|terceiro|depois",
    CueKind.ORDER: "antes|antes de|após|depois de|até que|assim que",
    CueKind.TEMPORAL: (
        "até|a partir de|antes de|após|depois de|desde|vigente|em vigor|no prazo de|dentro de"
        "|durante|até o dia|retroativo|retroativamente|expira|prazo|anteriormente|no mais tardar"
    ),
    CueKind.CAUSE: (
        "por causa da|por causa do|por causa das|por causa dos"
        "|porque|por causa de|devido a|devido ao|devido à|pois|já que|visto que|em razão de"
        "|graças a"
    ),
    CueKind.RESULT: (
        "portanto|logo|assim|por isso|por conseguinte|consequentemente|leva a|levam a|resulta em"
        "|resultam em|causa|causam|provoca|provocam|de modo que|para que"
    ),
    CueKind.TENDENCY: (
        "geralmente|normalmente|frequentemente|muitas vezes|costuma|costumam|tende a|tendem a"
        "|em geral|na maioria dos casos|às vezes|raramente|por padrão|habitualmente"
    ),
    CueKind.ADVICE: (
        "regra prática|boa prática|boas práticas|recomenda-se|é recomendável|recomendado|prefira"
        "|é melhor|considere|convém|de preferência|na dúvida|vale a pena"
    ),
    CueKind.MODEL: (
        "pense em|é como|são como|atua como|funciona como|analogia|modelo mental|imagine"
        "|pode ser visto como|pode ser vista como|metáfora"
    ),
    CueKind.OPINION: (
        "acho que|acredito que|acreditamos que|pensamos que|na minha opinião|em nossa opinião"
        "|a meu ver|provavelmente o melhor"
    ),
    CueKind.HEDGE: "talvez|possivelmente|provavelmente|parece|parecem|sugere|sugerem|poderia",
    CueKind.GAP: (
        "limitação|limitações|ressalva|ainda não|não está claro|desconhecido|desconhecida|incerto"
        "|não se sabe|em aberto|não especificado|não especificada"
    ),
    CueKind.ASSUMPTION: "supõe|supomos|assume|assumimos|pressupõe|pressuposto|suposição",
    CueKind.OUTDATED: "desatualizado|obsoleto|não mais|antigamente|foi substituído|descontinuado",
    CueKind.DISPUTE: "discorda|discordam|contradiz|contradição|controverso|viés|inconsistente",
    CueKind.PURPOSE: (
        "a fim de|com o objetivo de|o objetivo de|destina-se a|tem por objetivo|visa a|para ajudar"
    ),
    CueKind.CASE: "durante|enquanto",
    CueKind.NEGATION: "não|sem|nem|nenhum|nenhuma|ninguém",
    CueKind.SUBSTITUTE: "em vez de|em lugar de",
    CueKind.IDIOM: "de uma vez|ao mesmo tempo|uma vez por|mais de uma vez",
}

# Nouns by which a text names what a part is; they say so of it, but cut no sentence.
NAMES: CueLists = {
    CueKind.PRECONDITION: "requisito|requisitos|condição|condições|pré-requisito|pré-requisitos",
    CueKind.SCOPE: "âmbito|elegibilidade|restrição|restrições",
    CueKind.EXCEPTION: "exceção|exceções|isenção|caso especial|casos especiais",
    CueKind.OVERRIDE: "precedência",
    CueKind.SEQUENCE: "passo|passos|etapa|etapas|procedimento|como fazer",
    CueKind.PROHIBITION: "contraindicação|contraindicações",
}

UNITS = (
    "segundo segundos minuto minutos hora horas dia dias semana semanas mês meses trimestre"
    " trimestres ano anos década décadas"
)
MONTHS = "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
RELATIVE = "anterior seguinte próximo próxima atual corrente mesmo passado"
NUMERALS = (
    "um uma dois duas três quatro cinco seis sete oito nove dez onze doze quinze vinte"
    " trinta quarenta cinquenta sessenta noventa cem"
)
ANAPHORA = (
    "este esta estes estas esse essa esses essas isso isto aquele aquela ele ela eles"
    " elas tal tais nesse neste nessa nesta"
)
AROUND = "em após antes depois durante a cada por até dentro de há"
OPENERS = "para durante sob em no na nos nas com dentro fora entre"
VALID_FROM = "a partir de|desde|após|vigente desde"
VALID_TO = "até|antes de|até o dia"
CLOSING = "por fim|finalmente|por último"
# Before a permission they make it a prohibition.
NOBODY = "ninguém nenhum nenhuma"
SCOPING = "para sob dentro fora nos nas"
# Their clause means the same without them.
PLAIN = "se quando sempre onde"
CONJUNCTIONS = "e ou mas nem"
THEN = "então"
QUESTION = "pergunta p"
ANSWER = "resposta r"
