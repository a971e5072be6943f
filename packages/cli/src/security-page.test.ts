// SPDX-License-Identifier: Apache-2.0
// What the security page names exists: constants with their values, files, flags and scripts.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { commandTable } from "./commands/command-table.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const page = read("docs/reference/security.md");
const text = `${page}\n${read("SECURITY.md")}`;

test("the limits of the security page are those of the code", () => {
  const rows = [...page.matchAll(/^\|[^|]+\|[^|]+\| `([^`]+)` in `([^`]+)` \|$/gm)];
  assert.ok(rows.length >= 8);
  for (const [, constant = "", file = ""] of rows) assert.ok(read(file).includes(constant), `${file}: ${constant}`);
});

test("the files and folders of the security page exist", () => {
  const paths = [...text.matchAll(/`((?:packages|test|docs|tools)\/[\w./-]+|package-lock\.json|\.npmrc)`/g)];
  assert.ok(paths.length > 0);
  const missing = paths.map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path)));
  assert.deepEqual(missing, []);
});

test("the flags of the security page exist", () => {
  const flags = new Set([...text.matchAll(/`(--[a-z][a-z-]+)/g)].map(([, flag = ""]) => flag));
  assert.ok(flags.size > 0);
  const known = commandTable.flatMap(({ options = [] }) =>
    options.flatMap((option) => option.flags.match(/--[a-z-]+/g) ?? []),
  );
  assert.deepEqual(
    [...flags].filter((flag) => !known.includes(flag)),
    [],
  );
});

test("the scripts of the security page exist", () => {
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  const named = [...text.matchAll(/`npm run ([a-z]+)`/g)].map(([, name = ""]) => name);
  assert.ok(named.length > 0);
  assert.deepEqual(
    named.filter((name) => !(name in scripts)),
    [],
  );
});

test("the positions of the threat model each have a section", () => {
  const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading.toLowerCase()).join("\n");
  for (const who of ["function authors", "platform authors and claim users", "other users of the machine", "network"]) {
    assert.ok(headings.includes(who), who);
  }
});

test("the table of attacks lists every file of the hostile suite", () => {
  const table = read("test/hostile/README.md");
  const files = globSync("*/*.test.ts", { cwd: join(root, "test/hostile") });
  assert.ok(files.length > 0);
  assert.deepEqual(
    files.filter((file) => !table.includes(`| \`${file}\` |`)),
    [],
  );
});
