// SPDX-License-Identifier: Apache-2.0
// Broken set-ups of every part of a platform, all at once on one API server: the first cause of each is the one that was built in,
// and healthy composite resources beside them have none.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Explanation, explainAll, explainObject, explanationText } from "@purlin/explain";
import { tlsFromDirectory } from "@purlin/function-runner";
import { nopLogger, response, start } from "@purlin/function-sdk";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import {
  composedSetups,
  setupDefinitions,
  setupObjects,
  takeConfigMap,
  xr,
} from "../../packages/explain/test/composed-setups.ts";
import { behave, compositionOf, crdOf, definitionOf, doing } from "../../packages/explain/test/platform.ts";
import { freePort } from "../../tools/peers/free-port.ts";
import { type CertificateFiles, createCertificateFiles } from "../interop/certificate-files.ts";
import { serveGrpc } from "./functions/raw-servers.ts";
import { conditionOf, eventually, functionAt, type Plane, startPlane } from "./harness/plane.ts";

const namespace = "default";
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const deadlineMs = 8000;
const tenMinutes = 600_000;

let plane: Plane;
let certificates: CertificateFiles;
const closing = new AsyncDisposableStack();

/** A set-up: the object to explain, and what to find. */
interface Scene {
  readonly code: string;
  readonly says: RegExp;
  readonly root: () => KubeObject;
  /** Makes what is broken. Objects that composite resources need are there. */
  readonly make: () => Promise<void>;
  /** The kind of the object of the cause, if it is not the root's. */
  readonly at?: string;
  /** Causes that only time reveals. */
  readonly later?: boolean;
}

/** A composite resource whose function behaves in one way. */
function composed(code: string, says: RegExp, wish: Partial<Scene> & { readonly step: JsonObject }): Scene {
  const { step, ...more } = wish;
  const root = xr("App", sceneName(code, says), { compositionRef: { name: sceneName(code, says) } });
  const composition = compositionOf(sceneName(code, says), "App", step);
  return { code, says, root: () => root, make: () => plane.apply(composition, root), ...more };
}

const sceneName = (code: string, says: RegExp): string =>
  `${code}-${says.source.replaceAll(/[^a-z]+/gi, "-")}`.toLowerCase().slice(0, 40).replace(/-+$/, "");

/** A Function whose package manager says this about its revision. */
async function publish(name: string, spec: JsonObject, status: JsonObject): Promise<void> {
  const labels = { "pkg.crossplane.io/package": name };
  const image = `registry.example.org/${name}:v1`;
  const revision = { ...revisionType, metadata: { name: `${name}-1`, labels }, spec: { image, revision: 1, ...spec } };
  const published = {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name },
    spec: { package: image },
  };
  await plane.apply(published, revision as KubeObject);
  await writeStatus(revision as KubeObject, status);
  const isHealthy = status["conditions"] === undefined;
  const conditions = [condition("Installed", "True", ""), condition("Healthy", isHealthy ? "True" : "False", "")];
  await writeStatus(published, { conditions, currentRevision: `${name}-1` });
}

async function writeStatus(object: KubeObject, status: JsonObject): Promise<void> {
  await eventually(`${object.kind} has a status`, async () => {
    const found = await plane.get(object, keyOf(object));
    return plane.users.update({ ...found, status }, { subresource: "status" });
  });
}

const active = { desiredState: "Active" };
const serving = (port: number): JsonObject => ({ endpoint: `localhost:${port}`, capabilities: ["composition"] });
const uses = (name: string): JsonObject => ({ functionRef: { name } });
const lastTransitionTime = "2026-01-01T00:00:00Z";
const condition = (type: string, status: string, message: string): JsonObject => ({
  type,
  status,
  reason: "ReconcileError",
  message,
  lastTransitionTime,
});

/** The resource that a composite resource made, once it is there. */
function childOf(owner: KubeObject, type: { readonly apiVersion: string; readonly kind: string }): Promise<KubeObject> {
  const labelSelector = `crossplane.io/composite=${owner.metadata.name}`;
  return eventually(`${owner.metadata.name} has its ${type.kind}`, async () => {
    const { items } = await plane.users.list(type, { labelSelector });
    return items[0];
  });
}

const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };

