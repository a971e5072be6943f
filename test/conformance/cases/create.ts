// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Session } from "../harness/session.ts";

async function createdBy(s: Session, name: string, userAgent: string): Promise<void> {
  await s.post(core(s, "configmaps"), configMap(name), {
    headers: { "user-agent": userAgent },
    part: (body) => body.metadata?.managedFields?.map((entry: { manager: string }) => entry.manager) ?? body,
    title: `POST by ${userAgent.slice(0, 40)}`,
  });
}

export const createCases: readonly Case[] = [
  scenario("create", async (s) => {
    const { body } = await s.post(core(s, "configmaps"), configMap("a"), {
      compareHeaders: ["location", "cache-control", "x-content-type-options"],
    });
    s.note("shape of what the server made", {
      uid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(body.metadata.uid),
      created: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(body.metadata.creationTimestamp),
      version: /^[1-9]\d*$/.test(body.metadata.resourceVersion),
    });
    await s.get(core(s, "configmaps", "a"));
    await s.post(`${core(s, "configmaps")}?fieldManager=my-manager`, configMap("b"));
    await s.post(`${core(s, "configmaps")}?pretty=true`, {
      ...configMap("c"),
      metadata: {
        name: "c",
        namespace: s.namespace,
        labels: { l: "1" },
        annotations: { n: "2" },
        finalizers: ["example.org/f"],
      },
    });
    await s.post(widgets(s), widget("a", { size: 2, tags: { a: "b" } }, { labels: { l: "1" } }));
    await s.post(inGroup(s, "coordination.k8s.io/v1/leases"), {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "a" },
      spec: { holderIdentity: "me", renewTime: "2026-01-02T03:04:05.678901Z", leaseDurationSeconds: 15 },
    });
    // The type may be left to the path.
    await s.post(core(s, "configmaps"), { metadata: { name: "untyped" } });
    await s.post(core(s, "configmaps"), { kind: "ConfigMap", metadata: { name: "unversioned" } });
    await s.post(widgets(s), { metadata: { name: "untyped" } });
  }),

  scenario("the manager is the user agent up to the first slash", async (s) => {
    await createdBy(s, "a", "kubectl/v1.36.3 (linux/amd64) kubernetes/abc");
    await createdBy(s, "b", "a b c");
    await createdBy(s, "c", "");
    await createdBy(s, "d", "/nothing");
    await createdBy(s, "e", `${"x".repeat(200)}/1`);
    await createdBy(s, "f", "Mozilla/5.0");
    const manager = (name: string): string => `${core(s, "configmaps")}?fieldManager=${name}`;
    await s.post(manager("x".repeat(128)), configMap("g"), {
      part: (body) => body.metadata?.managedFields?.[0]?.manager ?? body,
    });
    await s.post(manager("x".repeat(129)), configMap("h"));
    await s.post(manager("a%0Ab"), configMap("i"));
    await s.post(manager("a%0Ab"), configMap("j"), { headers: { "user-agent": "x".repeat(300) } });
  }),

  scenario("create twice", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"));
    await s.post(core(s, "configmaps"), configMap("a"));
    await s.post(core(s, "configmaps"), { ...configMap("a"), data: { other: "x" } });
    await s.post(widgets(s), widget("a"));
    await s.post(widgets(s), widget("a"));
    await s.post(widgets(s), widget("deleting", {}, { finalizers: ["example.org/wait"] }));
    await s.delete(widgets(s, "deleting"), undefined, { quiet: true });
    await s.post(widgets(s), widget("deleting"));
    await s.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: s.namespace } });
  }),

  scenario("generated names", async (s) => {
    const made = async (path: string, generateName: string, kind: object): Promise<void> => {
      const { body } = await s.post(path, { ...kind, metadata: { generateName } });
      const name: string = body.metadata?.name ?? "";
      s.note("the name", {
        base: name.slice(0, -5),
        suffix: /^[bcdfghjklmnpqrstvwxz2456789]{5}$/.test(name.slice(-5)),
      });
    };
    await made(core(s, "configmaps"), "made-", { data: {} });
    await made(core(s, "configmaps"), "x".repeat(58), {});
    await made(core(s, "configmaps"), "x".repeat(80), {});
    await made(widgets(s), "made-", { apiVersion: "example.org/v1", kind: "Widget" });
    await s.post(core(s, "configmaps"), { metadata: { name: "given", generateName: "made-" } });
    await s.post(
      core(s, "configmaps"),
      { metadata: { generateName: "Not_Valid-" } },
      {
        part: ({ code, reason, details }) => ({
          code,
          reason,
          details: {
            ...details,
            name: undefined,
            causes: details.causes.map((cause: { field: string }) => cause.field),
          },
        }),
      },
    );
    await s.post(`${core(s, "configmaps")}?dryRun=All`, { metadata: { generateName: "dry-" } });
  }),

  scenario("create without a name", async (s) => {
    await s.post(core(s, "configmaps"), { metadata: {} });
    await s.post(core(s, "configmaps"), {});
    await s.post(core(s, "configmaps"), { metadata: null });
    await s.post(widgets(s), { apiVersion: "example.org/v1", kind: "Widget", metadata: {} });
    await s.post(widgets(s), { apiVersion: "example.org/v1", kind: "Widget" });
    await s.post("/api/v1/namespaces", { metadata: {} });
  }),

  scenario("invalid names", async (s) => {
    for (const name of ["A_b", "a..b", "-a", "a.", "x".repeat(254), "a/b", "ä"]) {
      await s.post(core(s, "configmaps"), configMap(name));
      await s.post(widgets(s), widget(name));
    }
    for (const name of ["a.b", "x".repeat(64), "A"]) await s.post("/api/v1/namespaces", { metadata: { name } });
    const service = (name: string): object => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { clusterIP: "None", selector: { a: "b" } },
    });
    for (const name of ["1a", "a.b", "x".repeat(64)]) await s.post(core(s, "services"), service(name));
    for (const name of ["a/b", "a%b", ".", ".."]) {
      await s.post(inGroup(s, "rbac.authorization.k8s.io/v1/roles"), {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name },
      });
    }
    await s.post(inGroup(s, "rbac.authorization.k8s.io/v1/roles"), {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "system:a:B_c" },
    });
  }),

  scenario("create in a namespace that is not there", async (s) => {
    const missing = { ...s, namespace: "no-such-namespace" } as Session;
    await s.post(core(missing, "configmaps"), configMap("a"));
    await s.post(widgets(missing), widget("a"));
    await s.patch(`${core(missing, "configmaps", "a")}?fieldManager=m`, "apply", configMap("a"));
    await s.get(core(missing, "configmaps"));
    await s.get(core(missing, "configmaps", "a"));
    await s.put(inGroup(missing, "coordination.k8s.io/v1/leases", "a"), {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "a" },
    });
    await s.post(core(missing, "configmaps"), { metadata: { generateName: "a-" } });
  }),

  scenario("create with a version", async (s) => {
    await s.post(core(s, "configmaps"), { metadata: { name: "a", resourceVersion: "7" } });
    await s.post(widgets(s), widget("a", {}, { resourceVersion: "7" }));
    await s.post(core(s, "configmaps"), { metadata: { name: "zero", resourceVersion: "0" } });
    await s.post(core(s, "configmaps"), { metadata: { name: "empty", resourceVersion: "" } });
    await s.post(core(s, "configmaps"), { metadata: { name: "b", resourceVersion: "abc" } });
  }),

  scenario("the namespace of the body and of the path", async (s) => {
    await s.post(core(s, "configmaps"), { metadata: { name: "a", namespace: "default" } });
    await s.post(widgets(s), widget("a", {}, { namespace: "default" }));
    await s.post(core(s, "configmaps"), { metadata: { name: "a", namespace: s.namespace } });
    await s.post("/api/v1/namespaces", { metadata: { name: `${s.namespace}-b`, namespace: "default" } });
    await s.post("/api/v1/configmaps", configMap("a"));
    await s.post("/apis/example.org/v1/widgets", widget("a"));
    await s.get(`/api/v1/namespaces/${s.namespace}/namespaces`);
    await s.get(`/apis/apiextensions.k8s.io/v1/namespaces/${s.namespace}/customresourcedefinitions`);
  }),

  scenario("the type of the body and of the path", async (s) => {
    await s.post(core(s, "configmaps"), { ...configMap("a"), apiVersion: "v2" });
    await s.post(core(s, "configmaps"), { ...configMap("a"), apiVersion: "apps/v1" });
    await s.post(core(s, "configmaps"), { ...configMap("a"), kind: "Secret" });
    await s.post(core(s, "configmaps"), { metadata: { name: "a" }, apiVersion: "v1", kind: "Secret" });
    await s.post(core(s, "configmaps"), { ...configMap("a"), kind: "Nope" });
    await s.post(core(s, "configmaps"), { ...configMap("a"), kind: "configmap" });
    await s.post(core(s, "configmaps"), { ...configMap("a"), apiVersion: "a/b/c" });
    await s.post(widgets(s), { ...widget("a"), apiVersion: "example.org/v1beta1" });
    await s.post(widgets(s), { ...widget("a"), apiVersion: "example.org/v9" });
    await s.post(widgets(s), { ...widget("a"), apiVersion: "nope.org/v1" });
    await s.post(widgets(s), { ...widget("a"), kind: "Gadget" });
    await s.post(widgets(s), { ...widget("a"), kind: "WidgetList" });
    await s.post(widgets(s, "", "v1beta1"), { ...widget("beta"), apiVersion: "example.org/v1beta1" });
    await s.get(widgets(s, "beta"));
  }),

  scenario("bodies that are too big", async (s) => {
    const huge = { ...configMap("huge"), data: { a: "x".repeat(4 * 1024 * 1024) } };
    await s.post(core(s, "configmaps"), huge, { compareHeaders: ["retry-after"] });
    await s.post(widgets(s), widget("huge", { free: { a: "x".repeat(4 * 1024 * 1024) } }));
    await s.post(core(s, "configmaps"), { ...configMap("two"), data: { a: "x".repeat(2 * 1024 * 1024) } });
    await s.post(core(s, "secrets"), {
      metadata: { name: "two" },
      data: { a: Buffer.alloc(1024 * 1024 + 1).toString("base64") },
    });
    const patch = [{ op: "add", path: "/data/a", value: "x".repeat(4 * 1024 * 1024) }];
    await s.post(core(s, "configmaps"), configMap("small"), { quiet: true });
    await s.patch(core(s, "configmaps", "small"), "json", patch);
    await s.patch(
      core(s, "configmaps", "small"),
      "merge",
      { data: { a: "x".repeat(1024 * 1024) } },
      { part: (body) => body.message ?? body },
    );
    await s.delete(core(s, "configmaps", "small"), `{"kind":"DeleteOptions","x":"${"x".repeat(4 * 1024 * 1024)}"}`);
  }),

  scenario("malformed bodies", async (s) => {
    for (const body of [
      "{",
      "nonsense",
      "",
      "null",
      "[]",
      '"text"',
      "{}}",
      '{"metadata":{"name":"a",}}',
      '{"metadata":"x"}',
      '{"metadata":{"name":7}}',
      '{"metadata":{"labels":{"a":1}}}',
      '{"data":{"a":1}}',
      "\u0000",
    ]) {
      await s.post(core(s, "configmaps"), body, { title: `POST ConfigMap ${JSON.stringify(body)}` });
      await s.post(widgets(s), body, { title: `POST Widget ${JSON.stringify(body)}` });
    }
    const typed = '"apiVersion":"example.org/v1","kind":"Widget"';
    for (const metadata of [
      '"x"',
      "[]",
      '{"name":7}',
      '{"name":"a","labels":{"a":1}}',
      '{"name":"a","labels":[]}',
      '{"name":"b","nope":1}',
      '{"name":"c","ownerReferences":{}}',
      '{"name":"d","creationTimestamp":"x"}',
      '{"name":"e","finalizers":[1]}',
    ]) {
      await s.post(widgets(s), `{${typed},"metadata":${metadata}}`, { title: `POST Widget with metadata ${metadata}` });
    }
    await s.put(core(s, "configmaps", "a"), "{");
    await s.put(widgets(s, "a"), "");
    await s.post(core(s, "configmaps"), "a: b: c", { headers: { "content-type": "application/yaml" } });
    await s.post(core(s, "configmaps"), "metadata: {name: a}\n---\nmetadata: {name: b}\n", {
      headers: { "content-type": "application/yaml" },
    });
    await s.post(`${core(s, "configmaps")}?timeout=abc`, configMap("timeout"));
    await s.get(`${core(s, "configmaps")}?timeout=abc`);
    await s.get(`${core(s, "configmaps")}?limit=abc`);
    await s.get(`${core(s, "configmaps")}?limit=-1`);
  }),
];
