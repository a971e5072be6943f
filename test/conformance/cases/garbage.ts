// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import {
  configMap,
  core,
  inGroup,
  isTrue,
  ownCrd,
  ownGroup,
  ownWidget,
  ownWidgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { eventLifetimeSeconds } from "../harness/reference-server.ts";
import type { Session } from "../harness/session.ts";

const wait = "example.org/wait";

function ownedBy(name: string, owners: readonly Loose[], more: Loose = {}): Loose {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: owner.apiVersion ?? "v1",
    kind: owner.kind ?? "ConfigMap",
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    ...owner.reference,
  }));
  return { ...configMap(name), metadata: { name, ownerReferences, ...more } };
}

const blocking = (owner: Loose): Loose => ({ ...owner, reference: { blockOwnerDeletion: true } });

async function made(s: Session, object: Loose): Promise<Loose> {
  const { body, code, text } = await s.post(core(s, "configmaps"), object, { quiet: true });
  if (code !== 201) throw new Error(`cannot create ${object.metadata.name}: ${text}`);
  return body;
}

async function gone(s: Session, ...names: readonly string[]): Promise<void> {
  for (const name of names) await s.until(core(s, "configmaps", name), ({ code }) => code === 404);
  s.note("gone", names);
}

/** The collector of the reference first has to discover a kind; the deletion of a dependent shows that it has. */
async function collectorIsAwake(s: Session): Promise<void> {
  const stray = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "missing", uid: "00000000-0000-0000-0000-000000000000" },
  };
  await made(s, ownedBy("probe", [stray]));
  await gone(s, "probe");
}

