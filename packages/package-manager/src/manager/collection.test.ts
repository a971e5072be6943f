// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CollectionPlan, planCollection } from "./plan-states.ts";

const revision = (number: number, desiredState = "Inactive") => ({
  name: `r${number}`,
  number,
  desiredState,
  isServing: desiredState === "Active",
});

const none: CollectionPlan = { action: "none" };
const rows: {
  why: string;
  revisions: ReturnType<typeof revision>[];
  limit: number;
  inUse?: string[];
  isGuarded?: boolean;
  plan: CollectionPlan;
}[] = [
  { why: "current and one old one are kept", revisions: [revision(2), revision(1)], limit: 1, plan: none },
  {
    why: "the lowest of three goes",
    revisions: [revision(3), revision(1), revision(2)],
    limit: 1,
    plan: { action: "delete", name: "r1" },
  },
  { why: "0 keeps all", revisions: [revision(3), revision(2), revision(1)], limit: 0, plan: none },
  {
    why: "as shipped, also an Active one",
    revisions: [revision(3), revision(2), revision(1, "Active")],
    limit: 1,
    plan: { action: "delete", name: "r1" },
  },
  {
    why: "never an Active one",
    revisions: [revision(3), revision(2), revision(1, "Active")],
    limit: 1,
    isGuarded: true,
    plan: { action: "delete", name: "r2" },
  },
  {
    why: "never one in use",
    revisions: [revision(3), revision(2), revision(1, "Active")],
    limit: 1,
    inUse: ["r2"],
    isGuarded: true,
    plan: { action: "blocked" },
  },
  {
    why: "the current one never goes, even if it had the lowest number",
    revisions: [{ ...revision(1), name: "r3" }, revision(2), revision(3, "Active")],
    limit: 1,
    plan: { action: "delete", name: "r2" },
  },
];

for (const { why, revisions, limit, inUse = [], isGuarded = false, plan } of rows) {
  test(why, () => {
    const input = { revisions, current: "r3", historyLimit: limit, inUse: new Set(inUse), isGuarded };
    assert.deepEqual(planCollection(input), plan);
  });
}
