// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, inspectionOf, made, secondsAgo } from "../../test/memory-inspection.ts";
import type { Finding, NodeReport } from "../model/explanation.ts";
import { deletionReport, refusedDeletion } from "./deletion.ts";

const attempt = "usage.crossplane.io/deletion-attempt-with-policy";
const bucket = (name: string, metadata: JsonObject = {}): KubeObject =>
  made("s3.example.org/v1/Bucket", `default/${name}`, { metadata });
const deleted = (seconds: number, finalizers: readonly string[] = [], more: JsonObject = {}): JsonObject => ({
  deletionTimestamp: secondsAgo(seconds),
  finalizers: [...finalizers],
  ...more,
});
const composing = (metadata: JsonObject, ...names: readonly string[]): KubeObject =>
  app(
    "web",
    { crossplane: { resourceRefs: names.map((name) => ({ apiVersion: "s3.example.org/v1", kind: "Bucket", name })) } },
    metadata,
  );

function usage(
  spec: JsonObject,
  { kind = "Usage", key = "default/guard", version = "protection.crossplane.io/v1beta1" } = {},
): KubeObject {
  return made(`${version}/${kind}`, key, { spec });
}
const of = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "s3.example.org/v1",
  kind: "Bucket",
  resourceRef: { name, ...more },
});

const report = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
  deletionReport(object, await inspectionOf(others));
async function finding(object: KubeObject, ...others: readonly KubeObject[]): Promise<Finding> {
  const { findings = [] } = await report(object, ...others);
  assert.equal(findings.length, 1);
  return findings[0] ?? assert.fail();
}

describe("E57: finalizers", () => {
  for (const seconds of [0, 120]) {
    test(`${seconds} seconds after the deletion it is waiting`, async () => {
      const { waiting, findings, edges } = await report(bucket("files", deleted(seconds, ["a/b"])));
      assert.deepEqual(waiting, [
        { since: secondsAgo(seconds), text: `is being deleted, since ${seconds === 0 ? "0s" : "2m"} ago` },
      ]);
      assert.deepEqual([findings, edges], [undefined, []]);
    });
  }

  test("after 121 seconds the controller of the finalizers is missing", async () => {
    assert.deepEqual(await finding(bucket("files", deleted(121, ["a/b", "c/d"]))), {
      code: "E57",
      object: { apiVersion: "s3.example.org/v1", kind: "Bucket", name: "files", namespace: "default" },
      path: "metadata.finalizers",
      since: secondsAgo(121),
      sentence: "Bucket default/files waits since 2m1s ago for the controller of finalizer a/b, c/d",
      evidence: [{ object: "Bucket default/files", path: "metadata.finalizers", text: "a/b, c/d" }],
      next: ["start the controller that owns a/b, c/d"],
      waitsFor: [],
    });
  });

  test("an object without finalizers is never stuck", async () => {
    assert.equal((await report(bucket("files", deleted(9000)))).findings, undefined);
  });

  test("the owner of the object is named", async () => {
    const owner = { apiVersion: "example.org/v1", kind: "App", name: "web", uid: "u", controller: true };
    const { next } = await finding(bucket("files", deleted(200, ["a/b"], { ownerReferences: [owner] })));
    assert.deepEqual(next, ["start the controller that owns a/b; the object belongs to App web"]);
  });

  test("a composite resource waits for those of its resources that still exist", async () => {
    const xr = composing(deleted(200, ["composite.apiextensions.crossplane.io"]), "one", "two", "gone");
    const { sentence, waitsFor } = await finding(xr, bucket("one"), bucket("two"));
    assert.match(sentence, /composite\.apiextensions\.crossplane\.io; 2 of its resources still exist$/);
    assert.deepEqual(
      waitsFor?.map(({ to }) => to.name),
      ["one", "two"],
    );
  });

  test("a young deletion leads to its resources", async () => {
    const { edges } = await report(composing(deleted(5, ["a/b"]), "one"), bucket("one"));
    assert.deepEqual(
      edges?.map(({ to }) => to.name),
      ["one"],
    );
  });
});

