// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { loadCompiled, readCodeCache, writeCodeCache } from "./load-compiled.ts";

const program = `"use strict";
const { basename } = require("node:path");
function neverCalled() { return 1; }
function called(name) { return "hello " + basename(name); }
exports.run = () => called(importMetaUrl);
`;

interface Scene {
  readonly file: URL;
  readonly directory: string;
  /** Runs the program and keeps what was compiled, if there is something new to keep; says whether there was. */
  start(): { readonly said: unknown; readonly kept: boolean };
  /** The one file that is kept. */
  cache(): string;
}

function scene(t: TestContext): Scene {
  const folder = tempFolder({ "program.cjs": program });
  t.after(() => folder[Symbol.dispose]());
  const file = pathToFileURL(join(folder.path, "program.cjs"));
  const directory = join(folder.path, "cache");
  mkdirSync(directory);
  return {
    file,
    directory,
    start: () => {
      const later: (() => void)[] = [];
      const { run } = loadCompiled(file, { directory, whenStarted: (keep) => void later.push(keep) });
      const said = (run as () => unknown)();
      for (const keep of later) keep();
      return { said, kept: later.length > 0 };
    },
    cache: () => join(directory, readdirSync(directory)[0] ?? ""),
  };
}

test("a program runs, is kept as it was compiled by its first three runs, and runs from that", (t) => {
  const { start, cache } = scene(t);
  for (const kept of [true, true, true, false, false]) assert.deepEqual(start(), { said: "hello program.cjs", kept });
  assert.equal(statSync(cache()).mode & 0o777, 0o600);
});

test("another program is never run from what was kept of one that is as long", (t) => {
  const { file, start } = scene(t);
  start();
  writeFileSync(file, program.replace("hello", "howdy"));
  assert.deepEqual(start(), { said: "howdy program.cjs", kept: true });
});

const damages: Record<string, { reason: string; damage: (path: string) => void }> = {
  Torn: { reason: "half a file", damage: (path) => writeFileSync(path, readFileSync(path).subarray(0, 200)) },
  Empty: { reason: "nothing in it", damage: (path) => writeFileSync(path, "") },
  Flipped: {
    reason: "one bit is another",
    damage: (path) => {
      const bytes = readFileSync(path);
      bytes[bytes.length - 10] = (bytes.at(-10) ?? 0) ^ 1;
      writeFileSync(path, bytes);
    },
  },
  Writable: { reason: "another user may have written it", damage: (path) => chmodSync(path, 0o666) },
};

for (const [name, { reason, damage }] of Object.entries(damages)) {
  test(`what was kept is left alone and made again: ${name}`, (t) => {
    const { start, cache } = scene(t);
    for (let run = 0; run < 3; run++) start();
    damage(cache());
    for (const kept of [true, true, true, false])
      assert.deepEqual(start(), { said: "hello program.cjs", kept }, reason);
  });
}

test("what another engine has made is refused by V8, and made again", (t) => {
  const { file, directory, start } = scene(t);
  // A text V8 has not seen: it would not look at what it is given for one that it has.
  const unseen = `${program}// of another engine`;
  writeFileSync(file, unseen);
  const garbage = { data: Buffer.from("something else entirely, and long enough to be taken for a header"), runs: 3 };
  writeCodeCache(join(directory, `${crc32(unseen).toString(16)}.purlin`), garbage);
  assert.deepEqual(start(), { said: "hello program.cjs", kept: true });
});

test("where nothing can be kept, or nothing is to be, the program runs all the same", (t) => {
  const { file, directory } = scene(t);
  const { run } = loadCompiled(file, { directory: undefined, whenStarted: () => assert.fail("nothing to keep") });
  assert.equal((run as () => unknown)(), "hello program.cjs");
  writeCodeCache(join(directory, "missing", "file"), { data: Buffer.from("x"), runs: 1 });
  assert.equal(readCodeCache(join(directory, "missing", "file")), undefined);
});
