import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Everything in files of our own: the page's policy allows no inline script, style or data URL.
export default defineConfig({
  plugins: [svelte()],
  base: "/console/",
  build: {
    outDir: "../src/pecia/interfaces/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
});