/** A composite resource with a workload in a namespace of its own, whose Pod a node reports to be like this. */
function workload(code: string, says: RegExp, state: JsonObject): Scene {
  const space = `workload-${code.toLowerCase()}`;
  const root = {
    ...xr("App", space, { compositionRef: { name: space } }),
    metadata: { name: space, namespace: space },
  };
  return {
    ...{ code, says, at: "Pod", root: () => root },
    async make() {
      await plane.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: space } });
      await plane.apply(compositionOf(space, "App", doing("workload")), root);
      const deployment = await childOf(root, deploymentType);
      await writeStatus(deployment, { conditions: [condition("Available", "False", "no Pod is available")] });
      const containers = [{ name: "c", image: "registry.example.org/c:v1" }];
      const metadata = { name: "web-1", namespace: space, labels: { app: "workload" } };
      const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } };
      await plane.apply(pod as KubeObject);
      const own = { name: "c", image: "registry.example.org/c:v1", imageID: "", ready: false, restartCount: 3 };
      await writeStatus(pod as KubeObject, { phase: "Pending", containerStatuses: [{ ...own, ...state }] });
    },
  };
}

const bucketType = { apiVersion: "example.org/v1", kind: "Bucket" };

/** A composite resource with a managed resource, about which a provider says this. */
function managed(code: string, says: RegExp, conditions: readonly JsonObject[], more: Partial<Scene> = {}): Scene {
  const scene = composed(code, says, { step: doing("sequence"), at: "Bucket", later: true, ...more });
  return {
    ...scene,
    async make() {
      await scene.make();
      const bucket = await childOf(scene.root(), bucketType);
      if (conditions.length > 0) await writeStatus(bucket, { conditions });
    },
  };
}

/** A finalizer that no controller removes, on an object that is then deleted. */
async function deleteHeld(object: KubeObject, propagationPolicy: "Foreground" | "Background"): Promise<void> {
  const held = { ...object, metadata: { ...object.metadata, finalizers: ["example.org/hold"] } };
  await plane.apply(held);
  await plane.users.delete({ ...object, ...keyOf(object) }, { propagationPolicy });
}

const shop = (name: string, spec: JsonObject): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Shop",
  metadata: { name, namespace },
  spec: { compositionRef: { name: "shops" }, ...spec },
});
const used: KubeObject = { ...configMap, metadata: { name: "used", namespace } };
const gone: KubeObject = { apiVersion: "example.org/v1", kind: "Gone", metadata: { name: "left", namespace } };
const foreground = xr("App", "foreground", { compositionRef: { name: "foreground" } });
const connected: KubeObject = {
  apiVersion: "example.org/v1",
  kind: "XShop",
  metadata: { name: "connected" },
  spec: { compositionRef: { name: "connect" }, writeConnectionSecretToRef: { name: "foreign", namespace } },
};

