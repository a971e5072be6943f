// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSettlingSchemas } from "../composite-state.ts";

test("an XR whose schema changed is looked at for a while, and each change begins that again", () => {
  let now = 1000;
  const settling = createSettlingSchemas({ now: () => now });
  const [one, two] = [{ name: "one" }, { namespace: "ns", name: "one" }];
  assert.equal(settling.lookAgainMs(one), undefined);
  settling.changed(one);
  assert.deepEqual([settling.lookAgainMs(one), settling.lookAgainMs(two)], [6000, undefined]);
  now += 15_000;
  settling.changed(one);
  now += 15_000;
  assert.equal(settling.lookAgainMs(one), 6000);
  now += 5000;
  assert.equal(settling.lookAgainMs(one), undefined);
  settling.changed(one);
  settling.forget(one);
  assert.equal(settling.lookAgainMs(one), undefined, "one that comes back starts again");
});
