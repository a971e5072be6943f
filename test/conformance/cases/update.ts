// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import {
  configMap,
  core,
  deployment,
  inGroup,
  nextSecond,
  ownWidget,
  ownWidgets,
  widget,
  widgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

const lease = (name: string, more: object = {}): Loose => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name, ...more },
});
const uidOfNobody = "00000000-0000-0000-0000-000000000000";

export const updateCases: readonly Case[] = [
  scenario("updates without a version", async (s) => {
    await s.post(widgets(s), widget("a"));
    await s.put(widgets(s, "a"), widget("a", { size: 2 }));
    await s.put(widgets(s, "a"), widget("a", { size: 2 }, { resourceVersion: "" }));
    await s.put(widgets(s, "a"), widget("a", { size: 2 }, { resourceVersion: "0" }));
    await s.put(`${widgets(s, "a")}/status`, { ...widget("a"), status: { phase: "x" } });
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.put(core(s, "configmaps", "a"), configMap("a", { b: "2" }));
    await s.put(core(s, "configmaps", "a"), {
      ...configMap("a", { b: "3" }),
      metadata: { name: "a", resourceVersion: "0" },
    });
    await s.put(core(s, "configmaps", "a"), {
      ...configMap("a", { b: "3" }),
      metadata: { name: "a", resourceVersion: "abc" },
    });
    await s.put(widgets(s, "a"), widget("a", { size: 2 }, { resourceVersion: "abc" }));
    await s.post(inGroup(s, "coordination.k8s.io/v1/leases"), lease("a"), { quiet: true });
    await s.put(inGroup(s, "coordination.k8s.io/v1/leases", "a"), lease("a", { labels: { a: "b" } }));
    for (const [path, object] of [
      [core(s, "secrets"), { metadata: { name: "a" } }],
      [core(s, "serviceaccounts"), { metadata: { name: "a" } }],
      [inGroup(s, "apps/v1/deployments"), deployment("a")],
    ] as const) {
      await s.post(path, object, { quiet: true });
      await s.put(`${path}/a`, { ...object, metadata: { name: "a", labels: { a: "b" } } });
    }
    const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" };
    await s.post(
      inGroup(s, "rbac.authorization.k8s.io/v1/roles"),
      { ...rbac, metadata: { name: "a" } },
      { quiet: true },
    );
    await s.put(inGroup(s, "rbac.authorization.k8s.io/v1/roles", "a"), {
      ...rbac,
      metadata: { name: "a", labels: { a: "b" } },
    });
  }),

  scenario("updates of an old version", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
      [inGroup(s, "apps/v1/deployments"), deployment("a")],
    ] as const) {
      const { body } = await s.post(path, object, { quiet: true });
      await s.patch(`${path}/a`, "merge", { metadata: { labels: { n: "1" } } }, { quiet: true });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, labels: { n: "2" } } });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, labels: { n: "1" } } });
      const now = await s.get(`${path}/a`, { quiet: true });
      await s.put(`${path}/a`, { ...now.body, metadata: { ...now.body.metadata, labels: { n: "3" } } });
      await s.put(`${path}/a`, { ...now.body, metadata: { ...now.body.metadata, resourceVersion: "1" } });
    }
    const { body } = await s.get(widgets(s, "a"), { quiet: true });
    await s.put(`${widgets(s, "a")}/status`, {
      ...body,
      metadata: { ...body.metadata, resourceVersion: "1" },
      status: { phase: "x" },
    });
  }),

  scenario("updates of another object of the name", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const { body } = await s.post(path, object, { quiet: true });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, uid: uidOfNobody } });
      await s.patch(`${path}/a`, "merge", { metadata: { uid: uidOfNobody } });
      await s.patch(`${path}/a?fieldManager=m`, "apply", {
        apiVersion: body.apiVersion,
        kind: body.kind,
        metadata: { name: "a", uid: uidOfNobody },
      });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, uid: "", labels: { a: "b" } } });
    }
  }),

  scenario("updates of what is not there", async (s) => {
    await s.put(widgets(s, "a"), widget("a"));
    await s.put(widgets(s, "a"), widget("a", {}, { resourceVersion: "5" }));
    await s.put(inGroup(s, "coordination.k8s.io/v1/leases", "a"), lease("a"));
    await s.put(inGroup(s, "coordination.k8s.io/v1/leases", "b"), lease("b", { resourceVersion: "5" }));
    await s.put(inGroup(s, "coordination.k8s.io/v1/leases", "c"), lease("c", { uid: uidOfNobody }));
    await s.put(core(s, "services", "a"), {
      metadata: { name: "a" },
      spec: { clusterIP: "None", selector: { a: "b" } },
    });
    await s.put(core(s, "events", "a"), { metadata: { name: "a" }, involvedObject: { namespace: s.namespace } });
    await s.put(core(s, "endpoints", "a"), { metadata: { name: "a" } });
    const rbac = "rbac.authorization.k8s.io/v1";
    await s.put(inGroup(s, `${rbac}/roles`, "a"), { apiVersion: rbac, kind: "Role", metadata: { name: "a" } });
    await s.put(core(s, "secrets", "a"), { metadata: { name: "a" } });
    await s.put(core(s, "serviceaccounts", "a"), { metadata: { name: "a" } });
    await s.put(inGroup(s, "apps/v1/deployments", "a"), deployment("a"));
    await s.put(`/api/v1/namespaces/${s.namespace}-missing`, { metadata: { name: `${s.namespace}-missing` } });
    await s.put(`${widgets(s, "a")}/status`, widget("a"));
    await s.put(`${widgets(s, "a")}/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a" },
      spec: { replicas: 1 },
    });
  }),

  scenario("updates under another name", async (s) => {
    for (const [path, object, other] of [
      [core(s, "configmaps"), configMap("a"), configMap("b")],
      [widgets(s), widget("a"), widget("b")],
    ] as const) {
      const { body } = await s.post(path, object, { quiet: true });
      await s.put(`${path}/a`, { ...other, metadata: { name: "b", resourceVersion: body.metadata.resourceVersion } });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, name: "" } });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, namespace: "default" } });
      await s.put(`${path}/a`, { ...body, metadata: { ...body.metadata, namespace: "" } });
      await s.patch(`${path}/a`, "merge", { metadata: { name: "b" } });
      await s.patch(`${path}/a`, "merge", { metadata: { namespace: "default" } });
      await s.patch(`${path}/a?fieldManager=m`, "apply", { ...other });
      await s.put(`${path}/a`, { ...body, kind: "Nope" });
      await s.put(`${path}/a`, { ...body, apiVersion: "nope/v1" });
      await s.patch(`${path}/a`, "merge", { kind: "Nope" });
      await s.patch(`${path}/a`, "merge", { apiVersion: "nope/v1" });
    }
  }),

  scenario("writes that change nothing", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const { body } = await s.post(`${path}?fieldManager=maker`, object, { quiet: true });
      const watch = await s.watch(`${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
      // Times are in whole seconds: the second write must be seen to leave them alone.
      await nextSecond();
      await s.put(`${path}/a?fieldManager=maker`, body);
      await s.patch(`${path}/a?fieldManager=maker`, "merge", {});
      await s.patch(`${path}/a?fieldManager=other`, "merge", {});
      await s.patch(`${path}/a?fieldManager=maker`, "json", []);
      await s.patch(`${path}/a?fieldManager=other`, "json", [{ op: "test", path: "/metadata/name", value: "a" }]);
      await s.put(`${path}/a?fieldManager=other`, {
        ...body,
        metadata: { ...body.metadata, managedFields: undefined },
      });
      const applied = await s.patch(`${path}/a?fieldManager=applier`, "apply", object);
      await nextSecond();
      const again = await s.patch(`${path}/a?fieldManager=applier`, "apply", object);
      s.note(
        "applied again, it has the same times",
        JSON.stringify(again.body.metadata.managedFields) === JSON.stringify(applied.body.metadata.managedFields),
      );
      await s.patch(`${path}/a?fieldManager=applier&force=true`, "apply", object);
      await s.patch(`${path}/a`, "merge", { metadata: { labels: { last: "one" } } }, { quiet: true });
      await watch.next();
      await watch.next();
      watch.close();
    }
  }),

  scenario("a status that changes nothing", async (s) => {
    const { body } = await s.post(widgets(s), widget("a"), { quiet: true });
    const set = await s.patch(`${widgets(s, "a")}/status`, "merge", { status: { phase: "x" } });
    await s.patch(`${widgets(s, "a")}/status`, "merge", { status: { phase: "x" } });
    await s.put(`${widgets(s, "a")}/status`, set.body);
    await s.put(widgets(s, "a"), { ...set.body, status: { phase: "ignored" } });
    await s.put(widgets(s, "a"), { ...set.body, status: undefined });
    await s.patch(widgets(s, "a"), "merge", { status: { phase: "ignored" } });
    await s.patch(`${widgets(s, "a")}/status`, "merge", { spec: { size: 99 } });
    s.note("the version moved once", set.body.metadata.resourceVersion !== body.metadata.resourceVersion);
    await s.get(widgets(s, "a"));
  }),

  scenario("generations of custom objects", async (s) => {
    await s.post(widgets(s), { ...widget("a"), status: { phase: "ignored" } });
    await s.patch(widgets(s, "a"), "merge", { spec: { size: 2 } });
    await s.patch(widgets(s, "a"), "merge", {
      metadata: { labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["example.org/f"] },
    });
    await s.patch(widgets(s, "a"), "merge", { status: { phase: "ignored" } });
    const now = await s.get(widgets(s, "a"), { quiet: true });
    const status = { ...now.body, status: { phase: "set" }, spec: { size: 50 } };
    status.metadata = {
      ...now.body.metadata,
      labels: { ignored: "yes" },
      finalizers: ["example.org/ignored"],
      annotations: { ignored: "yes" },
    };
    await s.put(`${widgets(s, "a")}/status`, status);
    await s.patch(`${widgets(s, "a")}/status`, "merge", {
      metadata: { labels: { ignored: "yes" } },
      status: { phase: "again" },
    });
    await s.patch(`${widgets(s, "a")}/status`, "json", [{ op: "add", path: "/status/replicas", value: 3 }]);
    await s.patch(widgets(s, "a"), "merge", { spec: { size: 2, color: "red" } });
    await s.patch(widgets(s, "a"), "merge", { metadata: { generation: 50 } });
    await s.patch(widgets(s, "a"), "merge", { spec: null });
    await s.get(`${widgets(s, "a")}/status`);
  }),

  scenario("a kind without status", async (s) => {
    await withOwnWidgets(s, (crd) => {
      for (const version of crd.spec.versions) delete version.subresources;
    });
    await s.post(ownWidgets(s), { ...ownWidget(s, "a"), status: { phase: "kept" } });
    await s.patch(ownWidgets(s, "a"), "merge", { status: { phase: "changed" } });
    await s.patch(`${ownWidgets(s, "a")}/status`, "merge", { status: { phase: "changed" } });
    await s.get(`${ownWidgets(s, "a")}/status`);
    await s.get(`${ownWidgets(s, "a")}/scale`);
    await s.patch(ownWidgets(s, "a"), "merge", { metadata: { labels: { a: "b" } } });
  }),

  scenario("generations of deployments", async (s) => {
    const path = inGroup(s, "apps/v1/deployments");
    await s.post(path, deployment("a"), { quiet: true });
    const generation = (body: Loose): Loose => body.metadata?.generation ?? body;
    await s.patch(`${path}/a`, "merge", { metadata: { annotations: { a: "b" } } }, { part: generation });
    await s.patch(`${path}/a`, "merge", { metadata: { labels: { a: "b" } } }, { part: generation });
    await s.patch(`${path}/a`, "merge", { spec: { replicas: 3 } }, { part: generation });
    await s.patch(`${path}/a`, "merge", { spec: { replicas: 3 } }, { part: generation });
    await s.patch(`${path}/a/status`, "merge", { status: { replicas: 3 } }, { part: generation });
    await s.patch(`${path}/a`, "merge", { metadata: { finalizers: ["example.org/f"] } }, { part: generation });
    await s.patch(`${path}/a/scale`, "merge", { spec: { replicas: 4 } });
    await s.get(`${path}/a`);
    await s.get(`${path}/a/scale`);
    await s.get(`${path}/a/status`);
    await s.delete(`${path}/a`, undefined, { part: generation });
    for (const [resource, kind] of [
      ["replicasets", "ReplicaSet"],
      ["statefulsets", "StatefulSet"],
      ["daemonsets", "DaemonSet"],
    ] as const) {
      const collection = inGroup(s, `apps/v1/${resource}`);
      await s.post(collection, { ...deployment("b"), kind }, { part: generation });
      await s.patch(`${collection}/b`, "merge", { metadata: { annotations: { a: "b" } } }, { part: generation });
      await s.patch(
        `${collection}/b`,
        "merge",
        { spec: { template: { metadata: { annotations: { a: "b" } } } } },
        { part: generation },
      );
      await s.patch(`${collection}/b/status`, "merge", { status: { observedGeneration: 1 } }, { part: generation });
    }
  }),

  scenario("what a client may not decide", async (s) => {
    const made = {
      name: "a",
      generation: 7,
      creationTimestamp: "2020-01-01T00:00:00Z",
      deletionTimestamp: "2020-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 5,
      uid: uidOfNobody,
      selfLink: "/x",
    };
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const { body } = await s.post(path, { ...object, metadata: made });
      s.note("it has an identity of its own", body.metadata.uid !== uidOfNobody);
      for (const change of [
        { generation: 7 },
        { creationTimestamp: "2020-01-01T00:00:00Z" },
        { creationTimestamp: null },
        { deletionTimestamp: "2020-01-01T00:00:00Z" },
        { deletionGracePeriodSeconds: 7 },
        { selfLink: "/x" },
        { generateName: "x-" },
      ]) {
        await s.patch(`${path}/a`, "merge", { metadata: change }, { title: `PATCH ${path} ${JSON.stringify(change)}` });
      }
      const now = await s.get(`${path}/a`, { quiet: true });
      await s.put(`${path}/a`, {
        ...now.body,
        metadata: {
          ...now.body.metadata,
          creationTimestamp: "2020-01-01T00:00:00Z",
          deletionTimestamp: "2020-01-01T00:00:00Z",
          generation: 9,
        },
      });
    }
  }),

  scenario("what may not change", async (s) => {
    const immutable = { ...configMap("a"), immutable: true };
    await s.post(core(s, "configmaps"), immutable, { quiet: true });
    await s.patch(core(s, "configmaps", "a"), "merge", { data: { a: "2" } });
    await s.patch(core(s, "configmaps", "a"), "merge", { binaryData: { b: "AAA=" } });
    await s.patch(core(s, "configmaps", "a"), "merge", { immutable: false });
    await s.patch(core(s, "configmaps", "a"), "merge", { immutable: null });
    await s.patch(core(s, "configmaps", "a"), "merge", { metadata: { labels: { a: "b" } } });
    await s.post(core(s, "secrets"), {
      metadata: { name: "a" },
      stringData: { a: "text", b: "" },
      data: { a: "b2xk" },
    });
    await s.patch(core(s, "secrets", "a"), "merge", { type: "example.org/other" });
    await s.patch(core(s, "secrets", "a"), "merge", { stringData: { c: "ü" } });
    await s.patch(core(s, "secrets", "a"), "merge", { immutable: true });
    await s.patch(core(s, "secrets", "a"), "merge", { data: { d: "AAA=" } });
    await s.patch(core(s, "secrets", "a"), "merge", { data: { d: "not base64!" } });
    await s.post(core(s, "secrets"), { metadata: { name: "tls" }, type: "kubernetes.io/tls", data: {} });
    await s.post(core(s, "secrets"), {
      metadata: { name: "docker" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": "AAA=" },
    });
    await s.post(core(s, "secrets"), { metadata: { name: "basic" }, type: "kubernetes.io/basic-auth", stringData: {} });
    await s.post(core(s, "secrets"), { metadata: { name: "ssh" }, type: "kubernetes.io/ssh-auth" });
    await s.post(core(s, "secrets"), { metadata: { name: "token" }, type: "kubernetes.io/service-account-token" });
    await s.post(core(s, "secrets"), { metadata: { name: "keys" }, data: { "no/slash": "AAA=" } });
    await s.post(core(s, "configmaps"), {
      metadata: { name: "keys" },
      data: { "no/slash": "x", "": "y", both: "z" },
      binaryData: { both: "AAA=" },
    });
    const rbac = "rbac.authorization.k8s.io/v1";
    await s.post(inGroup(s, `${rbac}/rolebindings`), {
      apiVersion: rbac,
      kind: "RoleBinding",
      metadata: { name: "a" },
      roleRef: { kind: "Role", name: "a" },
      subjects: [{ kind: "User", name: "u" }],
    });
    await s.patch(inGroup(s, `${rbac}/rolebindings`, "a"), "merge", { roleRef: { name: "b" } });
    const selector = {
      spec: { selector: { matchLabels: { app: "b" } }, template: { metadata: { labels: { app: "b" } } } },
    };
    await s.post(inGroup(s, "apps/v1/deployments"), deployment("a"), { quiet: true });
    await s.patch(inGroup(s, "apps/v1/deployments", "a"), "merge", selector);
  }),

  scenario("patches at the same time", async (s) => {
    for (const [path, object, field] of [
      [core(s, "configmaps"), configMap("a", {}), "data"],
      [widgets(s), widget("a", { tags: {} }), "spec"],
    ] as const) {
      await s.post(path, object, { quiet: true });
      const change = (key: string, n: number): object =>
        field === "data" ? { data: { [key]: String(n) } } : { spec: { tags: { [key]: String(n) } } };
      let codes = new Set<number>();
      for (let n = 0; n < 100; n += 1) {
        const answers = await Promise.all(
          ["left", "right"].map((key) => s.patch(`${path}/a`, "merge", change(key, n), { quiet: true })),
        );
        codes = new Set([...codes, ...answers.map(({ code }) => code)]);
        const { body } = await s.get(`${path}/a`, { quiet: true });
        const values = field === "data" ? body.data : body.spec.tags;
        if (values.left !== String(n) || values.right !== String(n)) s.note("lost", { n, values });
      }
      s.note("all were answered with", [...codes]);
    }
  }),

  scenario("patches of an old version", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const { body } = await s.post(path, object, { quiet: true });
      const { resourceVersion } = body.metadata;
      await s.patch(`${path}/a`, "merge", { metadata: { resourceVersion, labels: { n: "1" } } });
      await s.patch(`${path}/a`, "merge", { metadata: { resourceVersion, labels: { n: "2" } } });
      await s.patch(`${path}/a`, "json", [
        { op: "replace", path: "/metadata/resourceVersion", value: resourceVersion },
        { op: "add", path: "/metadata/labels/n", value: "3" },
      ]);
      await s.patch(`${path}/a?fieldManager=m`, "apply", { ...object, metadata: { name: "a", resourceVersion } });
      await s.patch(`${path}/a?dryRun=All`, "merge", { metadata: { resourceVersion, labels: { n: "4" } } });
      await s.patch(`${path}/a`, "merge", { metadata: { resourceVersion: "", labels: { n: "5" } } });
      await s.patch(`${path}/a`, "merge", { metadata: { resourceVersion: null, labels: { n: "6" } } });
    }
  }),
];
