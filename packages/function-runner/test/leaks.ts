// SPDX-License-Identifier: Apache-2.0
// Counts what a run may leave behind: connections on both sides, timers and handles of the process.
import assert from "node:assert/strict";
import type { DiallingRunner } from "../src/dial/dialling-runner.ts";
import type { FunctionServer } from "./function-server.ts";
import { patience } from "./runs.ts";

type Counts = Readonly<Record<string, number>>;

// Node lists a listening socket until the garbage collector finds it, and the test runner has immediates of its own.
const ignored: ReadonlySet<string> = new Set(["TCPServerWrap", "PipeServerWrap", "Immediate"]);

/** What keeps the process alive, by kind. */
export function resources(): Counts {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) if (!ignored.has(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Shuts everything down and fails when something of the runs is still there. */
export async function assertNothingLeft(
  before: Counts,
  runner: DiallingRunner,
  ...servers: FunctionServer[]
): Promise<void> {
  assert.equal(runner.stats().callsInFlight, 0, "calls in flight after the run ended");
  runner.close();
  for (const server of servers) await server.drained();
  for (const server of servers) await server.stop();
  const giveUp = Date.now() + patience;
  // What is closing needs a few turns of the event loop; what was left behind never goes.
  while (leftovers(before, runner).length > 0 && Date.now() < giveUp) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(leftovers(before, runner), []);
}

function leftovers(before: Counts, runner: DiallingRunner): string[] {
  const open = Object.entries(runner.stats()).filter(([, count]) => count > 0);
  const kept = Object.entries(resources()).filter(([kind, count]) => count > (before[kind] ?? 0));
  return [...open, ...kept].map(([kind, count]) => `${kind}: ${count}`);
}
