// SPDX-License-Identifier: Apache-2.0
// Broken set-ups made of objects: what is broken shows in several of them, or in their times.
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, pausedCondition } from "@purlin/kube-objects/object";
import {
  app,
  type ConditionInput,
  creating,
  definitionOf,
  failed,
  met,
  ready,
  unmetCondition,
  withStatus,
} from "./platform.ts";

/** Objects, the one to explain, and the cause to find. */
export interface ObjectSetup {
  readonly code: string;
  readonly root: KubeObject;
  /** Created before the root. */
  readonly others?: readonly KubeObject[];
  readonly says: RegExp;
  /** The object of the cause, if it is not the root. */
  readonly at?: string;
  /** Objects that are deleted, and stay because of their finalizers. */
  readonly deleted?: readonly KubeObject[];
  readonly systemNamespace?: string;
}

const template = { spec: { mode: "Pipeline", pipeline: [{ step: "one", functionRef: { name: "f" } }] } };
const operation = (kind: string, name: string, spec: JsonObject = {}, labels: JsonObject = {}): KubeObject =>
  ({
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind,
    metadata: { name, labels },
    spec: kind === "Operation" ? template.spec : { ...spec, operationTemplate: template },
  }) as KubeObject;
const ended: readonly ConditionInput[] = [
  met("Synced"),
  unmetCondition(
    "Succeeded",
    "PipelineError",
    'failure limit of 5 reached: pipeline step "one" returned a fatal result: boom',
  ),
];
const notServed =
  'cannot start watched resource controller watches: cannot get informer for "nope.example.org/v1, Kind=Nope": no matches for kind "Nope" in version "nope.example.org/v1"';

const bucket = (name: string, more: JsonObject = {}): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Bucket",
  metadata: {
    name,
    namespace: "default",
    annotations: { "crossplane.io/composition-resource-name": "files" },
    ...more,
  },
  spec: { forProvider: { region: "eu" } },
});
const refTo = ({ apiVersion, kind, metadata }: KubeObject): JsonObject => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
});
const composing = (name: string, ...children: readonly KubeObject[]): KubeObject =>
  app(name, { crossplane: { resourceRefs: children.map(refTo) } });

function leafCase(code: string, conditions: readonly ConditionInput[], says: RegExp): ObjectSetup {
  const leaf = bucket(`files-${code.toLowerCase()}`);
  const root = withStatus(composing(`app-${code.toLowerCase()}`, leaf), creating("Unready resources: files"));
  return { code, root, others: [withStatus(leaf, conditions)], says, at: `Bucket default/files-${code.toLowerCase()}` };
}

const shop = (name: string, spec: JsonObject): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Shop",
  metadata: { name, namespace: "default" },
  spec,
});
const xshop = (name: string): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "XShop",
  metadata: { name },
  spec: {},
});
const lease = (name: string, renewTime: string): KubeObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "crossplane-leader-election-core", namespace: name },
  spec: { holderIdentity: "crossplane-abc", leaseDurationSeconds: 60, renewTime },
});
const namespace = (name: string): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
const held = bucket("held", { finalizers: ["finalizer.managedresource.crossplane.io"] });
const used = bucket("used", { finalizers: ["in-use.crossplane.io"] });
const slow = app(
  "slow-deletion",
  { crossplane: { resourceRefs: [refTo(held)] } },
  { finalizers: ["foregroundDeletion"] },
);
const dependent = withStatus(bucket("dependent"), ready);
const foreground = app(
  "foreground",
  { crossplane: { resourceRefs: [refTo(dependent)] } },
  { finalizers: ["foregroundDeletion"] },
);
const gone = definitionOf("Gone");

