// SPDX-License-Identifier: Apache-2.0
// Runs test files in this process, one after the other: `node --test-reporter=./reporter.ts run-files.ts FILE…`.
// Each file is a suite of its own, so its top-level hooks run for its own tests only, and its servers close before the next file.
import { enableCompileCache } from "node:module";
import { relative, resolve } from "node:path";
import { beforeEach, describe } from "node:test";
// Node 26 loads it broken when crypto has read a certificate before ("tls.createSecureContext is not a function").
import "node:tls";
import { pathToFileURL } from "node:url";
import { lingerMs, send } from "./events.ts";

enableCompileCache(resolve(".cache/compiled-tests"));
const files = process.argv.slice(2);
// What a program started by a test sees must not depend on which files run beside it.
process.argv.splice(2);

// Sent from here and not by the reporter, which sees events only when the test lets go of the event loop.
beforeEach((test) => send({ kind: "started", name: test.fullName }));

// Tests may wait for timers that keep no process alive by themselves.
const alive = setInterval(() => {}, 1 << 30);
for (const file of files) {
  await describe(relative(".", file), async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
clearInterval(alive);
send({ kind: "finished" });
// Fires only in a process that something keeps alive.
setTimeout(() => send({ kind: "lingering", resources: process.getActiveResourcesInfo() }), lingerMs).unref();
