// SPDX-License-Identifier: Apache-2.0
// The rules of managed resources on a real API server, one reconcile at a time.
import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, isDeleted, type KubeObject, memberAt, objectAt, textMapAt } from "@purlin/kube-objects/object";
import { clusterThing, conditionText, type ManagedScene, startManagedScene, thing } from "../test/managed-scene.ts";
import type { ManagedResource } from "./managed-resource.ts";

const finalizer = "finalizer.managedresource.crossplane.io";
const external = "crossplane.io/external-name";
const pending = "crossplane.io/external-create-pending";
const synced = "True ReconcileSuccess";
const poll = { requeueAfterMs: 60_000 };
const again = { requeue: true };

interface Case {
  readonly why: string;
  readonly spec?: JsonObject;
  readonly metadata?: JsonObject;
  readonly isCluster?: boolean;
  /** Deleted before the reconcile. */
  readonly deleted?: boolean;
  /** The external resource that exists before. */
  readonly exists?: JsonObject;
  readonly resource?: Partial<ManagedResource>;
  readonly faults?: ManagedScene["faults"];
  readonly calls: readonly string[];
  readonly result?: object;
  readonly ready?: string;
  readonly synced?: string;
  readonly events?: readonly string[];
  /** Whether the object is gone afterwards. */
  readonly gone?: boolean;
}

const boom = (): Error => new Error("boom");
const observed = ["observe NAME"];
const created = ["observe NAME", "create NAME"];
const orphan = ["Observe", "Create", "Update"];
const pauseText =
  "Normal ReconciliationPaused: Reconciliation is paused either through the `spec.managementPolicies` or the pause annotation";

