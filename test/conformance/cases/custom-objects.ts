// SPDX-License-Identifier: Apache-2.0
// Custom objects in odd shapes: resources inside them, and owners that remember a version that is gone.
import { type Case, scenario } from "../harness/case.ts";
import { ownCrd, ownGroup, ownWidget, ownWidgets, widget, widgets, withOwnWidgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

/** Metadata in all its wrong forms. */
const metadatas: readonly unknown[] = [
  "x",
  7,
  [],
  null,
  {},
  { name: 7 },
  { name: "A_b" },
  { generateName: "x" },
  { labels: { a: 1 } },
  { labels: "x" },
  { labels: null },
  { annotations: { "a b": "c" } },
  { finalizers: "x" },
  { finalizers: [1] },
  { ownerReferences: [{ name: 1 }] },
  { creationTimestamp: "x" },
  { creationTimestamp: null },
  { creationTimestamp: 7 },
  { deletionTimestamp: "2020-01-01T00:00:00Z" },
  { deletionGracePeriodSeconds: "x" },
  { deletionGracePeriodSeconds: 1.5 },
  { generation: "x" },
  { managedFields: [{}] },
  { managedFields: [{ fieldsV1: "x" }] },
  { managedFields: [{ time: "x" }] },
  { nope: 1, labels: { a: "b" }, ownerReferences: [{ nope: 2 }] },
];

const templates: readonly unknown[] = [
  { apiVersion: 7, kind: "X" },
  { apiVersion: "v1", kind: 7 },
  { apiVersion: null, kind: "X" },
  { apiVersion: "", kind: "" },
  { apiVersion: "a/b/c", kind: "1" },
  {},
  [],
  "x",
  null,
];

const embedded = (metadata: unknown): Loose => ({ template: { apiVersion: "v1", kind: "X", metadata } });
const orStatus =
  (part: string) =>
  (body: Loose): Loose =>
    body.kind === "Status" ? body : body[part];

export const customObjectCases: readonly Case[] = [
  scenario("metadata of objects and of objects inside them", async (s) => {
    const create = (object: Loose, title: string, part: string): Promise<unknown> =>
      s.post(`${widgets(s)}?dryRun=All`, object, { title, part: orStatus(part) });
    for (const metadata of metadatas) {
      const named = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
      const own = named ? { name: "a", ...metadata } : metadata;
      await create({ ...widget("a"), metadata: own }, `metadata ${JSON.stringify(metadata)}`, "metadata");
      await create(widget("a", embedded(metadata)), `embedded metadata ${JSON.stringify(metadata)}`, "spec");
    }
    for (const template of templates)
      await create(widget("a", { template }), `template ${JSON.stringify(template)}`, "spec");
    const odd = { ...embedded({ nope: 1 }), zzz: 1, nested: { q: 1 } };
    await s.post(`${widgets(s)}?dryRun=All&fieldValidation=Strict`, widget("a", odd));
    await s.post(
      `${widgets(s)}?fieldManager=m`,
      widget("e", embedded({ name: "x", labels: { a: "b" }, creationTimestamp: null })),
    );
    await s.patch(widgets(s, "e"), "merge", { spec: { template: { metadata: { name: 7 } } } });
    await s.patch(widgets(s, "e"), "merge", { spec: { template: { metadata: { nope: 7 } } } });
    for (const metadata of [{ nope: 7, name: "z" }, { name: 7 }, { name: "z" }]) {
      await s.patch(`${widgets(s, "e")}?fieldManager=q&force=true`, "apply", widget("e", embedded(metadata)));
    }
    await s.get(widgets(s, "e"));
  }),

  scenario("owners through a version that is gone", async (s) => {
    await withOwnWidgets(s);
    const apply = (name: string, version: string, manager: string, spec: Loose): Promise<unknown> =>
      s.patch(
        `${ownWidgets(s, name, version)}?fieldManager=${manager}&force=true`,
        "apply",
        { ...ownWidget(s, name, spec), apiVersion: `${ownGroup(s)}/${version}` },
        { title: `apply ${name} ${version} by ${manager} ${JSON.stringify(spec)}` },
      );
    for (const name of ["a", "b", "c", "d"]) {
      await apply(name, "v1", "A", { size: 1, tags: { a: "1" } });
      await apply(name, "v1beta1", "B", { size: 1, tags: { b: "1" } });
    }
    const { body } = await s.get(ownCrd(s), { quiet: true });
    body.spec.versions.splice(1, 1);
    await s.put(ownCrd(s), body, { part: ({ spec }) => spec?.versions?.length });
    await s.until(ownWidgets(s, "", "v1beta1"), ({ code }) => code === 404);
    await s.until(ownWidgets(s), ({ code }) => code === 200);
    await apply("a", "v1", "A", { size: 2, tags: { a: "1" } });
    await apply("a", "v1", "B", { size: 1, tags: { b: "1" } });
    await apply("a", "v1", "C", { color: "blue" });
    await s.get(ownWidgets(s, "a"));
    await s.patch(`${ownWidgets(s, "b")}?fieldManager=U`, "merge", {});
    await s.patch(`${ownWidgets(s, "b")}?fieldManager=U`, "merge", { metadata: { labels: { a: "b" } } });
    await apply("b", "v1", "A", { size: 3 });
    await s.patch(`${ownWidgets(s, "c")}/status?fieldManager=U`, "merge", { status: { phase: "x" } });
    await s.patch(`${ownWidgets(s, "d")}/scale?fieldManager=U`, "merge", { spec: { replicas: 1 } });
    await s.get(ownWidgets(s, "d"));
  }),
];
