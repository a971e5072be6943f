// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type ConditionRow, inspectionOf, made, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import type { Finding, NodeReport } from "../model/explanation.ts";
import { composedReport, podFinding } from "./composed.ts";

const bucket = (
  rows: readonly ConditionRow[] = [],
  spec: JsonObject = { forProvider: {} },
  metadata: JsonObject = {},
): KubeObject => withConditions(made("s3.example.org/v1/Bucket", "default/files", { metadata, spec }), rows);
const report = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
  composedReport(object, await inspectionOf(others));
function only({ findings = [] }: NodeReport): Finding {
  assert.equal(findings.length, 1);
  return findings[0] ?? assert.fail();
}
const failed = (message: string): ConditionRow => ["Synced", "False", "ReconcileError", message];

const owner = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision", name: "p-1", uid: "u", controller: true };
const crd = (metadata: JsonObject = { ownerReferences: [owner] }, categories: readonly string[] = []): KubeObject =>
  made("apiextensions.k8s.io/v1/CustomResourceDefinition", "buckets.s3.example.org", {
    metadata,
    spec: { group: "s3.example.org", names: { kind: "Bucket", categories: [...categories] } },
  });
const providerRevision = made("pkg.crossplane.io/v1/ProviderRevision", "p-1", {
  metadata: { labels: { "pkg.crossplane.io/package": "provider-s3" } },
});

describe("states without a failure", () => {
  test("a resource that is ready, or that has no conditions for it, has nothing to report", async () => {
    for (const rows of [
      [
        ["Synced", "True"],
        ["Ready", "True"],
      ],
      [["Other", "False"]],
    ] as const) {
      assert.deepEqual(await report(bucket(rows)), { notes: [] });
    }
  });

  test("one that is not ready is waiting, with the words of its condition", async () => {
    assert.deepEqual(
      await report(
        bucket([
          ["Synced", "True"],
          ["Ready", "False", "Creating", "no endpoint", 9],
        ]),
      ),
      {
        waiting: [{ since: secondsAgo(9), text: "Ready is False: Creating: no endpoint" }],
      },
    );
    assert.deepEqual(await report(bucket([["Available", "Unknown"]])), {
      waiting: [{ since: secondsAgo(60), text: "Available is Unknown" }],
    });
  });

  test("deletion comes before pause, and pause before approval", async () => {
    const annotations = { "crossplane.io/paused": "true" };
    const held: ConditionRow = ["Held", "True", "Plan"];
    const deleted = bucket([held], {}, { annotations, deletionTimestamp: secondsAgo(1) });
    assert.equal((await report(deleted)).waiting?.[0]?.text, "is being deleted, since 1s ago");
    assert.equal(only(await report(bucket([held], {}, { annotations }))).code, "E08");
    assert.equal(only(await report(bucket([held, failed("x")]))).code, "E67");
  });
});

test("E57: a finalizer of a managed resource waits for its provider", async () => {
  const deleted = bucket([], {}, { deletionTimestamp: secondsAgo(600), finalizers: ["a/b"] });
  const { code, sentence, next, waitsFor } = only(await report(deleted, crd(), providerRevision));
  assert.deepEqual(
    [code, sentence, next[0]],
    [
      "E57",
      "Bucket default/files waits since 10m ago for the controller of finalizer a/b, of Provider provider-s3",
      "purlin explain provider.pkg.crossplane.io/provider-s3",
    ],
  );
  assert.deepEqual(
    waitsFor?.map(({ to }) => to.name),
    ["provider-s3"],
  );
  assert.match(only(await report(deleted, crd({}))).sentence, /of finalizer a\/b$/);
});

