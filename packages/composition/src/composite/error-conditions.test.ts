// SPDX-License-Identifier: Apache-2.0
// Every way in which a pass can fail ends in a condition its user can act on: it names the step, the resource or the field,
// and says what to do. When that is done the XR recovers by itself.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type CompositeBench, configMap, createCompositeBench, makeRevision } from "../../test/composite-bench.ts";
import { cacheDefinition, definitionVersion } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { fatal, type ResponseWish } from "../../test/test-doubles.ts";
import { annotations } from "../composite-resource/constants.ts";

const namespace = "default";
const maps = { apiVersion: "v1", kind: "ConfigMap" };
const secrets = { apiVersion: "v1", kind: "Secret" };

let cluster: TestCluster;
let bench: CompositeBench;
before(async () => {
  cluster = await startTestCluster();
  const status = { type: "object", properties: { size: { type: "integer" } } };
  const schema = { type: "object", properties: { spec: { type: "object" }, status } };
  const versions = [definitionVersion("v1", { schema })];
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Namespaced", { spec: { versions } })));
});
after(() => cluster[Symbol.asyncDispose]());

interface Scene {
  /** The name of the XR and of its Composition, unless the row says otherwise. */
  readonly name: string;
}

interface Row {
  readonly reason: string;
  /** The pipeline; one step `make` of function `f` unless given. None: there is no Composition. */
  readonly steps?: readonly JsonObject[] | null;
  readonly valid?: JsonObject;
  readonly crossplane?: (scene: Scene) => JsonObject;
  readonly answer?: ResponseWish;
  /** What is there before the pass. */
  readonly given?: (scene: Scene) => Promise<unknown>;
  /** Where it is reported: in the Synced condition unless it is in an event. */
  readonly reportedIn?: "event";
  /** Everything the text must say. */
  readonly says: (scene: Scene) => readonly string[];
  /** What its user does about it; rows that only a new answer of the function repairs say none. */
  readonly repair?: (scene: Scene) => Promise<unknown>;
}

const make = (more: JsonObject = {}): JsonObject => ({ step: "make", functionRef: { name: "f" }, ...more });
const named = (crossplane: JsonObject) => (): JsonObject => crossplane;
const edit = (name: string, crossplane: JsonObject): Promise<unknown> =>
  cluster.kube.patch({ ...bench.kind.type, namespace, name }, { spec: { crossplane } }, { type: "merge" });
const credential = { name: "login", source: "Secret", secretRef: { namespace, name: "missing-login" } };

const existingMap = (name: string): Promise<unknown> => {
  const metadata = { namespace, name, annotations: { [annotations.resourceName]: "bucket" } };
  return cluster.kube.create({ ...maps, metadata });
};

