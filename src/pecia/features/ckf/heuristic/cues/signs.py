"""Forms of verbs and pronouns that tell instructions, facts and past events apart."""

import re

SECOND_PERSON = re.compile(
    r"\b(?:you|your|Sie|Ihr\w{0,2}|vous|votre|vos|usted|tu|tus|você|seu médico|su médico)\b"
)
_PAST_WORDS = """
avaient avait became did era eram eran estava foi foram fue fueron furent fut había had hatte
hatten havia tenía tinha war waren was were wurde wurden étaient était
"""
PAST = frozenset(_PAST_WORDS.split())
# Past tenses without an auxiliary: `avanzaron`, `ging`, `conquistou`, `portait`.
PRETERITE_ENDINGS = (
    *("aron", "ieron", "aba", "aban", "ían", "aram", "iram", "eram", "ava", "avam", "iam"),
    *("èrent", "irent", "urent", "aient", "ó", "ou"),
)
PRETERITE = re.compile(
    r"\b(?:ont|a|ha|han|hat|haben) (?:été|été \w+é\w*|\w+(?:ado|ido|é|és|ées?))\b"
    r"|(?<=\w\w\w)[^e]ierten?\b"
)
_PRETERITE_WORDS = """
won led began became took held made wrote gave came went built fell rose grew lost found
ging kam gab ließ schrieb begann verlief erreichte führte führten zeigte zeigten konnte konnten
musste mussten musstet sollte setzte bestand entstand verursachte akzeptierten
"""
PRETERITE_WORDS = frozenset(_PRETERITE_WORDS.split())
PAST_PARTICIPLE = re.compile(r"\b[a-z]{3,}ed\b")
PERFECT = re.compile(
    r"\b(?:has|have|had) (?:\w+ly |also |been |not |now |never |already )?(?:\w{2,}ed|been"
    r"|\w+wn|taken|given|written|become|made|found|led|held|kept|gone|done|seen|begun|come"
    r"|left|lost|built|brought|grown|got|had|said|sent|told)\b"
)
_PRESENT_WORDS = """
are es est está están estão haben has hat have is ist ont sind son sont são tem tiene tienen têm
wird é
"""
PRESENT = frozenset(_PRESENT_WORDS.split())
# Verbs that state how something is or works.
_STATIVE_WORDS = """
activa affect affects affiche ajoute allow allows appear appears ativa become becomes beginnt
belong belongs benutzt beschreibt besteht betrifft bietet bleibt cause causes change changes
come comes commence comporte comprend consist consists contain contains contiene contienen
contiennent contient contém contêm create creates crée depend depende depends descreve describe
describes devient divide donne décrit dépend enthalten enthält erlaubt ermöglicht erstellt
especifica exist existe existem existen exists explain explains fica ficam fonctionne fornece
fournit geben gehören gehört genera gera get gets gibt give gives happen happens identifica
include includes incluem inclui incluye incluyen indica indicam liegen liegt lies make makes
montre mostra muestra nutzt oferece offre ofrece passam permet permettent permite permitem
permiten pertence pertenece possède prefiere processa proporciona provide provides read reads
remain remains reste return returns run runs send sends show shows significam start starts store
stores support supports take takes tiene unterstützt usa usan use uses utilise utiliza vai
verwendet vão work works zeigt ändert
"""
STATIVE = frozenset(_STATIVE_WORDS.split())
INSTRUCTION = re.compile(
    r"^(?:[A-ZÄÖÜ]\w+[en]n Sie\b|[A-ZÉÊÀ]\w+ez\b|(?:Ne|No|Não|Nicht|Do not|Don't|Never|Always"
    r"|Nunca)\b"
    r"|(?:Add|Apply|Ask|Boot|Call|Change|Check|Choose|Click|Close|Configure|Connect|Contact|Copy"
    r"|Create|Delete|Download|Edit|Enable|Ensure|Enter|Exit|Fill|Find|Follow|Give|Go|Have|Include"
    r"|Inform|Insert|Install|Keep|Let|List|Log|Make|Mark|Mount|Move|Open|Place|Press|Provide|Put"
    r"|Read|Reboot|Record|Remove|Repeat|Replace|Restart|Run|Save|Select|Send|Set|Start|Stop|Store"
    r"|Take|Talk|Tell|Try|Turn|Type|Update|Upgrade|Use|Verify|Wait|Write"
    r"|Abra|Active|Añada|Anote|Aplique|Arranque|Borre|Busque|Cambie|Compruebe|Configure|Consulte"
    r"|Copie|Cree|Descargue|Edite|Ejecute|Elija|Escriba|Espere|Evite|Guarde|Haga|Informe|Inicie"
    r"|Instale|Introduzca|Lea|Monte|Pida|Ponga|Pulse|Reinicie|Repita|Seleccione|Siga|Tome|Use"
    r"|Utilice|Verifique|Actualice|Elimine|Quite"
    r"|Acrescente|Adicione|Altere|Apague|Aplique|Carregue|Clique|Coloque|Comece|Contacte|Copie"
    r"|Crie|Diga|Digite|Escolha|Escreva|Espere|Execute|Faça|Fale|Grave|Guarde|Inicie|Insira"
    r"|Introduza|Leia|Mude|Mova|Peça|Pressione|Prima|Reinicie|Remova|Repita|Retire|Selecione"
    r"|Seleccione|Siga|Substitua|Tente|Tome|Utilize|Verifique|Atualize|Actualize|Instale)\b)"
)
REFERENCE = re.compile(
    r"^\W{0,3}(?:See|For (?:more|further|details)|Siehe|Voir|Voyez|Consultez|Véase|Vea|Consulte"
    r"|Veja|Ver|Para más|Para mais|Pour plus)\b|\b(?:siehe|véase|see also)\b"
)
