// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { numberOf, planRevisions } from "./revisions-controller.ts";

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
