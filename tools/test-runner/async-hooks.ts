// SPDX-License-Identifier: Apache-2.0
// Takes hold of the async hook of node:test. Loaded with `--import`, before node:test is.
//
// node:test follows every promise, to know which suite a call of `test` belongs to and which test an uncaught error. In tests with many
// promises that takes a third of the processor time. Only a file that is being loaded calls `test`, so the hook is off while tests run.
import asyncHooks, { type AsyncHook } from "node:async_hooks";

const { createHook } = asyncHooks;
const created: AsyncHook[] = [];

Object.assign(asyncHooks, {
  createHook: (callbacks: Parameters<typeof createHook>[0]): AsyncHook => {
    const hook = createHook(callbacks);
    created.push(hook);
    return hook;
  },
});

/** The hooks that were created so far. Later ones are left alone: they belong to what is tested. */
export function takeHooks(): readonly AsyncHook[] {
  Object.assign(asyncHooks, { createHook });
  return created.splice(0);
}
