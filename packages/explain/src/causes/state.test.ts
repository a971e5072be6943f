// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, appDefinition, inspectionOf, made, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import { circuitOpen, held, notHealed, notReconciled, paused, reconcileCommand, stale } from "./state.ts";

const ref = { apiVersion: "example.org/v1", kind: "App", name: "web", namespace: "default" };
const reconcile =
  "kubectl annotate --overwrite app.example.org/web -n default crossplane.io/reconcile-requested-at=$(date +%s)";

describe("E08: paused", () => {
  const path = 'metadata.annotations["crossplane.io/paused"]';
  const annotated = (value: string): KubeObject => app("web", {}, { annotations: { "crossplane.io/paused": value } });

  test("by the annotation", () => {
    assert.deepEqual(paused(annotated("true")), {
      code: "E08",
      object: ref,
      path,
      since: undefined,
      sentence: "App default/web is paused",
      evidence: [{ object: "App default/web", path, text: "true" }],
      next: ["kubectl annotate app.example.org/web -n default crossplane.io/paused-"],
    });
  });

  test("by the condition, since its time", () => {
    const finding = paused(withConditions(app("web"), [["Synced", "False", "ReconcilePaused", "paused", 90]]));
    assert.equal(finding?.since, secondsAgo(90));
    assert.deepEqual(
      finding?.evidence.map(({ text }) => text),
      ["Synced=False: ReconcilePaused: paused"],
    );
  });

  test("no other value and no other reason pauses", () => {
    for (const object of [annotated("false"), annotated("True"), annotated(""), app("web")]) {
      assert.equal(paused(object), undefined);
    }
    assert.equal(paused(withConditions(app("web"), [["Synced", "False", "ReconcileError"]])), undefined);
  });
});

describe("E67: held", () => {
  const heldFor = (status: string, reason: string, message?: string): ReturnType<typeof held> =>
    held(withConditions(app("web"), [["Held", status, reason, message]]));

  test("a plan is approved by its hash", () => {
    const finding = heldFor("True", "TooManyDeletes", "annotate with purlin.dev/approve-plan=0a1bff to apply it");
    assert.equal(finding?.code, "E67");
    assert.equal(finding?.since, secondsAgo(60));
    assert.equal(
      finding?.sentence,
      "App default/web is held: annotate with purlin.dev/approve-plan=0a1bff to apply it",
    );
    assert.deepEqual(finding?.next, [
      "kubectl annotate --overwrite app.example.org/web -n default purlin.dev/approve-plan=0a1bff",
    ]);
  });

  test("without a hash the condition is to be corrected; without a message the reason is shown", () => {
    for (const message of [undefined, ""]) {
      const finding = heldFor("True", "InvalidPolicy", message);
      assert.equal(finding?.sentence, "App default/web is held: InvalidPolicy");
      assert.deepEqual(finding?.next, ["correct what the condition Held names"]);
    }
  });

  test("only the status True holds", () => {
    for (const status of ["False", "Unknown"]) assert.equal(heldFor(status, "None"), undefined);
    assert.equal(held(app("web")), undefined);
  });
});

describe("E62: watch events are limited", () => {
  const open = (reason: string, message?: string): ReturnType<typeof circuitOpen> =>
    circuitOpen(withConditions(app("web"), [["Responsive", "False", reason, message]]));

  test("the source of the events is named", () => {
    const finding = open(
      "WatchCircuitOpen",
      "Too many watch events from Deployment/db (default). Allowing events periodically.",
    );
    assert.equal(
      finding?.sentence,
      "Deployment/db (default) changes so often that reconciles of App default/web are limited",
    );
    assert.deepEqual(finding?.next, [
      "find out what changes Deployment/db (default): kubectl get deployment/db -n default -w -o yaml --show-managed-fields",
    ]);
    const wide = open("WatchCircuitOpen", "Too many watch events from ClusterRole/db. Allowing events periodically.");
    assert.match(wide?.next[0] ?? "", /: kubectl get clusterrole\/db -w -o yaml /);
  });

  test("without a name it is one of its resources", () => {
    assert.match(open("WatchCircuitOpen")?.sentence ?? "", /^one of its resources changes so often/);
  });

  test("another reason, or a closed circuit, is not a finding", () => {
    assert.equal(open("Other"), undefined);
    assert.equal(circuitOpen(withConditions(app("web"), [["Responsive", "True", "WatchCircuitOpen"]])), undefined);
  });
});

