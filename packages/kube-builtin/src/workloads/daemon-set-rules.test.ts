// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { metaOf, withEmptyLists } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { daemonSetRules, templateGeneration } from "./workload-rules.ts";

const daemonSet = (generation?: string, image = "a"): JsonObject => ({
  metadata: generation === undefined ? {} : { annotations: { [templateGeneration]: generation } },
  spec: { template: { spec: { containers: [{ image }] } } },
});
const generationOf = (object: JsonObject | undefined): string | undefined =>
  metaOf(object ?? {}).annotations?.[templateGeneration];

test("the generation of a template is set before it has an owner", () => {
  assert.equal(generationOf(daemonSetRules.decode?.(daemonSet(), daemonSet())), "0");
  assert.equal(generationOf(daemonSetRules.decode?.(daemonSet("5"), daemonSet("5"))), "5");
});

test("it begins with one, or with what was sent", () => {
  assert.equal(generationOf(daemonSetRules.prepareCreate?.(daemonSet("0"))), "1");
  assert.equal(generationOf(daemonSetRules.prepareCreate?.(daemonSet("5"))), "5");
});

test("it counts changes of the template, whatever a client sends", () => {
  assert.equal(generationOf(daemonSetRules.prepareUpdate?.(daemonSet("9", "b"), daemonSet("5"), "")), "6");
  assert.equal(generationOf(daemonSetRules.prepareUpdate?.(daemonSet(undefined), daemonSet("5"), "")), "5");
});

test("an invalid number is refused", () => {
  assert.throws(() => daemonSetRules.decode?.(daemonSet("x"), daemonSet("x")), {
    message: 'strconv.ParseInt: parsing "x": invalid syntax',
  });
});

test("an empty list is seen as sent, and stored as none", () => {
  const rules = withEmptyLists(["rules"], { blocksDeletion: () => true });
  assert.deepEqual(rules.keepsEmpty, [["rules"]]);
  assert.deepEqual(rules.prepareCreate?.({ rules: [] }), { rules: null });
  assert.deepEqual(rules.prepareUpdate?.({ rules: [] }, { rules: null }, ""), { rules: null });
  assert.deepEqual(rules.prepareCreate?.({ rules: [{ verbs: ["get"] }] }), { rules: [{ verbs: ["get"] }] });
  assert.equal(rules.blocksDeletion?.({}), true);
});