export const garbageCases: readonly Case[] = [
  scenario("dependents go after their owner", async (s) => {
    await collectorIsAwake(s);
    const owner = await made(s, configMap("owner"));
    const child = await made(s, ownedBy("child", [owner]));
    await made(s, ownedBy("grandchild", [child]));
    await s.post(core(s, "secrets"), { metadata: ownedBy("secret", [owner]).metadata }, { quiet: true });
    await s.delete(core(s, "configmaps", "owner"), { propagationPolicy: "Background" });
    await s.get(core(s, "configmaps", "owner"));
    await gone(s, "child", "grandchild");
    await s.until(core(s, "secrets", "secret"), ({ code }) => code === 404);
  }),

  scenario("deletions without a policy", async (s) => {
    await collectorIsAwake(s);
    const owner = await made(s, configMap("owner"));
    await made(s, ownedBy("child", [owner]));
    await s.delete(core(s, "configmaps", "owner"));
    await gone(s, "child");
    const kept = await made(s, configMap("kept"));
    await made(s, ownedBy("held", [kept], { finalizers: [wait] }));
    await s.delete(core(s, "configmaps", "kept"));
    await s.until(core(s, "configmaps", "held"), ({ body }) => body.metadata.deletionTimestamp !== undefined);
    await s.get(core(s, "configmaps", "held"));
  }),

  scenario("an owner waits for its dependents", async (s) => {
    await collectorIsAwake(s);
    const owner = await made(s, configMap("owner"));
    await made(s, ownedBy("blocks", [blocking(owner)], { finalizers: [wait] }));
    await made(s, ownedBy("does-not-block", [owner], { finalizers: [wait] }));
    await s.delete(core(s, "configmaps", "owner"), { propagationPolicy: "Foreground" });
    await s.until(core(s, "configmaps", "blocks"), ({ body }) => body.metadata.deletionTimestamp !== undefined);
    await s.get(core(s, "configmaps", "owner"));
    await s.get(core(s, "configmaps", "blocks"));
    await s.patch(core(s, "configmaps", "blocks"), "merge", { metadata: { finalizers: null } }, { quiet: true });
    await gone(s, "blocks", "owner");
    await s.until(core(s, "configmaps", "does-not-block"), ({ body }) => body.metadata.deletionTimestamp !== undefined);
    await s.get(core(s, "configmaps", "does-not-block"));
  }),

  scenario("owners wait down a whole tree", async (s) => {
    await collectorIsAwake(s);
    const owner = await made(s, configMap("owner"));
    const child = await made(s, ownedBy("child", [blocking(owner)]));
    await made(s, ownedBy("grandchild", [blocking(child)], { finalizers: [wait] }));
    await s.delete(core(s, "configmaps", "owner"), { propagationPolicy: "Foreground" });
    await s.until(core(s, "configmaps", "grandchild"), ({ body }) => body.metadata.deletionTimestamp !== undefined);
    await s.get(core(s, "configmaps", "child"));
    await s.get(core(s, "configmaps", "owner"), { part: (body) => body.metadata.finalizers });
    await s.patch(core(s, "configmaps", "grandchild"), "merge", { metadata: { finalizers: null } }, { quiet: true });
    await gone(s, "grandchild", "child", "owner");
    await made(s, configMap("lonely"));
    await s.delete(core(s, "configmaps", "lonely"), { propagationPolicy: "Foreground" });
    await gone(s, "lonely");
  }),

  scenario("dependents that stay", async (s) => {
    await collectorIsAwake(s);
    const owner = await made(s, configMap("owner"));
    const other = await made(s, configMap("other"));
    await made(s, ownedBy("child", [owner]));
    await made(s, ownedBy("shared", [owner, other]));
    await s.delete(core(s, "configmaps", "owner"), { propagationPolicy: "Orphan" });
    await gone(s, "owner");
    await s.get(core(s, "configmaps", "child"));
    await s.get(core(s, "configmaps", "shared"));
    const deprecated = await made(s, configMap("deprecated"));
    await made(s, ownedBy("left", [deprecated]));
    await s.delete(core(s, "configmaps", "deprecated"), { orphanDependents: true });
    await gone(s, "deprecated");
    await s.get(core(s, "configmaps", "left"));
    await made(s, { ...configMap("finalized"), metadata: { name: "finalized", finalizers: ["orphan"] } });
    await s.delete(core(s, "configmaps", "finalized"));
    await gone(s, "finalized");
  }),

  scenario("a dependent of two owners", async (s) => {
    await collectorIsAwake(s);
    const [one, two] = [await made(s, configMap("one")), await made(s, configMap("two"))];
    await made(s, ownedBy("child", [one, two]));
    await s.delete(core(s, "configmaps", "one"), { propagationPolicy: "Background" }, { quiet: true });
    await s.until(core(s, "configmaps", "child"), ({ body }) => body.metadata.ownerReferences.length === 1);
    await s.get(core(s, "configmaps", "child"));
    await s.delete(core(s, "configmaps", "two"), undefined, { quiet: true });
    await gone(s, "child");
  }),

  scenario("one owner waits, the other stays", async (s) => {
    await collectorIsAwake(s);
    const [one, two] = [await made(s, configMap("one")), await made(s, configMap("two"))];
    await made(s, ownedBy("child", [blocking(one), two]));
    await s.delete(core(s, "configmaps", "one"), { propagationPolicy: "Foreground" }, { quiet: true });
    await gone(s, "one");
    await s.get(core(s, "configmaps", "child"));
  }),

  scenario("an owner of the name that is another", async (s) => {
    const owner = await made(s, configMap("owner"));
    const other = { ...owner, metadata: { ...owner.metadata, uid: "01234567-89ab-cdef-0123-456789abcdef" } };
    await made(s, ownedBy("child", [other]));
    await gone(s, "child");
    await made(s, ownedBy("half", [other, owner]));
    await s.until(core(s, "configmaps", "half"), ({ body }) => body.metadata.ownerReferences?.length === 1);
    await s.get(core(s, "configmaps", "half"));
  }),

  scenario("owners in another namespace", async (s) => {
    await s.post("/api/v1/namespaces", { metadata: { name: `${s.namespace}-b` } }, { quiet: true });
    const there = { namespace: `${s.namespace}-b` } as Session;
    const { body: owner } = await s.post(core(there, "configmaps"), configMap("owner"), { quiet: true });
    await made(s, ownedBy("child", [owner]));
    await gone(s, "child");
    await s.get(core(there, "configmaps", "owner"), { part: (body) => body.metadata.name });
  }),

  scenario("cluster objects", async (s) => {
    const rbac = "rbac.authorization.k8s.io/v1";
    const roles = `/apis/${rbac}/clusterroles`;
    const role = (name: string, ownerReferences: readonly object[] = []): Loose => ({
      apiVersion: rbac,
      kind: "ClusterRole",
      metadata: { name: `${s.namespace}-${name}`, ownerReferences },
    });
    const reference = (owner: Loose, kind: string, apiVersion: string): Loose => ({
      apiVersion,
      kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
    });
    const inNamespace = await made(s, configMap("owner"));
    await s.post(roles, role("stays", [reference(inNamespace, "ConfigMap", "v1")]), { quiet: true });
    const { body: top } = await s.post(roles, role("top"), { quiet: true });
    await s.post(roles, role("goes", [reference(top, "ClusterRole", rbac)]), { quiet: true });
    await made(s, ownedBy("of-cluster", [{ ...top, apiVersion: rbac, kind: "ClusterRole" }]));
    await made(
      s,
      ownedBy("of-unknown", [
        {
          apiVersion: "nope.example.org/v1",
          kind: "Nope",
          metadata: { name: "x", uid: "01234567-89ab-cdef-0123-456789abcdef" },
        },
      ]),
    );
    await s.delete(core(s, "configmaps", "owner"), undefined, { quiet: true });
    await s.delete(`${roles}/${s.namespace}-top`, undefined, { quiet: true });
    await s.until(`${roles}/${s.namespace}-goes`, ({ code }) => code === 404);
    await gone(s, "of-cluster");
    await delay(1500);
    await s.get(`${roles}/${s.namespace}-stays`, { part: (body) => body.metadata.ownerReferences });
    await s.get(core(s, "configmaps", "of-unknown"), { part: (body) => body.metadata.ownerReferences });
  }),

  scenario("custom owners and dependents", async (s) => {
    await withOwnWidgets(s);
    const { body: owner } = await s.post(ownWidgets(s), ownWidget(s, "owner"), { quiet: true });
    const reference = {
      apiVersion: `${ownGroup(s)}/v1beta1`,
      kind: "Widget",
      name: "owner",
      uid: owner.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    await s.post(
      ownWidgets(s),
      { ...ownWidget(s, "child"), metadata: { name: "child", ownerReferences: [reference] } },
      { quiet: true },
    );
    await made(s, { ...configMap("plain"), metadata: { name: "plain", ownerReferences: [reference] } });
    await s.delete(
      ownWidgets(s, "owner"),
      { propagationPolicy: "Foreground" },
      { part: (body) => body.metadata.finalizers },
    );
    for (const path of [ownWidgets(s, "owner"), ownWidgets(s, "child"), core(s, "configmaps", "plain")]) {
      await s.until(path, ({ code }) => code === 404);
    }
    s.note("all are gone", true);
  }),

  scenario("a namespace goes with what is in it", async (s) => {
    const name = `${s.namespace}-b`;
    const there = { namespace: name } as Session;
    await withOwnWidgets(s);
    await s.post("/api/v1/namespaces", { metadata: { name } }, { quiet: true });
    await s.until(core(there, "serviceaccounts", "default"), ({ code }) => code === 200);
    await s.post(core(there, "configmaps"), configMap("plain"), { quiet: true });
    await s.post(
      core(there, "configmaps"),
      { ...configMap("held"), metadata: { name: "held", finalizers: [wait] } },
      { quiet: true },
    );
    const widgetsThere = `/apis/${ownGroup(s)}/v1/namespaces/${name}/widgets`;
    await s.post(widgetsThere, ownWidget(s, "a"), { quiet: true });
    await s.delete(`/api/v1/namespaces/${name}`);
    await s.post(core(there, "configmaps"), configMap("late"));
    await s.post(widgetsThere, ownWidget(s, "late"));
    await s.post(core(there, "configmaps"), { metadata: { generateName: "late-" } });
    await s.patch(`${core(there, "configmaps", "late")}?fieldManager=m`, "apply", configMap("late"));
    await s.until(
      `/api/v1/namespaces/${name}`,
      ({ body }) => isTrue(body, "NamespaceContentRemaining") && isTrue(body, "NamespaceFinalizersRemaining"),
    );
    await s.until(core(there, "configmaps", "plain"), ({ code }) => code === 404);
    await s.until(widgetsThere, ({ body }) => body.items.length === 0);
    // Kinds of other cases come and go meanwhile: what failed on their account is tried again.
    const passing = /widgets|Failure","status":"True"/;
    await s.until(`/api/v1/namespaces/${name}`, ({ body }) => !passing.test(JSON.stringify(body.status.conditions)));
    await s.get(`/api/v1/namespaces/${name}`, { part: withoutTimes });
    await s.delete(`/api/v1/namespaces/${name}`, undefined, { part: withoutTimes });
    await s.patch(core(there, "configmaps", "held"), "merge", { data: { still: "writable" } });
    await s.patch(core(there, "configmaps", "held"), "merge", { metadata: { finalizers: null } });
    await s.until(`/api/v1/namespaces/${name}`, ({ code }) => code === 404);
    await s.get(`/api/v1/namespaces/${name}`);
    await s.post(core(there, "configmaps"), configMap("late"));
    await s.post("/api/v1/namespaces", { metadata: { name } });
  }),

  scenario("namespaces that stay", async (s) => {
    for (const name of ["default", "kube-system", "kube-public"]) await s.delete(`/api/v1/namespaces/${name}`);
    await s.delete(`/api/v1/namespaces/default?dryRun=All`);
    const name = `${s.namespace}-c`;
    await s.post("/api/v1/namespaces", { metadata: { name, finalizers: [wait] } });
    await s.delete(`/api/v1/namespaces/${name}?dryRun=All`);
    await s.delete(`/api/v1/namespaces/${name}`, { preconditions: { uid: "x" } });
    await s.delete(`/api/v1/namespaces/${name}`, undefined, { quiet: true });
    await s.until(`/api/v1/namespaces/${name}`, ({ body }) => body.spec.finalizers === undefined);
    await s.get(`/api/v1/namespaces/${name}`, { part: ({ spec, status }) => ({ spec, phase: status.phase }) });
    await s.patch(
      `/api/v1/namespaces/${name}`,
      "merge",
      { metadata: { finalizers: null } },
      { part: ({ metadata }) => metadata.name },
    );
    await s.get(`/api/v1/namespaces/${name}`);
  }),

  scenario("the finalize and status subresources of a namespace", async (s) => {
    const name = `${s.namespace}-d`;
    const path = `/api/v1/namespaces/${name}`;
    const { body } = await s.post("/api/v1/namespaces", { metadata: { name } }, { quiet: true });
    await s.put(`${path}/finalize`, { ...body, spec: { finalizers: ["kubernetes", "example.org/more"] } });
    await s.put(path, { ...body, metadata: { name }, spec: { finalizers: [] } });
    await s.patch(`${path}/status`, "merge", { status: { phase: "Terminating" }, spec: { finalizers: [] } });
    await s.patch(
      `${path}/status`,
      "merge",
      {
        status: { conditions: [{ type: "NamespaceContentRemaining", status: "True", reason: "Because" }] },
        metadata: { labels: { through: "status" } },
      },
      { part: withoutTimes },
    );
    await s.get(`${path}/status`, { part: withoutTimes });
    await s.get(`${path}/finalize`);
    await s.patch(path, "merge", { metadata: { labels: { "kubernetes.io/metadata.name": "nope" } } });
    await s.patch(path, "merge", { metadata: { labels: { "kubernetes.io/metadata.name": null } } });
  }),

  scenario("events that expire", async (s) => {
    const started = performance.now();
    const { body } = await s.post(
      core(s, "events"),
      {
        metadata: { name: "a" },
        involvedObject: { namespace: s.namespace, kind: "Widget", name: "w" },
        reason: "Made",
        type: "Normal",
      },
      { quiet: true },
    );
    const watch = await s.watch(`${core(s, "events")}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    await watch.next((eventLifetimeSeconds + 60) * 1000);
    s.note("it lived its time", performance.now() - started > (eventLifetimeSeconds - 2) * 1000);
    await s.get(core(s, "events", "a"));
  }),

  scenario("a service account for every namespace", async (s) => {
    const path = core(s, "serviceaccounts", "default");
    await s.until(path, ({ code }) => code === 200);
    await s.get(path, { part: ({ metadata, ...rest }) => ({ ...rest, name: metadata.name, labels: metadata.labels }) });
    const { body } = await s.get(path, { quiet: true });
    await s.delete(path, undefined, { quiet: true });
    await s.until(path, (answer) => answer.code === 200 && answer.body.metadata.uid !== body.metadata.uid);
    s.note("it comes back", true);
    await s.post(
      `${path}/token`,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } },
      {
        part: ({ kind, apiVersion, status, spec }) => ({
          kind,
          apiVersion,
          spec,
          status: Object.keys(status ?? {}).sort(),
          parts: status?.token?.split(".").length,
        }),
      },
    );
    await s.get(`${path}/token`);
  }),

  scenario("roles made of other roles", async (s) => {
    const rbac = "rbac.authorization.k8s.io/v1";
    const roles = `/apis/${rbac}/clusterroles`;
    const name = (suffix: string): string => `${s.namespace}-${suffix}`;
    const role = (suffix: string, more: object, metadata: object = {}): object => ({
      apiVersion: rbac,
      kind: "ClusterRole",
      metadata: { name: name(suffix), ...metadata },
      ...more,
    });
    const rule = (resource: string): object => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
    const label = { labels: { into: s.namespace } };
    await s.post(
      roles,
      role("sum", {
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label.labels }] },
        rules: [rule("dropped")],
      }),
    );
    await s.post(roles, role("b", { rules: [rule("secrets")] }, label), { quiet: true });
    await s.post(roles, role("a", { rules: [rule("configmaps"), rule("pods")] }, label), { quiet: true });
    const rules =
      (count: number) =>
      ({ body }: { readonly body: Loose }): boolean =>
        body.rules?.length === count;
    await s.until(`${roles}/${name("sum")}`, rules(3));
    await s.get(`${roles}/${name("sum")}`, { part: ({ rules: sum, aggregationRule }) => ({ sum, aggregationRule }) });
    await s.delete(`${roles}/${name("a")}`, undefined, { quiet: true });
    await s.until(`${roles}/${name("sum")}`, rules(1));
    await s.get(`${roles}/${name("sum")}`, { part: ({ rules: sum }) => sum });
    await s.get(ownCrd(s), { part: (body) => body.reason });
    await s.get(inGroup(s, `${rbac}/roles`), { part: (body) => body.items });
  }),
];

/** A namespace as its controller left it, without what depends on how often it looked. */
function withoutTimes({ metadata, spec, status, ...rest }: Loose): Loose {
  const { name, labels, deletionTimestamp, finalizers } = metadata ?? {};
  return { ...rest, metadata: { name, labels, deletionTimestamp, finalizers }, spec, status };
}
