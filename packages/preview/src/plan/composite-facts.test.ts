// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { definitionFacts, type Hold } from "@purlin/composition";
import type { CacheChange } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { entryOf, memoryPass } from "../../test/overlay-stage.ts";
import { app, definition } from "../../test/scene-objects.ts";
import { identityOf } from "../overlay/live-reads.ts";
import type { OverlayEntry } from "../overlay/overlay-entry.ts";
import { compositeFacts, failureText } from "./composite-facts.ts";
import { Mask } from "./mask.ts";

const facts = definitionFacts(definition("App", {}));
const controller = "composite/apps.example.org";
const web = (crossplane: JsonObject = {}, more: JsonObject = {}): KubeObject => {
  const { metadata = {}, ...rest } = more;
  const made = app("web", { crossplane });
  return { ...made, ...rest, metadata: { ...made.metadata, ...(metadata as JsonObject) } };
};
const id = identityOf(web());
type PassInputs = Parameters<typeof memoryPass>[0];
const ask = (inputs: PassInputs, { mask = new Mask(), moved = new Set<string>() } = {}) =>
  compositeFacts(memoryPass(inputs), { facts, id, key: "default/web" }, { mask, moved });

const revision = (name: string, number: number): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name, labels: { "crossplane.io/composition-name": "apps" } },
  spec: { revision: number },
});
const uses = (name: string, more: JsonObject = {}): JsonObject => ({
  compositionRef: { name: "apps" },
  compositionRevisionRef: { name },
  ...more,
});

describe("a composite resource", () => {
  test("that was only read is as it is", async () => {
    assert.deepEqual(await ask({ others: [web(uses("apps-1")), revision("apps-1", 1)] }), {
      apiVersion: "example.org/v1",
      kind: "App",
      namespace: "default",
      name: "web",
      isNameGenerated: false,
      composition: "apps",
      revision: { from: 1, to: 1 },
      adoption: "unaffected",
      rounds: 0,
      errors: [],
    });
  });

  test("has the revisions before and after, and how often it was reconciled", async () => {
    const entries = [entryOf(web(uses("apps-1")), web(uses("apps-2"))), entryOf(undefined, revision("apps-2", 2))];
    const found = await ask({ entries, others: [revision("apps-1", 1)], runs: { [`${controller} default/web`]: 3 } });
    assert.deepEqual([found.revision, found.adoption, found.rounds], [{ from: 1, to: 2 }, "adopts", 3]);
  });

  test("of a claim, or with generateName, has a generated name if it is new", async () => {
    const writers = [{ controller: "claim/x", key: "default/c", round: 1 }];
    const generated = async (entry: OverlayEntry): Promise<boolean> =>
      (await ask({ entries: [entry] })).isNameGenerated;
    assert.equal(await generated(entryOf(undefined, web(), { writers })), true);
    assert.equal(await generated(entryOf(undefined, web({}, { metadata: { generateName: "w-" } }))), true);
    assert.equal(await generated(entryOf(web(), web(), { writers })), false);
    assert.equal(await generated(entryOf(undefined, web())), false);
  });

  test("is held with a message without sensitive values", async () => {
    const mask = new Mask();
    mask.object({ apiVersion: "v1", kind: "Secret", data: { k: "canary-value" } });
    const hold = { reason: "TooManyDeletes", message: "of canary-value", hash: "h", changes: [] } as unknown as Hold;
    const { held } = await ask({ others: [web()], held: new Map([[id, hold]]) }, { mask });
    assert.deepEqual(held, { reason: "TooManyDeletes", message: "of (sensitive)", hash: "h" });
  });
});

describe("how it reacts to a new revision of its Composition", () => {
  const fresh = entryOf(undefined, revision("apps-2", 2));
  const adoption = async (
    before: KubeObject | undefined,
    now: KubeObject | undefined,
    entries: readonly OverlayEntry[] = [fresh],
  ) => (await ask({ entries: [entryOf(before, now), ...entries] })).adoption;
  const on1 = web(uses("apps-1"));

  test("it adopts it, unless it is pinned or selects others", async () => {
    assert.equal(await adoption(on1, web(uses("apps-2"))), "adopts");
    const manual = web(uses("apps-1", { compositionUpdatePolicy: "Manual" }));
    assert.equal(await adoption(manual, manual), "pinned");
    const selecting = web(uses("apps-1", { compositionRevisionSelector: { matchLabels: { channel: "a" } } }));
    assert.equal(await adoption(selecting, selecting), "selector");
    assert.equal(await adoption(on1, on1), "unaffected");
  });

  test("paused ones and those in deletion do not", async () => {
    const paused = web(uses("apps-1"), { metadata: { annotations: { "crossplane.io/paused": "true" } } });
    assert.equal(await adoption(paused, paused), "paused");
    const going = web(uses("apps-1"), { metadata: { deletionTimestamp: "t" } });
    assert.equal(await adoption(going, going), "deleting");
  });

  test("one that takes another Composition leaves or newly selects", async () => {
    const other = web({ compositionRef: { name: "other" } });
    assert.equal(await adoption(on1, other), "leaves");
    assert.equal(await adoption(other, on1), "newly selects");
    assert.equal(await adoption(web(), on1), "newly selects");
  });

  test("a new one, and one of an unchanged Composition, are unaffected", async () => {
    assert.equal(await adoption(undefined, on1), "unaffected");
    assert.equal(await adoption(on1, web(uses("apps-2")), []), "unaffected");
    const old = entryOf(revision("apps-2", 2), revision("apps-2", 2));
    assert.equal(await adoption(on1, web(uses("apps-2")), [old]), "unaffected");
  });

  test("one that the preview moved is pinned", async () => {
    assert.equal((await ask({ others: [on1] }, { moved: new Set([id]) })).adoption, "pinned");
  });
});