const cases: readonly Case[] = [
  {
    why: "one that does not exist is created",
    calls: created,
    result: again,
    ready: "False Creating",
    synced,
    events: ["Normal CreatedExternalResource: Successfully requested creation of external resource"],
  },
  {
    why: "one that exists and is up to date is polled",
    exists: { size: null },
    calls: observed,
    result: poll,
    ready: "True Available",
    synced,
    events: [],
  },
  {
    why: "one that is not usable yet says why",
    exists: { size: null, ready: false },
    calls: observed,
    result: poll,
    ready: "False Unavailable: it is starting",
    synced,
  },
  {
    why: "one that differs is updated",
    spec: { forProvider: { size: "2" } },
    exists: { size: "1" },
    calls: ["observe NAME", "update NAME"],
    result: poll,
    ready: "True Available",
    synced,
    events: ["Normal UpdatedExternalResource: Successfully requested update of external resource"],
  },
  {
    why: "the annotation names another external resource",
    metadata: { annotations: { [external]: "other" } },
    calls: ["observe other", "create other"],
    result: again,
    ready: "False Creating",
    synced,
  },
  {
    why: "the poll interval of the kind counts",
    exists: { size: null },
    resource: { pollIntervalMs: 5000 },
    calls: observed,
    result: { requeueAfterMs: 5000 },
    synced,
  },
  {
    why: "the poll interval of the object wins",
    exists: { size: null },
    metadata: { annotations: { "crossplane.io/poll-interval": "10s" } },
    calls: observed,
    result: { requeueAfterMs: 10_000 },
    synced,
  },
  {
    why: "a malformed poll interval is ignored",
    exists: { size: null },
    metadata: { annotations: { "crossplane.io/poll-interval": "soon" } },
    calls: observed,
    result: poll,
    synced,
  },
  {
    why: "paused by annotation",
    metadata: { annotations: { "crossplane.io/paused": "true" } },
    calls: [],
    result: {},
    synced: "False ReconcilePaused",
    events: [pauseText],
  },
  {
    why: "only the value true pauses",
    metadata: { annotations: { "crossplane.io/paused": "yes" } },
    exists: { size: null },
    calls: observed,
    result: poll,
    synced,
  },
  {
    why: "paused by an empty list of policies",
    spec: { managementPolicies: [] },
    calls: [],
    result: {},
    synced: "False ReconcilePaused",
    events: [pauseText],
  },
  {
    why: "paused while it is deleted: nothing is deleted",
    metadata: { annotations: { "crossplane.io/paused": "true" }, finalizers: [finalizer] },
    deleted: true,
    exists: {},
    calls: [],
    result: {},
    synced: "False ReconcilePaused",
  },
  {
    why: "unsupported policies are refused without a retry",
    spec: { managementPolicies: ["Create"] },
    calls: [],
    result: {},
    synced:
      "False ReconcileError: `spec.managementPolicies` is set to a value([Create]) which is not supported. Check docs for supported policies",
    events: [
      "Warning CannotUseInvalidManagementPolicy: `spec.managementPolicies` is set to a value([Create]) which is not supported. Check docs for supported policies",
    ],
  },
  {
    why: "observe only, and it exists",
    spec: { managementPolicies: ["Observe"], forProvider: { size: "2" } },
    exists: { size: "1" },
    calls: observed,
    result: poll,
    ready: "True Available",
    synced,
    events: [],
  },
  {
    why: "observe only, and it does not exist",
    spec: { managementPolicies: ["Observe"] },
    calls: observed,
    result: poll,
    synced: "False ReconcileError: observe failed: external resource does not exist",
    events: ["Warning CannotObserveExternalResource: external resource does not exist"],
  },
  {
    why: "without Create nothing is created",
    spec: { managementPolicies: ["Observe", "Update"] },
    calls: observed,
    result: poll,
    ready: "False Unavailable: external resource does not exist",
    synced,
  },
  {
    why: "without Update nothing is updated",
    spec: { managementPolicies: ["Observe", "Create", "Delete"], forProvider: { size: "2" } },
    exists: { size: "1" },
    calls: observed,
    result: poll,
    ready: "True Available",
    synced,
  },
  {
    why: "a failed observation is retried",
    faults: { observe: boom },
    calls: observed,
    result: again,
    synced: "False ReconcileError: observe failed: boom",
    events: ["Warning CannotObserveExternalResource: boom"],
  },
  {
    why: "a failed creation is retried",
    faults: { create: boom },
    calls: created,
    result: again,
    ready: "False Creating",
    synced: "False ReconcileError: create failed: boom",
    events: ["Warning CannotCreateExternalResource: boom"],
  },
  {
    why: "a failed update is retried",
    spec: { forProvider: { size: "2" } },
    exists: { size: "1" },
    faults: { update: boom },
    calls: ["observe NAME", "update NAME"],
    result: again,
    ready: "True Available",
    synced: "False ReconcileError: update failed: boom",
    events: ["Warning CannotUpdateExternalResource: boom"],
  },
  {
    why: "a deletion is requested, then observed",
    metadata: { finalizers: [finalizer] },
    deleted: true,
    exists: { slow: true },
    calls: ["observe NAME", "delete NAME"],
    result: again,
    ready: "False Deleting",
    synced,
    events: ["Normal DeletedExternalResource: Successfully requested deletion of external resource"],
  },
  {
    why: "a failed deletion is retried",
    metadata: { finalizers: [finalizer] },
    deleted: true,
    exists: {},
    faults: { delete: boom },
    calls: ["observe NAME", "delete NAME"],
    result: again,
    ready: "False Deleting",
    synced: "False ReconcileError: delete failed: boom",
    events: ["Warning CannotDeleteExternalResource: boom"],
  },
  {
    why: "when the external resource is gone, the finalizer goes",
    metadata: { finalizers: [finalizer] },
    deleted: true,
    calls: observed,
    result: {},
    gone: true,
  },
  {
    why: "without Delete the external resource stays and is not even observed",
    spec: { managementPolicies: orphan },
    metadata: { finalizers: [finalizer] },
    deleted: true,
    exists: {},
    calls: [],
    result: {},
    gone: true,
  },
  {
    why: "other finalizers are waited for",
    metadata: { finalizers: [finalizer, "example.org/other"] },
    deleted: true,
    exists: {},
    calls: observed,
    result: again,
  },
  {
    why: "the deletion policy of a cluster-scoped kind: Orphan",
    isCluster: true,
    spec: { deletionPolicy: "Orphan" },
    metadata: { finalizers: [finalizer] },
    deleted: true,
    exists: {},
    calls: [],
    result: {},
    gone: true,
  },
  {
    why: "the deletion policy of a cluster-scoped kind: Delete",
    isCluster: true,
    metadata: { finalizers: [finalizer] },
    deleted: true,
    exists: {},
    calls: ["observe NAME", "delete NAME"],
    result: again,
    ready: "False Deleting",
  },
  {
    why: "a crash during the creation of a named resource: it is observed again",
    metadata: { annotations: { [pending]: "2026-01-01T00:00:00Z" } },
    exists: { size: null },
    calls: observed,
    result: poll,
    ready: "True Available",
    synced,
  },
  {
    why: "a crash during the creation of one without a name: a user has to decide",
    resource: { externalName: "fromCreate" },
    metadata: { annotations: { [pending]: "2026-01-01T00:00:00Z" } },
    calls: [],
    result: {},
    ready: "False Creating",
    synced: `False ReconcileError: cannot determine creation result - remove the ${pending} annotation if it is safe to proceed`,
    events: [
      `Warning CannotInitializeManagedResource: cannot determine creation result - remove the ${pending} annotation if it is safe to proceed`,
    ],
  },
  {
    why: "one that was just created may be invisible for a while",
    metadata: { annotations: { "crossplane.io/external-create-succeeded": "1970-01-01T00:00:01Z" } },
    calls: observed,
    result: again,
    events: ["Normal PendingExternalResource: Waiting for external resource existence to be confirmed"],
  },
  {
    why: "after that time it is created again",
    resource: { creationGraceMs: 1 },
    metadata: { annotations: { "crossplane.io/external-create-succeeded": "1970-01-01T00:00:00Z" } },
    calls: created,
    result: again,
    ready: "False Creating",
  },
  {
    why: "a reference to a missing object",
    spec: { forProvider: { parentRef: { name: "missing" } } },
    calls: [],
    result: again,
    synced:
      'False ReconcileError: cannot resolve references: spec.forProvider.parent: cannot get referenced resource: Thing "missing" not found',
    events: [
      'Warning CannotResolveResourceReferences: cannot resolve references: spec.forProvider.parent: cannot get referenced resource: Thing "missing" not found',
    ],
  },
  {
    why: "an optional reference to a missing object",
    spec: { forProvider: { parentRef: { name: "missing", policy: { resolution: "Optional" } } } },
    calls: created,
    result: again,
    ready: "False Creating",
  },
  {
    why: "a selector that matches nothing",
    spec: { forProvider: { parentSelector: { matchLabels: { no: "one" } } } },
    calls: [],
    result: again,
    synced: "False ReconcileError: cannot resolve references: spec.forProvider.parent: no resources matched selector",
  },
  {
    why: "references of a deleted one are not resolved",
    spec: { forProvider: { parentRef: { name: "missing" } } },
    metadata: { finalizers: [finalizer] },
    deleted: true,
    calls: observed,
    result: {},
    gone: true,
  },
  {
    why: "a value wins over its reference",
    spec: { forProvider: { parent: "p", parentRef: { name: "missing" } } },
    calls: created,
    result: again,
  },
];