/** The set-ups by title. */
export const objectSetups: Readonly<Record<string, ObjectSetup>> = {
  "the definition is not established": {
    code: "E60",
    root: { apiVersion: "example.org/v1", kind: "Lost", metadata: { name: "lost", namespace: "default" } },
    others: [
      withStatus(definitionOf("Lost"), [
        unmetCondition(
          "Synced",
          "DefineCompositeResource",
          "cannot render composite resource CustomResourceDefinition: spec.versions[0].schema.openAPIV3Schema.properties.spec: must be an object",
        ),
      ]),
    ],
    says: /losts\.example\.org cannot be used: .*spec\.versions\[0\]/,
    at: "CompositeResourceDefinition losts.example.org",
  },
  "a control plane that stopped": {
    code: "E09",
    root: app("unseen"),
    others: [namespace("stopped"), lease("stopped", "2026-01-01T00:00:00.000000Z")],
    systemNamespace: "stopped",
    says: /no control plane is running: Lease stopped\/crossplane-leader-election-core was renewed .* ago by crossplane-abc/,
  },
  "a second control plane": {
    code: "E65",
    root: app("contested"),
    others: [
      namespace("rivals"),
      lease("rivals", "2999-01-01T00:00:00.000000Z"),
      withStatus(
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "crossplane", namespace: "rivals", labels: { app: "crossplane" } },
          spec: {
            replicas: 1,
            selector: { matchLabels: { app: "crossplane" } },
            template: {
              metadata: { labels: { app: "crossplane" } },
              spec: { containers: [{ name: "c", image: "c" }] },
            },
          },
        },
        [],
        { readyReplicas: 1, replicas: 1 },
      ),
    ],
    systemNamespace: "rivals",
    says: /Deployment rivals\/crossplane \(Crossplane\) also runs/,
  },
  "a status of an older generation": {
    code: "E10",
    root: withStatus(
      app("older"),
      ready.map((one) => ({ ...one, observedGeneration: 0 })),
    ),
    says: /Generation 1 of App default\/older is not reconciled yet/,
  },
  "a paused resource below": {
    ...leafCase("E08", [pausedCondition], /Bucket default\/files-e08 is paused/),
  },
  "an error of a provider": leafCase(
    "E49",
    [unmetCondition("Synced", "ReconcileError", "create failed: AccessDenied: not authorized")],
    /Bucket default\/files-e49: create failed: AccessDenied/,
  ),
  "a resource without a provider": leafCase("E50", [], /is not reconciled: no package installs Bucket/),
  "a missing ProviderConfig": leafCase(
    "E51",
    [
      unmetCondition(
        "Synced",
        "ReconcileError",
        'connect failed: cannot get referenced ProviderConfig: ProviderConfig.example.org "main" not found',
      ),
    ],
    /ProviderConfig main of Bucket default\/files-e51 does not exist/,
  ),
  "a claim that does not follow": {
    code: "E54",
    root: withStatus(shop("late", { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: "late-x" } }), [
      met("Synced"),
      unmetCondition("Ready", "Waiting", "Claim is waiting for composite resource to become Ready"),
    ]),
    others: [withStatus(xshop("late-x"), ready)],
    says: /XShop late-x became ready .* ago, and its claim does not show it/,
  },
  "a composite resource of another claim": {
    code: "E55",
    root: withStatus(shop("thief", { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: "owned" } }), [
      failed(
        'refusing to operate on composite resource "owned" that is not bound to this claim: bound to claim "other" in namespace "team"',
      ),
    ]),
    others: [withStatus(xshop("owned"), ready)],
    says: /names composite resource owned, which is bound to claim "other"/,
  },
  "a finalizer that stays": {
    code: "E57",
    root: held,
    deleted: [held],
    says: /for the controller of finalizer finalizer\.managedresource\.crossplane\.io/,
  },
  "an object in use": {
    code: "E58",
    root: used,
    deleted: [used],
    others: [
      {
        apiVersion: "protection.crossplane.io/v1beta1",
        kind: "Usage",
        metadata: { name: "guard", namespace: "default" },
        spec: {
          of: { apiVersion: "example.org/v1", kind: "Bucket", resourceRef: { name: "used" } },
          by: { apiVersion: "example.org/v1", kind: "App", resourceRef: { name: "older" } },
        },
      },
    ],
    says: /Usage default\/guard says that App older uses it/,
  },
  "a deletion that waits for a resource": {
    code: "E57",
    root: slow,
    deleted: [slow],
    says: /finalizer\.managedresource/,
    at: "Bucket default/held",
  },
  "a deletion that waits for its dependents": {
    code: "E59",
    root: foreground,
    deleted: [foreground],
    others: [dependent],
    says: /waits since .* ago for the deletion of 1 objects: Bucket default\/dependent/,
  },
  "a definition whose CRD belongs to another one": {
    code: "E60",
    root: withStatus(definitionOf("Taken"), [
      unmetCondition("Synced", "DefineCompositeResource", 'existing object is not controlled by UID "1"'),
    ]),
    says: /CustomResourceDefinition takens\.example\.org belongs to ProviderRevision provider-taker/,
  },
  "a definition that waits for its instances": {
    code: "E61",
    root: { ...gone, metadata: { ...gone.metadata, finalizers: ["defined.apiextensions.crossplane.io"] } },
    deleted: [gone],
    others: [{ apiVersion: "example.org/v1", kind: "Gone", metadata: { name: "left", namespace: "default" } }],
    says: /is being deleted and 1 namespaced Gone objects are left: Gone default\/left/,
  },
  "too many watch events": {
    code: "E62",
    root: withStatus(app("busy"), [
      ...ready,
      unmetCondition(
        "Responsive",
        "WatchCircuitOpen",
        "Too many watch events from Deployment/web (default). Allowing events periodically.",
      ),
    ]),
    says: /Deployment\/web \(default\) changes so often .*recorder off/,
  },
  "a change that waits for approval": {
    code: "E67",
    root: withStatus(app("guarded"), [
      ...ready,
      {
        type: "Held",
        status: "True",
        reason: "TooManyDeletes",
        message:
          "Nothing is applied: annotate the composite resource with purlin.dev/approve-plan=0a1b to apply plan 0a1b",
      },
    ]),
    says: /is held: Nothing is applied: annotate the composite resource/,
  },
  "a schedule that never comes": {
    code: "E68",
    root: withStatus(operation("CronOperation", "never", { schedule: "0 0 30 2 *" }), [
      unmetCondition("Scheduling", "ScheduleInvalid", 'schedule "0 0 30 2 *" never comes'),
      failed('schedule "0 0 30 2 *" never comes'),
    ]),
    says: /^CronOperation never creates no Operations: schedule "0 0 30 2 \*" never comes$/,
  },
  "an Operation that has failed": {
    code: "E29",
    root: withStatus(operation("Operation", "boom"), ended),
    says: /^Step "one" returned a fatal result: boom$/,
  },
  "a CronOperation whose newest Operation has failed": {
    code: "E29",
    root: withStatus(operation("CronOperation", "hourly", { schedule: "@hourly" }), [met("Scheduling"), met("Synced")]),
    others: [
      withStatus(operation("Operation", "hourly-1", {}, { "ops.crossplane.io/cronoperation": "hourly" }), [
        met("Succeeded"),
      ]),
      withStatus(operation("Operation", "hourly-2", {}, { "ops.crossplane.io/cronoperation": "hourly" }), ended),
    ],
    says: /^Step "one" returned a fatal result: boom$/,
    at: "Operation hourly-2",
  },
  "a WatchOperation of a kind that is not served": {
    code: "E35",
    root: withStatus(
      operation("WatchOperation", "follow", { watch: { apiVersion: "nope.example.org/v1", kind: "Nope" } }),
      [unmetCondition("Watching", "WatchFailed", notServed), failed(notServed)],
    ),
    says: /Nope/,
  },
  "a function that does not serve operations": {
    code: "E07",
    root: withStatus(operation("Operation", "incapable"), [
      failed(
        'function capability check failed: function "f" (active revision "f-1") is missing required capabilities: operation',
      ),
      { type: "Succeeded", status: "Unknown", reason: "PipelineRunning" },
    ]),
    says: /^The pipeline of Operation incapable is invalid: function "f" \(active revision "f-1"\) is missing/,
  },
  "an Operation that no control plane runs": {
    code: "E09",
    root: operation("Operation", "ignored"),
    says: /^Operation ignored is not reconciled: no control plane is running/,
  },
};
