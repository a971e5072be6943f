// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { forbidden, invalid } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { configMap, entryOf } from "../../test/overlay-stage.ts";
import type { Overlay } from "../overlay/overlay.ts";
import type { OverlayEntry } from "../overlay/overlay-entry.ts";
import { judgeFinalForms } from "./judge-final.ts";

type Answer = (object: KubeObject) => KubeObject | Promise<KubeObject>;

/** An object as the overlay keeps it. */
function stored(name: string, data: Readonly<Record<string, string>> = {}, metadata: object = {}): KubeObject {
  const object = configMap(name, data);
  const own = { uid: `u-${name}`, resourceVersion: "9000", generation: 3, creationTimestamp: "2024-01-01T00:00:00Z" };
  return { ...object, metadata: { ...object.metadata, ...own, ...metadata } };
}

const live = (name: string): KubeObject => stored(name, { text: "old" }, { resourceVersion: "7" });
const changed = (before: KubeObject | undefined, now: KubeObject | undefined, more: Partial<OverlayEntry> = {}) =>
  entryOf(before, now, { approximate: new Set(["changed-before"]), ...more });

async function judged(
  entries: readonly OverlayEntry[],
  answer: Answer = (object) => object,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly requests: { readonly verb: string; readonly object: KubeObject; readonly options: object }[] }> {
  const requests: { verb: string; object: KubeObject; options: object }[] = [];
  const write = (verb: string) => async (object: KubeObject, options: object) => {
    requests.push({ verb, object, options });
    return answer(object);
  };
  const client = { create: write("create"), update: write("update") };
  const overlay = { entries: new Map(entries.map((entry, index) => [`${index}`, entry])), live: { client } };
  await judgeFinalForms(overlay as unknown as Overlay, signal);
  return { requests };
}

describe("the request of the dry run", () => {
  test("a new object is created, without what the server gives it", async () => {
    const { signal } = new AbortController();
    const { requests } = await judged(
      [changed(undefined, stored("a", { b: "c" }, { labels: { l: "1" } }))],
      undefined,
      signal,
    );
    const metadata = { name: "a", namespace: "default", labels: { l: "1" } };
    assert.deepEqual(requests, [
      {
        verb: "create",
        object: { ...configMap("a", { b: "c" }), metadata },
        options: { dryRun: true, fieldManager: "purlin-diff", signal },
      },
    ]);
  });

  test("a live object is updated at its live version, with its identity", async () => {
    const managedFields = [{ manager: "m", operation: "Apply" }];
    const { requests } = await judged([changed(live("a"), stored("a", { text: "new" }, { managedFields }))]);
    const [request] = requests;
    assert.deepEqual(request?.verb, "update");
    assert.deepEqual(request?.object, {
      ...configMap("a", { text: "new" }),
      metadata: {
        name: "a",
        namespace: "default",
        uid: "u-a",
        creationTimestamp: "2024-01-01T00:00:00Z",
        resourceVersion: "7",
      },
    });
  });

  test("the object of the overlay does not change", async () => {
    const now = stored("a");
    await judged([changed(live("a"), now)]);
    assert.deepEqual(now, stored("a"));
  });
});

describe("which objects are judged", () => {
  const skipped: Record<string, OverlayEntry> = {
    "an object that was judged before": changed(live("a"), stored("a"), { approximate: new Set() }),
    "an object with another reason beside": changed(live("a"), stored("a"), {
      approximate: new Set(["changed-before", "new-namespace"]),
    }),
    "an object of a new kind": changed(undefined, stored("a"), { approximate: new Set(["new-kind"]) }),
    "an object that was removed and made again": changed(live("a"), stored("a"), { wasRemoved: true }),
    "an object that was refused": changed(live("a"), stored("a"), { refusal: { text: "no", isInvalid: false } }),
  };
  for (const [name, entry] of Object.entries(skipped)) {
    test(`not ${name}`, async () => {
      const reasons = [...entry.approximate];
      assert.deepEqual((await judged([entry])).requests, []);
      assert.deepEqual([...entry.approximate], reasons);
    });
  }

  const ended: Record<string, OverlayEntry> = {
    "an object that is gone": changed(live("a"), undefined),
    "an object that is being deleted": changed(
      live("a"),
      stored("a", {}, { deletionTimestamp: "2024-01-01T00:00:00Z" }),
    ),
  };
  for (const [name, entry] of Object.entries(ended)) {
    test(`${name} is exact without a request: its deletion was judged`, async () => {
      assert.deepEqual((await judged([entry])).requests, []);
      assert.deepEqual([...entry.approximate], []);
    });
  }

  test("the other reasons of an object that is gone stay", async () => {
    const entry = changed(live("a"), undefined, { approximate: new Set(["changed-before", "forbidden"]) });
    await judged([entry]);
    assert.deepEqual([...entry.approximate], ["forbidden"]);
  });

  test("every object that needs it, eight at a time", async () => {
    let [running, most] = [0, 0];
    const entries = Array.from({ length: 20 }, (_, index) => changed(undefined, stored(`a${index}`)));
    const { requests } = await judged(entries, async (object) => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      await new Promise(setImmediate);
      running--;
      return object;
    });
    assert.deepEqual([requests.length, most], [20, 8]);
    assert.equal(
      entries.every(({ approximate }) => approximate.size === 0),
      true,
    );
  });
});

describe("the answer", () => {
  test("an equal object is exact, whatever its status, version and managers are", async () => {
    const entry = changed(live("a"), { ...stored("a", { text: "new" }), status: { phase: "Here" } });
    await judged([entry], (object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        resourceVersion: "8",
        managedFields: [{ manager: "purlin-diff", operation: "Update" }],
      },
      status: { phase: "There" },
    }));
    assert.deepEqual([...entry.approximate], []);
    assert.equal(entry.refusal, undefined);
  });

  test("another object stays approximate", async () => {
    const entry = changed(live("a"), stored("a", { text: "new" }));
    await judged([entry], (object) => ({ ...object, data: { text: "defaulted" } }));
    assert.deepEqual([...entry.approximate], ["changed-before"]);
    assert.equal(entry.refusal, undefined);
  });

  test("missing rights are another reason, not a refusal", async () => {
    const entry = changed(live("a"), stored("a"));
    await judged([entry], () => {
      throw forbidden({ group: "", resource: "configmaps" }, "a", "no");
    });
    assert.deepEqual([[...entry.approximate], entry.refusal], [["changed-before", "forbidden"], undefined]);
  });

  const errors = {
    "an invalid object": { error: invalid({ group: "", kind: "ConfigMap" }, "a", []), isInvalid: true },
    "another error": { error: new Error("connection reset"), isInvalid: false },
  };
  for (const [name, { error, isInvalid }] of Object.entries(errors)) {
    test(`${name} is a refusal, and does not keep others from being judged`, async () => {
      const [bad, good] = [changed(undefined, stored("bad")), changed(undefined, stored("good"))];
      await judged([bad, good], (object) => {
        if (object.metadata.name === "bad") throw error;
        return object;
      });
      assert.deepEqual(bad.refusal, { text: error.message, isInvalid });
      assert.deepEqual([[...bad.approximate], [...good.approximate]], [["changed-before"], []]);
    });
  }

  test("an aborted preview ends with its reason, and refuses nothing", async () => {
    const stop = new AbortController();
    const reason = new Error("too late");
    const entry = changed(undefined, stored("a"));
    const ending = judged(
      [entry],
      () => {
        stop.abort(reason);
        throw new Error("connection reset");
      },
      stop.signal,
    );
    await assert.rejects(ending, reason);
    assert.equal(entry.refusal, undefined);
  });
});
