"""What the CKF reference promises of packages: compile, read, write, check, compare, publish."""

from tests.contract.requirement import Requirement

REQUIREMENTS: dict[str, Requirement] = {
    "ckf.compile.works_unconfigured": Requirement(
        3,
        "On a fresh install with no setting changed, ckf.compile turns a text into a package.",
    ),
    "ckf.compile.opens_no_connection": Requirement(
        6, "While ckf.compile runs, the process opens no network connection."
    ),
    "ckf.compile.survives_outage": Requirement(
        6, "With every model provider unreachable, ckf.compile gives the same package."
    ),
    "ckf.compile.is_quick": Requirement(
        8, "The bench records the compile of 200,000 characters within its target of 300 ms."
    ),
    "ckf.compile.same_structure": Requirement(
        8,
        "Every package of ckf.compile has metadata and all 22 sections in schema order, empty or "
        "not.",
    ),
    "ckf.compile.repeatable": Requirement(
        8, "The same text and options give the same bytes in two separate processes."
    ),
    "ckf.compile.always_valid": Requirement(
        8, "ckf.validate finds no error in any package that ckf.compile made."
    ),
    "ckf.compile.text_required": Requirement(
        21,
        'ckf.compile without `text` is refused as MISSING_FIELD with `field` "text".',
        replaced=(
            "A `uri` of something the caller may see can stand in for `text`; without either the "
            "refusal names `text`."
        ),
    ),
    "ckf.compile.format_markdown": Requirement(
        22,
        '`format` "markdown" gives the package as Markdown that ckf.parse reads back unchanged.',
    ),
    "ckf.compile.format_values": Requirement(
        22,
        "`format` takes json, yaml or markdown; any other value is INVALID_ENUM listing the three.",
    ),
    "ckf.compile.text_can_be_saved": Requirement(
        41,
        "The first text block is the document alone: saved as a file, ckf.parse reads it.",
    ),
    "ckf.compile.needs_no_key": Requirement(
        57,
        "ckf.compile has no key argument, and succeeds on a server that holds no model key.",
    ),
    "ckf.compile.returns_package": Requirement(
        57,
        "ckf.compile returns the package as an object beside the document in the asked format.",
    ),
    "ckf.compile.ignores_quotas": Requirement(
        57, "Model quotas that are used up never refuse a call of ckf.compile."
    ),
    "ckf.compile.text_minimum": Requirement(
        117,
        "A text of 19 characters is OUT_OF_RANGE with min 20; one of 20 compiles.",
    ),
    "ckf.compile.text_maximum": Requirement(
        118,
        "A text of 200,000 characters compiles; one more is PAYLOAD_TOO_LARGE with max 200000.",
    ),
    "ckf.compile.any_markdown": Requirement(
        145,
        "Any Markdown file, with tables, code and frontmatter, compiles to a package to keep "
        "beside it.",
    ),
    "ckf.compare.side_by_side": Requirement(
        8,
        "A page of the guide sets both compilers side by side on the same texts, with their "
        "figures.",
    ),
    "ckf.parse.json": Requirement(57, "ckf.parse reads a package written as JSON."),
    "ckf.parse.yaml": Requirement(57, "ckf.parse reads a package written as YAML."),
    "ckf.parse.markdown": Requirement(57, "ckf.parse reads a package written as Markdown."),
    "ckf.parse.normalizes": Requirement(
        57,
        "Documents that differ only in omitted optional parts parse to equal, complete packages.",
    ),
    "ckf.parse.malformed": Requirement(
        140,
        "A document that is no CKF is refused as UNPROCESSABLE, naming the section and line.",
    ),
    "ckf.serialize.json": Requirement(
        57,
        "ckf.serialize renders a package as JSON, indented by two, keys in schema order.",
    ),
    "ckf.serialize.yaml": Requirement(
        57, "ckf.serialize renders a package as block YAML without anchors."
    ),
    "ckf.serialize.markdown": Requirement(
        57,
        "ckf.serialize renders a package as Markdown with its 22 numbered sections.",
    ),
    "ckf.serialize.other_format": Requirement(
        57,
        "ckf.serialize refuses any fourth format as INVALID_ENUM listing the three.",
    ),
    "ckf.serialize.loses_nothing": Requirement(
        57,
        "Parsing what was serialized gives the same package in each of the three formats.",
    ),
    "ckf.validate.good_document": Requirement(
        57,
        "A package that follows the schema, in any encoding, is valid with an empty errors list.",
    ),
    "ckf.validate.lists_errors": Requirement(
        57,
        "Each entry of errors names a stable code, the place in the document and what was "
        "expected.",
    ),
    "ckf.validate.all_at_once": Requirement(
        57, "A document with several faults gets them all listed in one answer."
    ),
    "ckf.validate.self_correction": Requirement(
        57, "Mending exactly what errors names makes the next call valid."
    ),
    "ckf.validate.in_ci": Requirement(
        148,
        "From a shell, validating .ckf files exits non-zero exactly when one of them has an error.",
    ),
    "ckf.example.six_topics": Requirement(
        57,
        "Each of learning, business, clinical, legal, engineering and scientific gives a valid "
        "package.",
    ),
    "ckf.example.unknown_topic": Requirement(
        57, "A seventh topic is INVALID_ENUM listing the six."
    ),
    "ckf.search_posts.best_first": Requirement(
        34,
        "The first result is the best match and carries the slug that ckf.fetch_post takes.",
    ),
    "ckf.search_posts.two_words": Requirement(
        52,
        'A search for "compiled knowledge" puts a post with both words before one with only one.',
    ),
    "ckf.search_posts.by_keyword": Requirement(
        57,
        "ckf.search_posts finds a published post by a word of its title, tags or text.",
        replaced=(
            "A post is a package published in the caller's tenant, not an article of the "
            "reference's site."
        ),
    ),
    "ckf.search_posts.only_published": Requirement(
        57, "A package that is not published is never among the results."
    ),
    "ckf.fetch_post.strongest_rules": Requirement(
        52,
        "The rules of a fetched package carry a confidence, so a client can pick the strongest "
        "three.",
    ),
    "ckf.fetch_post.by_slug": Requirement(
        57, "ckf.fetch_post returns the post of that slug with its whole package."
    ),
    "ckf.fetch_post.unknown_slug": Requirement(
        138, "An unknown slug, or one not published, is refused as NOT_FOUND."
    ),
    "ckf.viewer_url.from_package": Requirement(
        57, "ckf.viewer_url makes a link that carries the given package."
    ),
    "ckf.viewer_url.from_url": Requirement(
        57,
        "ckf.viewer_url makes a link to the viewer for the address of a .ckf file.",
    ),
    "ckf.viewer_url.for_people": Requirement(
        57,
        "Opening the link at /viewer shows the package as a page a person can read.",
    ),
    "ckf.viewer_url.one_of_two": Requirement(
        57,
        "Neither a package nor an address, or both, is refused with the field named.",
    ),
    "ckf.diff.identical": Requirement(57, "A package compared with itself is reported identical."),
    "ckf.diff.reports_changes": Requirement(
        57,
        "ckf.diff lists, by section, the items added, removed and changed, and the changed fields.",
    ),
    "ckf.diff.versions": Requirement(
        149,
        "Two compiles of a text that differ in one sentence differ only in the items of that "
        "sentence.",
    ),
    "ckf.resources.listed": Requirement(
        59,
        "resources/list names the six examples, the schema and every published post.",
    ),
    "ckf.resources.post": Requirement(
        60,
        "Reading ckf://post/<slug> gives the package that ckf.fetch_post gives.",
    ),
    "ckf.resources.post_template": Requirement(
        60, "resources/templates/list offers ckf://post/{slug}."
    ),
    "ckf.resources.unpublished_post": Requirement(
        60, "ckf://post/<slug> of a package that is not published is not found."
    ),
    "ckf.resources.examples": Requirement(
        60,
        "Each of the six ckf://example/<topic> addresses gives the package that ckf.example gives.",
    ),
    "ckf.resources.schema": Requirement(
        60,
        "ckf://schema/v0.2 is the JSON schema against which both compilers' packages validate.",
    ),
    "ckf.resources.unknown_uri": Requirement(
        138,
        "An address under ckf:// that names nothing is refused as NOT_FOUND.",
    ),
    "ckf.open.licence": Requirement(
        62, "The wheel carries the text of its open licence and the source of tools and prompts."
    ),
    "ckf.open.self_host": Requirement(
        62, "A plain install serves every ckf tool from one command, with no hosted part."
    ),
    "ckf.open.extend": Requirement(
        62,
        "A tool added to the feature as data appears over MCP, HTTP and the CLI with no other "
        "change.",
    ),
    "ckf.prompts.two_listed": Requirement(
        69,
        "prompts/list of the ckf endpoint names talk-to-article and compile-and-critique.",
    ),
    "ckf.prompts.talk_takes_slug": Requirement(
        70, "talk-to-article requires `slug` and declares no other argument."
    ),
    "ckf.prompts.talk_loads_post": Requirement(
        70,
        "talk-to-article has the package of that post fetched through ckf.fetch_post.",
    ),
    "ckf.prompts.talk_stays_inside": Requirement(
        70,
        "talk-to-article tells the model to answer from the package alone, and to say what it "
        "lacks.",
    ),
    "ckf.prompts.talk_cites_refs": Requirement(
        70,
        "talk-to-article tells the model to cite source_refs for each statement.",
    ),
    "ckf.prompts.critique_takes_text": Requirement(
        70, "compile-and-critique requires `text` and declares no other argument."
    ),
    "ckf.prompts.critique_compiles": Requirement(
        70,
        "compile-and-critique has the text compiled before anything is judged.",
    ),
    "ckf.prompts.critique_three_parts": Requirement(
        70,
        "compile-and-critique asks for missing concepts, weak rules and suggestions, as three "
        "parts.",
    ),
    "ckf.prompts.unknown_name": Requirement(
        138,
        "prompts/get with an unknown name, or an unknown slug, is refused as NOT_FOUND.",
    ),
    "ckf.trace.items_cite_spans": Requirement(
        144,
        "Every item that is not synthesized cites a span whose quotation is an exact slice of the "
        "source.",
    ),
    "ckf.trace.package_stands_alone": Requirement(
        144,
        "A package holds its quotations and their places, so a claim is traced without the source.",
    ),
    "ckf.agents.share_one_package": Requirement(
        149,
        "What one client compiled, a second critiques by prompt and a third compares with "
        "ckf.diff.",
    ),
    "ckf.memory.pages_as_packages": Requirement(
        149, "A page compiled and kept is found again by search, section and all."
    ),
}
