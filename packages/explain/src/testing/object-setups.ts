// SPDX-License-Identifier: Apache-2.0
// Broken set-ups made of objects: what is broken shows in several of them, or in their times.
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, pausedCondition } from "@purlin/kube-objects/object";
import { definitionOf } from "./platform.ts";
import { app, type ConditionInput, creating, failed, ready, withStatus } from "./static-cluster.ts";

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

const pkg = (kind: string, name: string, more: JsonObject = {}, labels: JsonObject = {}): KubeObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind,
  metadata: { name, labels: labels as Record<string, string> },
  spec: { package: `registry.example.org/${name}:v2`, ...more },
});
const revision = (name: string, { kind = "FunctionRevision", state = "Active" } = {}): KubeObject => ({
  ...pkg(kind, `${name}-1`, {}, { "pkg.crossplane.io/package": name }),
  spec: { desiredState: state, image: `registry.example.org/${name}:v2`, revision: 1 },
});
const False = (type: string, reason: string, message: string): ConditionInput => ({
  type,
  status: "False",
  reason,
  message,
});
const True = (type: string): ConditionInput => ({ type, status: "True", reason: "Fine" });

/** A package whose current revision has these conditions. */
function packageOf(
  name: string,
  conditions: readonly ConditionInput[],
  kind = "Function",
): readonly [KubeObject, KubeObject] {
  const unhealthy = [True("Installed"), False("Healthy", "UnhealthyPackageRevision", "Package revision is unhealthy")];
  const object = withStatus(pkg(kind, name), unhealthy, { currentRevision: `${name}-1` });
  return [object, withStatus(revision(name, { kind: `${kind}Revision` }), conditions)];
}

function revisionCase(code: string, message: string, says: RegExp): ObjectSetup {
  const name = `fn-${code.toLowerCase()}`;
  const [root, current] = packageOf(name, [False("RevisionHealthy", "UnhealthyPackageRevision", message)]);
  return { code, root, others: [current], says, at: `FunctionRevision ${name}-1` };
}

function pullCase(name: string, message: string, says: RegExp): ObjectSetup {
  const root = withStatus(pkg("Function", name), [
    False("Installed", "UnpackingPackage", message),
    False("Healthy", "UnhealthyPackageRevision", message),
  ]);
  return { code: "E17", root, says };
}

function pod(name: string, namespace: string, owner: string, state: JsonObject): KubeObject {
  const labels = { "pkg.crossplane.io/revision": owner };
  const spec = { containers: [{ name: "runtime", image: "registry.example.org/x:v2" }] };
  const status = {
    phase: "Pending",
    containerStatuses: [
      { name: "runtime", image: "registry.example.org/x:v2", imageID: "", ready: false, restartCount: 3, ...state },
    ],
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels }, spec, status };
}

function podCase(code: string, state: JsonObject, says: RegExp): ObjectSetup {
  const name = `fn-pod-${code.toLowerCase()}`;
  const [root, current] = packageOf(name, [
    True("RevisionHealthy"),
    False(
      "RuntimeHealthy",
      "UnhealthyPackageRevision",
      "function package deployment is unavailable with message: Deployment does not have minimum availability.",
    ),
  ]);
  return {
    code,
    root,
    others: [current, pod(`${name}-pod`, "default", `${name}-1`, state)],
    says,
    at: `Pod default/${name}-pod`,
    systemNamespace: "default",
  };
}

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
const gone = definitionOf("Gone");
const noEndpoint =
  'cannot compose resources: cannot run Composition pipeline step "render": cannot get gRPC client connection for Function "fn-crash": cannot determine gRPC target: active FunctionRevision "fn-crash-1" has an empty status.endpoint';

