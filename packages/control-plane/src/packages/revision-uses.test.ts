// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FunctionResolver, FunctionTarget } from "@purlin/function-runner";
import { createRevisionUses } from "../function-plane.ts";

const target: FunctionTarget = { functionName: "fn", revisionName: "fn-1", packageRef: "", endpoint: "e", revision: 1 };
const resolverOf = (one: FunctionTarget): FunctionResolver => ({ resolve: async () => one });
const reference = { step: "s", functionName: "fn" };

test("a revision is in use from the first run to the end of the last", async () => {
  const uses = createRevisionUses();
  const resolver = uses.counting(resolverOf(target));
  const [first, second] = [await resolver.resolve(reference), await resolver.resolve(reference)];
  assert.equal(uses.isInUse("fn-1"), false, "who only asked does not run yet");
  const releases = [first.hold?.(), second.hold?.()];
  assert.equal(uses.isInUse("fn-1"), true);
  assert.equal(uses.isInUse("fn-2"), false);
  releases[0]?.();
  assert.equal(uses.isInUse("fn-1"), true);
  releases[1]?.();
  assert.equal(uses.isInUse("fn-1"), false);
});

test("whoever runs the revision is told of the endpoint, and the target's own hold is kept", async () => {
  const told: string[] = [];
  const tell = (text: string) => () => {
    told.push(`+${text}`);
    return () => void told.push(`-${text}`);
  };
  const uses = createRevisionUses((revision, endpoint) => tell(`${revision} ${endpoint}`)());
  const { hold } = await uses.counting(resolverOf({ ...target, hold: tell("own") })).resolve(reference);
  const release = hold?.();
  release?.();
  assert.deepEqual(told, ["+own", "+fn-1 e", "-own", "-fn-1 e"]);
});
