// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findHandler } from "./function-module.ts";

const fn = (): never => assert.fail("never called");

test("the default export comes first, then fn, then handler", () => {
  const other = (): never => assert.fail("never called");
  assert.equal(findHandler({ default: fn, fn: other }), fn);
  assert.equal(findHandler({ fn, handler: other }), fn);
  assert.equal(findHandler({ handler: fn }), fn);
});

test("an object with runFunction is a function too", () => {
  const handler = { runFunction: fn };
  assert.equal(findHandler({ default: handler }), handler);
});

const wrong: Record<string, { readonly module: object; readonly says: string }> = {
  Nothing: {
    module: {},
    says: 'the file exports nothing: export the function as default, as in "export default fn"',
  },
  OtherNames: {
    module: { compose: fn, helper: fn },
    says: 'the file exports compose, helper: export the function as default, as in "export default fn"',
  },
  NotAFunction: {
    module: { default: { run: fn } },
    says: 'the export "default" is not a function: expected (req, ctx) => response, or an object with runFunction',
  },
};
for (const [name, { module, says }] of Object.entries(wrong)) {
  test(`exports that cannot be served: ${name}`, () => assert.equal(findHandler(module), says));
}
