// SPDX-License-Identifier: Apache-2.0
// What most tests of the runner start from.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner, type DiallingRunner, type DialOptions } from "../src/dial/dialling-runner.ts";
import type { FunctionTarget, RunCall } from "../src/function-runner.ts";

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
