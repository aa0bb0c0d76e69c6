// The audit log, and its rows in words.

import { call } from "./api";

export interface AuditRow {
  id: string;
  at: string;
  user: string | null;
  tool: string;
  interface: string;
  arguments: Record<string, unknown>;
  sources: string[];
  keys: string[];
  row_count: number;
  status: string;
  code: string | null;
  client_ip: string | null;
  request_id: string | null;
  duration_us: number | null;
}

export function auditRows(filter: object): Promise<{ rows: AuditRow[]; next_cursor: string | null }> {
  return call("admin/list_audit", filter);
}

/** Whether a program called, and not a person in the console or a terminal. */
export function isByAgent(it: AuditRow): boolean {
  return !["http", "cli", "console"].includes(it.interface);
}

const DID: Record<string, (it: AuditRow) => string | null> = {
  "desk.ask": (it) => `asked “${text(it, "question")}”`,
  // The console looks a file up by its name to link its original: nobody searched.
  "lake.search_content": (it) => (it.arguments.path && it.arguments.limit === 1 ? null : `searched for “${text(it, "query")}”`),
  "wiki.write_document": (it) => `${it.arguments.suggest === true ? "suggested a change to" : "wrote"} ${text(it, "docName")}`,
  "wiki.edit_document": (it) => `${it.arguments.suggest === true ? "suggested a change to" : "edited"} ${text(it, "docName")}`,
  "wiki.delete_document": (it) => `deleted ${text(it, "docName")}`,
  "wiki.rename_document": (it) => `renamed ${text(it, "docName")}`,
  "wiki.rollback_to_version": (it) => `restored ${text(it, "docName")}`,
  "wiki.search": (it) => `searched the wiki for “${text(it, "query")}”`,
  "memory.cipher_extract_and_operate_memory": () => "remembered something",
  "memory.cipher_memory_search": (it) => `searched memories for “${text(it, "query")}”`,
  "memory.ask_cipher": () => "asked the memory",
  "memory.memory_delete": () => "forgot a memory",
  "memory.memory_edit": () => "corrected a memory",
  "ckf.compile": () => "compiled a package",
  "ckf.publish": () => "published a package",
  "admin.add_source": (it) => `added the source ${text(it, "source_id")}`,
  "admin.remove_source": (it) => `removed the source ${text(it, "source_id")}`,
  "admin.add_user": (it) => `added the user ${text(it, "name")}`,
  "admin.make_token": (it) => `made the token ${text(it, "label")}`,
  "admin.revoke_token": () => "revoked a token",
  "admin.grant": (it) => `changed who may see ${text(it, "source_id")}`,
  "hub.add_server": (it) => `added the server ${text(it, "server")}`,
  "hub.call_server_tool": (it) => `called ${text(it, "tool")}`,
  "admin.set_source": (it) => `changed the source ${text(it, "source_id")}`,
  "admin.set_space": (it) => `changed the space ${text(it, "name")}`,
  "admin.set_user": (it) => `changed the user ${text(it, "name")}`,
  "admin.add_group": (it) => `added the group ${text(it, "name")}`,
  "admin.remove_group": (it) => `removed the group ${text(it, "name")}`,
  "admin.add_member": (it) => `added ${text(it, "user")} to ${text(it, "group")}`,
  "admin.remove_member": (it) => `removed ${text(it, "user")} from ${text(it, "group")}`,
  "admin.crawl_source": (it) => `crawled ${text(it, "source_id").replace(/^wiki:/, "")}`,
};

/** What was read: told in the audit log, and too much for the list of what happened. */
const READ: Record<string, (it: AuditRow) => string | null> = {
  "lake.get_file_text": (it) => `read ${text(it, "key")}`,
  "lake.get_file_window": (it) => `read ${text(it, "key")}`,
  "wiki.read_document": (it) => `read ${text(it, "path") || text(it, "docName")}`,
  "wiki.get_history": (it) => `read the history of ${text(it, "docName")}`,
  "admin.check_access": (it) => `checked whether ${text(it, "user") || "somebody"} can see ${text(it, "key")}`,
  "admin.list_audit": () => "read the audit log",
};

/** Tools with which somebody did, read, searched or asked something. */
export const ACTS = [...Object.keys(DID), ...Object.keys(READ)];

const SEARCHES = ["lake.search_content", "wiki.search", "memory.cipher_memory_search"];

/** The rows that are worth telling, newest first: what the console reads for its pages is not.
 * Searches come apart, since every pause in typing makes one: they hide nothing that was done. */
export async function actRows(limit: number): Promise<AuditRow[]> {
  const others = Object.keys(DID).filter((it) => !SEARCHES.includes(it));
  const found = await Promise.all([SEARCHES, others].map((tools) => auditRows({ tools, status: "ok", limit })));
  return found.flatMap((it) => it.rows).sort((a, b) => b.at.localeCompare(a.at));
}

/** What people and agents did, newest first, each thing once in a row. */
export function acts(rows: AuditRow[], most: number): AuditRow[] {
  const seen = new Set<string>();
  const told = rows.filter((it, index) => !isTypedOn(it, rows.slice(0, index))).filter((it) => {
    const act = actOf(it);
    const name = `${it.user} ${act}`;
    return act !== null && !seen.has(name) && seen.add(name);
  });
  return told.slice(0, most);
}

const TYPING_MS = 10_000;

/** Whether the same person went on typing: a later search of theirs, moments after, begins so. */
function isTypedOn(it: AuditRow, later: AuditRow[]): boolean {
  if (!SEARCHES.includes(it.tool) || isByAgent(it)) return false;
  const query = String(it.arguments.query ?? "").trim();
  const next = later.filter((other) => other.user === it.user && other.tool === it.tool).at(-1);
  const longer = String(next?.arguments.query ?? "");
  return !!next && longer.length > query.length && longer.startsWith(query) && Date.parse(next.at) - Date.parse(it.at) < TYPING_MS;
}

/** What somebody did, in words; null for what is not worth telling. */
export function actOf(it: AuditRow): string | null {
  const words = DID[it.tool];
  return words && it.status === "ok" ? words(it) : null;
}

/** The same, and what was read. */
export function callOf(it: AuditRow): string | null {
  return actOf(it) ?? (it.status === "ok" ? (READ[it.tool]?.(it) ?? null) : null);
}

function text(it: AuditRow, name: string): string {
  const value = it.arguments[name];
  const shown = typeof value === "string" ? value : "";
  return shown.length > 80 ? `${shown.slice(0, 79)}…` : shown;
}