const scenes: readonly Scene[] = [
  composed("E07", /is invalid: function "fn-operation" .* is missing required capabilities/, {
    step: uses("fn-operation"),
    async make() {
      await publish("fn-operation", active, { ...serving(1), capabilities: ["operation"] });
      await plane.apply(
        compositionOf("operation", "App", uses("fn-operation")),
        xr("App", "operation", { compositionRef: { name: "operation" } }),
      );
    },
    root: () => xr("App", "operation"),
  }),
  composed("E12", /Function fn-idle has 1 revisions/, {
    step: uses("fn-idle"),
    at: "Function",
  }),
  composed("E13", /names FunctionRevision fn-idle-1, which is inactive/, {
    step: { ...uses("fn-idle"), functionRevisionRef: { name: "fn-idle-1" } },
  }),
  composed("E15", /Function fn-crash does not run: .*Cannot find module/, {
    step: uses("fn-crash"),
    at: "FunctionRevision",
  }),
  workload("E15", /Pod workload-e15\/web-1 crashes: container c: OOMKilled, exit code 137/, {
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: { terminated: { reason: "OOMKilled", exitCode: 137 } },
  }),
  workload("E16", /the node cannot pull registry\.example\.org\/c:v1: 401 Unauthorized/, {
    state: { waiting: { reason: "ImagePullBackOff", message: "401 Unauthorized" } },
  }),
  composed("E23", /Function fn-stranger of step "render" has a certificate of another CA/, {
    step: uses("fn-stranger"),
  }),
  composed("E23", /Function fn-plain of step "render" /, { step: uses("fn-plain") }),
  composed("E24", /Function fn-closed of step "render" cannot be reached: .*ECONNREFUSED/, { step: uses("fn-closed") }),
  composed("E24", /Function fn-down at 127\.0\.0\.1:\d+ of step "render" cannot be reached/, { step: uses("fn-down") }),
  composed("E25", /Function fn-slow of step "render" did not respond in time/, { step: uses("fn-slow") }),
  composed("E27", /Function fn-other does not serve composition functions/, { step: uses("fn-other") }),
  composed("E28", /Function fn-broken of step "render" failed with Internal/, { step: uses("fn-broken") }),
  composed("E32", /requires .*lost.*, which the control plane cannot read/i, { step: doing("unreadable") }),
  composed("E38", /no-denied.* denies Resource "map": ask the platform team/, { step: doing("denied") }),
  composed("E39", /Webhook down\.example\.org does not respond/, { step: doing("webhook") }),
  {
    code: "E40",
    says: /Quota tight is exceeded by .*configmaps/,
    root: () => ({ ...xr("App", "quota"), metadata: { name: "quota", namespace: "tight" } }),
    make: () =>
      plane.apply(compositionOf("quota", "App", doing("compose")), {
        ...xr("App", "quota", { compositionRef: { name: "quota" } }),
        metadata: { name: "quota", namespace: "tight" },
      }),
  },
  composed("E44", /Resource "secret": type cannot change/, {
    step: doing("immutable"),
    root: () => xr("App", "immutable"),
    async make() {
      const of = (text: string): KubeObject => ({
        ...xr("App", "immutable"),
        spec: { text, crossplane: { compositionRef: { name: "immutable" } } },
      });
      await plane.apply(compositionOf("immutable", "App", doing("immutable")), of("a"));
      await childOf(of("a"), { apiVersion: "v1", kind: "Secret" });
      await plane.apply(of("b"));
    },
  }),
  managed("E49", /AccessDenied/, [condition("Synced", "False", "create failed: AccessDenied")]),
  managed("E50", /is not reconciled: no package installs Bucket/, []),
  managed("E51", /ProviderConfig main .* does not exist/, [
    condition(
      "Synced",
      "False",
      'connect failed: cannot get referenced ProviderConfig: ProviderConfig "main" not found',
    ),
  ]),
  managed(
    "E52",
    /Resource "cache" is not created until "files" is ready/,
    [condition("Synced", "True", ""), condition("Ready", "False", "")],
    { at: "App" },
  ),
  {
    code: "E55",
    says: /names composite resource .*, which is bound to claim/,
    root: () => shop("thief", {}),
    async make() {
      await plane.apply(compositionOf("shops", "XShop", doing("nothing")), shop("owner", {}));
      const bound = await plane.until("bound", shop("owner", {}), { name: "owner", namespace }, isReady);
      const { resourceRef } = bound["spec"] as { readonly resourceRef: JsonObject };
      await plane.apply(shop("thief", { resourceRef }));
    },
  },
  {
    code: "E56",
    says: /connection Secret cannot be written/,
    root: () => connected,
    async make() {
      const { uid = "" } = (await plane.get(configMap, { name: "owner", namespace })).metadata;
      const ownerReferences = [{ ...configMap, name: "owner", uid, controller: true }];
      await plane.apply(
        { apiVersion: "v1", kind: "Secret", metadata: { name: "foreign", namespace, ownerReferences } },
        compositionOf("connect", "XShop", doing("connect")),
        connected,
      );
    },
  },
  {
    code: "E57",
    says: /for the controller of finalizer example\.org\/hold/,
    root: () => ({ ...configMap, metadata: { name: "held", namespace } }),
    make: () => deleteHeld({ ...configMap, metadata: { name: "held", namespace } }, "Background"),
    later: true,
  },
  {
    code: "E58",
    says: /ConfigMap default\/used cannot be deleted: Usage default\/guard says that ConfigMap owner uses it/,
    root: () => used,
    async make() {
      const type = { apiVersion: "protection.crossplane.io/v1beta1", kind: "Usage" };
      const side = (name: string): JsonObject => ({ ...configMap, resourceRef: { name } });
      await deleteHeld(used, "Background");
      await plane.apply({
        ...type,
        metadata: { name: "guard", namespace },
        spec: { of: side("used"), by: side("owner") },
      });
    },
  },
  {
    code: "E59",
    says: /waits since .* for the deletion of 1 objects: ConfigMap/,
    root: () => foreground,
    async make() {
      await plane.apply(compositionOf("foreground", "App", doing("held")), foreground);
      await childOf(foreground, configMap);
      await plane.users.delete({ ...foreground, ...keyOf(foreground) }, { propagationPolicy: "Foreground" });
    },
  },
  {
    code: "E60",
    says: /CustomResourceDefinition takens\.example\.org belongs to ConfigMap owner/,
    root: () => definitionOf("Taken"),
    async make() {
      const { uid = "" } = (await plane.get(configMap, { name: "owner", namespace })).metadata;
      const ownerReferences = [{ ...configMap, name: "owner", uid, controller: true }];
      const crd = crdOf("Taken", "takens");
      await plane.apply({ ...crd, metadata: { ...crd.metadata, ownerReferences } }, definitionOf("Taken"));
    },
  },
  {
    code: "E61",
    says: /is being deleted and 1 namespaced Gone objects are left: Gone default\/left/,
    root: () => definitionOf("Gone"),
    async make() {
      await plane.apply(definitionOf("Gone"));
      const held = { ...gone, metadata: { ...gone.metadata, finalizers: ["example.org/hold"] }, spec: {} };
      await plane.apply(held as KubeObject);
      await plane.users.delete({ ...definitionOf("Gone"), ...keyOf(definitionOf("Gone")) });
    },
  },
];