suite("a managed resource", () => {
  let scene: ManagedScene;
  let made = 0;
  let name: string;
  before(async () => {
    scene = await startManagedScene();
  });
  after(() => scene[Symbol.asyncDispose]());
  beforeEach(() => {
    name = `t${++made}`;
    scene.external.clear();
    for (const method of ["observe", "create", "update", "delete"] as const) delete scene.faults[method];
  });

  async function make({ spec = {}, metadata = {}, isCluster = false }: Partial<Case>): Promise<KubeObject> {
    const type = isCluster ? clusterThing : thing;
    const place = isCluster ? { name } : { name, namespace: "default" };
    const object = { ...type, metadata: { ...place, ...metadata }, spec: { forProvider: {}, ...spec } };
    const stored = await scene.kube.create(object as KubeObject);
    scene.takeWrites();
    scene.takeEvents();
    scene.takeCalls();
    return stored;
  }

  for (const one of cases) {
    test(one.why, async () => {
      const stored = await make(one);
      if (one.exists !== undefined) scene.external.set(name, one.exists);
      Object.assign(scene.faults, one.faults);
      const at = {
        ...(one.isCluster === true ? clusterThing : thing),
        name,
        ...(one.isCluster !== true && { namespace: "default" }),
      };
      if (one.deleted === true) await scene.kube.delete(at);
      const result = await scene.reconcile(stored, one.resource);
      assert.deepEqual(
        scene.takeCalls(),
        one.calls.map((call) => call.replace("NAME", name)),
      );
      if (one.result !== undefined) assert.deepEqual(result, one.result);
      if (one.events !== undefined) assert.deepEqual(scene.takeEvents(), one.events);
      if (one.gone === true) return assert.rejects(scene.get(stored), /not found/);
      const now = await scene.get(stored);
      if (one.ready !== undefined) assert.equal(conditionText(now, "Ready"), one.ready);
      if (one.synced !== undefined) assert.equal(conditionText(now, "Synced"), one.synced);
      if (one.deleted === true) assert.ok(isDeleted(now));
    });
  }

  test("its life: created with its name and a finalizer, ready at the next look, then nothing is written", async () => {
    const stored = await make({ spec: { forProvider: { size: "1" } } });
    await scene.reconcile(stored);
    const after = await scene.get(stored);
    assert.deepEqual([annotationOf(after, external), after.metadata.finalizers], [name, [finalizer]]);
    for (const key of ["pending", "succeeded"])
      assert.ok(annotationOf(after, `crossplane.io/external-create-${key}`), key);
    assert.deepEqual(await scene.reconcile(stored), poll);
    const ready = await scene.get(stored);
    assert.deepEqual(
      [conditionText(ready, "Ready"), memberAt(ready, ["status", "atProvider", "size"])],
      ["True Available", "1"],
    );
    assert.equal((memberAt(ready, ["status", "conditions"]) as JsonObject[])[0]?.["observedGeneration"], 1);
    scene.takeWrites();
    scene.takeEvents();
    await scene.reconcile(stored);
    assert.deepEqual([scene.takeWrites(), scene.takeEvents()], [[], []]);
  });

  test("drift is found by the next poll and repaired", async () => {
    const stored = await make({ spec: { forProvider: { size: "1" } } });
    await scene.reconcile(stored);
    scene.external.set(name, { size: "changed by hand" });
    await scene.reconcile(stored);
    assert.deepEqual(scene.external.get(name), { size: "1" });
  });

  test("a name that the external system assigns is stored", async () => {
    const stored = await make({});
    await scene.reconcile(stored, { externalName: "fromCreate" });
    assert.deepEqual(scene.takeCalls(), ["observe", `create assigned-${name}`]);
    assert.equal(annotationOf(await scene.get(stored), external), `assigned-${name}`);
  });

  test("a failed creation is recorded, so that the next one is safe", async () => {
    const stored = await make({});
    scene.faults.create = boom;
    await scene.reconcile(stored, { externalName: "fromCreate" });
    assert.ok(annotationOf(await scene.get(stored), "crossplane.io/external-create-failed"));
    delete scene.faults.create;
    await scene.reconcile(stored, { externalName: "fromCreate" });
    assert.ok(scene.external.has(`assigned-${name}`));
  });

  test("a stale object is not created: the conflict is silent", async () => {
    const stored = await make({});
    const racing: Partial<ManagedResource> = {
      async observe() {
        const at = { ...thing, name, namespace: "default" };
        await scene.kube.patch(at, { metadata: { labels: { changed: "yes" } } }, { type: "merge" });
        return { exists: false };
      },
    };
    await assert.rejects(scene.reconcile(stored, racing), /has been modified/);
    assert.deepEqual([scene.takeCalls(), scene.takeEvents()], [[], []]);
  });

  test("values that the external system chose are filled in, unless the policy forbids it", async () => {
    const policies: [string[], string | undefined][] = [
      [["*"], "blue"],
      [["Observe", "Create", "Update", "Delete"], undefined],
    ];
    for (const [managementPolicies, wanted] of policies) {
      name = `t${++made}`;
      const stored = await make({ spec: { managementPolicies } });
      scene.external.set(name, { size: null, color: "blue" });
      await scene.reconcile(stored);
      assert.equal(memberAt(await scene.get(stored), ["spec", "forProvider", "color"]), wanted);
    }
  });

  test("connection details of all steps are in one Secret, which the object owns", async () => {
    const stored = await make({ spec: { writeConnectionSecretToRef: { name: `${name}-conn` } } });
    await scene.reconcile(stored);
    await scene.reconcile(stored);
    const secret = await scene.kube.get(
      { apiVersion: "v1", kind: "Secret" },
      { namespace: "default", name: `${name}-conn` },
    );
    const decoded = Object.entries(textMapAt(secret, ["data"]) ?? {}).map(([key, value]) => `${key}=${atob(value)}`);
    assert.deepEqual(decoded.toSorted(), [`host=${name}.example.org`, "password=secret"]);
    assert.equal(secret["type"], "connection.crossplane.io/v1alpha1");
    assert.equal(secret.metadata.ownerReferences?.[0]?.uid, stored.metadata.uid);
  });

  test("a Secret of another owner is not changed", async () => {
    const metadata = { name: `${name}-conn`, namespace: "default" };
    await scene.kube.create({ apiVersion: "v1", kind: "Secret", metadata, type: "Opaque" } as KubeObject);
    const stored = await make({ spec: { writeConnectionSecretToRef: { name: `${name}-conn` } } });
    scene.external.set(name, { size: null });
    await scene.reconcile(stored);
    const text = 'cannot create or update connection secret: refusing to modify uncontrolled secret of type "Opaque"';
    assert.equal(conditionText(await scene.get(stored), "Synced"), `False ReconcileError: ${text}`);
    assert.deepEqual(scene.takeEvents(), [`Warning CannotPublishConnectionDetails: ${text}`]);
  });

  test("a cluster-scoped resource names the namespace of its Secret", async () => {
    const ref = { name: `${name}-conn`, namespace: "default" };
    await scene.reconcile(await make({ isCluster: true, spec: { writeConnectionSecretToRef: ref } }));
    assert.ok(await scene.kube.get({ apiVersion: "v1", kind: "Secret" }, ref));
  });

  test("references and selectors are resolved once, by external name, and the choice is stored", async () => {
    const label = { family: name };
    const parent = await make({ metadata: { labels: label, annotations: { [external]: "the-parent" } } });
    name = `t${++made}`;
    const byName = await make({ spec: { forProvider: { parentRef: { name: parent.metadata.name ?? "" } } } });
    await scene.reconcile(byName);
    assert.equal(memberAt(await scene.get(byName), ["spec", "forProvider", "parent"]), "the-parent");
    name = `t${++made}`;
    const byLabel = await make({ spec: { forProvider: { parentSelector: { matchLabels: label } } } });
    await scene.reconcile(byLabel);
    const resolved = objectAt(await scene.get(byLabel), ["spec", "forProvider"]);
    assert.deepEqual(
      [resolved["parent"], objectAt(resolved, ["parentRef"])["name"]],
      ["the-parent", parent.metadata.name],
    );
    name = `t${++made}`;
    const selector = { matchLabels: label, matchControllerRef: true };
    const other = await make({ spec: { forProvider: { parentSelector: selector } } });
    await scene.reconcile(other);
    assert.match(conditionText(await scene.get(other), "Synced"), /no resources matched selector/);
  });

  test("a referenced object without an external name is not ready yet", async () => {
    const parent = await make({});
    name = `t${++made}`;
    const stored = await make({ spec: { forProvider: { parentRef: { name: parent.metadata.name ?? "" } } } });
    await scene.reconcile(stored);
    assert.match(
      conditionText(await scene.get(stored), "Synced"),
      /referenced field was empty \(referenced resource may not yet be ready\)/,
    );
  });

  test("a handler that hangs is left behind at the deadline, and the status says so", async () => {
    const stored = await make({});
    const pass = scene.reconcile(stored, {
      timeoutMs: 1000,
      observe() {
        scene.clock.advance(1000);
        return new Promise(() => {});
      },
    });
    assert.deepEqual(await pass, again);
    assert.equal(
      conditionText(await scene.get(stored), "Synced"),
      "False ReconcileError: observe failed: reconcile timed out after 1s",
    );
  });

  test("a requested reconcile is acknowledged once", async () => {
    const stored = await make({ metadata: { annotations: { "crossplane.io/reconcile-requested-at": "now-1" } } });
    scene.external.set(name, { size: null });
    await scene.reconcile(stored);
    assert.deepEqual(scene.takeEvents(), ["Normal ReconcileRequestHandled: Handling reconcile request"]);
    assert.equal(memberAt(await scene.get(stored), ["status", "lastHandledReconcileAt"]), "now-1");
    await scene.reconcile(stored);
    assert.deepEqual(scene.takeEvents(), []);
  });

  test("one that is gone is nothing to do", async () => {
    const stored = await make({});
    await scene.kube.delete({ ...thing, name, namespace: "default" });
    assert.deepEqual(await scene.reconcile(stored), {});
  });
});