describe("E10: a status of an older generation", () => {
  const observing = (observed: number | undefined, changed: number, more: JsonObject = {}): KubeObject => ({
    ...app(
      "web",
      {},
      {
        generation: 3,
        managedFields: [{ manager: "m", time: secondsAgo(changed), fieldsV1: { "f:spec": {} } }],
      },
    ),
    status: {
      conditions: [
        {
          type: "Synced",
          status: "True",
          reason: "ReconcileSuccess",
          lastTransitionTime: secondsAgo(500),
          ...(observed === undefined ? {} : { observedGeneration: observed }),
          ...more,
        },
      ],
    },
  });

  test("31 seconds after the change it is stale", async () => {
    const finding = stale(observing(2, 31), await inspectionOf());
    assert.ok(typeof finding === "object");
    assert.deepEqual(finding, {
      code: "E10",
      object: ref,
      path: "metadata.generation",
      since: secondsAgo(31),
      sentence:
        "Generation 3 of App default/web is not reconciled yet; the status is of generation 2, and the spec changed 31s ago",
      evidence: [
        {
          object: "App default/web",
          path: "status.conditions[Synced]",
          time: secondsAgo(500),
          text: "Synced=True: ReconcileSuccess",
        },
      ],
      next: [reconcile],
    });
  });

  test("until then, and while a function runs, it is young", async () => {
    const inspection = await inspectionOf();
    assert.equal(stale(observing(2, 30), inspection), "young");
    assert.equal(stale(observing(2, 9000, { reason: "WaitingForFunction" }), inspection), "young");
  });

  test("a status of this generation, or of none, is not stale", async () => {
    const inspection = await inspectionOf();
    for (const observed of [3, 4, undefined]) assert.equal(stale(observing(observed, 9000), inspection), undefined);
    assert.equal(stale(app("web", {}, { generation: 3 }), inspection), undefined);
  });

  test("Ready counts if there is no Synced, and an open circuit explains it better", async () => {
    const inspection = await inspectionOf();
    const finding = stale(observing(1, 60, { type: "Ready" }), inspection);
    assert.ok(typeof finding === "object");
    assert.deepEqual(finding.evidence, []);
    const object = observing(2, 60);
    const { conditions } = object["status"] as { readonly conditions: readonly JsonObject[] };
    const limited = { type: "Responsive", status: "False", reason: "WatchCircuitOpen", lastTransitionTime: "" };
    assert.equal(stale({ ...object, status: { conditions: [...conditions, limited] } }, inspection), undefined);
  });
});

describe("E10: a cause that was resolved", () => {
  const failed = withConditions(app("web"), [["Synced", "False", "ReconcileError", "no namespace"]]);
  const ask = async (at: string | undefined | null): Promise<ReturnType<typeof notHealed>> =>
    notHealed(failed, { healed: "Namespace team not found", at }, await inspectionOf());

  test("31 seconds ago, and the status still shows it", async () => {
    const finding = await ask(secondsAgo(31));
    assert.equal(
      finding?.sentence,
      "App default/web was not reconciled after its cause was resolved 31s ago; it was: Namespace team not found",
    );
    assert.deepEqual([finding?.code, finding?.since, finding?.next], ["E10", secondsAgo(31), [reconcile]]);
  });

  test("a younger one, or one of an unknown time, may still be reconciled", async () => {
    for (const at of [secondsAgo(30), undefined, null, ""]) assert.equal(await ask(at), undefined);
  });
});

