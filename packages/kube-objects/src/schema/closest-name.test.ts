// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { closestName } from "./closest-name.ts";

const names = ["containers", "initContainers", "volumes", "restartPolicy", "name", "env"];

for (const [written, meant] of [
  ["container", "containers"],
  ["contianers", "containers"],
  ["Containers", "containers"],
  ["initcontainers", "initContainers"],
  ["volume", "volumes"],
  ["restartPolcy", "restartPolicy"],
  ["nmae", "name"],
  ["envs", "env"],
  ["env_", "env"],
  ["x", undefined],
  ["affinity", undefined],
  ["", undefined],
  ["c".repeat(100), undefined],
] as const) {
  test(`"${written.slice(0, 20)}" was meant as ${meant ?? "nothing known"}`, () => {
    assert.equal(closestName(written, names), meant);
  });
}

test("the closest wins, the first of equals", () => {
  assert.equal(closestName("abcd", ["abxx", "abce", "abcf"]), "abce");
  assert.equal(closestName("anything", []), undefined);
});
