import { mount } from "svelte";
import App from "./App.svelte";
import "./design/index.css";
import { restoreTheme } from "./lib/theme";

const target = document.getElementById("app");
if (!target) throw new Error("the page has no place for the console");

restoreTheme();
export default mount(App, { target });
