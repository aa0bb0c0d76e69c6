"""The table of all fields of a package. Schema, codecs, checks and diff derive from it."""

from pecia.features.ckf.package.field import (
    FieldRole,
    FieldShape,
    PackageField,
    PackageSection,
    SectionKind,
)

BASES = ("explicit", "inferred", "synthesized", "author_opinion", "uncertain")
COMPRESSION_LEVELS = ("light", "standard", "dense", "agentic")
DOMAINS = (
    "education / learning science",
    "business",
    "legal",
    "healthcare",
    "software",
    "science",
    "general knowledge",
)
DIFFICULTIES = ("easy", "medium", "hard")
ATOMIC_TYPES = (
    "fact",
    "rule",
    "definition",
    "claim",
    "heuristic",
    "numeric_fact",
    "obligation",
    "prohibition",
    "exception",
)
PROTOCOLS = ("ckf-1.0", "0.1", "ckf-0.1", "0.2")

ANY = "*"
RULE_SECTIONS = ("principles", "heuristics", "decision_rules", "if_then_rules", "exceptions")


def _text(name: str, role: FieldRole = FieldRole.PROSE, *, required: bool = False) -> PackageField:
    return PackageField(name, role, required=required, fill=not required)


def _label(name: str, *, required: bool = False) -> PackageField:
    return _text(name, FieldRole.LABEL, required=required)


def _clause(name: str, *, required: bool = False) -> PackageField:
    return _text(name, FieldRole.CLAUSE, required=required)


def _texts(name: str, role: FieldRole = FieldRole.PROSE, *, ordered: bool = False) -> PackageField:
    return PackageField(name, role, FieldShape.TEXTS, fill=True, ordered=ordered)


def _reference(name: str, *targets: str, extension: bool = False) -> PackageField:
    return PackageField(
        name,
        FieldRole.REFERENCE,
        FieldShape.TEXTS,
        fill=not extension,
        extension=extension,
        targets=targets,
    )


def _choice(name: str, choices: tuple[str, ...], *, required: bool = False) -> PackageField:
    return PackageField(name, FieldRole.CHOICE, required=required, choices=choices)


def _domain(name: str, *, required: bool = False) -> PackageField:
    return PackageField(name, FieldRole.CHOICE, required=required, open=True, choices=DOMAINS)


def _value(name: str, *, required: bool = False) -> PackageField:
    return PackageField(name, FieldRole.VALUE, required=required)


def _integer(name: str) -> PackageField:
    return PackageField(name, FieldRole.NUMBER, FieldShape.INTEGER)


def _score(name: str, *, required: bool = False) -> PackageField:
    return PackageField(
        name, FieldRole.NUMBER, FieldShape.NUMBER, required=required, unit_scale=True
    )


ID = PackageField("id", FieldRole.ID, required=True)
BASIS = _choice("source_basis", BASES)
CONFIDENCE = _score("confidence")
# Fields of every item of the sections 3 to 19.
TRACE = (
    BASIS,
    CONFIDENCE,
    PackageField("source_refs", FieldRole.VALUE, FieldShape.TEXTS, fill=True),
    PackageField("source_excerpts", FieldRole.QUOTE, FieldShape.TEXTS, fill=True),
)
# Extensions needed to combine rules; the format has no fields for them.
LINKS = (
    _reference("modifies", ANY, extension=True),
    _reference("overrides", ANY, extension=True),
    _reference("requires", ANY, extension=True),
    PackageField("priority", FieldRole.NUMBER, FieldShape.INTEGER, extension=True),
    PackageField("scope", FieldRole.CLAUSE, extension=True),
    PackageField("valid_from", FieldRole.VALUE, extension=True),
    PackageField("valid_to", FieldRole.VALUE, extension=True),
    PackageField("tags", FieldRole.LABEL, FieldShape.TEXTS, extension=True),
)

MANIFEST_ENTRY = (
    _value("source_id", required=True),
    _value("source_type", required=True),
    _value("path", required=True),
    PackageField("text_preview", FieldRole.QUOTE, required=True, max_length=200),
    *(
        PackageField(it, FieldRole.VALUE, extension=True)
        for it in ("source_record_id", "source_file", "heading", "title", "text_sha256")
    ),
    *(
        PackageField(it, FieldRole.NUMBER, FieldShape.INTEGER, extension=True)
        for it in ("line_start", "line_end", "char_start", "char_end")
    ),
    # Document and revision of the source, so that staleness can be detected.
    *(PackageField(it, FieldRole.VALUE, extension=True) for it in ("uri", "revision")),
)