describe("failures", () => {
  const failure = {
    controller,
    key: { namespace: "default", name: "web" },
    text: "no port",
    error: undefined,
    round: 1,
    isUnsettled: false,
  };

  test("are errors, and in the forecast the end of it", async () => {
    const now = await ask({ others: [web()], failures: [failure], forecastFrom: 2 });
    assert.deepEqual([now.errors, now.incomplete], [[{ text: "no port", isInvalid: false }], undefined]);
    const later = await ask({ others: [web()], failures: [failure], forecastFrom: 1 });
    assert.deepEqual([later.errors, later.incomplete], [[], "no port"]);
    const unsettled = await ask({ others: [web()], failures: [{ ...failure, isUnsettled: true }], forecastFrom: 1 });
    assert.equal(unsettled.errors.length, 1);
  });

  test("of the condition Synced count if the reconcile did not throw, and a pause does not", async () => {
    const synced = (reason: string, message?: string): KubeObject =>
      web({}, { status: { conditions: [{ type: "Synced", status: "False", reason, ...(message && { message }) }] } });
    const errors = async (xr: KubeObject): Promise<string[]> =>
      (await ask({ others: [xr] })).errors.map(({ text }) => text);
    assert.deepEqual(await errors(synced("ReconcileError", "bad")), ["bad"]);
    assert.deepEqual(await errors(synced("ReconcileError")), ["ReconcileError"]);
    assert.deepEqual(await errors(synced("ReconcilePaused", "paused")), []);
  });
});

describe("what still changes in a composite resource that does not settle", () => {
  const map = (data: JsonObject, more: JsonObject = {}): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "m", namespace: "default" },
    data,
    ...more,
  });
  const updated = (previous: KubeObject, object: KubeObject): CacheChange => ({ type: "updated", previous, object });
  const overlay = { definitionOf: async () => undefined };
  const text = (...lastChanges: readonly CacheChange[]): Promise<string> =>
    failureText({ text: "does not settle", lastChanges }, overlay);
  const still = (what: string): string => `does not settle; still changing: ConfigMap/default/m${what}`;

  const cases: Readonly<Record<string, readonly [readonly CacheChange[], string]>> = {
    nothing: [[], "does not settle"],
    "a value": [[updated(map({ a: "1" }), map({ a: "2" }))], still(' data.a: "1" -> "2"')],
    "a new field": [[updated(map({}), map({ a: "2" }))], still(" data.a (added)")],
    "a field that is gone": [[updated(map({ a: "1" }), map({}))], still(" data.a (removed)")],
    "an object that is made again": [[{ type: "added", object: map({}) }], still(" (created again)")],
    "one that is deleted again": [[{ type: "deleted", object: map({}) }], still(" (deleted again)")],
    "a status, if nothing else changes": [
      [updated(map({}, { status: { n: 1 } }), map({}, { status: { n: 2 } }))],
      still(" status.n: 1 -> 2"),
    ],
    "a field before a status": [
      [
        updated(map({}, { status: { n: 1 } }), map({}, { status: { n: 2 } })),
        updated(map({ a: "1" }), map({ a: "2" })),
      ],
      still(' data.a: "1" -> "2"'),
    ],
    "a long value": [
      [updated(map({ a: "1" }), map({ a: "x".repeat(80) }))],
      still(` data.a: "1" -> "${"x".repeat(59)}…`),
    ],
    "a value of a Secret": [
      [updated({ ...map({ k: "one" }), kind: "Secret" }, { ...map({ k: "two" }), kind: "Secret" })],
      "does not settle; still changing: Secret/default/m data.k (sensitive)",
    ],
  };
  for (const [title, [changes, expected]] of Object.entries(cases)) {
    test(title, async () => assert.equal(await text(...changes), expected));
  }
});
