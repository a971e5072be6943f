// SPDX-License-Identifier: Apache-2.0
// LimitRanges, quotas, priority classes, default storage classes, bindings, evictions and token reviews.
import { type Case, scenario } from "../harness/case.ts";
import { core } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const pod = (name: string, resources: Loose = {}, spec: Loose = {}): Loose => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "x" } },
  spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "i", resources }], ...spec },
});

const claim = (name: string, storage: string): Loose => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
});

async function withAccount(s: Session): Promise<void> {
  await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
}

/** Creates an object of which admission reads a cache, and waits until it does: a Pod then has or has not what it says. */
async function untilAdmitted(s: Session, body: Loose, isSeen: (code: number, pod: Loose) => boolean): Promise<void> {
  for (;;) {
    const answer = await s.post(`${core(s, "pods")}?dryRun=All`, body, { quiet: true });
    if (isSeen(answer.code, answer.body)) return;
  }
}

/** Creates a quota. No controller counts the objects of the reference, so this writes what it would. */
async function withQuota(s: Session, name: string, spec: Loose): Promise<void> {
  await s.post(core(s, "resourcequotas"), { metadata: { name }, spec }, { quiet: true });
  const used = Object.fromEntries(Object.keys(spec.hard).map((resource) => [resource, "0"]));
  const status = { hard: spec.hard, used };
  await s.patch(core(s, "resourcequotas", `${name}/status`), "merge", { status }, { quiet: true });
}

const resourcesOf = (one: Loose): Loose => ({
  annotations: one.metadata?.annotations,
  containers: one.spec?.containers?.map((each: Loose) => each.resources),
  initContainers: one.spec?.initContainers?.map((each: Loose) => each.resources),
});
const shown = (body: Loose): Loose => (body.kind === "Pod" ? resourcesOf(body) : body);

