// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import {
  configMap,
  core,
  ownCrd,
  ownGroup,
  ownWidget,
  ownWidgets,
  widget,
  widgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { changeSpec, withSpec } from "../harness/spec-crd.ts";

const text = { type: "string" };

/** A widget whose spec is written just so. */
const inForm = (name: string, spec: string): string =>
  `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"${name}"},"spec":${spec}}`;

export const objectRulesCases: readonly Case[] = [
  scenario("defaults", async (s) => {
    await s.post(widgets(s), widget("none", {}));
    await s.post(widgets(s), widget("nested", { nested: {}, parts: [{ name: "a" }], ports: [{ port: 1 }] }));
    await s.post(
      widgets(s),
      widget("nulls", { color: null, nothing: null, size: null, nested: { a: null, b: null }, args: null, free: null }),
    );
    await s.post(widgets(s), { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "empty" } });
    await s.post(widgets(s), {
      apiVersion: "example.org/v1",
      kind: "Widget",
      metadata: { name: "null-spec" },
      spec: null,
    });
    await s.patch(widgets(s, "none"), "merge", { spec: { color: null, nested: {} } });
    await s.patch(widgets(s, "none"), "json", [{ op: "replace", path: "/spec/color", value: null }]);
    await s.put(
      widgets(s, "none"),
      widget(
        "none",
        { nothing: null },
        { resourceVersion: (await s.get(widgets(s, "none"), { quiet: true })).body.metadata.resourceVersion },
      ),
    );
  }),

  scenario("defaults that came later", async (s) => {
    await withSpec(s, {
      type: "object",
      properties: { old: text, parent: { type: "object", properties: { a: text } } },
    });
    await s.post(ownWidgets(s), ownWidget(s, "a", { old: "x" }), { quiet: true });
    await s.post(ownWidgets(s), ownWidget(s, "b", { parent: {} }), { quiet: true });
    const before = await s.get(ownWidgets(s, "a"), { quiet: true });
    await changeSpec(s, ({ properties }) => {
      properties.fresh = { ...text, default: "new" };
      properties.parent.properties.child = {
        type: "object",
        default: { deep: "x" },
        properties: { deep: text, deeper: { type: "integer", default: 5 } },
      };
    });
    const now = await s.get(ownWidgets(s, "a"));
    s.note("reading is not writing", now.body.metadata.resourceVersion === before.body.metadata.resourceVersion);
    await s.get(ownWidgets(s, "b"));
    await s.get(ownWidgets(s));
    const watch = await s.watch(`${ownWidgets(s)}?watch=true&fieldSelector=metadata.name%3Da&resourceVersion=0`);
    await watch.next();
    await s.patch(ownWidgets(s, "a"), "merge", { metadata: { labels: { a: "b" } } });
    await s.patch(`${ownWidgets(s, "b")}?fieldManager=m`, "apply", ownWidget(s, "b", {}));
  }),

  scenario("what a schema leaves alone", async (s) => {
    const free = { any: { deep: [1, "a", null, { b: true }] }, apiVersion: "x", metadata: { odd: 1 } };
    const template = {
      apiVersion: "v1",
      kind: "Thing",
      metadata: { name: "x", labels: { a: "b" }, nope: "dropped", creationTimestamp: null },
      spec: { any: 1 },
      other: [1],
    };
    await s.post(widgets(s), widget("a", { free, template, port: 80 }));
    await s.post(widgets(s), widget("b", { port: "80" }));
    await s.patch(widgets(s, "b"), "merge", { spec: { port: 81, free: { added: { x: null, y: 1 } } } });
    await s.get(widgets(s, "a"));
    await s.post(widgets(s), widget("c", { template: { apiVersion: "v1", kind: "Thing", metadata: "x" } }));
    await s.post(widgets(s), widget("d", { template: { apiVersion: "v1", kind: "Thing", metadata: null } }));
  }),

  scenario("numbers beyond doubles", async (s) => {
    const big = [9007199254740993n, -9223372036854775808n, 9223372036854775807n];
    for (const [n, value] of big.entries()) {
      await s.post(widgets(s), widget(`n-${n}`, { big: value, free: { deep: [value] } }));
      await s.get(widgets(s, `n-${n}`));
    }
    const { body } = await s.get(widgets(s, "n-0"), { quiet: true });
    const watch = await s.watch(
      `${widgets(s)}?watch=true&resourceVersion=${body.metadata.resourceVersion}&fieldSelector=metadata.name%3Dn-0`,
    );
    await s.put(widgets(s, "n-0"), { ...body, spec: { ...body.spec, size: 5 } });
    await s.patch(widgets(s, "n-0"), "merge", { spec: { big: 9007199254740995n } });
    await s.patch(widgets(s, "n-0"), "json", [
      { op: "test", path: "/spec/big", value: 9007199254740995n },
      { op: "replace", path: "/spec/big", value: -9007199254740993n },
    ]);
    await s.patch(`${widgets(s, "n-0")}?fieldManager=m&force=true`, "apply", widget("n-0", { big: 9007199254740997n }));
    await s.patch(`${widgets(s, "n-0")}?fieldManager=m&force=true`, "apply", widget("n-0", { big: 9007199254740997n }));
    for (let n = 0; n < 4; n += 1) await watch.next();
    await s.get(widgets(s));
    const free = '{"a":1.0,"b":1e3,"c":1.50,"d":-0.0,"e":1E-7,"f":123456789012345680000,"g":0.1,"h":1e21,"i":-1e-9}';
    await s.post(widgets(s), inForm("forms", `{"ratio":1e3,"big":1e3,"free":${free}}`));
    const { text: raw } = await s.get(widgets(s, "forms"), { quiet: true });
    s.note("forms of numbers", /"spec":(\{.*\})\}/.exec(raw)?.[1]);
  }),

  scenario("an integer written as a fraction", async (s) => {
    await s.post(`${widgets(s)}?dryRun=All`, inForm("even", '{"big":1.0}'), { part: ({ spec }) => spec });
    await s.post(`${widgets(s)}?dryRun=All`, inForm("odd", '{"size":1.0}'), {
      title: "POST a field that a rule reads",
    });
  }),

  scenario("owners and annotations", async (s) => {
    const owner = (name: string, more: object = {}): Loose => ({
      apiVersion: "example.org/v1",
      kind: "Widget",
      name,
      uid: "01234567-89ab-cdef-0123-456789abcdef",
      ...more,
    });
    for (const [path, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
    ] as const) {
      const owned = (name: string, ownerReferences: readonly Loose[]): Promise<unknown> =>
        s.post(
          `${path}?dryRun=All`,
          { ...make(name), metadata: { name, ownerReferences } },
          { title: `POST ${path} ${JSON.stringify(ownerReferences)}` },
        );
      await owned("two", [owner("a", { controller: true }), owner("b", { controller: true })]);
      await owned("twice", [owner("a"), owner("a")]);
      await owned("thrice", [owner("a"), owner("b"), owner("a"), owner("a")]);
      await owned("nearly", [owner("a"), owner("a", { controller: true })]);
      await owned("empty", [{}]);
      await owned("event", [{ ...owner("e"), apiVersion: "v1", kind: "Event" }]);
      await owned("bad", [{ ...owner("e"), apiVersion: "a/b/c" }]);
      await s.post(path, { ...make("big"), metadata: { name: "big", annotations: { a: "x".repeat(262_145) } } });
      await s.post(
        path,
        { ...make("fits"), metadata: { name: "fits", annotations: { a: "x".repeat(262_143) } } },
        { part: (body) => body.message ?? body.metadata.name },
      );
      for (const metadata of [
        { annotations: { "not valid!": "x" } },
        { annotations: { "UPPER/a": "x" } },
        { labels: { a: "not valid!" } },
        { labels: { "a/b/c": "x" } },
        { labels: { a: "x".repeat(64) } },
        { finalizers: ["orphan", "foregroundDeletion"] },
        { finalizers: ["not valid!"] },
        { finalizers: ["nodomain"] },
        { managedFields: [{ operation: "Nope" }] },
      ]) {
        await s.post(
          `${path}?dryRun=All`,
          { ...make("m"), metadata: { name: "m", ...metadata } },
          { title: `POST ${path} ${JSON.stringify(metadata)}` },
        );
      }
    }
  }),

  scenario("finalizers without a domain", async (s) => {
    for (const finalizers of [
      ["foo"],
      ["foo", "bar.org"],
      ["example.org/f"],
      ["kubernetes"],
      ["orphan"],
      ["foo", "foo"],
    ]) {
      await s.post(`${widgets(s)}?dryRun=All`, widget("a", {}, { finalizers }), {
        title: `POST Widget ${JSON.stringify(finalizers)}`,
      });
      await s.post(
        `${core(s, "configmaps")}?dryRun=All`,
        { metadata: { name: "a", finalizers } },
        { title: `POST ConfigMap ${JSON.stringify(finalizers)}` },
      );
    }
    await s.post(widgets(s), widget("b"), { quiet: true });
    await s.patch(widgets(s, "b"), "merge", { metadata: { finalizers: ["foo"] } });
    await s.patch(widgets(s, "b"), "merge", { metadata: { labels: { a: "b" } } });
    await s.patch(`${widgets(s, "b")}/status`, "merge", { status: { phase: "x" } });
  }),

  scenario("warnings of deprecated versions", async (s) => {
    await withOwnWidgets(s, (crd) => {
      crd.spec.versions[1].deprecated = true;
    });
    await s.get(ownWidgets(s, "", "v1beta1"), { compareHeaders: ["warning"] });
    await s.get(ownWidgets(s));
    await s.post(ownWidgets(s, "", "v1beta1"), { ...ownWidget(s, "a"), apiVersion: `${ownGroup(s)}/v1beta1` });
    await s.get(ownWidgets(s, "a", "v1beta1"));
    const { body } = await s.get(ownCrd(s), { quiet: true });
    body.spec.versions[1].deprecationWarning = "use something else";
    await s.put(ownCrd(s), body, { quiet: true });
    await s.until(
      ownWidgets(s, "", "v1beta1"),
      ({ code, headers }) => code === 200 && String(headers["warning"]).includes("something"),
    );
    await s.get(ownWidgets(s, "", "v1beta1"));
  }),
];