METADATA = PackageSection(
    "metadata",
    0,
    "METADATA",
    SectionKind.OBJECT,
    (
        _value("package_id", required=True),
        _value("protocol_version", required=True),
        _value("source_type", required=True),
        _label("source_title", required=True),
        _label("source_author", required=True),
        _domain("domain", required=True),
        _texts("subdomains", FieldRole.LABEL),
        _value("language", required=True),
        _value("created_at", required=True),
        _choice("compression_level", COMPRESSION_LEVELS, required=True),
        _score("human_readability", required=True),
        _score("ai_utility_score", required=True),
        *(
            _value(it)
            for it in ("source_subtitle", "source_edition", "source_publisher", "source_isbn")
        ),
        PackageField("source_authors", FieldRole.VALUE, FieldShape.TEXTS),
        PackageField("source_year", FieldRole.VALUE, FieldShape.INTEGER_OR_TEXT),
        PackageField("source_manifest", FieldRole.GROUP, FieldShape.RECORDS, parts=MANIFEST_ENTRY),
        *(_value(it) for it in ("source_sha256", "compiler_version", "compiler_profile")),
        *(
            PackageField(it, FieldRole.VALUE, extension=True)
            for it in (
                "compiled_with_provider",
                "compiled_with_model",
                "spec_version",
                "package_sha256",
            )
        ),
    ),
)
HEADER_FIELDS = tuple(it.name for it in METADATA.fields[:12])

CORE_INTENT = (
    _text("primary_purpose", required=True),
    _text("intended_user", required=True),
    PackageField("intended_agent_use", FieldRole.PROSE, FieldShape.TEXT_OR_TEXTS, required=True),
    _text("transformation_goal", required=True),
    _text("key_value", required=True),
)
SUBDOMAIN = (
    _label("name", required=True),
    _score("relevance"),
    PackageField("related_concepts", FieldRole.LABEL, FieldShape.TEXTS),
)
DOMAIN_MAP = (
    _domain("main_domain", required=True),
    PackageField(
        "subdomains", FieldRole.GROUP, FieldShape.TEXTS_OR_RECORDS, fill=True, parts=SUBDOMAIN
    ),
    _texts("adjacent_domains", FieldRole.LABEL),
    _texts("excluded_domains", FieldRole.LABEL),
)
AGENT_INSTRUCTIONS = tuple(
    _texts(it)
    for it in (
        "behavior_rules",
        "reasoning_rules",
        "response_rules",
        "forbidden_behaviors",
        "preferred_questions",
        "tool_usage_guidance",
    )
)
KNOWLEDGE_LIMITS = tuple(
    _texts(it)
    for it in (
        "missing_context",
        "weakly_supported_claims",
        "assumptions_detected",
        "possible_biases",
        "outdated_sections",
        "needs_human_review",
    )
)

