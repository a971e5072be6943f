// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import type { RuntimeScene } from "./runtime-scene.ts";
import { isInCharge } from "./shared-service.ts";

/** A revision by number; `+` when it serves. */
function revision(text: string): KubeObject {
  const number = Number(text.replace("+", ""));
  const endpoint = text.endsWith("+") ? { endpoint: "dns:///x:9443" } : {};
  return {
    ...packageTypes.Function.revision,
    metadata: { name: `r${number}` },
    spec: { revision: number, desiredState: "Active" },
    status: endpoint,
  };
}

const service = (number: number): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "fn" },
  spec: { selector: { "pkg.crossplane.io/revision": `r${number}` } },
});

interface Row {
  readonly reason: string;
  readonly me: string;
  readonly siblings: readonly string[];
  /** The number the Service leads to. */
  readonly leadsTo?: number;
  readonly isServing?: boolean;
  readonly want: boolean;
}

const rows: Readonly<Record<string, Row>> = {
  First: { reason: "there is no other revision", me: "1", siblings: [], want: true },
  Newcomer: { reason: "the old one serves", me: "2", siblings: ["1+"], leadsTo: 1, want: false },
  NewcomerServes: { reason: "it can take over", me: "2", siblings: ["1+"], leadsTo: 1, isServing: true, want: true },
  Old: { reason: "the newcomer does not serve yet", me: "1+", siblings: ["2"], leadsTo: 1, want: true },
  OldReplaced: { reason: "the newcomer serves", me: "1+", siblings: ["2+"], leadsTo: 2, want: false },
  OldOvertaken: {
    reason: "the new revision took the Service a moment ago and its status is not written yet",
    me: "1+",
    siblings: ["2"],
    leadsTo: 2,
    isServing: true,
    want: false,
  },
  NeverServed: {
    reason: "the holder keeps it while no revision serves",
    me: "1",
    siblings: ["2"],
    leadsTo: 1,
    want: true,
  },
  NeverServedNewer: { reason: "and the newer one waits", me: "2", siblings: ["1"], leadsTo: 1, want: false },
  NoHolder: { reason: "the newest takes a Service without a holder", me: "2", siblings: ["1"], want: true },
  NobodyOlder: { reason: "and the older one does not", me: "1", siblings: ["2"], want: false },
  HolderGone: { reason: "it leads to one that is no longer active", me: "1+", siblings: [], leadsTo: 2, want: true },
  Third: {
    reason: "one that never came up is passed over",
    me: "3",
    siblings: ["1+", "2"],
    leadsTo: 1,
    isServing: true,
    want: true,
  },
  ThirdWaits: { reason: "one that serves is older", me: "3", siblings: ["1+", "2"], leadsTo: 1, want: false },
};
for (const [name, { reason, me, siblings, leadsTo, isServing = false, want }] of Object.entries(rows)) {
  test(`in charge ${name}: ${reason}`, () => {
    const scene = { revision: revision(me), siblings: siblings.map(revision) } as unknown as RuntimeScene;
    assert.equal(isInCharge(scene, leadsTo === undefined ? undefined : service(leadsTo), isServing), want);
  });
}
