// SPDX-License-Identifier: Apache-2.0
// What a store survives: a process that is killed while it writes, and a file that cannot grow.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openRunStore, readRunStore } from "./open-run-store.ts";

const writer = `
  const { openRunStore } = await import(${JSON.stringify(new URL("./open-run-store.ts", import.meta.url).href)});
  const { runOf, stepOf, callOf } = await import(${JSON.stringify(new URL("../../test/sample-runs.ts", import.meta.url).href)});
  const [directory, most] = process.argv.slice(1);
  const warnings = [];
  const store = openRunStore({ directory, onWarning: (text) => warnings.push(text) });
  for (let n = 0; n < Number(most); n++) {
    const now = Date.now();
    const noise = Array.from({ length: 50 }, () => Math.random().toString(36)).join("");
    store.record(runOf({ beganMs: now, endedMs: now, steps: [stepOf(0, callOf({ map: { data: { noise } } }))] }));
    store.flush();
    process.stdout.write(n + "\\n");
  }
  process.stdout.write(JSON.stringify(warnings) + "\\n");
`;

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "purlin-runs-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test("a process killed while it writes leaves a store that opens, without at most its last run", async (t) => {
  const directory = folder(t);
  const child = spawn(process.execPath, ["--input-type=module", "-e", writer, directory, "100000"]);
  let said = "";
  child.stdout.on("data", (data: Buffer) => {
    said += data.toString();
    if (said.split("\n").length > 30) child.kill("SIGKILL");
  });
  await once(child, "exit");
  const last = Number(said.trimEnd().split("\n").at(-1));
  assert.ok(last >= 28, said);
  using store = openRunStore({ directory });
  assert.equal(store.stats.problem, undefined);
  const { length } = store.reader.list();
  // The bound of runs for each resource applies as well.
  assert.ok(length >= Math.min(last, 49), `${length} of ${last}`);
});

test("a file that cannot grow stops recording with one warning; the process continues, and what was stored stays", (t) => {
  const directory = folder(t);
  // In blocks of 512 or 1024 bytes, which shells disagree about.
  const limited = `ulimit -f 120; exec "$0" --input-type=module -e "$1" "$2" 200`;
  const { stdout, status, stderr } = spawnSync("sh", ["-c", limited, process.execPath, writer, directory], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  const lines = stdout.trimEnd().split("\n");
  assert.equal(lines.length, 201, "every record was taken");
  const warnings = JSON.parse(lines.at(-1) ?? "[]") as string[];
  assert.equal(warnings.length, 1, stdout.slice(-500));
  assert.match(warnings[0] ?? "", /^warning: runs are no longer recorded: .*: free disk space/);
  using reader = readRunStore(directory);
  assert.ok(reader.list().length > 0);
});
