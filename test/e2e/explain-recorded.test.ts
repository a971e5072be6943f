// SPDX-License-Identifier: Apache-2.0
// Broken set-ups of a control plane that records its runs and has only the rights that it was granted: what is found by runs, by the
// state of reconciliation and by refusals for want of rights.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Explanation, explainObject, explanationText, type RunHistory } from "@purlin/explain";
import {
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { openRunStore, type RunStore, runsDocument } from "@purlin/run-store";
import { recordedHistory } from "../../packages/cli/src/explain/recorded-history.ts";
import { compositionOf, crdOf, definitionOf, doing } from "../../packages/explain/test/platform.ts";
import { conditionOf, eventually, functionAt, type Plane, startPlane } from "./harness/plane.ts";

const namespace = "default";
const user = "system:serviceaccount:crossplane-system:limited";
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const bucketType = { apiVersion: "example.org/v1", kind: "Bucket" };
const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const tenMinutes = 600_000;

let calls = 0;

/** What the function does, by `do` of its input and by `spec.text` of the composite resource. */
const behaviors: Readonly<Record<string, (rsp: RunFunctionResponse, text: string) => void>> = {
  compose: (rsp) =>
    response.setDesiredComposedResource(rsp, "map", { ...configMap, data: { a: "b" } }, { ready: true }),
  fatal: (rsp) => response.fatal(rsp, "the port is missing"),
  unstable: (rsp) => response.requireResources(rsp, "a", { ...configMap, matchName: `m${calls++}`, namespace }),
  absent: (rsp) => {
    response.requireResources(rsp, "regions", { ...configMap, matchName: "regions", namespace });
    response.setDesiredCompositeReady(rsp, false);
  },
  schema: (rsp) => {
    response.requireSchema(rsp, "topic", "sns.example.org/v1", "Topic");
    response.warning(rsp, "there is no schema of Topic");
    response.setDesiredCompositeReady(rsp, false);
  },
  typed: (rsp) => response.setDesiredComposedResource(rsp, "map", { ...configMap, data: { a: 5 } }),
  undeclared: (rsp) => response.setDesiredCompositeStatus(rsp, { address: "10.0.0.1" }),
  silent: (rsp) => response.setDesiredComposedResource(rsp, "files", { ...bucketType, spec: { forProvider: {} } }),
  unready: (rsp) => response.setDesiredCompositeReady(rsp, false),
  renamed: (rsp, text) => response.setDesiredComposedResource(rsp, text, configMap, { ready: text === "old" }),
  fight: (rsp) =>
    response.setDesiredComposedResource(rsp, "files", { ...bucketType, spec: { size: 2 } }, { ready: true }),
  random: (rsp) => {
    const metadata = { labels: { stamp: `s${calls++}` } };
    response.setDesiredComposedResource(rsp, "map", { ...configMap, metadata }, { ready: true });
  },
  forbidden: (rsp) => response.setDesiredComposedResource(rsp, "web", deployment),
  unreadable: (rsp) =>
    response.requireResources(rsp, "pods", { apiVersion: "v1", kind: "Pod", matchName: "a", namespace }),
};

const labels = { app: "web" };
const deployment = {
  ...deploymentType,
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [] } } },
};

function behave(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const input = request.getInput(req) as { readonly do?: string } | undefined;
  const spec = request.getObservedCompositeResource(req).resource.getObject("spec") as { readonly text?: string };
  behaviors[input?.do ?? "compose"]?.(rsp, spec?.text ?? "");
  return rsp;
}

/** A set-up: what is made, and what to find. */
interface Scene {
  readonly code: string;
  readonly says: RegExp;
  /** What to type next. */
  readonly next: RegExp;
  /** What the function does; the name of the set-up. */
  readonly does: string;
  readonly step?: JsonObject;
  /** After the composite resource was applied. */
  readonly after?: (root: KubeObject) => Promise<void>;
  readonly later?: boolean;
  readonly text?: string;
}

const rootOf = ({ code, does, text }: Scene): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "App",
  metadata: { name: `${does}-${code.toLowerCase()}`, namespace },
  spec: {
    ...(text !== undefined && { text }),
    crossplane: { compositionRef: { name: `${does}-${code.toLowerCase()}` } },
  },
});