describe("E51: the ProviderConfig", () => {
  const cases: Readonly<Record<string, readonly [message: string, spec: JsonObject, sentence: string, next: string]>> =
    {
      "by its type and name": [
        'connect failed: cannot get referenced ProviderConfig: ProviderConfig.s3.example.org "main" not found',
        {},
        "ProviderConfig main of Bucket default/files does not exist",
        "create ProviderConfig main",
      ],
      "by the reference of the resource": [
        "cannot get ProviderConfig: not found",
        { providerConfigRef: { name: "team" } },
        "ProviderConfig team of Bucket default/files does not exist",
        "create ProviderConfig team",
      ],
      "by its usual name": [
        "cannot get provider credentials: timeout",
        {},
        "The credentials of ProviderConfig default cannot be read: cannot get provider credentials: timeout",
        "create the Secret that ProviderConfig default names",
      ],
      "a Secret that does not exist is not a missing ProviderConfig": [
        'cannot get credentials: secrets "aws" not found',
        { providerConfigRef: { name: "team" } },
        'The credentials of ProviderConfig team cannot be read: cannot get credentials: secrets "aws" not found',
        "create the Secret that ProviderConfig team names",
      ],
    };
  for (const [title, [message, spec, sentence, next]] of Object.entries(cases)) {
    test(title, async () => {
      const found = only(await report(bucket([failed(message)], spec)));
      assert.deepEqual([found.code, found.path, found.next], ["E51", "spec.providerConfigRef", [next]]);
      assert.equal(found.sentence, sentence);
    });
  }
});