RELATED_ENTITY = (
    PackageField("entity_id", FieldRole.REFERENCE, required=True, targets=("entities",)),
    _value("relation_type", required=True),
    CONFIDENCE,
)
RELATED_BY_NAME = (_label("name", required=True), _value("relation", required=True))
ENTITY = (
    ID,
    _label("name", required=True),
    _label("type", required=True),
    _text("description", required=True),
    _texts("aliases", FieldRole.LABEL),
    _texts("attributes", FieldRole.LABEL),
    PackageField(
        "related_entities", FieldRole.GROUP, FieldShape.RECORDS, fill=True, parts=RELATED_ENTITY
    ),
    PackageField("related", FieldRole.GROUP, FieldShape.RECORDS, parts=RELATED_BY_NAME),
    *TRACE,
)
CONCEPT = (
    ID,
    _label("label", required=True),
    _text("definition", required=True),
    _domain("domain"),
    _texts("aliases", FieldRole.LABEL),
    *(
        _reference(it, "concepts")
        for it in ("depends_on", "contradicts", "supports", "enables", "risks")
    ),
    *TRACE,
)
PRINCIPLE = (
    ID,
    _clause("statement", required=True),
    _clause("applies_when"),
    _clause("does_not_apply_when"),
    _text("rationale"),
    _text("operational_use"),
    *TRACE,
    *LINKS,
)
HEURISTIC = (
    ID,
    _clause("trigger", required=True),
    _text("interpretation"),
    _clause("recommended_action", required=True),
    _clause("avoid"),
    *TRACE,
    *LINKS,
)
DECISION_RULE = (
    ID,
    _clause("condition", required=True),
    _clause("decision", required=True),
    _text("reasoning"),
    _clause("required_context"),
    _clause("output_action"),
    _clause("failure_mode"),
    *TRACE,
    *LINKS,
)
STEP = (
    PackageField("step", FieldRole.NUMBER, FieldShape.INTEGER, minimum=1),
    _clause("action", required=True),
    _clause("input_required"),
    _clause("output_expected"),
)
PROCEDURE = (
    ID,
    _label("name", required=True),
    _clause("objective"),
    PackageField(
        "steps",
        FieldRole.GROUP,
        FieldShape.TEXTS_OR_RECORDS,
        required=True,
        parts=STEP,
        ordered=True,
    ),
    _clause("success_criteria"),
    _clause("failure_criteria"),
    *TRACE,
    *LINKS,
)
PATTERN = (
    ID,
    _label("name", required=True),
    _clause("observed_when"),
    _clause("signal"),
    _text("underlying_mechanism"),
    _clause("response_strategy"),
    *TRACE,
)
ANTI_PATTERN = (
    ID,
    _label("name", required=True),
    _text("description", required=True),
    _text("why_it_fails"),
    _clause("warning_signals"),
    _clause("replacement_behavior"),
    *TRACE,
    *LINKS,
)
CAUSAL_CHAIN = (
    ID,
    _clause("cause", required=True),
    _clause("mechanism"),
    _clause("effect", required=True),
    _texts("secondary_effects", FieldRole.CLAUSE),
    _texts("intervention_points", FieldRole.CLAUSE),
    *TRACE,
)
CONTEXTUAL_TRIGGER = (
    ID,
    _clause("if_user_says_or_context_contains", required=True),
    _reference("activate_knowledge", ANY),
    _clause("agent_should"),
    _clause("agent_should_not"),
    *TRACE,
)
IF_THEN_RULE = (
    ID,
    _clause("if", required=True),
    _clause("then", required=True),
    _clause("because"),
    *TRACE,
    *LINKS,
)
EXCEPTION = (
    ID,
    _clause("general_rule", required=True),
    _clause("exception_case", required=True),
    _clause("modified_action"),
    _text("explanation"),
    *TRACE,
    *LINKS,
)
MENTAL_MODEL = (
    ID,
    _label("name", required=True),
    _text("description", required=True),
    _clause("use_when"),
    _clause("do_not_use_when"),
    _clause("input_needed"),
    _clause("output_generated"),
    *TRACE,
)
PLAYBOOK = (
    ID,
    _label("name", required=True),
    _clause("objective"),
    _clause("activation_context"),
    PackageField("steps", FieldRole.CLAUSE, FieldShape.TEXTS, required=True, ordered=True),
    _label("agent_tone"),
    _texts("tools_needed", FieldRole.LABEL),
    _clause("expected_output"),
    _texts("failure_modes", FieldRole.CLAUSE),
    *TRACE,
)
QA_PAIR = (
    ID,
    _text("question", required=True),
    _text("ideal_answer", required=True),
    _reference("source_concepts", "concepts"),
    _choice("difficulty", DIFFICULTIES),
    _label("answer_type"),
    *TRACE,
)
RETRIEVAL_CHUNK = (
    ID,
    _label("title", required=True),
    _text("standalone_context"),
    _text("compressed_knowledge", required=True),
    _texts("activation_queries", FieldRole.LABEL),
    _reference("related_rules", *RULE_SECTIONS),
    _reference("related_entities", "entities"),
    _reference("related_concepts", "concepts"),
    *TRACE,
)
ATOMIC_UNIT = (
    ID,
    _text("statement", required=True),
    _choice("type", ATOMIC_TYPES, required=True),
    _texts("tags", FieldRole.LABEL),
    _reference("dependencies", "atomic_units"),
    *TRACE,
)
TRACE_ROW = (
    PackageField("extracted_item_id", FieldRole.REFERENCE, required=True, targets=(ANY,)),
    _value("source_location", required=True),
    PackageField("source_excerpt", FieldRole.QUOTE, required=True),
    _choice("extraction_type", BASES, required=True),
    *(
        _value(it)
        for it in ("extracted_item_path", "source_record_id", "source_file", "source_path")
    ),
    *(
        _integer(it)
        for it in ("source_line_start", "source_line_end", "source_char_start", "source_char_end")
    ),
    # For a citation that is longer than its quotation: its end, its hash, and the rest of its text.
    PackageField("source_span_end", FieldRole.NUMBER, FieldShape.INTEGER, extension=True),
    PackageField("source_span_sha256", FieldRole.VALUE, extension=True),
    PackageField("source_continuation", FieldRole.VALUE, extension=True),
    BASIS,
    CONFIDENCE,
)


def _object(key: str, number: int, title: str, fields: tuple[PackageField, ...]) -> PackageSection:
    return PackageSection(key, number, title, SectionKind.OBJECT, fields)


