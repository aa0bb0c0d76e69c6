import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** KaTeX names each font in three formats; every browser we serve reads the first. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform(code, id) {
    if (!id.includes("katex") || !id.endsWith(".css")) return null;
    return code.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\([^)]*\)/g, "");
  },
};

// Everything in files of our own: the page's policy allows no inline script, style or data URL.
export default defineConfig({
  plugins: [oneFontFormat, svelte()],
  base: "/console/",
  build: {
    outDir: "../src/pecia/interfaces/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
});
