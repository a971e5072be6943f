// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { startTestControl, type TestControl } from "../../test/test-control.ts";
import { silentAbout } from "../../test/test-doubles.ts";
import { kinds } from "../composite-resource/constants.ts";
import { createRevisionsController, numberOf } from "./revisions-controller.ts";

const created = "Normal CreateRevision: Created new revision";

function composition(name: string, steps: readonly string[] = ["one"], metadata: JsonObject = {}): KubeObject {
  return {
    ...kinds.composition,
    metadata: { name, ...metadata },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "XApp" },
      pipeline: steps.map((step) => ({ step, functionRef: { name: "fn" } })),
    },
  };
}

suite("revisions of Compositions", () => {
  let control: TestControl;
  before(async () => {
    control = await startTestControl();
  });
  after(() => control[Symbol.asyncDispose]());

  const pass = (name: string) =>
    createRevisionsController(control)
      .spec.reconcile({ name }, new AbortController().signal)
      .catch((error: unknown) => error as Error);

  const revisions = async (name: string): Promise<KubeObject[]> => {
    const found = await control.client.list(kinds.revision, { labels: { "crossplane.io/composition-name": name } });
    return found.toSorted((a, b) => numberOf(a) - numberOf(b));
  };

  async function make(name: string, steps?: readonly string[], metadata?: JsonObject): Promise<KubeObject> {
    const made = await control.client.create(composition(name, steps, metadata));
    control.events.take();
    assert.deepEqual(await pass(name), {});
    control.takeWrites();
    return made;
  }

  const edit = async (name: string, path: readonly string[], value: JsonObject | readonly JsonObject[] | undefined) => {
    const stored = await control.client.get(kinds.composition, { name });
    assert.ok(stored);
    await control.client.update(withMember(stored, path, value));
    control.events.take();
    control.takeWrites();
  };

  test("a new Composition gets its first", async () => {
    const made = await make("first", ["one"], { labels: { tier: "a" }, annotations: { note: "n" } });
    assert.deepEqual(control.events.take(), [created]);
    const [revision, ...more] = await revisions("first");
    assert.ok(revision && more.length === 0);
    const hash = revision.metadata.labels?.["crossplane.io/composition-hash"] ?? "";
    assert.match(hash, /^[0-9a-f]{63}$/);
    assert.equal(revision.metadata.name, `first-${hash.slice(0, 7)}`);
    assert.equal(revision.metadata.labels?.["tier"], "a");
    assert.deepEqual(revision.metadata.annotations, { note: "n" });
    const [owner] = revision.metadata.ownerReferences ?? [];
    assert.deepEqual([owner?.uid, owner?.controller, owner?.blockOwnerDeletion], [made.metadata.uid, true, true]);
    const { revision: number, ...spec } = revision["spec"] as JsonObject;
    assert.equal(number, 1);
    assert.deepEqual(spec, made["spec"]);
  });

  test("the same content makes no other, and no write", async () => {
    await make("same");
    for (let i = 0; i < 3; i++) assert.deepEqual(await pass("same"), {});
    assert.deepEqual(control.takeWrites(), []);
    assert.equal((await revisions("same")).length, 1);
  });

  for (const { what, path, value } of [
    { what: "label", path: ["metadata", "labels"], value: { channel: "alpha" } },
    { what: "annotation", path: ["metadata", "annotations"], value: { note: "new" } },
  ]) {
    test(`${what} alone makes another`, async () => {
      const name = `edited-${what}`;
      await make(name);
      await edit(name, path, value);
      await pass(name);
      assert.deepEqual(control.events.take(), [created]);
      assert.deepEqual((await revisions(name)).map(numberOf), [1, 2]);
    });
  }

  test("going back to earlier content makes that revision the newest", async () => {
    await make("back", ["one"]);
    const [first] = await revisions("back");
    await edit("back", ["spec", "pipeline"], [{ step: "two", functionRef: { name: "fn" } }]);
    await pass("back");
    await edit("back", ["spec", "pipeline"], [{ step: "one", functionRef: { name: "fn" } }]);
    await pass("back");
    assert.deepEqual(control.events.take(), [], "it is not new");
    const all = await revisions("back");
    assert.deepEqual(all.map(numberOf), [2, 3]);
    assert.equal(all[1]?.metadata.uid, first?.metadata.uid);
    control.takeWrites();
    await pass("back");
    assert.deepEqual(control.takeWrites(), []);
  });

  test("a revision that lost its owner is adopted again, with its number", async () => {
    const made = await make("lost");
    const [revision] = await revisions("lost");
    assert.ok(revision);
    await control.client.update(withMember(revision, ["metadata", "ownerReferences"], undefined));
    await pass("lost");
    const [adopted] = await revisions("lost");
    assert.equal(adopted?.metadata.ownerReferences?.[0]?.uid, made.metadata.uid);
    assert.equal(adopted?.metadata.ownerReferences?.[0]?.controller, true);
    assert.equal(numberOf(adopted), 1, "restored revisions keep their order");
  });

  test("a revision of another owner is an error, and nothing is written", async () => {
    await make("foreign");
    const [revision] = await revisions("foreign");
    assert.ok(revision);
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "other", controller: true };
    await control.client.update(withMember(revision, ["metadata", "ownerReferences"], [owner]));
    await edit("foreign", ["metadata", "labels"], { a: "b" });
    const failed = await pass("foreign");
    assert.ok(failed instanceof Error);
    assert.match(failed.message, /cannot own CompositionRevision: .* is already controlled by ConfigMap other/);
    assert.deepEqual(control.events.take(), [`Warning UpdateRevision: ${failed.message}`]);
    assert.deepEqual(control.takeWrites(), []);
  });

  test("a Composition cannot pass its revisions off as another's", async () => {
    const labels = { "crossplane.io/composition-name": "victim", "crossplane.io/composition-hash": "0" };
    await make("impostor", ["one"], { labels });
    assert.equal((await revisions("impostor")).length, 1);
    assert.deepEqual(await revisions("victim"), []);
  });

  test("a revision that another control plane made and hashed its own way is recognized", async () => {
    const made = await control.client.create(composition("taken", ["one"], { labels: { tier: "a" } }));
    const { uid = "" } = made.metadata;
    await control.client.create({
      ...kinds.revision,
      metadata: {
        name: "taken-abc1234",
        labels: { tier: "a", "crossplane.io/composition-name": "taken", "crossplane.io/composition-hash": "abc1234" },
        ownerReferences: [{ ...kinds.composition, name: "taken", uid, controller: true, blockOwnerDeletion: true }],
      },
      spec: { ...(made["spec"] as JsonObject), revision: 7 },
    });
    control.takeWrites();
    control.events.take();
    await pass("taken");
    assert.deepEqual(control.takeWrites(), []);
    assert.deepEqual(control.events.take(), []);
  });

  test("a Composition that is gone or being deleted gets no revision", async () => {
    assert.deepEqual(await pass("absent"), {});
    await control.client.create(composition("going", ["one"], { finalizers: ["test/held"] }));
    await control.client.delete({ ...kinds.composition, name: "going" });
    assert.deepEqual(await pass("going"), {});
    assert.deepEqual(await revisions("going"), []);
  });

  test("a timeout is reported, and stopping is not", async () => {
    await make("slow");
    control.events.take();
    for (const [stops, want] of [
      [false, ["Warning CreateRevision: cannot list CompositionRevisions: reconcile timed out after 60s"]],
      [true, []],
    ] as const) {
      const clock = manualClock();
      const stop = new AbortController();
      const end = (): void => (stops ? stop.abort(new Error("stopping")) : clock.advance(60_000));
      const client = silentAbout(kinds.revision.kind, control.client, end);
      const { spec } = createRevisionsController({ ...control, client, clock });
      await assert.rejects(spec.reconcile({ name: "slow" }, stop.signal));
      assert.deepEqual(control.events.take(), want);
    }
  });

  test("a name that is not a label value is reported", async () => {
    const name = "n".repeat(70);
    await control.client.create(composition(name));
    control.events.take();
    const failed = await pass(name);
    assert.ok(failed instanceof Error);
    assert.match(control.events.take()[0] ?? "", /^Warning CreateRevision: cannot create CompositionRevision: .*63/);
  });

  test("a revision has each step's function", async () => {
    await make("content", ["one", "two"]);
    const [revision] = await revisions("content");
    assert.equal((memberAt(revision ?? {}, ["spec", "pipeline"]) as JsonObject[]).length, 2);
  });

  test("a Composition and its revisions wake it, by label, before and after", () => {
    const { watches } = createRevisionsController(control);
    const revision = (name: string): KubeObject => ({
      ...kinds.revision,
      metadata: { name: "r", labels: { "crossplane.io/composition-name": name } },
    });
    const watch = watches.find(({ type }) => type === "CompositionRevision");
    const change = { type: "updated", previous: revision("a"), object: revision("b") } as const;
    assert.deepEqual([...(watch?.keys(change) ?? [])], [{ name: "a" }, { name: "b" }]);
    assert.deepEqual([...(watch?.keys({ type: "deleted", object: revision("a") }) ?? [])], [{ name: "a" }]);
    const own = watches.find(({ type }) => type === "Composition");
    assert.deepEqual([...(own?.keys({ type: "added", object: composition("c") }) ?? [])], [{ name: "c" }]);
  });
});