export const limitCases: readonly Case[] = [
  scenario("limits of a namespace", async (s) => {
    await withAccount(s);
    const limits = [
      {
        type: "Container",
        max: { cpu: "2", memory: "1Gi" },
        min: { cpu: "100m" },
        default: { cpu: "1" },
        maxLimitRequestRatio: { cpu: "4" },
      },
      { type: "Pod", max: { cpu: "3" } },
      { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "10Gi" } },
    ];
    await s.post(core(s, "limitranges"), { metadata: { name: "l" }, spec: { limits } });
    await untilAdmitted(s, pod("seen"), (_code, one) => one.metadata?.annotations !== undefined);
    await s.post(core(s, "pods"), pod("plain"), { part: shown });
    await s.post(core(s, "pods"), pod("over", { limits: { cpu: "3" } }), { part: shown });
    await s.post(core(s, "pods"), pod("both", { requests: { cpu: "50m" }, limits: { memory: "2Gi" } }));
    await s.post(core(s, "pods"), pod("ratio", { requests: { cpu: "200m" } }), { part: shown });
    await s.post(core(s, "pods"), pod("init", {}, { initContainers: [{ name: "i", image: "x" }] }), { part: shown });
    await s.post(core(s, "persistentvolumeclaims"), claim("small", "500Mi"));
    await s.post(core(s, "persistentvolumeclaims"), claim("large", "20Gi"));
  }),

  scenario("a quota that is exceeded", async (s) => {
    await withAccount(s);
    const hard = { pods: "2", "requests.cpu": "1", "count/configmaps": "1", "services.nodeports": "1" };
    await s.post(core(s, "resourcequotas"), { metadata: { name: "q" }, spec: { hard } }, { quiet: true });
    // No controller counts the objects of the reference, so the test writes what it would.
    const used = { pods: "0", "requests.cpu": "0", "count/configmaps": "1", "services.nodeports": "0" };
    const status = { status: { hard, used } };
    const headers = { "content-type": "application/merge-patch+json" };
    await s.ask("PATCH", core(s, "resourcequotas", "q/status"), status, { headers, quiet: true });
    await untilAdmitted(s, pod("seen"), (code) => code === 403);
    await s.post(core(s, "pods"), pod("none"));
    await s.post(core(s, "pods"), pod("large", { requests: { cpu: "1001m" } }));
    await s.post(core(s, "pods"), pod("fits", { requests: { cpu: "600m" } }), { part: (body) => body.kind });
    await s.post(core(s, "pods"), pod("second", { requests: { cpu: "600m" } }));
    const ports = [
      { name: "a", port: 1 },
      { name: "b", port: 2 },
    ];
    await s.post(core(s, "services"), { metadata: { name: "s" }, spec: { type: "NodePort", ports } });
  }),

  scenario("what Pods and claims of devices count for in a quota", async (s) => {
    await withAccount(s);
    const heavy = `${s.namespace}-heavy`;
    const overhead = { podFixed: { cpu: "250m" } };
    const runtime = { metadata: { name: heavy }, handler: "h", overhead };
    await s.post("/apis/node.k8s.io/v1/runtimeclasses", runtime, { quiet: true });
    const devices = "gpu.deviceclass.resource.k8s.io/devices";
    const hard = {
      ...{ "requests.cpu": "2", "limits.cpu": "3", "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi" },
      ...{ "requests.example.org/gpu": "1", [devices]: "3" },
    };
    await withQuota(s, "q", { hard });
    await untilAdmitted(s, pod("seen"), (code, body) => code === 403 && /must specify/.test(body.message));
    const runtimeClassName = heavy;
    const seen = pod("seen", { requests: { cpu: "1" }, limits: { cpu: "1" } }, { runtimeClassName });
    await untilAdmitted(s, seen, (code) => code === 201);
    const used = (title: string): Promise<unknown> =>
      s.get(core(s, "resourcequotas", "q"), { title, part: (body) => body.status.used });
    const cpu = (requests: string, limits: string): Loose => ({ requests: { cpu: requests }, limits: { cpu: limits } });
    const kind = (body: Loose): Loose => body.message ?? body.kind;
    await s.post(core(s, "pods"), pod("overhead", cpu("1", "1"), { runtimeClassName }), { part: kind });
    await used("with overhead");
    await s.post(core(s, "pods"), pod("too-heavy", cpu("700m", "700m"), { runtimeClassName }));
    const pages = { requests: { cpu: "0", "hugepages-2Mi": "2Mi" }, limits: { cpu: "0", "hugepages-2Mi": "2Mi" } };
    await s.post(core(s, "pods"), pod("pages", pages), { part: kind });
    await used("with huge pages");
    const whole = { resources: { requests: { "hugepages-2Mi": "4Mi", cpu: "1" }, limits: { "hugepages-2Mi": "4Mi" } } };
    await s.post(core(s, "pods"), pod("more-pages", {}, whole));
    const gpus = (count: string): Loose => ({
      requests: { cpu: "0", "example.org/gpu": count },
      limits: { cpu: "0", "example.org/gpu": count },
    });
    await s.post(core(s, "pods"), pod("gpus", gpus("2")));
    await s.post(core(s, "pods"), pod("gpu", gpus("1")), { part: kind });
    await used("with a device");
    const resize = (name: string, resources: Loose): Promise<unknown> =>
      s.patch(
        core(s, "pods", `${name}/resize`),
        "strategic",
        { spec: { containers: [{ name: "c", resources }] } },
        {
          part: kind,
        },
      );
    await resize("overhead", cpu("1900m", "1900m"));
    await resize("overhead", cpu("1500m", "1500m"));
    await used("after a resize");
    const claims = `/apis/resource.k8s.io/v1/namespaces/${s.namespace}/resourceclaims`;
    const request = (exactly: Loose): Loose => ({ devices: { requests: [{ name: "r", ...exactly }] } });
    const gpu = (count: number): Loose => ({ deviceClassName: "gpu", allocationMode: "ExactCount", count });
    const all = { deviceClassName: "gpu", allocationMode: "All" };
    await s.post(claims, { metadata: { name: "all" }, spec: request({ exactly: all }) });
    await s.post(claims, { metadata: { name: "two" }, spec: request({ exactly: gpu(2) }) }, { part: kind });
    const either = [
      { name: "a", ...gpu(1) },
      { name: "b", ...gpu(2) },
      { name: "c", ...gpu(1), deviceClassName: "x" },
    ];
    await s.post(claims, { metadata: { name: "either" }, spec: request({ firstAvailable: either }) });
    await used("with devices");
    await withQuota(s, "ending", { hard: { pods: "0" }, scopes: ["Terminating"] });
    const late = pod("late", cpu("0", "0"), { activeDeadlineSeconds: 9 });
    await untilAdmitted(s, late, (code) => code === 403);
    await s.patch(core(s, "pods", "gpu"), "merge", { spec: { activeDeadlineSeconds: 9 } });
    await s.delete(`/apis/node.k8s.io/v1/runtimeclasses/${heavy}`, undefined, { quiet: true });
  }),

  scenario("changes of Pods that their node cannot make", async (s) => {
    await withAccount(s);
    const node = async (name: string, labels: Loose, status: Loose): Promise<string> => {
      const metadata = { name: `${s.namespace}-${name}`, labels };
      await s.post("/api/v1/nodes", { metadata, spec: {} }, { quiet: true });
      await s.patch(`/api/v1/nodes/${metadata.name}/status`, "merge", { status }, { quiet: true });
      return metadata.name;
    };
    const allocatable = { cpu: "2", memory: "1Gi" };
    const small = await node("small", {}, { allocatable });
    const windows = await node("windows", { "kubernetes.io/os": "windows" }, { allocatable });
    const declaredFeatures = ["InPlacePodLevelResourcesVerticalScaling"];
    const able = await node("able", {}, { allocatable, declaredFeatures });
    const requests = { cpu: "1", memory: "1Mi" };
    const initContainers = [{ name: "i", image: "i", resources: { requests: { cpu: "1" } } }];
    const whole = { resources: { requests: { cpu: "1" } }, initContainers };
    const bound: Readonly<Record<string, Loose>> = {
      grows: { nodeName: small },
      other: { nodeName: windows },
      lost: { nodeName: `${s.namespace}-gone` },
      whole: { nodeName: small, ...whole },
      declared: { nodeName: able, ...whole },
      free: {},
    };
    for (const [name, spec] of Object.entries(bound)) {
      await s.post(core(s, "pods"), pod(name, { requests }, spec), { quiet: true });
    }
    const resize = (name: string, spec: Loose, query = ""): Promise<{ readonly body: Loose }> =>
      s.patch(
        core(s, "pods", `${name}/resize${query}`),
        "strategic",
        { spec },
        {
          ...(query === "" ? { part: (body) => (body.kind === "Pod" ? body.kind : body) } : { quiet: true }),
        },
      );
    const container = (amounts: Loose): Loose => ({ containers: [{ name: "c", resources: { requests: amounts } }] });
    // The reference reads nodes by a watch, in the order in which they were written.
    const more = { resources: { requests: { cpu: "1500m" } } };
    const isUnknown = async (): Promise<boolean> => (await resize("declared", more, "?dryRun=All")).body.kind !== "Pod";
    while (await isUnknown());
    await resize("grows", container({ cpu: "2500m" }));
    await resize("grows", container({ cpu: "2001m", memory: "2Gi" }));
    await resize("grows", container({ cpu: "2" }));
    await resize("other", container({ cpu: "1500m" }));
    await resize("lost", container({ cpu: "1500m" }));
    await resize("free", container({ cpu: "900" }));
    for (const name of ["whole", "declared"]) {
      const { resources } = more;
      const changed = [{ name: "i", resources: { requests: { cpu: "500m" } } }];
      await resize(name, { initContainers: changed });
      await resize(name, { resources, initContainers: changed });
      await resize(name, { resources });
    }
    for (const name of [small, windows, able]) await s.delete(`/api/v1/nodes/${name}`, undefined, { quiet: true });
  }),

  scenario("bindings and evictions", async (s) => {
    await withAccount(s);
    await s.post(core(s, "pods"), pod("a"), { quiet: true });
    await s.post(core(s, "pods", "a/binding"), { metadata: { name: "b" }, target: { name: "n" } });
    await s.post(core(s, "pods", "a/binding"), { metadata: { name: "a" }, target: { kind: "Pod", name: "n" } });
    await s.post(core(s, "pods", "a/binding"), { metadata: { name: "a" }, target: { kind: "Node", name: "n" } });
    await s.post(core(s, "bindings"), { metadata: { name: "a" }, target: { kind: "Node", name: "m" } });
    await s.get(core(s, "pods", "a"), { part: (body) => [body.spec.nodeName, body.status.conditions?.[0]?.type] });
    await s.post(core(s, "pods"), pod("b"), { quiet: true });
    await s.post(core(s, "pods", "b/eviction"), { metadata: { name: "c" } });
    await s.post(core(s, "pods", "none/eviction"), { metadata: { name: "none" } });
    await s.post(core(s, "pods", "b/eviction"), { metadata: { name: "b" } });
    await s.get(core(s, "pods", "b"));
  }),

  scenario("token reviews for audiences", async (s) => {
    await withAccount(s);
    const tokenFor = async (...audiences: readonly string[]): Promise<string> => {
      const path = core(s, "serviceaccounts", "default/token");
      const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences } };
      return (await s.post(path, request, { quiet: true })).body.status.token;
    };
    const tokens = { plain: await tokenFor(), other: await tokenFor("a", "b"), wrong: "nope", broken: "a.b.c" };
    const part = ({ message, status }: Loose): Loose =>
      message ?? [status.authenticated, status.audiences, status.error, status.user];
    for (const [name, token] of Object.entries(tokens)) {
      for (const audiences of [[], ["a"], ["x"], ["x", "b", "a"], ["b", "https://kubernetes.default.svc"]]) {
        const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences } };
        const title = `${name} ${audiences.join()}`;
        await s.post("/apis/authentication.k8s.io/v1/tokenreviews", review, { title, part });
      }
    }
  }),

  scenario("evictions with options", async (s) => {
    await withAccount(s);
    await s.post(core(s, "pods"), pod("a"), { quiet: true });
    const evict = async (deleteOptions: Loose, more: Loose = {}, query = ""): Promise<unknown> => {
      const title = `${JSON.stringify(deleteOptions)} ${JSON.stringify(more)} ${query}`;
      const path = `${core(s, "pods", "a/eviction")}${query}`;
      return await s.post(path, { metadata: { name: "a" }, deleteOptions, ...more }, { title });
    };
    const dry = { dryRun: ["All"] };
    await evict({ ...dry, kind: "Pod", apiVersion: "v2" });
    await evict({ ...dry, kind: "DeleteOptions", apiVersion: "v1" });
    await evict({ ...dry, kind: 3 });
    await evict(dry, {}, "?dryRun=All");
    await evict({ dryRun: ["x"] });
    await evict({ ...dry, unknown: 1 });
    await evict({ ...dry, unknown: 1 }, {}, "?fieldValidation=Strict");
    await evict({ ...dry, ignoreStoreReadErrorWithClusterBreakingPotential: true });
    await evict({ ...dry, preconditions: { uid: "u" } }, {}, "");
    await evict({ ...dry, propagationPolicy: "x" });
    await evict({ ...dry, gracePeriodSeconds: -1 });
    await evict({ ...dry, gracePeriodSeconds: "x" });
    await evict(dry, { kind: "Pod", apiVersion: "v1" });
    await evict(dry, { kind: "Eviction", apiVersion: "policy/v1beta1" });
    await evict(dry, { kind: "Eviction", apiVersion: "policy/v1" });
    await evict(dry, { spec: 1 });
    await evict("x");
  }),

  scenario("bindings have preconditions, and labels for their Pods", async (s) => {
    await withAccount(s);
    const zones = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", other: "x" };
    const node = { metadata: { name: `zoned-${s.namespace}`, labels: zones } };
    await s.post("/api/v1/nodes", node, { quiet: true });
    const target = { kind: "Node", name: node.metadata.name };
    const created = await s.post(core(s, "pods"), pod("a"), { quiet: true });
    const { uid, resourceVersion } = created.body.metadata;
    const part = ({ message, ...body }: Loose): Loose => [
      body.code,
      message?.replace(uid, "<uid>").replace(resourceVersion, "<version>"),
    ];
    const bind = async (title: string, metadata: Loose): Promise<unknown> =>
      await s.post(core(s, "pods", "a/binding"), { metadata: { name: "a", ...metadata }, target }, { title, part });
    await bind("another uid", { uid: "u" });
    await bind("another version", { uid, resourceVersion: "1" });
    const labels = { a: "b", "topology.kubernetes.io/zone": "other" };
    const placed = pod("b", {}, { nodeName: target.name });
    await untilAdmitted(s, placed, (_code, { metadata }) => metadata.labels["topology.kubernetes.io/zone"] === "z");
    await bind("labels", { uid, resourceVersion, labels, annotations: { c: "d" } });
    const shown = ({ metadata, spec }: Loose): Loose => [metadata.labels, metadata.annotations, spec.nodeName];
    await s.get(core(s, "pods", "a"), { part: shown });
    await s.post(core(s, "pods"), placed, { part: shown });
    await s.delete(`/api/v1/nodes/${target.name}`, undefined, { quiet: true });
  }),
];