const isReady = (object: KubeObject): boolean => conditionOf(object, "Ready")?.status === "True";

/** Functions that are something else than what steps expect. */
async function serveFunctions(): Promise<void> {
  const slow = await freePort();
  closing.use(
    await start(
      async (req, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        return response.to(req);
      },
      { address: `127.0.0.1:${slow}`, insecure: true, metricsAddress: "", log: nopLogger },
    ),
  );
  const [other, broken, closed, plain, secured] = await Promise.all(Array.from({ length: 5 }, () => freePort()));
  closing.use(await serveGrpc(other ?? 0, { status: 12 }));
  closing.use(await serveGrpc(broken ?? 0, { status: 13 }));
  closing.use(await serveGrpc(plain ?? 0, { status: 12 }));
  closing.use(
    await start(behave, {
      address: `127.0.0.1:${secured}`,
      tlsCertsDir: certificates.stranger,
      metricsAddress: "",
      log: nopLogger,
    }),
  );
  await plane.apply(
    functionAt("fn-slow", `127.0.0.1:${slow}`),
    functionAt("fn-other", `127.0.0.1:${other}`),
    functionAt("fn-broken", `127.0.0.1:${broken}`),
    functionAt("fn-down", `127.0.0.1:${closed}`),
  );
  await publish("fn-idle", { desiredState: "Inactive" }, {});
  const runtime = {
    ...condition("RuntimeHealthy", "False", "the function exited with code 1; last output: Cannot find module './x'"),
  };
  await publish("fn-crash", active, { conditions: [runtime] });
  await publish("fn-stranger", active, serving(secured ?? 0));
  await publish("fn-plain", active, serving(plain ?? 0));
  await publish("fn-closed", active, serving(closed ?? 0));
}

/** A policy, a webhook that is down, and a namespace whose quota is used up. */
async function limitServer(): Promise<void> {
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["configmaps"] },
  ];
  const objectSelector = (policy: string): JsonObject => ({ objectSelector: { matchLabels: { policy } } });
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "tight", namespace: "tight" },
    spec: { hard: { "count/configmaps": "0" } },
  };
  const registration = "admissionregistration.k8s.io/v1";
  await plane.apply(
    {
      apiVersion: registration,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "no-denied" },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules, ...objectSelector("denied") },
        validations: [{ expression: "false", message: "ask the platform team" }],
      },
    } as KubeObject,
    {
      apiVersion: registration,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "no-denied" },
      spec: { policyName: "no-denied", validationActions: ["Deny"] },
    },
    {
      apiVersion: registration,
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "down" },
      webhooks: [
        {
          name: "down.example.org",
          clientConfig: { url: `https://127.0.0.1:${await freePort()}/validate` },
          rules: resourceRules,
          ...objectSelector("webhook"),
          failurePolicy: "Fail",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          timeoutSeconds: 1,
        },
      ],
    } as KubeObject,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "tight" } },
    quota,
  );
  // The quota controller of a cluster writes this.
  await writeStatus(quota, { hard: { "count/configmaps": "0" }, used: { "count/configmaps": "0" } });
}

before(async () => {
  certificates = createCertificateFiles();
  plane = await startPlane({
    functions: { fn: behave },
    security: tlsFromDirectory(certificates.client),
    settings: { compositeDeadlineMs: deadlineMs, functionRevisionSelectors: true },
  });
  await plane.apply(...setupDefinitions, crdOf("Bucket", "buckets"));
  await takeConfigMap(plane);
  await Promise.all([serveFunctions(), limitServer()]);
  await Promise.all(shared.map(([title, setup]) => plane.apply(...setupObjects(title, setup))));
  await Promise.all(scenes.map(({ make }) => make()));
});
after(async () => {
  await plane?.[Symbol.asyncDispose]();
  await closing.disposeAsync();
  certificates?.[Symbol.dispose]();
});

