// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const wait = "example.org/wait";

async function marked(s: Session, name: string, finalizers: readonly string[] = [wait]): Promise<Loose> {
  await s.post(widgets(s), widget(name, {}, { finalizers }), { quiet: true });
  return (await s.delete(widgets(s, name), undefined, { quiet: true })).body;
}

export const deleteCases: readonly Case[] = [
  scenario("what a deletion answers", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [core(s, "serviceaccounts"), { metadata: { name: "a" } }],
      [core(s, "secrets"), { metadata: { name: "a" } }],
      [core(s, "services"), { metadata: { name: "a" }, spec: { clusterIP: "None", selector: { a: "b" } } }],
      [inGroup(s, "apps/v1/deployments"), deployment("a")],
      [inGroup(s, "coordination.k8s.io/v1/leases"), { metadata: { name: "a" } }],
      [widgets(s), widget("a")],
    ] as const) {
      await s.post(path, object, { quiet: true });
      await s.delete(`${path}/a`);
      await s.get(`${path}/a`);
    }
    await s.post(core(s, "configmaps"), configMap("b"), { quiet: true });
    await s.delete(core(s, "configmaps", "b"), {
      kind: "DeleteOptions",
      apiVersion: "apps/v1",
      propagationPolicy: "Background",
    });
    for (const body of [
      "{}",
      '{"kind":"DeleteOptions"}',
      '{"kind":"Nope","apiVersion":"v1"}',
      '{"propagationPolicy":7}',
      "nonsense",
      '{"unknown":1}',
      "{",
      '{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1"}',
      '{"kind":"DeleteOptions","apiVersion":"nope/v9"}',
    ]) {
      await s.post(core(s, "configmaps"), configMap("c"), { quiet: true });
      await s.delete(core(s, "configmaps", "c"), body, { title: `DELETE ConfigMap with ${body}` });
      await s.post(widgets(s), widget("c"), { quiet: true });
      await s.delete(widgets(s, "c"), body, { title: `DELETE Widget with ${body}` });
    }
    await s.post(core(s, "configmaps"), configMap("d"), { quiet: true });
    await s.delete(core(s, "configmaps", "d"), "{}", { headers: { "content-type": "text/plain" } });
    await s.delete(core(s, "configmaps", "d"), "propagationPolicy: Background\n", {
      headers: { "content-type": "application/yaml" },
    });
  }),

  scenario("deletions of what is not there", async (s) => {
    await s.delete(core(s, "configmaps", "missing"));
    await s.delete(widgets(s, "missing"));
    await s.delete("/api/v1/namespaces/no-such-namespace");
    await s.delete(core(s, "configmaps", "missing"), { preconditions: { uid: "x" } });
  }),

  scenario("deletions that wait for a finalizer", async (s) => {
    for (const [path, object] of [
      [widgets(s), widget("a", {}, { finalizers: [wait] })],
      [core(s, "configmaps"), { ...configMap("a"), metadata: { name: "a", finalizers: [wait] } }],
    ] as const) {
      await s.post(path, object, { quiet: true });
      const first = await s.delete(`${path}/a`);
      const second = await s.delete(`${path}/a`);
      s.note("the second one changed nothing", JSON.stringify(first.body) === JSON.stringify(second.body));
      await s.get(`${path}/a`);
      await s.delete(`${path}/a`, { gracePeriodSeconds: 0 });
      await s.delete(`${path}/a`, { gracePeriodSeconds: 30 });
      await s.delete(`${path}/a`, { propagationPolicy: "Foreground" });
      await s.delete(`${path}/a`, { propagationPolicy: "Background" });
      await s.delete(`${path}/a`, { orphanDependents: false });
      await s.patch(`${path}/a`, "merge", { metadata: { labels: { still: "writable" } } });
    }
    await s.post(
      inGroup(s, "apps/v1/deployments"),
      { ...deployment("a"), metadata: { name: "a", finalizers: [wait] } },
      { quiet: true },
    );
    await s.delete(inGroup(s, "apps/v1/deployments", "a"));
    await s.post(core(s, "serviceaccounts"), { metadata: { name: "b", finalizers: [wait] } }, { quiet: true });
    await s.delete(core(s, "serviceaccounts", "b"));
  }),

  scenario("finalizers of what is being deleted", async (s) => {
    const object = await marked(s, "a");
    await s.patch(widgets(s, "a"), "merge", { metadata: { finalizers: [wait, "example.org/new"] } });
    await s.patch(widgets(s, "a"), "json", [{ op: "add", path: "/metadata/finalizers/-", value: "example.org/new" }]);
    await s.patch(`${widgets(s, "a")}?fieldManager=m`, "apply", {
      ...widget("a"),
      metadata: { name: "a", finalizers: ["example.org/one", "example.org/two"] },
    });
    await s.put(widgets(s, "a"), {
      ...object,
      metadata: { ...object.metadata, finalizers: [wait, "example.org/new"] },
    });
    await s.put(widgets(s, "a"), { ...object, metadata: { ...object.metadata, deletionTimestamp: undefined } });
    await s.put(widgets(s, "a"), { ...object, metadata: { ...object.metadata, finalizers: [] } });
    await s.get(widgets(s, "a"));
    const core1 = { ...configMap("a"), metadata: { name: "a", finalizers: [wait] } };
    await s.post(core(s, "configmaps"), core1, { quiet: true });
    await s.delete(core(s, "configmaps", "a"), undefined, { quiet: true });
    await s.patch(core(s, "configmaps", "a"), "strategic", { metadata: { finalizers: ["example.org/new"] } });
    await s.patch(core(s, "configmaps", "a"), "strategic", {
      metadata: { "$deleteFromPrimitiveList/finalizers": [wait] },
    });
    await s.get(core(s, "configmaps", "a"));
  }),

  scenario("the last finalizer goes", async (s) => {
    const ways: Readonly<Record<string, (path: string, object: Loose) => Promise<unknown>>> = {
      put: (path, object) => s.put(path, { ...object, metadata: { ...object.metadata, finalizers: undefined } }),
      merge: (path) => s.patch(path, "merge", { metadata: { finalizers: null } }),
      json: (path) => s.patch(path, "json", [{ op: "remove", path: "/metadata/finalizers" }]),
      status: (path) => s.patch(`${path}/status`, "merge", { metadata: { finalizers: null } }),
    };
    for (const [name, remove] of Object.entries(ways)) {
      const object = await marked(s, name);
      const watch = await s.watch(`${widgets(s)}?watch=true&resourceVersion=${object.metadata.resourceVersion}`);
      await remove(widgets(s, name), object);
      await s.get(widgets(s, name), { part: (body) => body.reason ?? body.metadata.finalizers });
      await s.post(widgets(s), widget(`after-${name}`), { quiet: true });
      await watch.next();
      watch.close();
    }
    const applied = `${widgets(s, "applied")}?fieldManager=m`;
    await s.patch(applied, "apply", widget("applied", {}, { finalizers: [wait] }), { quiet: true });
    await s.delete(widgets(s, "applied"), undefined, { quiet: true });
    await s.patch(applied, "apply", widget("applied"));
    await s.get(widgets(s, "applied"));
    await s.post(widgets(s), widget("two", {}, { finalizers: [wait, "example.org/two"] }), { quiet: true });
    await s.delete(widgets(s, "two"), undefined, { quiet: true });
    await s.patch(widgets(s, "two"), "merge", { metadata: { finalizers: ["example.org/two"] } });
    await s.patch(widgets(s, "two"), "merge", { metadata: { finalizers: [] }, spec: { size: 500 } });
    await s.patch(widgets(s, "two"), "merge", { metadata: { finalizers: [] } });
    await s.get(widgets(s, "two"));
  }),

  scenario("preconditions", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const { body } = await s.post(path, object, { quiet: true });
      const { uid, resourceVersion } = body.metadata;
      await s.delete(`${path}/a`, { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } });
      await s.delete(`${path}/a`, { preconditions: { resourceVersion: "1" } });
      await s.delete(`${path}/a`, { preconditions: { uid, resourceVersion: "1" } });
      await s.delete(`${path}/a`, { preconditions: { uid: "", resourceVersion: "" } });
      await s.delete(`${path}/a?preconditions.uid=nope`, { kind: "DeleteOptions", dryRun: ["All"] });
      await s.delete(`${path}/a`, { preconditions: { uid, resourceVersion } });
    }
  }),

  scenario("options a deletion does not have", async (s) => {
    for (const [path, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      await s.post(path, object, { quiet: true });
      await s.delete(`${path}/a`, { propagationPolicy: "Bogus" });
      await s.delete(`${path}/a?propagationPolicy=Bogus`);
      await s.delete(`${path}/a`, { propagationPolicy: "Orphan", orphanDependents: true });
      await s.delete(`${path}/a`, { dryRun: ["x"] });
      await s.delete(`${path}/a?dryRun=x`);
      await s.delete(`${path}/a`, { gracePeriodSeconds: -1 });
      await s.post(path, object, { quiet: true });
      await s.delete(`${path}/a?propagationPolicy=Background&gracePeriodSeconds=0`);
    }
  }),

  scenario("deletions of collections", async (s) => {
    for (const [path, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
    ] as const) {
      const labelled = (name: string, metadata: object = {}): object => ({
        ...make(name),
        metadata: { name, labels: { go: "yes" }, ...metadata },
      });
      await s.post(path, labelled("a"), { quiet: true });
      await s.post(path, labelled("b", { finalizers: [wait] }), { quiet: true });
      await s.post(path, make("c"), { quiet: true });
      await s.delete(`${path}?labelSelector=go%3Dyes&dryRun=All`);
      await s.delete(`${path}?labelSelector=go%3Dyes`);
      await s.get(path);
      await s.delete(`${path}?labelSelector=go%3Dyes`, {
        kind: "DeleteOptions",
        apiVersion: "v1",
        propagationPolicy: "Background",
      });
      await s.delete(`${path}?fieldSelector=metadata.name%3Dc`);
      await s.delete(`${path}?labelSelector=%21%21`);
      await s.delete(`${path}?labelSelector=none`);
      await s.delete(path, { propagationPolicy: "Bogus" });
      await s.patch(`${path}/b`, "merge", { metadata: { finalizers: null } }, { quiet: true });
      await s.delete(path);
      for (const name of ["d", "e", "f"]) await s.post(path, make(name), { quiet: true });
      await s.delete(`${path}?limit=2`);
      await s.delete(path, { preconditions: { uid: "x" } });
      await s.get(path, { part: (body) => body.items.map((item: Loose) => item.metadata.name) });
    }
  }),

  scenario("dry runs", async (s) => {
    for (const [path, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
    ] as const) {
      const { body } = await s.post(path, make("a"), { quiet: true });
      const watch = await s.watch(`${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
      await s.post(`${path}?dryRun=All`, make("b"));
      await s.post(`${path}?dryRun=All`, make("a"));
      await s.post(`${path}?dryRun=All`, { ...make("Not_Valid") });
      await s.put(`${path}/a?dryRun=All`, { ...body, metadata: { ...body.metadata, labels: { dry: "yes" } } });
      for (const type of ["merge", "json"] as const) {
        const patch =
          type === "merge"
            ? { metadata: { labels: { dry: "yes" } } }
            : [{ op: "add", path: "/metadata/labels", value: { dry: "yes" } }];
        await s.patch(`${path}/a?dryRun=All`, type, patch);
      }
      await s.patch(`${path}/a?dryRun=All&fieldManager=m&force=true`, "apply", {
        ...make("a"),
        metadata: { name: "a", labels: { dry: "yes" } },
      });
      await s.patch(`${path}/b?dryRun=All&fieldManager=m`, "apply", make("b"));
      await s.delete(`${path}/a?dryRun=All`);
      await s.delete(`${path}/a`, { dryRun: ["All"] });
      await s.delete(`${path}/a`, { dryRun: ["All"], propagationPolicy: "Foreground" });
      await s.get(`${path}/a`);
      await s.get(`${path}/b`);
      await s.post(path, make("last"), { quiet: true });
      await watch.next();
      watch.close();
      for (const query of ["dryRun=x", "dryRun=All&dryRun=x", "dryRun=all"]) {
        await s.post(`${path}?${query}`, make("c"));
        await s.put(`${path}/a?${query}`, body);
        await s.patch(`${path}/a?${query}`, "merge", {});
        await s.delete(`${path}/a?${query}`);
      }
    }
    await s.put(`${inGroup(s, "coordination.k8s.io/v1/leases", "new")}?dryRun=All`, { metadata: { name: "new" } });
    await s.get(inGroup(s, "coordination.k8s.io/v1/leases", "new"));
    await s.patch(`${widgets(s, "a")}/status?dryRun=All`, "merge", { status: { phase: "dry" } });
    await s.get(widgets(s, "a"));
  }),
];
