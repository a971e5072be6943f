// SPDX-License-Identifier: Apache-2.0
// What most tests of the runner start from.
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

/** A deadline that is meant to pass, but not before a busy machine has found out why. */
export function soon(): number {
  return Date.now() + 1_500;
}

/** A dialling runner, in plaintext unless told otherwise, that is closed when the test ends. */
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
