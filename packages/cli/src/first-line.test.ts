// SPDX-License-Identifier: Apache-2.0
// A command that takes long to start says so first: before its code is loaded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** Prints the modules that are loaded when the first line is written, with that line, and ends. */
const program = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
const { run } = await import(process.argv[1]);
const write = (line) => {
  process.stdout.write(JSON.stringify({ line, loaded }), () => process.exit(0));
};
const sink = { write, isTTY: false, columns: 100 };
const io = { stdin: process.stdin, stdout: sink, stderr: sink, env: {}, cwd: "/", signal: new AbortController().signal };
await run(["up"], io);
`;

test("purlin up writes its first line before the control plane is loaded", () => {
  const run = import.meta.resolve("./run.ts");
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program, run], { encoding: "utf8" });
  const { line, loaded } = JSON.parse(output) as { readonly line: string; readonly loaded: readonly string[] };
  assert.equal(line, "Starting the control plane…\n");
  const heavy = loaded.filter((url) =>
    /up-command|kube-apiserver|grpc-js|function-process|package-manager|js-yaml/.test(url),
  );
  assert.deepEqual(heavy, []);
});