describe("E49: an error of a provider", () => {
  test("is shown with its words, and leads to the provider", async () => {
    const found = only(await report(bucket([failed("create failed: AccessDenied")]), crd(), providerRevision));
    assert.equal(found.code, "E49");
    assert.equal(found.sentence, "Bucket default/files: create failed: AccessDenied");
    assert.deepEqual(found.waitsFor, [
      {
        to: { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", name: "provider-s3" },
        via: "CRD buckets.s3.example.org",
      },
    ]);
  });

  test("without a message the reason is shown", async () => {
    const found = only(await report(bucket([["Synced", "Unknown", "Throttled"]])));
    assert.equal(found.sentence, "Bucket default/files: Throttled");
    assert.deepEqual(found.waitsFor, []);
  });

  test("a CRD that no provider owns, or whose revision is gone, leads nowhere", async () => {
    for (const others of [[crd({})], [crd()]]) {
      assert.deepEqual(only(await report(bucket([failed("x")]), ...others)).waitsFor, []);
    }
  });
});

describe("E50: no provider", () => {
  const aged = (seconds: number, spec: JsonObject = { forProvider: {} }, more: JsonObject = {}): KubeObject =>
    bucket([], spec, { creationTimestamp: secondsAgo(seconds), ...more });

  test("a managed resource without conditions and finalizers after 61 seconds", async () => {
    const found = only(await report(aged(61)));
    assert.deepEqual(found, {
      code: "E50",
      object: { apiVersion: "s3.example.org/v1", kind: "Bucket", name: "files", namespace: "default" },
      since: secondsAgo(61),
      sentence: "Bucket default/files is not reconciled: no package installs Bucket",
      evidence: [
        { object: "Bucket default/files", path: "status.conditions", text: "none" },
        { object: "Bucket default/files", path: "metadata.finalizers", text: "none" },
      ],
      next: ["install the provider of Bucket"],
    });
    assert.deepEqual(await report(aged(60)), { notes: [] });
  });

  test("a provider that is installed does not run", async () => {
    const found = only(await report(aged(61), crd(), providerRevision));
    assert.equal(found.sentence, "Bucket default/files is not reconciled: Provider provider-s3 does not run");
    assert.deepEqual(found.next, ["purlin explain provider.pkg.crossplane.io/provider-s3"]);
    assert.equal(found.waitsFor?.[0]?.to.name, "provider-s3");
  });

  test("a resource is managed by its fields, or by the category of its CRD", async () => {
    const isReported = async (spec: JsonObject, ...others: readonly KubeObject[]): Promise<boolean> =>
      (await report(aged(61, spec), ...others)).findings?.[0]?.code === "E50";
    assert.equal(await isReported({ providerConfigRef: { name: "a" } }), true);
    assert.equal(await isReported({}, crd({}, ["crossplane", "managed"])), true);
    assert.equal(await isReported({}, crd({}, ["crossplane"])), false);
    assert.equal(await isReported({}), false);
  });

  test("a finalizer, or a kind of Kubernetes itself, is not a missing provider", async () => {
    assert.deepEqual(await report(aged(61, { forProvider: {} }, { finalizers: ["a/b"] })), { notes: [] });
    for (const type of ["v1/Service", "apps/v1/Deployment", "batch/v1/Job", "autoscaling/v2/Hpa", "policy/v1/Pdb"]) {
      assert.deepEqual(await report(made(type, "default/a", { spec: { forProvider: {} } })), { notes: [] }, type);
    }
  });
});

describe("Pods", () => {
  const pod = (key: string, statuses: JsonObject, labels: JsonObject = {}): KubeObject =>
    made("v1/Pod", key, { metadata: { labels }, status: statuses });
  const container = (state: JsonObject, lastState: JsonObject = {}): JsonObject => ({
    containerStatuses: [{ name: "main", image: "i:v1", state, lastState }],
  });

  for (const reason of ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"]) {
    test(`E16: ${reason}`, () => {
      const found = podFinding([pod("team/a", container({ waiting: { reason, message: "401" } }))]);
      assert.equal(found?.code, "E16");
      assert.equal(found?.sentence, "Pod team/a: the node cannot pull i:v1: 401");
      assert.equal(found?.evidence[0]?.text, `${reason}: 401`);
    });
  }

  test("E16: without a message the reason is shown", () => {
    const found = podFinding([pod("team/a", container({ waiting: { reason: "ErrImagePull" } }))]);
    assert.equal(found?.sentence, "Pod team/a: the node cannot pull i:v1: ErrImagePull");
    assert.deepEqual(
      found?.evidence.map(({ text }) => text),
      ["ErrImagePull"],
    );
  });

  const ends: Readonly<Record<string, readonly [JsonObject, JsonObject, string | undefined]>> = {
    "a crash loop with the last end": [
      { waiting: { reason: "CrashLoopBackOff" } },
      { terminated: { reason: "OOMKilled", exitCode: 137, message: " killed\n" } },
      "OOMKilled, exit code 137, killed",
    ],
    "a crash loop without details": [{ waiting: { reason: "CrashLoopBackOff" } }, {}, "CrashLoopBackOff"],
    "an error right now": [
      { terminated: { reason: "Error", exitCode: 1 } },
      { terminated: { reason: "OOMKilled" } },
      "Error, exit code 1",
    ],
    "the exit code zero in a crash loop": [
      { waiting: { reason: "CrashLoopBackOff" } },
      { terminated: { reason: "Completed", exitCode: 0 } },
      "Completed, exit code 0",
    ],
    "a container that completed": [{ terminated: { reason: "Completed", exitCode: 0 } }, {}, undefined],
    "a container that runs": [{ running: {} }, {}, undefined],
    "one that is being created": [{ waiting: { reason: "ContainerCreating" } }, {}, undefined],
  };
  for (const [title, [state, lastState, detail]] of Object.entries(ends)) {
    test(`E15: ${title}`, () => {
      const found = podFinding([pod("team/a", container(state, lastState))]);
      assert.equal(found?.sentence, detail === undefined ? undefined : `Pod team/a crashes: container main: ${detail}`);
      if (found === undefined) return;
      assert.deepEqual([found.code, found.next], ["E15", ["kubectl logs -n team a --previous"]]);
    });
  }

  test("init containers come first, and healthy Pods are passed over", () => {
    const bad = { name: "setup", image: "s:v1", state: { waiting: { reason: "ErrImagePull" } } };
    const both = { ...container({ waiting: { reason: "CrashLoopBackOff" } }), initContainerStatuses: [bad] };
    const found = podFinding([pod("team/fine", container({ running: {} })), pod("team/bad", both)]);
    assert.deepEqual([found?.code, found?.object.name], ["E16", "bad"]);
    assert.equal(podFinding([]), undefined);
  });

  test("a workload that is not available leads to its Pods", async () => {
    const deployment = withConditions(
      made("apps/v1/Deployment", "team/web", { spec: { selector: { matchLabels: { app: "web", tier: "a" } } } }),
      [["Available", "False", "MinimumReplicasUnavailable"]],
    );
    const crashing = container({ waiting: { reason: "CrashLoopBackOff" } });
    const others = [
      pod("team/other", crashing, { app: "web", tier: "b" }),
      pod("elsewhere/web", crashing, { app: "web", tier: "a" }),
      pod("team/web-1", crashing, { app: "web", tier: "a" }),
    ];
    assert.equal(only(await report(deployment, ...others)).object.name, "web-1");
    assert.equal((await report(deployment)).waiting?.length, 1);
    const { spec: _, ...selectorless } = deployment;
    assert.equal((await report(selectorless, ...others)).waiting?.length, 1);
  });
});
