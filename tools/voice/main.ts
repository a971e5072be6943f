// SPDX-License-Identifier: Apache-2.0
// `npm run voice [PATH…]`: refuses words and phrases that CONTRIBUTING.md asks not to use, in source, tests and Markdown, and names the
// line. Use the terms of docs/glossary.md instead.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { allowed } from "./allowed.ts";
import { findings } from "./findings.ts";

const paths = process.argv.slice(2);
const listed = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8", maxBuffer: 1 << 28 });

const isText = (path: string): boolean => /\.(?:[cm]?[jt]s|md|go|proto|py|sh)$/.test(path) || path.startsWith(".ci/");
const isData = (path: string): boolean => /(^|\/)(gen|generated|testdata|reference-data)\//.test(path);

/** A file that is named is checked whatever it is. */
function isSelected(path: string): boolean {
  if (paths.includes(path)) return true;
  const isListed = paths.length === 0 || paths.some((start) => path.startsWith(start));
  return isListed && isText(path) && !isData(path);
}

const files = listed.split("\0").filter(isSelected);
let count = 0;
for (const path of files) {
  for (const { line, phrase, advice } of findings(readFileSync(path, "utf8"))) {
    if (allowed.some((rule) => path === rule.path && line.text.includes(rule.text))) continue;
    count += 1;
    console.log(`${path}:${line.number}: "${phrase}": ${advice}`);
  }
}
if (count > 0) console.log(`\n${count} ${count === 1 ? "phrase" : "phrases"} to rewrite`);
process.exitCode = count > 0 ? 1 : 0;