const scenes: readonly Scene[] = [
  {
    code: "E26",
    does: "compose",
    says: /^The call of step "render" is too large: .*(1048576|1 MiB)/,
    next: /--max-recv-message-size/,
    step: { functionRef: { name: "fn-small" } },
    text: "x".repeat(1_100_000),
  },
  {
    code: "E29",
    does: "fatal",
    says: /^Step "render" returned a fatal result: the port is missing$/,
    next: /^purlin runs show app\.example\.org\/fatal-e29 -n default$/,
  },
  {
    code: "E30",
    does: "unstable",
    says: /requires other resources on every call: it asked for ConfigMap m\d+, then ConfigMap m\d+/,
    next: /^correct Function fn/,
  },
  {
    code: "E31",
    does: "absent",
    says: /^Step "render" requires ConfigMap default\/regions, which does not exist$/,
    next: /^create ConfigMap default\/regions$/,
  },
  {
    code: "E32",
    does: "unreadable",
    says: /requires .*, which the control plane cannot read: .*forbidden/,
    next: /^grant get, list and watch/,
  },
  {
    code: "E33",
    does: "schema",
    says: /^Step "render" requires the schema of Topic \(sns\.example\.org\/v1\), which the API server does not serve$/,
    next: /^install the CRD of Topic$/,
  },
  {
    code: "E36",
    does: "typed",
    says: /^Resource "map" is invalid: data\.a: expected string, got .*; set by step "render" to 5$/,
    next: /purlin validate/,
  },
  {
    code: "E37",
    does: "forbidden",
    says: /limited is not allowed to \[[^\]]+\] deployments\.apps( in namespace default)?$/,
    next: /^kubectl create clusterrole purlin-deployments --verb=\S+ --resource=deployments\.apps && kubectl label/,
  },
  {
    code: "E45",
    does: "undeclared",
    says: /refuses the status .*\.status\.address: field not declared in schema/,
    next: /^add status\.address to the schema of the XRD/,
  },
  {
    code: "E47",
    does: "silent",
    says: /^No step reports whether files is ready, although its own condition Ready is True$/,
    next: /function-auto-ready/,
    async after(root) {
      const lastTransitionTime = new Date().toISOString();
      const conditions = ["Synced", "Ready"].map((type) => ({
        type,
        status: "True",
        reason: "Fine",
        lastTransitionTime,
      }));
      const child = await childOf(root, bucketType);
      await plane.users.update({ ...child, status: { conditions } }, { subresource: "status" });
    },
  },
  {
    code: "E53",
    does: "unready",
    says: /^Step "render" reports that the composite resource is not ready$/,
    next: /^purlin runs show \w+$/,
  },
  {
    code: "E62",
    does: "compose",
    says: /^ConfigMap\/\S+ \(default\) changes so often that reconciles of App default\/compose-e62 are limited$/,
    next: /: kubectl get configmap\/\S+ -n default -w -o yaml --show-managed-fields$/,
    after: (root) => disturb(root, configMap, (child, turn) => touch(child, turn)),
  },
  {
    code: "E63",
    does: "fight",
    says: /^spec\.size of resource "files": step "render" sets 2 as apiextensions\.crossplane\.io\/composed\/\S+, and autoscaler sets 5$/,
    next: /^leave spec\.size out of the function, or stop autoscaler from setting it$/,
    after: (root) => disturb(root, bucketType, scale),
  },
  {
    code: "E64",
    does: "random",
    says: /^Step "render" returns another metadata\.labels\.stamp of resource "map" in every run, for equal input$/,
    next: /^correct Function fn/,
  },
  {
    code: "E66",
    does: "renamed",
    text: "old",
    says: /^Resource "old" became "new": the old ConfigMap was deleted .* ago, and the new one is not ready yet$/,
    next: /moved: \[\{from: old, to: new\}\]$/,
    async after(root) {
      await plane.until("it is ready", root, keyOf(root), (one) => conditionOf(one, "Ready")?.status === "True");
      await plane.apply({ ...root, spec: { ...(root["spec"] as JsonObject), text: "new" } });
    },
  },
];

let plane: Plane;
let runs: RunStore;
let history: RunHistory;
let folder = "";
const closing = new AsyncDisposableStack();
const ending = new AbortController();

