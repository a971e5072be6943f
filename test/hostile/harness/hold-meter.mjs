// SPDX-License-Identifier: Apache-2.0
// Loaded into a program under test with `node --import`: measures how much CPU time its main thread uses between two turns of the
// event loop, and appends each long one to the file HOLD_METER_FILE as "<end, ms since 1970> <CPU ms>".
// CPU time, so that a busy machine does not look like a held loop.
import { appendFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const everyMs = 4;
const worthNotingMs = 15;
const file = process.env.HOLD_METER_FILE;

function cpuMs() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

if (file && isMainThread) {
  let last = cpuMs();
  setInterval(() => {
    const held = cpuMs() - last;
    if (held >= worthNotingMs) appendFileSync(file, `${Date.now()} ${held.toFixed(1)}\n`);
    last = cpuMs();
  }, everyMs).unref();
}