/** With revision selectors on, a step may name a revision. */
const shared = Object.entries(composedSetups).filter(([, { code }]) => code !== "E07");

async function explain(object: KubeObject, now = Date.now): Promise<Explanation> {
  const stored = await plane.get(object, keyOf(object));
  return explainObject(stored, { client: plane.users, now });
}

/** The explanation once its first cause is the expected one: conditions and events are written a moment after each other. */
async function explained(
  object: KubeObject,
  { code, says, later }: Pick<Scene, "code" | "says" | "later">,
): Promise<Explanation> {
  const now = (): number => Date.now() + (later ? tenMinutes : 0);
  let last: Explanation | undefined;
  return eventually(
    `the cause of ${object.kind} ${object.metadata.name}`,
    async () => {
      last = await explain(object, now);
      const [cause] = last.causes;
      return cause?.code === code && says.test(cause.sentence) && last;
    },
    () => (last === undefined ? "" : explanationText(last)),
  );
}

function check({ causes, verdict, ...rest }: Explanation, kind: string): void {
  const [cause] = causes;
  const text = explanationText({ causes, verdict, ...rest });
  assert.equal(verdict, "broken", text);
  assert.equal(causes.length, 1, text);
  assert.equal(cause?.object.kind, kind, text);
  assert.ok(cause?.next[0], text);
}

describe("broken Compositions and composite resources", () => {
  for (const [title, setup] of shared) {
    test(`${setup.code}: ${title}`, async () => {
      const root = setupObjects(title, setup).at(-1) ?? assert.fail();
      check(await explained(root, setup), setup.object ?? root.kind);
    });
  }
});

describe("broken functions, servers, providers, claims and deletions", () => {
  for (const scene of scenes) {
    test(`${scene.code}: ${scene.says.source}`, async () => {
      check(await explained(scene.root(), scene), scene.at ?? scene.root().kind);
    });
  }

  test("a deletion that waits for a resource with a finalizer leads to that resource", async () => {
    const { causes } = await explained(foreground, { code: "E57", says: /hold/, later: true });
    assert.equal(causes[0]?.object.kind, "ConfigMap");
  });
});

describe("healthy ones", () => {
  const healthy = ["App", "Wide"].flatMap((kind) =>
    Array.from({ length: 25 }, (_, index) =>
      xr(kind, `fine-${index}`, {
        ...(index % 5 === 0 ? { compositionRef: { name: `fine-${kind.toLowerCase()}` } } : {}),
        ...(index % 5 !== 0 ? { compositionSelector: { matchLabels: { kind: "fine" } } } : {}),
        ...(index % 2 === 0 ? { compositionUpdatePolicy: "Manual" } : {}),
      }),
    ),
  );

  before(async () => {
    for (const kind of ["App", "Wide"]) {
      const composition = compositionOf(
        `fine-${kind.toLowerCase()}`,
        kind,
        doing(kind === "App" ? "compose" : "nothing"),
      );
      await plane.apply({ ...composition, metadata: { ...composition.metadata, labels: { kind: "fine" } } });
    }
    await Promise.all(healthy.map((object) => plane.apply(object)));
  });

  test("fifty composite resources beside the broken ones have no cause", async () => {
    for (const object of healthy) {
      // A busy machine may miss a deadline, which is a true cause until the next try.
      let last: Explanation | undefined;
      await eventually(
        `${object.kind} ${object.metadata.name} is healthy`,
        async () => {
          last = await explain(object, () => Date.now() + tenMinutes);
          return last.verdict === "healthy" && last.causes.length === 0;
        },
        () => (last === undefined ? "" : explanationText(last)),
      );
    }
  });

  test("they are not among all unhealthy objects", async () => {
    const fine = ({ object }: Explanation): boolean => object.name.startsWith("fine-");
    const explanations = await eventually("only broken objects", async () => {
      const all = await explainAll({ client: plane.users, budget: { totalMs: 60_000 } });
      assert.deepEqual(all.notRead, []);
      return !all.explanations.some(fine) && all.explanations;
    });
    const codes = new Set(explanations.flatMap(({ causes }) => causes.map(({ code }) => code)));
    assert.ok(codes.has("E29") && codes.has("E11"), [...codes].sort().join());
  });
});
