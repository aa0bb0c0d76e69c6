import { mount } from "svelte";
import App from "./App.svelte";
import "./design/index.css";
import { here } from "./lib/route.svelte";
import * as routes from "./routes";
import { keepScroll } from "./lib/scroll";
import { restoreTheme } from "./lib/theme";

const target = document.getElementById("app");
if (!target) throw new Error("the page has no place for the console");

restoreTheme();
keepScroll();
// The code of the page comes while the server is asked who looks at it.
routes.routeOf(here().page)?.load().catch(() => undefined);
target.replaceChildren();
export default mount(App, { target });
