// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FunctionResolver, FunctionTarget } from "@purlin/function-runner";
import { createRevisionLeases } from "@purlin/package-manager";
import { leasingResolver } from "./function-plane.ts";

const target: FunctionTarget = { functionName: "fn", revisionName: "fn-1", packageRef: "", endpoint: "e", revision: 1 };
const resolverOf = (one: FunctionTarget): FunctionResolver => ({ resolve: async () => one });
const reference = { step: "s", functionName: "fn" };

test("a run leases its revision until it is over, and a resolution alone does not", async () => {
  const leases = createRevisionLeases();
  const { acquire } = await leasingResolver(resolverOf(target), leases).resolve(reference);
  assert.equal(leases.isHeld("fn-1"), false);
  const release = acquire?.();
  assert.equal(leases.isHeld("fn-1"), true);
  release?.();
  assert.equal(leases.isHeld("fn-1"), false);
});

test("the target's own hold is kept", async () => {
  const calls: string[] = [];
  const acquire = (): (() => void) => {
    calls.push("held");
    return () => void calls.push("released");
  };
  const leased = await leasingResolver(resolverOf({ ...target, acquire }), createRevisionLeases()).resolve(reference);
  leased.acquire?.()();
  assert.deepEqual(calls, ["held", "released"]);
});