describe("E59: foreground deletion", () => {
  const xr = composing(deleted(5, ["foregroundDeletion"]), "one", "two");

  test("it waits for its dependents, however young it is", async () => {
    const { code, sentence, next, waitsFor } = await finding(xr, bucket("one"), bucket("two"));
    assert.equal(code, "E59");
    assert.equal(
      sentence,
      "App default/web waits since 5s ago for the deletion of 2 objects: Bucket default/one, Bucket default/two",
    );
    assert.deepEqual(next, ["purlin explain bucket.s3.example.org/one -n default"]);
    assert.equal(waitsFor?.length, 2);
  });

  test("without dependents it is waiting", async () => {
    assert.deepEqual((await report(xr)).waiting, [{ since: secondsAgo(5), text: "is being deleted, since 5s ago" }]);
  });

  test("a dependent whose deletion was refused is the cause", async () => {
    const used = bucket("two", { annotations: { [attempt]: "Foreground" } });
    const { code, object, evidence } = await finding(xr, bucket("one"), used, usage({ of: of("two"), reason: "data" }));
    assert.deepEqual([code, object.name], ["E58", "two"]);
    assert.deepEqual(evidence, [
      { object: "Usage default/guard", path: "spec.of", text: "Bucket two" },
      { object: "Bucket default/two", path: `metadata.annotations["${attempt}"]`, text: "Foreground" },
    ]);
  });

  test("a dependent in use whose deletion was not tried is deleted later", async () => {
    const others = [bucket("one"), bucket("two"), usage({ of: of("two"), reason: "data" })];
    assert.equal((await finding(xr, ...others)).code, "E59");
  });
});

describe("E58: in use", () => {
  const files = bucket("files", deleted(1, ["a/b"]));
  const sentenceWith = async (spec: JsonObject): Promise<string> => (await finding(files, usage(spec))).sentence;

  test("the Usage says by what, or why", async () => {
    const by = { apiVersion: "example.org/v1", kind: "App", resourceRef: { name: "web" } };
    const says = "Bucket default/files cannot be deleted: Usage default/guard says that";
    assert.equal(await sentenceWith({ of: of("files"), by, reason: "unused" }), `${says} App web uses it`);
    assert.equal(await sentenceWith({ of: of("files"), reason: "it holds data" }), `${says} it holds data`);
    assert.equal(await sentenceWith({ of: of("files") }), `${says} it is in use`);
    assert.deepEqual((await finding(files, usage({ of: of("files") }))).next, [
      "delete the object that uses it first, or the Usage: purlin delete usage.protection.crossplane.io/guard -n default",
    ]);
  });

  const matches: Readonly<Record<string, readonly [usage: KubeObject, isUsed: boolean]>> = {
    "another name": [usage({ of: of("other") }), false],
    "another kind": [usage({ of: { ...of("files"), kind: "Queue" } }), false],
    "another group": [usage({ of: { ...of("files"), apiVersion: "example.org/v1" } }), false],
    "another version of the group": [usage({ of: { ...of("files"), apiVersion: "s3.example.org/v2" } }), true],
    "a Usage of another namespace": [usage({ of: of("files") }, { key: "team/guard" }), false],
    "a Usage of another namespace that names this one": [
      usage({ of: of("files", { namespace: "default" }) }, { key: "team/guard" }),
      true,
    ],
    "a ClusterUsage is of cluster-scoped objects": [
      usage({ of: of("files") }, { kind: "ClusterUsage", key: "guard" }),
      false,
    ],
    "an old Usage of another API is of cluster-scoped objects": [
      usage({ of: of("files") }, { version: "apiextensions.crossplane.io/v1beta1", key: "guard" }),
      false,
    ],
  };
  for (const [title, [guard, isUsed]] of Object.entries(matches)) {
    test(`${title}: ${isUsed ? "in use" : "not in use"}`, async () => {
      assert.equal((await report(files, guard)).findings?.[0]?.code, isUsed ? "E58" : undefined);
    });
  }

  test("a ClusterUsage protects a cluster-scoped object", async () => {
    const wide = made("s3.example.org/v1/Bucket", "files", { metadata: deleted(1) });
    const guard = usage({ of: of("files") }, { kind: "ClusterUsage", key: "guard" });
    assert.equal((await finding(wide, guard)).code, "E58");
  });
});

describe("a deletion that was refused before", () => {
  const refused = bucket("files", { annotations: { [attempt]: "Background" } });
  const notes = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport["notes"]> =>
    refusedDeletion(object, await inspectionOf(others));

  test("is a note while the Usage exists", async () => {
    assert.deepEqual(await notes(refused, usage({ of: of("files"), reason: "data" })), [
      {
        code: "E58",
        text: "cannot be deleted: Usage default/guard says that data; delete the object that uses it first, or the Usage: purlin delete usage.protection.crossplane.io/guard -n default",
      },
    ]);
    assert.deepEqual(await notes(refused), []);
  });

  test("an object that is in use and was not deleted has no note", async () => {
    assert.deepEqual(await notes(bucket("files"), usage({ of: of("files") })), []);
  });
});
