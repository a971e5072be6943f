// SPDX-License-Identifier: Apache-2.0
// Runs groups of test files in this process, one after the other: `node --test-reporter=./reporter.ts run-files.ts`, with an IPC channel
// over which the groups come. Each file is a suite of its own, so its top-level hooks run for its own tests only, and its servers close
// before the next file.
import { enableCompileCache } from "node:module";
import { relative, resolve } from "node:path";
import { beforeEach, describe } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
// Node 26 loads it broken when crypto has read a certificate before ("tls.createSecureContext is not a function").
import "node:tls";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { takeHooks } from "./async-hooks.ts";
import { type Command, isCommand, lingerMs, send } from "./events.ts";

enableCompileCache(resolve(".cache/compiled-tests"));

let running = "";
// Sent from here and not by the reporter, which gets events only when the test yields the event loop.
beforeEach((test) => {
  running = test.fullName;
  send({ kind: "started", name: running });
});

// The first hook of a test has made node:test create its async hook.
const hooks = takeHooks();
let isLoading = false;

/** Without its async hook, node:test does not know to which test an uncaught error belongs, and mentions it when all files have run. */
function reportUncaught(event: "uncaughtException" | "unhandledRejection", thrown: unknown): void {
  if (isLoading) return;
  const error = `${event} while this test ran; a test before it may have caused it: ${inspect(thrown, { depth: 8 })}`;
  send({ kind: "failed", failure: { path: [running], location: "", error } });
}
process.on("uncaughtException", (error) => reportUncaught("uncaughtException", error));
process.on("unhandledRejection", (reason) => reportUncaught("unhandledRejection", reason));

/** Loads a file, whose tests become part of the current suite. */
async function load(file: string): Promise<void> {
  try {
    await import(pathToFileURL(resolve(file)).href);
  } finally {
    for (const hook of hooks) hook.disable();
    isLoading = false;
  }
}

// Tests may wait for timers that keep no process alive by themselves.
const alive = setInterval(() => {}, 1 << 30);

/** The next command of the runner. Nothing listens in between: a test may use the channel for its own messages. */
function nextCommand(): Promise<Command> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => {
      if (!isCommand(message)) return;
      process.off("message", take);
      resolve(message);
    };
    process.on("message", take);
    send({ kind: "waiting" });
  });
}

for (let command = await nextCommand(); command.kind === "run"; command = await nextCommand()) {
  for (const file of command.files) {
    isLoading = true;
    for (const hook of hooks) hook.enable();
    await describe(relative(".", file), () => load(file));
  }
  // The reporter has sent all results when it has had a turn.
  await nextTurn();
  await nextTurn();
}
clearInterval(alive);
// Fires only in a process that something keeps alive.
setTimeout(() => send({ kind: "lingering", resources: process.getActiveResourcesInfo() }), lingerMs).unref();
