// Builds the page into the crate that embeds it, under names that never change. The files are
// committed, so that people without Node can build it.

import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** Packages whose code or type reaches the browser; their licences travel with the files. */
const BUNDLED = ["uplot", "@fontsource-variable/ibm-plex-sans"];

function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      const parts = BUNDLED.map((name) => {
        const folder = new URL(`./node_modules/${name}/`, import.meta.url);
        const { version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as { version: string };
        const text = readFileSync(new URL("LICENSE", folder), "utf8").replaceAll("\r\n", "\n").trim();
        return `${name} ${version}\n${"=".repeat(name.length + version.length + 1)}\n\n${text}\n`;
      });
      const head = "The page contains work of others, under these licences.\n";
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: [head, ...parts].join("\n\n") });
    },
  };
}

export default defineConfig({
  base: "/",
  plugins: [licences()],
  build: {
    outDir: "../crates/evertally-server/page",
    emptyOutDir: true,
    target: ["chrome123", "edge123", "firefox128", "safari17.5"],
    // A data: address would be refused by the policy that the server sends.
    assetsInlineLimit: 0,
    modulePreload: false,
    sourcemap: false,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: (asset) => {
          const name = asset.names[0] ?? "";
          if (name.endsWith(".css")) return "app.css";
          if (name.includes("greek")) return "greek.woff2";
          if (name.endsWith(".woff2")) return "latin.woff2";
          return name;
        },
        codeSplitting: false,
      },
    },
  },
  test: { include: ["tests/**/*.test.{ts,mjs}"], testTimeout: 30_000, hookTimeout: 60_000, fileParallelism: false },
} as Parameters<typeof defineConfig>[0]);
