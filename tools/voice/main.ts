// SPDX-License-Identifier: Apache-2.0
// `npm run voice [PATH…]`: refuses words and phrases that CONTRIBUTING.md asks not to use, in source, tests and Markdown, and names the
// line. Write the field's own nouns instead: docs/glossary.md.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { allowed } from "./allowed.ts";
import { findings } from "./findings.ts";

const paths = process.argv.slice(2);
const listed = execFileSync(
  "git",
  ["ls-files", "-z", "--", "*.ts", "*.js", "*.md", ...paths.map((path) => `${path}*`)],
  {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  },
);
const files = listed
  .split("\0")
  .filter((path) => path !== "" && !/(^|\/)(gen|generated|testdata|reference-data)\/|^tools\/voice\//.test(path))
  .filter((path) => paths.length === 0 || paths.some((start) => path.startsWith(start)));

let count = 0;
for (const path of new Set(files)) {
  for (const { line, phrase, advice } of findings(readFileSync(path, "utf8"))) {
    if (allowed.some((rule) => path === rule.path && line.text.includes(rule.text))) continue;
    count += 1;
    console.log(`${path}:${line.number}: "${phrase}": ${advice}`);
  }
}
if (count > 0) console.log(`\n${count} ${count === 1 ? "phrase" : "phrases"} to rewrite`);
process.exitCode = count > 0 ? 1 : 0;
