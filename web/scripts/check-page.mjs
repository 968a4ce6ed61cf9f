// Fails when the embedded page is not what the sources build. People without Node get it from there.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const kept = join(root, "../crates/evertally-server/page");
const fresh = mkdtempSync(join(tmpdir(), "evertally-page-"));
try {
  await build({ root, logLevel: "error", build: { outDir: fresh, emptyOutDir: true } });
  const names = [...new Set([...readdirSync(kept), ...readdirSync(fresh)])].sort();
  const read = (folder, name) => {
    try {
      return readFileSync(join(folder, name));
    } catch {
      return null;
    }
  };
  const changed = names.filter((name) => {
    const [a, b] = [read(kept, name), read(fresh, name)];
    return a === null || b === null || !a.equals(b);
  });
  if (changed.length > 0) {
    console.error(`the page is not what the sources build: ${changed.join(", ")}. Run \`npm run build\` and commit it.`);
    process.exitCode = 1;
  } else console.log(`the page is what the sources build: ${names.join(", ")}`);
} finally {
  rmSync(fresh, { recursive: true });
}
