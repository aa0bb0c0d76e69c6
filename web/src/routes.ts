// Every page of the console: one row each. A page is loaded when it is opened first.
//
// `page` is its name in the address, `#/page?name=value`. What has `nav` stands in the rail;
// what has none says `within` which entry of the rail it belongs to.

import type { Component } from "svelte";
import type { About, Me } from "./lib/api";
import type { IconName } from "./parts/icons";
import { link } from "./lib/route.svelte";

export interface PageProps {
  server: About;
  me: Me;
}

export interface Route {
  page: string;
  name: string;
  // Pages take what they need of PageProps.
  load: () => Promise<{ default: Component<any> }>;
  /** `href`: a page that the server renders, in the same frame. `isPhone`: in the bar at the thumb, which has room for four; the others are in its menu. */
  nav?: { icon: IconName; group: "main" | "administration"; isPhone?: boolean; href?: string };
  within?: string;
  /** Who may use it. The server decides anyway: this only keeps useless links away. */
  needs?: (me: Me) => boolean;
}

const isAdmin = (me: Me): boolean => me.is_admin && me.scopes.includes("pecia.admin");

export const ROUTES: Route[] = [
  { page: "", name: "Home", load: () => import("./pages/Home.svelte"), nav: { icon: "home", group: "main", isPhone: true } },
  { page: "search", name: "Search", load: () => import("./pages/Search.svelte"), nav: { icon: "search", group: "main", isPhone: true } },
  { page: "ask", name: "Ask", load: () => import("./pages/Ask.svelte"), nav: { icon: "ask", group: "main", isPhone: true } },
  { page: "read", name: "Read", load: () => import("./pages/Read.svelte"), within: "documents" },
  { page: "documents", name: "Documents", load: () => import("./pages/Documents.svelte"), nav: { icon: "document", group: "main", isPhone: true } },
  { page: "memories", name: "Memories", load: () => import("./pages/Memories.svelte"), nav: { icon: "memory", group: "main" } },
  { page: "packages", name: "Packages", load: () => import("./pages/Packages.svelte"), nav: { icon: "package", group: "main", href: "/viewer" } },
  { page: "cascade", name: "Cascade", load: () => import("./pages/Cascade.svelte"), nav: { icon: "layers", group: "main" } },
  { page: "edit", name: "Edit", load: () => import("./editor/Edit.svelte"), within: "documents" },
  { page: "history", name: "History", load: () => import("./editor/History.svelte"), within: "documents" },
  { page: "new", name: "New document", load: () => import("./editor/New.svelte"), within: "documents" },
  { page: "trash", name: "Deleted documents", load: () => import("./editor/Trash.svelte"), within: "documents" },
  { page: "sources", name: "Sources", load: () => import("./pages/Sources.svelte"), nav: { icon: "source", group: "administration" } },
  { page: "confirm", name: "Confirmations", load: () => import("./pages/Confirm.svelte"), nav: { icon: "check", group: "administration" }, needs: isAdmin },
  { page: "hub", name: "Hub", load: () => import("./pages/Hub.svelte"), nav: { icon: "hub", group: "administration" } },
  { page: "people", name: "People", load: () => import("./pages/People.svelte"), nav: { icon: "people", group: "administration" }, needs: isAdmin },
  { page: "access", name: "Access", load: () => import("./pages/Access.svelte"), nav: { icon: "key", group: "administration" }, needs: isAdmin },
  { page: "tokens", name: "Tokens", load: () => import("./pages/Tokens.svelte"), nav: { icon: "lock", group: "administration" } },
  { page: "audit", name: "Audit log", load: () => import("./pages/Audit.svelte"), nav: { icon: "log", group: "administration" }, needs: isAdmin },
  { page: "jobs", name: "Jobs", load: () => import("./pages/Jobs.svelte"), nav: { icon: "jobs", group: "administration" } },
  { page: "health", name: "Health", load: () => import("./pages/Health.svelte"), nav: { icon: "health", group: "administration" } },
  { page: "backup", name: "Backup", load: () => import("./pages/Backup.svelte"), nav: { icon: "backup", group: "administration" }, needs: (me) => isAdmin(me) && me.tenant === "local" },
  { page: "evaluation", name: "Evaluation", load: () => import("./pages/Evaluation.svelte"), nav: { icon: "chart", group: "administration" } },
  { page: "settings", name: "Settings", load: () => import("./pages/Settings.svelte"), nav: { icon: "settings", group: "administration" }, needs: isAdmin },
  { page: "components", name: "Components", load: () => import("./pages/Components.svelte") },
];

/** Where an entry of the rail leads. */
export function addressOf(it: Route): string {
  return it.nav?.href ?? link(it.page);
}

export function routeOf(page: string): Route | undefined {
  return ROUTES.find((it) => it.page === page);
}

export function entriesOf(me: Me, group: "main" | "administration"): Route[] {
  return ROUTES.filter((it) => it.nav?.group === group && (it.needs?.(me) ?? true));
}