/** Everything but workloads and Pods. */
async function grantRights(users: KubeClient): Promise<void> {
  const kind = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  const groups = ["apiextensions.crossplane.io", "pkg.crossplane.io", "ops.crossplane.io", "protection.crossplane.io"];
  const others = ["apiextensions.k8s.io", "example.org", "coordination.k8s.io", "admissionregistration.k8s.io"];
  const rules = [
    { apiGroups: [...groups, ...others], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["configmaps", "secrets", "events", "namespaces"], verbs: ["*"] },
    { apiGroups: ["authorization.k8s.io"], resources: ["*"], verbs: ["create"] },
  ];
  await users.create({ ...kind, metadata: { name: "limited" }, rules } as KubeObject);
  await users.create({
    ...{ ...kind, kind: "ClusterRoleBinding" },
    metadata: { name: "limited" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "limited" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  } as KubeObject);
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "e2e-explain-"));
  runs = openRunStore({ directory: folder });
  const circuitBreaker = { burst: 20, refillPerSecond: 0.1, cooldownMs: tenMinutes };
  const settings = { operations: true, circuitBreaker };
  plane = await startPlane({ functions: { fn: behave }, settings, runs, user, prepare: grantRights });
  const options = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger, maxRecvMessageSize: 1 };
  const small = closing.use(await start(behave, options));
  history = (await recordedHistory(clientOf(runs), ending.signal)) ?? assert.fail("there is no recorder");
  await plane.apply(definitionOf("App"), crdOf("Bucket", "buckets"), functionAt("fn-small", small.address));
  await Promise.all(scenes.map(make));
});
after(async () => {
  ending.abort();
  await closing.disposeAsync();
  await plane?.[Symbol.asyncDispose]();
  runs?.[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function make(scene: Scene): Promise<void> {
  const { does, step, after: makeBroken } = scene;
  const root = rootOf(scene);
  await plane.apply(compositionOf(root.metadata.name ?? "", "App", { ...doing(does), ...step }), root);
  await makeBroken?.(root);
}

/** The recorder as the control plane serves it. */
function clientOf(store: RunStore): KubeClient {
  const raw = async ({ path, query }: { readonly path: string; readonly query?: Record<string, string> }) => {
    const document = await runsDocument(store, path, new URLSearchParams(query));
    if (document === undefined) throw notFound({ group: "", resource: "runs" }, path);
    return document;
  };
  return { raw } as Partial<KubeClient> as KubeClient;
}

function childOf(owner: KubeObject, type: { readonly apiVersion: string; readonly kind: string }): Promise<KubeObject> {
  const labelSelector = `crossplane.io/composite=${owner.metadata.name}`;
  return eventually(`${owner.metadata.name} has its ${type.kind}`, async () => {
    const { items } = await plane.users.list(type, { labelSelector });
    return items[0];
  });
}

/** Changes the resource of a composite resource again and again, until the suite ends. */
async function disturb(
  root: KubeObject,
  type: { readonly apiVersion: string; readonly kind: string },
  change: (child: KubeObject, turn: number) => Promise<unknown>,
): Promise<void> {
  const child = await childOf(root, type);
  const turns = async (): Promise<void> => {
    for (let turn = 0; !ending.signal.aborted; turn++) {
      const found = await plane.find(child, keyOf(child));
      if (found !== undefined) await change(found, turn).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const running = turns();
  closing.defer(() => running);
}

const touch = (child: KubeObject, turn: number): Promise<unknown> =>
  plane.users.patch(
    { ...child, ...keyOf(child) },
    { metadata: { annotations: { turn: String(turn) } } },
    { type: "merge" },
  );

/** Sets back what the control plane sets. */
async function scale(child: KubeObject): Promise<unknown> {
  if ((child["spec"] as { readonly size?: number }).size === 5) return undefined;
  const { apiVersion, kind, metadata } = child;
  const { name = "" } = metadata;
  const scaled: KubeObject = { apiVersion, kind, metadata: { name, namespace }, spec: { size: 5 } };
  return plane.users.apply(scaled, { fieldManager: "autoscaler", force: true });
}

async function explain(object: KubeObject, later = false): Promise<Explanation> {
  const stored = await plane.get(object, keyOf(object));
  const now = (): number => Date.now() + (later ? tenMinutes : 0);
  return explainObject(stored, { client: plane.users, now, history });
}

function check(explanation: Explanation, { code, says, next }: Pick<Scene, "code" | "says" | "next">): void {
  const text = explanationText(explanation);
  const [cause] = explanation.causes;
  assert.equal(cause?.code, code, text);
  assert.match(cause?.sentence ?? "", says, text);
  assert.match(cause?.next[0] ?? "", next, text);
  assert.equal(explanation.verdict, "broken", text);
  assert.equal(cause?.effects[0], `${explanation.object.kind} ${namespaceOf(explanation)}${explanation.object.name}`);
  assert.ok((cause?.evidence.length ?? 0) > 0, text);
}

const namespaceOf = ({ object }: Explanation): string => (object.namespace === undefined ? "" : `${object.namespace}/`);

describe("causes that recorded runs and rights show", () => {
  for (const scene of scenes) {
    test(`${scene.code}: ${scene.does}`, async () => {
      const root = rootOf(scene);
      let last: Explanation | undefined;
      const explanation = await eventually(
        `the cause of ${root.metadata.name}`,
        async () => {
          last = await explain(root, scene.later);
          return last.causes[0]?.code === scene.code && scene.says.test(last.causes[0].sentence) && last;
        },
        () => (last === undefined ? "" : explanationText(last)),
      );
      check(explanation, scene);
      assert.equal(explanation.causes.length, 1, explanationText(explanation));
    });
  }
});

describe("states of reconciliation", () => {
  const app = (name: string, spec: JsonObject = {}, annotations: Record<string, string> = {}): KubeObject => ({
    ...{ apiVersion: "example.org/v1", kind: "App" },
    metadata: { name, namespace, annotations },
    spec: { crossplane: { compositionRef: { name } }, ...spec },
  });
  const isReady = (one: KubeObject): boolean => conditionOf(one, "Ready")?.status === "True";
  const explained = (object: KubeObject, code: string): Promise<Explanation> =>
    eventually(`${code} of ${object.metadata.name}`, async () => {
      const found = await explain(object);
      return [...found.causes, ...found.notes].some((one) => one.code === code) && found;
    });

  test("E05: a composite resource that is pinned to an older revision is healthy, with a note", async () => {
    const pinned = app("pinned", {
      crossplane: { compositionRef: { name: "pinned" }, compositionUpdatePolicy: "Manual" },
    });
    await plane.apply(compositionOf("pinned", "App", doing("compose")), pinned);
    await plane.until("it is ready", pinned, keyOf(pinned), isReady);
    await plane.apply(compositionOf("pinned", "App", { ...doing("compose"), step: "later" }));
    const { verdict, causes, notes } = await explained(pinned, "E05");
    assert.deepEqual([verdict, causes], ["healthy", []]);
    assert.match(
      notes[0]?.text ?? "",
      /^Pinned to revision 1 of 2 of Composition pinned: it does not get later changes/,
    );
  });

  test("E08: a paused composite resource", async () => {
    const paused = app("quiet", {}, { "crossplane.io/paused": "true" });
    await plane.apply(compositionOf("quiet", "App", doing("compose")), paused);
    await plane.until("it says so", paused, keyOf(paused), (one) => conditionOf(one, "Synced") !== undefined);
    const says = /^App default\/quiet is paused$/;
    const next = /^kubectl annotate app\.example\.org\/quiet -n default crossplane\.io\/paused-$/;
    check(await explained(paused, "E08"), { code: "E08", says, next });
  });

  test("E67: a deletion waits for an approval, and the next step gives it", async () => {
    const composition = compositionOf("held", "App", doing("renamed"));
    const annotations = { "purlin.dev/max-deletes": "0" };
    await plane.apply(
      { ...composition, metadata: { ...composition.metadata, annotations } },
      app("held", { text: "old" }),
    );
    await plane.until("it is ready", app("held"), keyOf(app("held")), isReady);
    await plane.apply(app("held", { text: "new" }));
    const explanation = await explained(app("held"), "E67");
    const next =
      /^kubectl annotate --overwrite app\.example\.org\/held -n default purlin\.dev\/approve-plan=[0-9a-f]+$/;
    check(explanation, { code: "E67", says: /^App default\/held is held: /, next });
    const [, hash = ""] = /approve-plan=(.*)$/.exec(explanation.causes[0]?.next[0] ?? "") ?? [];
    const approved = { metadata: { annotations: { "purlin.dev/approve-plan": hash } } };
    await plane.users.patch({ ...app("held"), ...keyOf(app("held")) }, approved, { type: "merge" });
    await plane.until("it continues", app("held"), keyOf(app("held")), (one) => {
      return conditionOf(one, "Synced")?.status === "True";
    });
  });

  test("E68: a schedule that never comes", async () => {
    const pipeline = [{ step: "one", functionRef: { name: "fn" } }];
    const cron = {
      ...{ apiVersion: "ops.crossplane.io/v1alpha1", kind: "CronOperation", metadata: { name: "never" } },
      spec: { schedule: "0 0 30 2 *", operationTemplate: { spec: { mode: "Pipeline", pipeline } } },
    };
    await plane.apply(cron);
    check(await explained(cron, "E68"), {
      code: "E68",
      says: /^CronOperation never creates no Operations: .*0 0 30 2/,
      next: /spec\.schedule/,
    });
  });
});
