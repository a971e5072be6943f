// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { type ObjectSetup, objectSetups } from "../test/object-setups.ts";
import {
  app,
  type ConditionInput,
  crdOf,
  definitionOf,
  established,
  failed,
  met,
  type StaticCluster,
  startStaticCluster,
  stored,
  unmetCondition,
  withStatus,
} from "../test/platform.ts";
import { explainObject } from "./explain.ts";
import { refText } from "./inspect/facts.ts";
import { explanationText } from "./print-explanation.ts";

// Broken packages.

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
/** A package whose current revision has these conditions. */
function packageOf(
  name: string,
  conditions: readonly ConditionInput[],
  kind = "Function",
): readonly [KubeObject, KubeObject] {
  const unhealthy = [
    met("Installed"),
    unmetCondition("Healthy", "UnhealthyPackageRevision", "Package revision is unhealthy"),
  ];
  const object = withStatus(pkg(kind, name), unhealthy, { currentRevision: `${name}-1` });
  return [object, withStatus(revision(name, { kind: `${kind}Revision` }), conditions)];
}

function revisionCase(code: string, message: string, says: RegExp): ObjectSetup {
  const name = `fn-${code.toLowerCase()}`;
  const [root, current] = packageOf(name, [unmetCondition("RevisionHealthy", "UnhealthyPackageRevision", message)]);
  return { code, root, others: [current], says, at: `FunctionRevision ${name}-1` };
}

function pullCase(name: string, message: string, says: RegExp): ObjectSetup {
  const root = withStatus(pkg("Function", name), [
    unmetCondition("Installed", "UnpackingPackage", message),
    unmetCondition("Healthy", "UnhealthyPackageRevision", message),
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
    met("RevisionHealthy"),
    unmetCondition(
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

const noEndpoint =
  'cannot compose resources: cannot run Composition pipeline step "render": cannot get gRPC client connection for Function "fn-crash": cannot determine gRPC target: active FunctionRevision "fn-crash-1" has an empty status.endpoint';

/** The set-ups of packages by title. */
const packageSetups: Readonly<Record<string, ObjectSetup>> = {
  "a function without an endpoint, because it crashes": {
    code: "E15",
    root: withStatus(app("no-endpoint"), [failed(noEndpoint)]),
    others: packageOf("fn-crash", [
      met("RevisionHealthy"),
      unmetCondition(
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
      withStatus(pkg("Function", "fn-idle"), [met("Installed"), met("Healthy")]),
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
    /^registry\.example\.org\/fn-e18:v2 is a Provider, and is installed as a Function$/,
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
};

let cluster: StaticCluster;
before(async () => {
  cluster = await startStaticCluster();
  const type = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision" };
  const name = "provider-taker";
  const spec = { desiredState: "Active", image: "registry.example.org/taker:v1", revision: 1 };
  await cluster.put({ ...type, metadata: { name }, spec });
  const { uid = "" } = (await cluster.client.get(type, { name })).metadata;
  const taker = { ...type, name, uid, controller: true };
  const taken = crdOf("Taken", "takens");
  await cluster.put({ ...taken, metadata: { ...taken.metadata, ownerReferences: [taker] } });
  await cluster.put(crdOf("Lost", "losts"), crdOf("Gone", "gones"), established(definitionOf("Gone")));
});
after(() => cluster[Symbol.asyncDispose]());

const tenMinutes = 600_000;

for (const [title, setup] of Object.entries({ ...objectSetups, ...packageSetups })) {
  test(`${setup.code}: ${title}`, async () => {
    const { root, others = [], deleted = [], code, says, at, systemNamespace = "nowhere" } = setup;
    await cluster.put(...others, root);
    for (const object of deleted) await cluster.client.delete({ ...object, ...keyOf(object) });
    const object = await stored(cluster, root);
    const options = { client: cluster.client, systemNamespace, now: () => Date.now() + tenMinutes };
    const explanation = await explainObject(object, options);
    const [cause] = explanation.causes;
    assert.equal(cause?.code, code, explanationText(explanation));
    assert.match(cause?.sentence ?? "", says);
    assert.equal(cause && refText(cause.object), at ?? explanation.causes[0]?.effects[0], explanationText(explanation));
    assert.equal(explanation.causes.length, 1, explanationText(explanation));
    assert.deepEqual(explanation.notRead, []);
    assert.ok(cause?.next[0]);
  });
}

test("an object whose deletion was refused has a note, and one of the same name elsewhere has none", async () => {
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  const annotations = { "usage.crossplane.io/deletion-attempt-with-policy": "Background" };
  const maps = ["default", "kube-public"].map((namespace) => ({
    ...type,
    metadata: { name: "held", namespace, annotations },
  }));
  const usage = {
    apiVersion: "protection.crossplane.io/v1beta1",
    kind: "Usage",
    metadata: { name: "holder", namespace: "default" },
    spec: { of: { ...type, resourceRef: { name: "held" } }, reason: "it holds data" },
  };
  await cluster.put(usage, ...maps);
  const notes = await Promise.all(
    maps.map(async (map) => {
      const explanation = await explainObject(await stored(cluster, map), { client: cluster.client });
      assert.deepEqual(explanation.causes, []);
      return explanation.notes.map(({ code, text }) => `${code} ${text}`);
    }),
  );
  assert.deepEqual(notes, [
    [
      "E58 cannot be deleted: Usage default/holder says that it holds data; delete the object that uses it first, or the Usage: purlin delete usage.protection.crossplane.io/holder -n default",
    ],
    [],
  ]);
});
