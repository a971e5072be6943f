// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBy, type LeaseSpec, leaseSpecOf, microTime } from "./leader-election.ts";

const now = Date.UTC(2030, 0, 1, 12, 30, 15, 250);
const time = "2030-01-01T12:30:15.250000Z";
const before = "2029-01-01T00:00:00.000000Z";

test("times have microseconds", () => {
  assert.equal(microTime(now), time);
});

const rows: readonly { why: string; before: LeaseSpec; after: LeaseSpec }[] = [
  {
    why: "a new Lease",
    before: {},
    after: { holderIdentity: "us", leaseDurationSeconds: 60, acquireTime: time, renewTime: time, leaseTransitions: 0 },
  },
  {
    why: "a renewal keeps since when and how often it changed hands",
    before: { holderIdentity: "us", acquireTime: before, renewTime: before, leaseTransitions: 3 },
    after: {
      holderIdentity: "us",
      leaseDurationSeconds: 60,
      acquireTime: before,
      renewTime: time,
      leaseTransitions: 3,
    },
  },
  {
    why: "taken from another it changes hands",
    before: { holderIdentity: "them", acquireTime: before, renewTime: before, leaseTransitions: 3 },
    after: { holderIdentity: "us", leaseDurationSeconds: 60, acquireTime: time, renewTime: time, leaseTransitions: 4 },
  },
  {
    why: "a released Lease had no holder",
    before: { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 3 },
    after: { holderIdentity: "us", leaseDurationSeconds: 60, acquireTime: time, renewTime: time, leaseTransitions: 3 },
  },
];
for (const { why, before: spec, after } of rows) {
  test(why, () => assert.deepEqual(heldBy("us", { before: spec, now, durationMs: 60_000 }), after));
}

test("fields of others stay, and a Lease lasts a second at least", () => {
  const spec = heldBy("us", { before: { strategy: "x" } as LeaseSpec, now, durationMs: 10 });
  assert.deepEqual([(spec as Record<string, unknown>)["strategy"], spec.leaseDurationSeconds], ["x", 1]);
});

test("a Lease without a spec has no holder", () => {
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "x" } };
  assert.deepEqual(leaseSpecOf(lease), {});
  assert.deepEqual(leaseSpecOf({ ...lease, spec: null }), {});
});
