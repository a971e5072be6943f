// SPDX-License-Identifier: Apache-2.0
// What most tests of the runner start from.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner, type DiallingRunner, type DialOptions } from "../src/dial/dialling-runner.ts";
import type { FunctionTarget, RunCall } from "../src/function-runner.ts";
import type { FunctionServer } from "./function-server.ts";

/** Long enough for any test that is meant to pass. */
export const patience = 60_000;

export function targetAt(endpoint: string, overrides: Partial<FunctionTarget> = {}): FunctionTarget {
  return {
    functionName: "fn",
    revisionName: "fn-1",
    packageRef: "registry.example.org/fn:v1",
    endpoint,
    revision: 1,
    ...overrides,
  };
}

export function call(overrides: Partial<RunCall> = {}): RunCall {
  return { deadline: Date.now() + patience, step: { name: "compose", index: 0 }, ...overrides };
}

export function request(init: Partial<RunFunctionRequest> = {}): RunFunctionRequest {
  return create(RunFunctionRequest, init);
}

/**
 * Runs with a deadline that is meant to pass, and expects it to fail as wanted. A machine may be too busy to find out why
 * in so short a time; then it gets more.
 */
export async function rejectsSoon(
  run: (call: RunCall) => Promise<unknown>,
  want: Exclude<Parameters<typeof assert.rejects>[1], undefined | string>,
): Promise<void> {
  const limitsMs = [1_500, 6_000, 24_000];
  for (const limitMs of limitsMs) {
    try {
      return await assert.rejects(run(call({ deadline: Date.now() + limitMs })), want);
    } catch (error) {
      if (limitMs === limitsMs.at(-1)) throw error;
    }
  }
}

/** A dialling runner, in plaintext by default, that is closed when the test ends. */
export function dial(t: TestContext, options: Partial<DialOptions> = {}): DiallingRunner {
  const runner = createDiallingRunner({ security: "plaintext", ...options });
  t.after(() => runner.close());
  return runner;
}

/** A promise to be settled from outside. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

// Counts what a run may leave behind: connections on both sides, timers and handles of the process.

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