const rows: Readonly<Record<string, Row>> = {
  NoComposition: {
    reason: "no Composition is selected",
    steps: null,
    crossplane: named({ compositionSelector: { matchLabels: { tier: "gold", area: "eu" } } }),
    says: () => [
      "cannot select Composition: no compatible Compositions found",
      "compositeTypeRef Cache (platform.example.org/v1)",
      "the labels area=eu, tier=gold",
      "apply one, or correct the compositionSelector",
    ],
    repair: ({ name }) => bench.compositionOf(name, [make()], { labels: { tier: "gold", area: "eu" } }),
  },
  UnknownComposition: {
    reason: "the one that is named is not there",
    steps: null,
    crossplane: ({ name }) => ({ compositionRef: { name } }),
    says: ({ name }) => [
      "cannot fetch Composition: cannot get Composition",
      `"${name}" not found: apply it, or name another one in compositionRef`,
    ],
    repair: ({ name }) => bench.compositionOf(name, [make()]),
  },
  NoRevisionMatches: {
    reason: "there are revisions, but none with the labels",
    crossplane: ({ name }) => ({
      compositionRef: { name },
      compositionUpdatePolicy: "Automatic",
      compositionRevisionSelector: { matchLabels: { channel: "beta" } },
    }),
    says: ({ name }) => [
      "no compatible CompositionRevisions found",
      `none of Composition "${name}" has the labels channel=beta`,
      "label one, or correct the compositionRevisionSelector",
    ],
    repair: async ({ name }) => {
      const composition = await cluster.kube.get(
        { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" },
        { name },
      );
      return makeRevision(cluster, composition, { revision: 2, labels: { channel: "beta" } });
    },
  },
  InvalidPipeline: {
    reason: "the validity gate says which function lacks what",
    valid: { status: "False", reason: "MissingCapabilities", message: 'function "f" lacks the capability composition' },
    says: ({ name }) => [
      `selected CompositionRevision ${name}-1 does not have a valid function pipeline`,
      'function "f" lacks the capability composition',
    ],
  },
  OtherKind: {
    reason: "a Composition of another kind is named",
    steps: null,
    given: ({ name }) =>
      bench.compositionOf(name, [make()], { spec: { compositeTypeRef: { apiVersion: "a.org/v1", kind: "Other" } } }),
    crossplane: ({ name }) => ({ compositionRef: { name } }),
    says: ({ name }) => [
      "cannot configure composite resource: referenced composition is not compatible",
      `CompositionRevision "${name}-1" is made for Other (a.org/v1), not for Cache (platform.example.org/v1)`,
      "name another Composition in compositionRef",
    ],
    repair: async ({ name }) => {
      await bench.compositionOf(`${name}-good`, [make()]);
      return edit(name, { compositionRef: { name: `${name}-good` }, compositionRevisionRef: null });
    },
  },
  Credentials: {
    reason: "a Secret that a step names is missing",
    steps: [make({ credentials: [credential] })],
    says: () => ['"make"', '"login"', '"missing-login" not found'],
    repair: () => cluster.kube.create({ ...secrets, metadata: { namespace, name: "missing-login" }, type: "Opaque" }),
  },
  NoFunction: {
    reason: "a step whose function is not served",
    steps: [{ step: "serve", functionRef: { name: "absent" } }],
    says: () => ['cannot run Composition pipeline step "serve"', "absent"],
  },
  Fatal: {
    reason: "a function gave up",
    answer: { results: [{ severity: fatal, message: "spec.size: must be below 10" }] },
    says: () => ['pipeline step "make" returned a fatal result: spec.size: must be below 10'],
  },
  InvalidName: {
    reason: "a name that no server takes",
    answer: { resources: { bucket: configMap({}, { name: "Not_A_Name" }) } },
    says: () => ['composed resource "bucket"', '"Not_A_Name"', "Must be a valid RFC 1123 subdomain name"],
  },
  ClusterScoped: {
    reason: "what has no namespace cannot belong to what has one",
    answer: {
      resources: {
        role: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "wide" } },
      },
    },
    says: () => ['cluster scoped composed resource "role" (a ClusterRole named wide)', "namespaced composite resource"],
  },
  UnknownKind: {
    reason: "a kind that is not served",
    answer: { resources: { bucket: { apiVersion: "late.org/v1", kind: "Bucket", metadata: {} } } },
    says: () => [
      'composed resource "bucket"',
      'no matches for kind "Bucket" in version "late.org/v1"',
      "install the CRD that defines it, or correct the function",
    ],
  },
  NotAnObject: {
    reason: "a function left the kind out",
    answer: { resources: { bucket: { apiVersion: "v1", metadata: {} } } },
    says: () => ['desired composed resource "bucket"', "kind"],
  },
  SameObjectTwice: {
    reason: "two resources of the pipeline are one object",
    answer: { resources: { a: configMap({}, { name: "both" }), b: configMap({}, { name: "both" }) } },
    says: () => ['"a"', '"b"', "give one of them another metadata.name"],
  },
  ForeignOwner: {
    reason: "a function gives its resource to another owner",
    answer: {
      resources: {
        bucket: configMap(
          {},
          {
            name: "given-away",
            ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }],
          },
        ),
      },
    },
    says: () => [
      'cannot render metadata for composed resource "bucket"',
      "given-away is already controlled by Pod p (UID u)",
    ],
  },
  Unmarked: {
    reason: "something is referred to that does not say what it is",
    given: ({ name }) => cluster.kube.create({ ...maps, metadata: { namespace, name } }),
    crossplane: ({ name }) => ({ compositionRef: { name }, resourceRefs: [{ ...maps, name }] }),
    says: ({ name }) => [
      `without required "${annotations.resourceName}" annotation (a ConfigMap named ${name})`,
      "annotate it with its name in the pipeline, or take it out of the resourceRefs",
    ],
    repair: ({ name }) => edit(name, { resourceRefs: [] }),
  },
  InvalidObject: {
    reason: "the server refuses the object: the event says which field",
    answer: { resources: { bucket: { ...maps, metadata: { labels: { "not a key": "x" } } } } },
    reportedIn: "event",
    says: () => ['cannot apply composed resource "bucket"', "metadata.labels", '"not a key"'],
  },
  WrongUid: {
    reason: "a new resource has no uid that a function could know",
    answer: { resources: { bucket: { ...maps, metadata: { uid: "2cdd8a51-1d4f-4a43-8e0a-0d1a4f1c9d5e" } } } },
    reportedIn: "event",
    says: () => ['cannot apply composed resource "bucket": ', "uid", ": the function sets metadata.uid: correct it"],
  },
  WrongUidOfExisting: {
    reason: "a resource keeps its uid, whatever a function says",
    given: ({ name }) => existingMap(`${name}-map`),
    answer: {
      resources: {
        bucket: {
          ...maps,
          metadata: { name: "wronguidofexisting-map", uid: "2cdd8a51-1d4f-4a43-8e0a-0d1a4f1c9d5e" },
        },
      },
    },
    reportedIn: "event",
    says: () => ['cannot apply composed resource "bucket": ', "metadata.uid"],
  },
  WrongVersionOfExisting: {
    reason: "a resourceVersion that the function did not observe never becomes right",
    given: ({ name }) => existingMap(`${name}-map`),
    answer: {
      resources: { bucket: { ...maps, metadata: { name: "wrongversionofexisting-map", resourceVersion: "1" } } },
    },
    reportedIn: "event",
    says: () => [
      'cannot apply composed resource "bucket": ',
      "the object has been modified",
      ": the function sets metadata.resourceVersion: correct it",
    ],
  },
  InvalidStatus: {
    reason: "the schema refuses the status: the event says which field",
    answer: { status: { size: "big" } },
    reportedIn: "event",
    says: () => [
      "cannot apply composite resource status",
      "status.size",
      "expected numeric (int or float), got string",
    ],
  },
  StatusOfWrongShape: {
    reason: "a status is an object",
    answer: { composite: { status: "fine" } },
    says: () => ["the desired status is a string; it must be an object"],
  },
};

