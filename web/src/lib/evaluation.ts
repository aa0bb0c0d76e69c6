// Questions whose documents are known, and how well a search finds them. The layouts of the files
// are those of `pecia eval questions`: docs/retrieval.md.

export interface Evidence {
  document: string;
  /** Counted from 1; null for any place in the document. */
  page: number | null;
}

export interface Question {
  id: string;
  text: string;
  answer: string;
  evidence: Evidence[];
}

export interface Outcome {
  question: Question;
  /** Counted from 1; null for not among the hits. */
  documentAt: number | null;
  pageAt: number | null;
  first: { source: string; key: string } | null;
  milliseconds: number;
}

interface Place {
  key: string;
  page_no: number | null;
}

/** The questions that have an answer. An error names the line. */
export function readQuestions(text: string): Question[] {
  const found = text.split(/\r?\n/).flatMap((line, at) => (line.trim() ? readQuestion(line, at + 1) : []));
  if (!found.length) throw new Error("There is no question in it. A file of questions has a JSON object on every line.");
  return found;
}

function readQuestion(line: string, number: number): Question[] {
  const bad = (what: string): Error => new Error(`Line ${number}: ${what}`);
  let it: Record<string, unknown>;
  try {
    it = JSON.parse(line) as Record<string, unknown>;
  } catch {
    throw bad("it is no JSON object.");
  }
  if (typeof it.question !== "string" || !it.question) throw bad("the field question is missing.");
  const evidence = Array.isArray(it.sources) ? it.sources.map(sourced) : Array.isArray(it.evidence) ? it.evidence.map((one) => paged(one, it.doc_name)) : null;
  if (evidence === null || evidence.some((one) => !one.document)) throw bad("it needs doc_name and evidence, or sources with a path each.");
  // Without a source there is nothing to be found.
  if (!evidence.length) return [];
  return [{ id: String(it.id ?? it.financebench_id ?? number), text: it.question, answer: typeof it.answer === "string" ? it.answer : "", evidence }];
}

function sourced(given: unknown): Evidence {
  const it = (given ?? {}) as { path?: unknown; page?: unknown };
  return { document: String(it.path ?? ""), page: typeof it.page === "number" ? it.page : null };
}

function paged(given: unknown, named: unknown): Evidence {
  const it = (given ?? {}) as { doc_name?: unknown; evidence_page_num?: unknown };
  return { document: String(it.doc_name ?? named ?? ""), page: typeof it.evidence_page_num === "number" ? it.evidence_page_num + 1 : null };
}

/** Whether a file is meant: by its path or its name, with or without the suffix, in any case. */
export function isNamed(key: string, document: string): boolean {
  const plain = (it: string): string => it.toLowerCase();
  const bare = (it: string): string => plain(it).replace(/\.[a-z0-9]{1,8}$/, "");
  const [whole, name, wanted] = [plain(key), plain(key.split("/").at(-1) ?? key), plain(document)];
  return [whole, name].some((it) => it === wanted || bare(it) === bare(wanted)) || whole.endsWith(`/${wanted}`);
}

/** At which places the document and the page came first. */
export function score(question: Question, hits: Place[]): Pick<Outcome, "documentAt" | "pageAt"> {
  const first = (test: (it: Place) => boolean): number | null => {
    const at = hits.findIndex(test);
    return at < 0 ? null : at + 1;
  };
  const isOf = (it: Place): boolean => question.evidence.some((one) => isNamed(it.key, one.document));
  const isAt = (it: Place): boolean => question.evidence.some((one) => isNamed(it.key, one.document) && (one.page === null || one.page === it.page_no));
  return { documentAt: first(isOf), pageAt: first(isAt) };
}

/** The share of questions that a test holds for. */
export function share(outcomes: Outcome[], holds: (it: Outcome) => boolean): number {
  return outcomes.length ? outcomes.filter(holds).length / outcomes.length : 0;
}

/** The mean of 1 / rank of the right document. */
export function reciprocalRank(outcomes: Outcome[]): number {
  return outcomes.length ? outcomes.reduce((sum, it) => sum + (it.documentAt ? 1 / it.documentAt : 0), 0) / outcomes.length : 0;
}
