// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Assumptions, assumeReady } from "./assume.ts";
import type { Pass } from "./run-pass.ts";

const bucket = (name: string, status?: JsonObject, metadata: JsonObject = {}): KubeObject => ({
  apiVersion: "s3.example.org/v1",
  kind: "Bucket",
  metadata: { name, uid: name, annotations: { "crossplane.io/composition-resource-name": "files" }, ...metadata },
  ...(status === undefined ? {} : { status }),
});
const ready = [
  { type: "Synced", status: "True", reason: "ReconcileSuccess", lastTransitionTime: "2024-01-01T00:00:00Z" },
  { type: "Ready", status: "True", reason: "Available", lastTransitionTime: "2024-01-01T00:00:00Z" },
];

interface Result {
  readonly changed: boolean;
  readonly stored: readonly KubeObject[];
}

async function assume(
  objects: readonly KubeObject[],
  assumptions: Assumptions = [],
  { live = [] as readonly KubeObject[], isDefined = true, stores = true } = {},
): Promise<Result> {
  const stored: KubeObject[] = [];
  const overlay = {
    definitionOf: async () => (isDefined ? bucket("crd") : undefined),
    store: async (target: KubeObject, answer: KubeObject, isStatus: boolean) => {
      assert.equal(isStatus, true);
      stored.push(answer);
      return stores ? answer : target;
    },
    live: { serves: async () => live.length > 0, list: async () => live },
  };
  const changed = await assumeReady({ overlay } as unknown as Pass, objects, assumptions);
  return { changed, stored };
}
const statusOf = async (...call: Parameters<typeof assume>): Promise<unknown> =>
  (await assume(...call)).stored[0]?.["status"];

describe("conditions", () => {
  test("a resource of a CRD becomes synced and ready", async () => {
    const { changed, stored } = await assume([bucket("a")]);
    assert.deepEqual([changed, stored[0]?.["status"]], [true, { conditions: ready }]);
  });

  test("conditions that are True stay with their times, and other conditions too", async () => {
    const other = { type: "Backed", status: "False", reason: "R", lastTransitionTime: "t" };
    const synced = { type: "Synced", status: "True", reason: "Own", lastTransitionTime: "t" };
    const unready = { type: "Ready", status: "False", reason: "Creating", lastTransitionTime: "t" };
    assert.deepEqual(await statusOf([bucket("a", { conditions: [other, unready, synced], size: 1 })]), {
      conditions: [other, synced, ready[1]],
      size: 1,
    });
  });

  test("nothing is stored for a resource that is ready, or in deletion", async () => {
    const objects = [bucket("a", { conditions: ready }), bucket("b", undefined, { deletionTimestamp: "t" })];
    assert.deepEqual(await assume(objects), { changed: false, stored: [] });
  });

  test("built-in kinds and kinds without a definition have no such conditions", async () => {
    for (const apiVersion of ["v1", "apps/v1", "networking.k8s.io/v1"]) {
      assert.deepEqual(await assume([{ ...bucket("a"), apiVersion }]), { changed: false, stored: [] }, apiVersion);
    }
    assert.deepEqual(await assume([bucket("a")], [], { isDefined: false }), { changed: false, stored: [] });
  });

  test("a store that changes nothing is not a change", async () => {
    assert.equal((await assume([bucket("a")], [], { stores: false })).changed, false);
  });
});

describe("assumed fields", () => {
  const address = { match: {}, status: { address: "10.0.0.1" } };

  const matches: Readonly<Record<string, readonly [Assumptions[number]["match"], boolean]>> = {
    everything: [{}, true],
    "the kind": [{ kind: "Bucket" }, true],
    "another kind": [{ kind: "Queue" }, false],
    "the version": [{ apiVersion: "s3.example.org/v1" }, true],
    "another version": [{ apiVersion: "s3.example.org/v2" }, false],
    "the resource name": [{ resource: "files" }, true],
    "another resource name": [{ resource: "db" }, false],
    "the name": [{ name: "a" }, true],
    "another name, with the right kind": [{ kind: "Bucket", name: "b" }, false],
  };
  for (const [title, [match, isMatch]] of Object.entries(matches)) {
    test(`a match by ${title}: ${isMatch}`, async () => {
      const status = (await statusOf([bucket("a")], [{ ...address, match }])) as JsonObject;
      assert.equal(status["address"], isMatch ? "10.0.0.1" : undefined);
    });
  }

  test("are merged into the status in order, and null removes", async () => {
    const assumptions: Assumptions = [
      { match: {}, status: { a: { x: 1, y: 1 }, b: 1 } },
      { match: {}, status: { a: { y: 2 }, c: 1 } },
    ];
    const { conditions: _, ...rest } = (await statusOf(
      [bucket("a", { a: { z: 0 }, old: 1 })],
      assumptions,
    )) as JsonObject;
    assert.deepEqual(rest, { a: { z: 0, x: 1, y: 2 }, b: 1, c: 1, old: 1 });
  });

  test("apply to built-in kinds, without conditions", async () => {
    assert.deepEqual(await statusOf([{ ...bucket("a"), apiVersion: "v1" }], [address]), { address: "10.0.0.1" });
  });

  describe("of a live object", () => {
    const like = { match: {}, status: { $like: "live", extra: 1 } };
    const sibling = bucket("other", { url: "https://x", count: 3, list: ["a", { b: "c" }], conditions: ready });

    test("have its form, with texts that are known later", async () => {
      const { conditions: _, ...rest } = (await statusOf([bucket("a")], [like], { live: [sibling] })) as JsonObject;
      const later = "(known after apply)";
      assert.deepEqual(rest, { url: later, count: 3, list: [later, { b: later }], extra: 1 });
    });

    test("come from another object of the same resource name with a status", async () => {
      const candidates = [
        bucket("a", { wrong: 1 }),
        bucket("none"),
        bucket("elsewhere", { wrong: 2 }, { annotations: { "crossplane.io/composition-resource-name": "db" } }),
        bucket("right", { right: 1 }),
      ];
      const { conditions: _, ...rest } = (await statusOf([bucket("a")], [like], { live: candidates })) as JsonObject;
      assert.deepEqual(rest, { right: 1, extra: 1 });
    });

    test("are left out if there is none, or if the resource has no name", async () => {
      const { conditions: _, ...rest } = (await statusOf([bucket("a")], [like])) as JsonObject;
      assert.deepEqual(rest, { extra: 1 });
      const nameless = bucket("a", undefined, { annotations: {} });
      const status = (await statusOf([nameless], [like], { live: [sibling] })) as JsonObject;
      assert.equal("url" in status, false);
    });
  });
});
