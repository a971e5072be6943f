// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";

/** Runs a program in a process of its own and gives what it prints. */
function run(program: string): string {
  const index = JSON.stringify(new URL("../index.ts", import.meta.url).href);
  const text = `const sdk = await import(${index});\n${program}`;
  const args = ["--input-type=module", "--eval", text];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

const loaded = `
  const { createRequire } = await import("node:module");
  const cache = () => Object.keys(createRequire(${JSON.stringify(import.meta.url)}).cache).some((path) => path.includes("prom-client"));`;

const handler = "(req, ctx) => ctx.to(req)";
const quiet = 'address: "127.0.0.1:0", insecure: true, log: sdk.nopLogger';

test("importing the SDK starts nothing, prints nothing and does not keep a process alive", () => {
  assert.equal(run(""), "");
});

test("prom-client is loaded only when metrics are on", () => {
  const without = `const running = await sdk.start(${handler}, { ${quiet}, metricsAddress: "" });`;
  assert.equal(run(`${loaded}${without} console.log(cache()); await running.stop();`), "false");
  const withMetrics = `const running = await sdk.start(${handler}, { ${quiet}, metricsAddress: "127.0.0.1:0" });`;
  assert.equal(run(`${loaded}${withMetrics} console.log(cache()); await running.stop();`), "true");
});

test("a stopped function lets the process end by itself", () => {
  const program = `const running = await sdk.start(${handler}, { ${quiet}, metricsAddress: "127.0.0.1:0" }); await running.stop();`;
  assert.equal(run(`${program} console.log("stopped");`), "stopped");
});

test("the default logger writes to standard error and leaves standard output to the program", () => {
  assert.equal(run('sdk.newLogger().info("hello"); console.log("mine");'), "mine");
});