describe("E09, E65: no control plane reconciles the object", () => {
  const lease = (renewed: number, holderIdentity = "crossplane-abc"): KubeObject =>
    made("coordination.k8s.io/v1/Lease", "crossplane-system/crossplane-leader-election-core", {
      spec: { holderIdentity, renewTime: secondsAgo(renewed) },
    });
  const deployment = (name: string, readyReplicas: number, namespace = "crossplane-system"): KubeObject =>
    made("apps/v1/Deployment", `${namespace}/${name}`, {
      metadata: { labels: { app: "crossplane" } },
      status: { readyReplicas },
    });
  const aged = (seconds: number, more: JsonObject = {}): KubeObject =>
    app("web", {}, { creationTimestamp: secondsAgo(seconds), ...more });
  const start = ["start the control plane: purlin up, or purlin start on a cluster"];

  async function ask(
    others: readonly KubeObject[],
    object = aged(60),
  ): Promise<readonly [string, string, readonly string[]]> {
    const finding = await notReconciled(object, await inspectionOf([appDefinition, ...others]));
    assert.ok(typeof finding === "object", String(finding));
    return [finding.code, finding.sentence, finding.next];
  }

  test("without a Lease none runs", async () => {
    assert.deepEqual(await ask([]), [
      "E09",
      "App default/web is not reconciled: no control plane is running for its kind",
      start,
    ]);
  });

  test("an XRD that is not established comes first, and is followed", async () => {
    const definition = withConditions(appDefinition, [["Established", "False", "TerminatingCompositeResource"]]);
    const inspection = await inspectionOf([definition, lease(9000)]);
    const finding = await notReconciled(aged(60), inspection);
    assert.ok(typeof finding === "object");
    assert.equal(
      finding.sentence,
      "App default/web is not reconciled: CompositeResourceDefinition apps.example.org is not established",
    );
    assert.deepEqual(finding.next, ["purlin explain compositeresourcedefinition/apps.example.org"]);
    assert.deepEqual(
      finding.waitsFor?.map(({ to }) => to.name),
      ["apps.example.org"],
    );
    assert.deepEqual(
      finding.evidence.map(({ path, text }) => `${path}: ${text}`),
      ["status: no conditions", "metadata.finalizers: none"],
    );
  });

  for (const [seconds, why] of [
    [60, "no control plane is running for its kind"],
    [
      61,
      "no control plane is running: Lease crossplane-system/crossplane-leader-election-core was renewed 61s ago by crossplane-abc",
    ],
  ] as const) {
    test(`a Lease that was renewed ${seconds} seconds ago`, async () => {
      assert.equal((await ask([lease(seconds)]))[1], `App default/web is not reconciled: ${why}`);
    });
  }

  test("a Lease without a holder", async () => {
    const [, sentence, next] = await ask([lease(300, "")]);
    assert.match(sentence, /was renewed 5m ago by no process$/);
    assert.deepEqual(next, ["start the control plane: purlin start"]);
  });

  test("Crossplane runs beside the holder of the Lease", async () => {
    assert.deepEqual(await ask([lease(5), deployment("crossplane", 1)]), [
      "E65",
      "App default/web is not reconciled: Deployment crossplane-system/crossplane (Crossplane) also runs; Lease crossplane-system/crossplane-leader-election-core is held by crossplane-abc",
      ["kubectl -n crossplane-system scale deployment crossplane --replicas=0"],
    ]);
  });

  test("a single Deployment of another name is the control plane itself; two are rivals", async () => {
    assert.equal((await ask([lease(5), deployment("purlin", 1)]))[0], "E09");
    assert.equal((await ask([lease(5), deployment("purlin", 1), deployment("fork", 2)]))[0], "E65");
    assert.equal((await ask([lease(5), deployment("crossplane", 0), deployment("crossplane", 1, "other")]))[0], "E09");
  });

  test("an object of 10 seconds is young, and one of 11 is not", async () => {
    const inspection = await inspectionOf([appDefinition]);
    assert.equal(await notReconciled(aged(10), inspection), "young");
    assert.equal(typeof (await notReconciled(aged(11), inspection)), "object");
  });

  test("a condition shows that it was reconciled, and a finalizer that its first reconcile has begun", async () => {
    const inspection = await inspectionOf([]);
    for (const type of ["Synced", "Ready"]) {
      assert.equal(await notReconciled(withConditions(aged(60), [[type, "False"]]), inspection), undefined);
    }
    assert.equal(await notReconciled(aged(60, { finalizers: ["a"] }), inspection), "young");
    assert.equal(typeof (await notReconciled(withConditions(aged(60), [["Other", "True"]]), inspection)), "object");
  });
});

test("the command that requests a reconcile", () => assert.equal(reconcileCommand(app("web")), reconcile));
