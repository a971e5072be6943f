// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { selecting } from "./selection.ts";

test("a search can be interrupted after each workload, also after one that selects", () => {
  const world = new World();
  const pod = world.put(kinds.pod, "p", { metadata: { labels: { app: "web" } } });
  const budgets = ["web", "other", "web"].map((app, index) =>
    world.put(kinds.disruptionBudget, `b${index}`, { spec: { selector: { matchLabels: { app } } } }),
  );
  const found = [...selecting(budgets, [pod])].map((key) => key?.name);
  assert.deepEqual(found, ["b0", undefined, undefined, "b2", undefined]);
});
