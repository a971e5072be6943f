// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup, widget, widgets } from "../harness/fixtures.ts";

const modes = ["", "?fieldValidation=Warn", "?fieldValidation=Strict", "?fieldValidation=Ignore"];

/** An object as text, with a member twice. */
const twice = (object: object, from: string, to: string): string => JSON.stringify(object).replace(from, to);

export const fieldValidationCases: readonly Case[] = [
  scenario("unknown fields of custom objects", async (s) => {
    for (const mode of modes) {
      const name = `a${mode.slice(17).toLowerCase()}`;
      const unknown = {
        size: 1,
        nope: 2,
        parts: [
          { name: "p", nope: 3 },
          { name: "q", zzz: { deep: 1 } },
        ],
        nested: { nope: true },
        free: { kept: { deep: 1 } },
      };
      await s.post(`${widgets(s)}${mode}`, { ...widget(name, unknown), other: 1, metadata: { name, nope: "x" } });
      await s.post(`${widgets(s)}${mode}`, { ...widget(`${name}-status`), status: { nope: 1 } });
      const { body } = await s.post(widgets(s), widget(`${name}-put`), { quiet: true });
      await s.put(`${widgets(s, `${name}-put`)}${mode}`, { ...body, spec: { size: 2, nope: 1 } });
      await s.put(`${widgets(s, `${name}-put`)}/status${mode}`, {
        ...body,
        metadata: { ...body.metadata, resourceVersion: undefined },
        status: { nope: 1 },
      });
    }
    await s.post(
      `${widgets(s)}?fieldValidation=Strict`,
      widget("fine", { size: 1, free: { anything: { goes: true } } }),
    );
  }),

  scenario("unknown fields of built-in objects", async (s) => {
    for (const mode of modes) {
      const name = `a${mode.slice(17).toLowerCase()}`;
      await s.post(`${core(s, "configmaps")}${mode}`, {
        ...configMap(name),
        nope: 1,
        metadata: { name, nope: "x", labels: { any: "thing" } },
      });
      const broken = deployment(name);
      broken.spec.nope = 1;
      broken.spec.template.spec.containers[0].imagee = "typo";
      await s.post(`${inGroup(s, "apps/v1/deployments")}${mode}`, broken, {
        part: (body) => body.message ?? body.metadata.name,
      });
    }
    await s.post(core(s, "configmaps"), { ...configMap("case"), Data: { b: "2" }, METADATA: {} });
    await s.post(`${core(s, "configmaps")}?fieldValidation=Strict`, { ...configMap("case-strict"), Data: { b: "2" } });
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [
        `unknown-field-with-a-long-name-${String(n).padStart(3, "0")}-${"x".repeat(60)}`,
        n,
      ]),
    );
    await s.post(
      core(s, "configmaps"),
      { ...configMap("many"), ...many },
      { part: (body) => body.metadata?.name ?? body },
    );
    await s.post(`${core(s, "configmaps")}?fieldValidation=Strict`, { ...configMap("many-strict"), ...many });
    await s.post(
      core(s, "configmaps"),
      { ...configMap("quotes"), 'a"b\\c': 1 },
      { part: (body) => body.metadata?.name ?? body },
    );
    await s.post(
      core(s, "configmaps"),
      { ...configMap("letters"), "ümläut\n": 1 },
      { part: (body) => body.metadata?.name ?? body },
    );
  }),

  scenario("fields given twice", async (s) => {
    for (const mode of modes) {
      const name = `a${mode.slice(17).toLowerCase()}`;
      await s.post(
        `${widgets(s)}${mode}`,
        twice(widget(name, { size: 1, color: "red" }), '"size":1', '"size":1,"size":2'),
        { title: `POST Widget with size twice ${mode}` },
      );
      await s.post(`${core(s, "configmaps")}${mode}`, twice(configMap(name), '"a":"1"', '"a":"1","a":"2","a":"3"'), {
        title: `POST ConfigMap with a thrice ${mode}`,
      });
      await s.post(
        `${core(s, "configmaps")}${mode}`,
        twice({ ...configMap(`${name}-both`), nope: 1 }, '"a":"1"', '"a":"1","a":"2"'),
        { title: `POST ConfigMap with both ${mode}` },
      );
      await s.post(
        `${widgets(s)}${mode}`,
        twice(widget(`${name}-both`, { size: 1, nope: 1 }), '"size":1', '"size":1,"size":2'),
        { title: `POST Widget with both ${mode}` },
      );
      await s.post(
        `${widgets(s)}${mode}`,
        twice(widget(`${name}-meta`, {}, { labels: { l: "1" } }), '"l":"1"', '"l":"1","l":"2"'),
        { title: `POST Widget with a label twice ${mode}` },
      );
      const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}-yaml}\ndata:\n  a: "1"\n  a: "2"\n`;
      await s.post(`${core(s, "configmaps")}${mode}`, yaml, {
        headers: { "content-type": "application/yaml" },
        title: `POST YAML ${mode}`,
      });
    }
  }),

  scenario("unknown fields in patches", async (s) => {
    await s.post(widgets(s), widget("a"), { quiet: true });
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.post(inGroup(s, "apps/v1/deployments"), deployment("a"), { quiet: true });
    for (const mode of modes) {
      await s.patch(`${widgets(s, "a")}${mode}`, "merge", { spec: { nope: 1 } });
      await s.patch(`${widgets(s, "a")}${mode}`, "json", [{ op: "add", path: "/spec/nope", value: 1 }]);
      await s.patch(`${widgets(s, "a")}/status${mode}`, "merge", { status: { nope: 1 } });
      await s.patch(`${core(s, "configmaps", "a")}${mode}`, "merge", { nope: 1 });
      await s.patch(`${core(s, "configmaps", "a")}${mode}`, "json", [{ op: "add", path: "/nope", value: 1 }]);
      await s.patch(`${core(s, "configmaps", "a")}${mode}`, "strategic", { nope: 1 });
      await s.patch(
        `${inGroup(s, "apps/v1/deployments", "a")}${mode}`,
        "strategic",
        { spec: { nope: 1, template: { spec: { containers: [{ name: "main", imagee: "x" }] } } } },
        { part: (body) => body.message ?? body.metadata.name },
      );
      const and = mode === "" ? "?fieldManager=m" : `${mode}&fieldManager=m`;
      await s.patch(`${widgets(s, "a")}${and}`, "apply", widget("a", { nested: { nope: 2 } }));
      await s.patch(`${core(s, "configmaps", "a")}${and}`, "apply", { ...configMap("a"), nope: 1 });
      await s.patch(
        `${core(s, "configmaps", "a")}${and}`,
        "apply",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: '1'\n  a: '2'\n",
      );
      await s.patch(`${widgets(s, "a")}${mode}`, "merge", '{"spec":{"size":1,"size":2}}');
      await s.patch(`${core(s, "configmaps", "a")}${mode}`, "merge", '{"data":{"x":"1","x":"2"}}');
      await s.patch(`${core(s, "configmaps", "a")}${mode}`, "strategic", '{"data":{"y":"1","y":"2"}}');
    }
  }),
];