/** The set-ups by title. */
export const objectSetups: Readonly<Record<string, ObjectSetup>> = {
  "the definition is not established": {
    code: "E60",
    root: { apiVersion: "example.org/v1", kind: "Lost", metadata: { name: "lost", namespace: "default" } },
    others: [
      withStatus(definitionOf("Lost"), [
        False(
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
  "a function without an endpoint, because it crashes": {
    code: "E15",
    root: withStatus(app("no-endpoint"), [failed(noEndpoint)]),
    others: packageOf("fn-crash", [
      True("RevisionHealthy"),
      False(
        "RuntimeHealthy",
        "UnhealthyPackageRevision",
        "the function exited with code 1; last output: Cannot find module './x'; see: purlin logs fn-crash",
      ),
    ]),
    says: /Function fn-crash does not run: .*Cannot find module/,
    at: "FunctionRevision fn-crash-1",
  },
  "no active revision": {
    code: "E12",
    root: withStatus(app("inactive"), [
      failed(
        'cannot compose resources: cannot run Composition pipeline step "render": cannot get gRPC client connection for Function "fn-idle": cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)',
      ),
    ]),
    others: [
      withStatus(pkg("Function", "fn-idle"), [True("Installed"), True("Healthy")]),
      revision("fn-idle", { state: "Inactive" }),
    ],
    says: /Function fn-idle has 1 revisions \(fn-idle-1\)/,
    at: "Function fn-idle",
  },
  "a Pod that crashes": podCase(
    "E15",
    {
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { reason: "OOMKilled", exitCode: 137 } },
    },
    /crashes: container runtime: OOMKilled, exit code 137/,
  ),
  "a Pod whose image cannot be pulled": podCase(
    "E16",
    { state: { waiting: { reason: "ImagePullBackOff", message: "401 Unauthorized" } } },
    /cannot pull registry\.example\.org\/x:v2: 401 Unauthorized/,
  ),
  "a package that does not exist": pullCase(
    "fn-absent",
    "cannot unpack package: registry.example.org/fn-absent:v2 not found",
    /fn-absent:v2 cannot be pulled: .*not found/,
  ),
  "a registry that requires credentials": pullCase(
    "fn-secret",
    "cannot unpack package: registry.example.org answers 401 Unauthorized; check the pull secret",
    /401 Unauthorized/,
  ),
  "a package of another kind": revisionCase(
    "E18",
    "validating package contents failed: the package is a Provider, not a Function; install it as a Provider",
    /is invalid: the package is a Provider|is a Provider, and is installed as a Function/,
  ),
  "a package for another version": revisionCase(
    "E19",
    "incompatible Crossplane version: package is not compatible with Crossplane version (v2.4.0); required: >=v2.5.0",
    /requires Crossplane >=v2\.5\.0; this is v2\.4\.0/,
  ),
  "dependencies without a version": revisionCase(
    "E20",
    'cannot resolve package dependencies: missing dependencies: "registry.example.org/x" (>=v2): no version of registry.example.org/x satisfies >=v2 (required by a) and <v2 (required by b)',
    /cannot be resolved: .*required by a\) and <v2 \(required by b\)/,
  ),
  "an object of another package": revisionCase(
    "E21",
    "cannot establish control of object: buckets.s3.example.org is already controlled by ProviderRevision provider-y-1 (UID 1)",
    /buckets\.s3\.example\.org belongs to ProviderRevision provider-y-1/,
  ),
  "an image without a signature": revisionCase(
    "E22",
    'cannot get package: signature verification failed: ImageConfig "signed" requires verified signatures of registry.example.org/fn',
    /signature of .* is not verified/,
  ),
  "an error of a provider": leafCase(
    "E49",
    [False("Synced", "ReconcileError", "create failed: AccessDenied: not authorized")],
    /Bucket default\/files-e49: create failed: AccessDenied/,
  ),
  "a resource without a provider": leafCase("E50", [], /is not reconciled: no package installs Bucket/),
  "a missing ProviderConfig": leafCase(
    "E51",
    [
      False(
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
      True("Synced"),
      False("Ready", "Waiting", "Claim is waiting for composite resource to become Ready"),
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
      False(
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
      { type: "Held", status: "True", reason: "Approval", message: "2 deletions wait for approval" },
    ]),
    says: /is held: 2 deletions wait for approval/,
  },
};