for (const [title, row] of Object.entries(rows)) {
  test(`a failure its user can act on, ${title}: ${row.reason}`, async () => {
    const scene: Scene = { name: title.toLowerCase() };
    const { name } = scene;
    const { steps = [make()], crossplane = ({ name: composition }) => ({ compositionRef: { name: composition } }) } =
      row;
    if (steps !== null) await bench.compositionOf(name, steps, row.valid && { valid: row.valid });
    await row.given?.(scene);
    bench.functions.set("f", row.answer ?? {});
    await bench.xr(name, { crossplane: crossplane(scene) }, { namespace });
    bench.takeEvents();
    await bench.reconcile({ namespace, name }).catch(() => undefined);
    const synced = await bench.condition({ namespace, name }, "Synced");
    assert.deepEqual([synced.status, synced.reason], ["False", "ReconcileError"], JSON.stringify(synced));
    const events = bench.takeEvents().filter((line) => line.includes(" Warning "));
    const text = row.reportedIn === "event" ? events.join("\n") : (synced.message ?? "");
    for (const part of row.says(scene)) assert.ok(text.includes(part), `${part}\nis missing in\n${text}`);
    assert.ok(events.length > 0, "an event has the same text");
    await row.repair?.(scene);
    bench.functions.set("f", {});
    if (row.valid !== undefined || title === "NoFunction") return;
    await bench.reconcile({ namespace, name });
    const after = await bench.condition({ namespace, name }, "Synced");
    assert.equal(after.status, "True", `it recovers: ${after.message}`);
  });
}
