// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { numberOf, planningRevisions, planRevisions } from "./revisions-controller.ts";

const composition: KubeObject = {
  ...kinds.composition,
  metadata: { name: "apps", uid: "u" },
  spec: { mode: "Pipeline", pipeline: [{ step: "a" }] },
};

/** A revision that another control plane made and hashed in its own way. */
function revision(name: string, number: number, step = "a"): KubeObject {
  const labels = { "crossplane.io/composition-name": "apps", "crossplane.io/composition-hash": name };
  return {
    ...kinds.revision,
    metadata: { name, labels, ownerReferences: [controllerReference(composition)] },
    spec: { mode: "Pipeline", pipeline: [{ step }], revision: number },
  };
}

const plans: Readonly<
  Record<string, { reason: string; revisions: readonly KubeObject[]; updates: Record<string, number>; made: number }>
> = {
  None: { reason: "the first one", revisions: [], updates: {}, made: 1 },
  Same: { reason: "nothing is new", revisions: [revision("x", 4)], updates: {}, made: 0 },
  Twice: {
    reason: "of two with the same content the newer one counts, in whichever order they come",
    revisions: [revision("x", 3), revision("y", 5)],
    updates: {},
    made: 0,
  },
  TwiceTurned: {
    reason: "of two with the same content the newer one counts, in whichever order they come",
    revisions: [revision("y", 5), revision("x", 3)],
    updates: {},
    made: 0,
  },
  Back: {
    reason: "going back makes the newer one of them the newest of all",
    revisions: [revision("x", 3), revision("y", 5), revision("z", 7, "b")],
    updates: { y: 8 },
    made: 0,
  },
  Other: { reason: "new content has the next number", revisions: [revision("z", 7, "b")], updates: {}, made: 8 },
};

for (const [name, { reason, revisions, updates, made }] of Object.entries(plans)) {
  test(`revisions, ${name}: ${reason}`, () => {
    const plan = planRevisions(composition, revisions);
    const updated = plan.updates.map((one) => [one.metadata.name, numberOf(one)]);
    assert.deepEqual([Object.fromEntries(updated), numberOf(plan.create ?? composition)], [updates, made]);
  });
}

test("a content is compared with one revision after the other, and not with those after one with its hash", () => {
  const list = Array.from({ length: 20_000 }, (_, i) => i);
  const of = (last: number): JsonObject => ({ mode: "Pipeline", pipeline: [{ step: "a", input: { list, last } }] });
  const large = { ...composition, spec: of(0) } as KubeObject;
  const made = planRevisions(large, []).create ?? assert.fail("no revision");
  const others = Array.from(
    { length: 50 },
    (_, i): KubeObject => ({ ...revision(`r${i}`, i), spec: { ...of(i + 1), revision: i } }),
  );
  const partsWith = (revisions: readonly KubeObject[]): number => {
    const planning = planningRevisions(large, revisions);
    let parts = 1;
    while (!planning.next().done) parts++;
    return parts;
  };
  const newest = { ...made, spec: { ...(made["spec"] as JsonObject), revision: 99 } } as KubeObject;
  const more = partsWith(others) - partsWith([...others, newest]);
  // Parts of the hash are counted together with other work: one more or less.
  assert.ok(more >= 48 && more <= 52, `${more} parts`);
});