_TABLE: tuple[
    tuple[str, str, tuple[PackageField, ...], tuple[str, str, str], tuple[str, ...]], ...
] = (
    ("entities", "ENTITY GRAPH", ENTITY, ("ent", "ENT", "e"), ("name", "type")),
    ("concepts", "CONCEPT GRAPH", CONCEPT, ("con", "CON", "c"), ("label", "definition")),
    ("principles", "PRINCIPLES", PRINCIPLE, ("pri", "PRI", "p"), ("statement",)),
    (
        "heuristics",
        "HEURISTICS",
        HEURISTIC,
        ("heu", "HEU", "h"),
        ("trigger", "recommended_action"),
    ),
    (
        "decision_rules",
        "DECISION RULES",
        DECISION_RULE,
        ("dec", "RULE", "dr"),
        ("condition", "decision"),
    ),
    ("procedures", "PROCEDURES", PROCEDURE, ("proc", "PROC", "pr"), ("name", "objective")),
    ("patterns", "PATTERNS", PATTERN, ("pat", "PAT", "pt"), ("name", "signal")),
    (
        "anti_patterns",
        "ANTI-PATTERNS",
        ANTI_PATTERN,
        ("ant", "ANTI", "ap"),
        ("name", "description"),
    ),
    ("causal_chains", "CAUSAL CHAINS", CAUSAL_CHAIN, ("cau", "CAU", "cc"), ("cause", "effect")),
    (
        "contextual_triggers",
        "CONTEXTUAL TRIGGERS",
        CONTEXTUAL_TRIGGER,
        ("ctx", "TRG", "ct"),
        ("if_user_says_or_context_contains",),
    ),
    ("if_then_rules", "IF-THEN RULES", IF_THEN_RULE, ("ift", "IFTHEN", "it"), ("if", "then")),
    (
        "exceptions",
        "EXCEPTIONS AND EDGE CASES",
        EXCEPTION,
        ("exc", "EXC", "ex"),
        ("general_rule", "exception_case"),
    ),
    ("mental_models", "MENTAL MODELS", MENTAL_MODEL, ("mm", "MM", "mm"), ("name", "description")),
    (
        "playbooks",
        "OPERATIONAL PLAYBOOKS",
        PLAYBOOK,
        ("pb", "PLAY", "pb"),
        ("name", "activation_context"),
    ),
    (
        "qa_pairs",
        "QUESTION-ANSWER PAIRS FOR AGENTS",
        QA_PAIR,
        ("qa", "QA", "qa"),
        ("question", "ideal_answer"),
    ),
    (
        "retrieval_chunks",
        "RETRIEVAL CHUNKS",
        RETRIEVAL_CHUNK,
        ("chk", "CHUNK", "rc"),
        ("title", "compressed_knowledge"),
    ),
    (
        "atomic_units",
        "EMBEDDING-READY ATOMIC UNITS",
        ATOMIC_UNIT,
        ("atm", "AU", "au"),
        ("statement",),
    ),
)
_OTHER_TITLES: dict[str, tuple[str, ...]] = {
    "entities": ("Entities",),
    "concepts": ("Concepts",),
    "anti_patterns": ("Antipatterns",),
    "if_then_rules": ("If then rules",),
    "exceptions": ("Exceptions",),
    "playbooks": ("Playbooks",),
    "qa_pairs": ("Q&A pairs", "QA pairs"),
    "atomic_units": ("Atomic units",),
}

# The sections 3 to 19: items with an id and trace rows.
ITEM_SECTIONS = tuple(
    PackageSection(
        key,
        number,
        title,
        SectionKind.ARRAY,
        fields,
        prefixes,
        identity,
        _OTHER_TITLES.get(key, ()),
    )
    for number, (key, title, fields, prefixes, identity) in enumerate(_TABLE, start=3)
)
TRACEABILITY = PackageSection(
    "source_traceability",
    22,
    "SOURCE TRACEABILITY",
    SectionKind.ARRAY,
    TRACE_ROW,
    identity=("extracted_item_id", "source_location", "source_excerpt"),
)
# In schema order, without the header.
SECTIONS = (
    _object("core_intent", 1, "CORE INTENT", CORE_INTENT),
    _object("domain_map", 2, "DOMAIN MAP", DOMAIN_MAP),
    *ITEM_SECTIONS,
    _object("agent_instructions", 20, "AGENT INSTRUCTIONS", AGENT_INSTRUCTIONS),
    _object("knowledge_limits", 21, "KNOWLEDGE LIMITS", KNOWLEDGE_LIMITS),
    TRACEABILITY,
)
ALL_SECTIONS = (METADATA, *SECTIONS)
SECTION_BY_KEY = {it.key: it for it in ALL_SECTIONS}
