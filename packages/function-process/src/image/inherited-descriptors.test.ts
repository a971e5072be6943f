// SPDX-License-Identifier: Apache-2.0
// The parent process is started with more open files than its standard streams, as by a shell, a service manager or an IDE.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { sandboxOf } from "../../test/local-processes.ts";

/** Prints what each open file descriptor of the shell refers to. */
const list = "ls -l /proc/$$/fd; exit 0";

const from = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

const starters = {
  "a program": `
    import { spawnGuarded } from ${from("../spawn/guarded-process.ts")};
    const program = { command: "/bin/sh", args: ["-c", process.argv.at(-1)], cwd: "/", env: { PATH: "/usr/bin:/bin" } };
    const { child, ended } = spawnGuarded(program, { channel: false });`,
  "a program with a channel": `
    import { spawnGuarded } from ${from("../spawn/guarded-process.ts")};
    const program = { command: "/bin/sh", args: ["-c", process.argv.at(-1)], cwd: "/", env: { PATH: "/usr/bin:/bin" } };
    const { child, ended } = spawnGuarded(program, { channel: true });`,
  "a program in a sandbox network": `
    import { openSandboxNetwork } from ${from("./sandbox-network.ts")};
    import { findSandbox } from ${from("../sandbox/find-sandbox.ts")};
    const { process: { child, ended }, start } = openSandboxNetwork(await findSandbox());
    start({ words: ["/bin/sh", "-c", process.argv.at(-1)], inputs: [] });`,
} as const;

/** What a child of a process with inherited descriptors finds open, by descriptor. */
async function descriptorsIn(starter: string, inherited: readonly number[]): Promise<Record<string, string>> {
  using folder = tempFolder({ secret: "hunter2" });
  const secret = openSync(`${folder.path}/secret`, "r+");
  const stdio = Array.from({ length: Math.max(...inherited) + 1 }, (_, at) => {
    if (at < 3) return at === 1 ? ("pipe" as const) : ("inherit" as const);
    return inherited.includes(at) ? secret : ("ignore" as const);
  });
  const code = `${starter}\nchild.stdout.pipe(process.stdout);\nawait ended;`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", code, list], { stdio });
  closeSync(secret);
  const lines = await text(parent.stdout as never);
  return Object.fromEntries(
    [...lines.matchAll(/ (\d+) -> (.*)/g)].map(([, descriptor, target]) => [descriptor, target]),
  );
}

for (const [name, starter] of Object.entries(starters)) {
  test(`${name} gets no file descriptor that its parent inherited`, async (t) => {
    if (name.includes("sandbox") && (await sandboxOf(t)) === undefined) return;
    const found = await descriptorsIn(starter, [3, 7, 10, 17, 18, 23, 64, 99, 500]);
    const channel = name.includes("channel") ? ["3"] : [];
    assert.deepEqual(Object.keys(found), ["0", "1", "2", ...channel], JSON.stringify(found));
  });
}
