// SPDX-License-Identifier: Apache-2.0
// What the compiler says of generated types: of many shapes of schemas, of all CRDs of the tree, and of right and wrong uses.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { finish } from "@purlin/base";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { compositionCrds, keptCrds } from "@purlin/composition";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { servedVersions } from "@purlin/kube-objects/openapi";
import { packageCrds } from "@purlin/package-manager";
import fc from "fast-check";
import { parseYaml } from "../files/yaml-file.ts";
import { type CustomKind, customModule } from "./custom-module.ts";
import { generateTypes } from "./generate-types.ts";

const compiler = fileURLToPath(new URL("../../../../node_modules/typescript/bin/tsc", import.meta.url));

const options = {
  target: "es2024",
  module: "nodenext",
  types: [],
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  // Declarations are what is tested.
  skipLibCheck: false,
};

/** Type-checks everything in a folder with the strictest options. Returns what the compiler says, nothing where all is well. */
function compileTypes(folder: TempFolder): string {
  folder.write("tsconfig.json", JSON.stringify({ compilerOptions: options, include: ["**/*.ts"] }));
  folder.write("package.json", JSON.stringify({ type: "module" }));
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", join(folder.path, "tsconfig.json")], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout + stderr;
}

const root = fileURLToPath(new URL("../../../..", import.meta.url));

async function writeAll(folder: TempFolder, kinds: readonly CustomKind[]): Promise<void> {
  for (const { path, text } of await generateTypes(kinds)) folder.write(join("types", path), text);
}

/** A schema and a value that it accepts. */
interface Sample {
  readonly schema: JsonObject;
  readonly value: JsonValue;
}

/** Names and texts that a careless generator would put into its output as they are. */
const nasty = [
  "*/",
  "a-b",
  "class",
  "1",
  "",
  "__proto__",
  "constructor",
  "${".concat("x}"),
  "`",
  '"',
  "\\",
  "\n",
  "\u2028",
  "é",
  "meta",
  "*\\/",
];
const anyText = fc.oneof(fc.constantFrom(...nasty), fc.string({ maxLength: 8 }));

const { sample } = fc.letrec<{ sample: Sample; leaf: Sample; list: Sample; map: Sample; object: Sample }>((tie) => ({
  sample: fc
    .record({
      inner: fc.oneof({ maxDepth: 3, depthSize: "small" }, tie("leaf"), tie("list"), tie("map"), tie("object")),
      description: fc.option(anyText),
      nullable: fc.boolean(),
    })
    .map(({ inner: { schema, value }, description, nullable }) => ({
      schema: { ...schema, ...(description !== null && { description }), ...(nullable && { nullable }) },
      value,
    })),
  leaf: fc.oneof(
    anyText.map((value) => ({ schema: { type: "string", default: value }, value })),
    fc
      .uniqueArray(anyText, { minLength: 1, maxLength: 4 })
      .map((values) => ({ schema: { type: "string", enum: values }, value: values[0] ?? "" })),
    fc.integer().map((value) => ({ schema: { type: "integer" }, value })),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((value) => ({ schema: { type: "number", enum: [value] }, value })),
    fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
    fc.constantFrom<JsonValue>(1, "a").map((value) => ({ schema: { "x-kubernetes-int-or-string": true }, value })),
    fc.constant({ schema: { "x-kubernetes-preserve-unknown-fields": true }, value: { any: [1, null] } }),
  ),
  list: tie("sample").map(({ schema, value }) => ({ schema: { type: "array", items: schema }, value: [value, value] })),
  map: fc.tuple(anyText, tie("sample")).map(([key, { schema, value }]) => ({
    schema: { type: "object", additionalProperties: schema },
    // Names that every object has, such as constructor, have another type to the compiler.
    value: Object.fromEntries([[`k${key}`, value]]),
  })),
  object: fc
    .record({
      members: fc.uniqueArray(fc.tuple(anyText, tie("sample"), fc.boolean()), {
        minLength: 1,
        maxLength: 4,
        selector: ([name]) => name,
      }),
      isOpen: fc.boolean(),
    })
    .map(({ members, isOpen }) => ({
      schema: {
        type: "object",
        properties: Object.fromEntries(members.map(([name, { schema }]) => [name, schema])),
        required: members.filter(([, , isRequired]) => isRequired).map(([name]) => name),
        ...(isOpen && { "x-kubernetes-preserve-unknown-fields": true }),
      },
      value: Object.fromEntries(members.map(([name, { value }]) => [name, value])),
    })),
}));

test("types of any schema compile, and accept the values that the schema accepts", async () => {
  using folder = tempFolder();
  // One run of the compiler for all of them.
  const samples = fc.sample(sample, 150);
  const kinds = samples.map(({ schema }, index) => ({
    ...{ group: "e.org", version: "v1", kind: `K${index}` },
    schema: { type: "object", properties: { spec: schema } },
  }));
  await writeAll(folder, kinds);
  const lines = samples.flatMap(({ value }, index) => {
    const object = { apiVersion: "e.org/v1", kind: `K${index}`, metadata: { name: "a" }, spec: value };
    const literal = JSON.stringify(object);
    // In an object literal that key sets the prototype, and its value has no type.
    if (literal.includes('"__proto__"')) return [];
    return [
      `export const w${index}: api.K${index} = ${literal};`,
      `export const o${index}: api.ObservedK${index} = ${literal};`,
    ];
  });
  folder.write("use.ts", `import type * as api from "./types/e.org/v1.d.ts";\n${lines.join("\n")}\n`);
  assert.equal(compileTypes(folder), "");
});

/** All CRDs of the tree: ours, those of examples, and recorded ones of other programs. */
function treeCrds(): unknown[] {
  const files = globSync(
    ["examples/*/crds/*.yaml", "test/interop/**/crds/*.yaml", "packages/*/src/**/testdata/*crd.json"],
    { cwd: root },
  );
  assert.ok(files.length >= 6, files.join());
  const written = files.flatMap((file) =>
    parseYaml(readFileSync(join(root, file), "utf8"), file).map(({ value }) => value),
  );
  const recorded = written.map((value) => (isJsonObject(value) && isJsonObject(value["crd"]) ? value["crd"] : value));
  return [...compositionCrds(), ...keptCrds(), ...packageCrds({ functionRevisionSelectors: true }), ...recorded];
}

test("types of all CRDs of the tree compile", async () => {
  using folder = tempFolder();
  const kinds = treeCrds().flatMap((crd) => servedVersions(crd));
  const distinct = new Map(kinds.map((kind) => [`${kind.group}/${kind.version} ${kind.kind}`, kind]));
  assert.ok(distinct.size > 25, String(distinct.size));
  await writeAll(folder, [...distinct.values()]);
  assert.equal(compileTypes(folder), "");
});

const widget: CustomKind = {
  ...{ group: "e.org", version: "v1", kind: "Widget" },
  schema: {
    type: "object",
    required: ["spec"],
    properties: {
      spec: {
        type: "object",
        required: ["owner"],
        properties: {
          owner: { type: "string" },
          size: { type: "string", enum: ["small", "large"], default: "small" },
          port: { "x-kubernetes-int-or-string": true },
          labels: { type: "object", additionalProperties: { type: "string" } },
          values: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          note: { type: "string", nullable: true },
          items: { type: "array", items: { type: "object", properties: { weight: { type: "integer", default: 1 } } } },
        },
      },
    },
  },
};

const uses = `import type * as apps from "./types/apps/v1.d.ts";
import type * as api from "./types/e.org/v1.d.ts";
import type * as core from "./types/v1.d.ts";

declare const json: { [key: string]: null | boolean | number | string | object };
export const observed = json as api.ObservedWidget;
export const name: string = observed.metadata.name;
export const size: "small" | "large" = observed.spec.size;
export const weight: number | undefined = observed.spec.items?.[0]?.weight;

export const least: api.Widget = { apiVersion: "e.org/v1", kind: "Widget", spec: { owner: "a" } };
export const most: api.WidgetSpec = {
  owner: "a",
  size: "large",
  port: "http",
  labels: { a: "b" },
  values: { anything: [1, { goes: true }] },
  note: null,
  items: [{ weight: 2 }, {}],
};
// @ts-expect-error: a required field is missing
export const noOwner: api.WidgetSpec = {};
// @ts-expect-error: not one of the values
export const wrongSize: api.WidgetSpec = { owner: "a", size: "medium" };
// @ts-expect-error: no such field
export const unknownField: api.WidgetSpec = { owner: "a", sise: "small" };
// @ts-expect-error: neither a number nor a string
export const wrongPort: api.WidgetSpec = { owner: "a", port: true };
// @ts-expect-error: the values of labels are strings
export const wrongLabels: api.WidgetSpec = { owner: "a", labels: { a: 1 } };
// @ts-expect-error: only note may be null
export const wrongNull: api.WidgetSpec = { owner: null };
// @ts-expect-error: another kind
export const wrongKind: api.Widget = { apiVersion: "e.org/v1", kind: "Gadget", spec: { owner: "a" } };
// @ts-expect-error: the API server always sets the name of what it returns
export const nameless: api.ObservedWidget = { apiVersion: "e.org/v1", kind: "Widget", metadata: {}, spec: { owner: "a", size: "small" } };
// @ts-expect-error: the API server always fills in the default
export const sizeless: api.ObservedWidget = { apiVersion: "e.org/v1", kind: "Widget", metadata: { name: "a" }, spec: { owner: "a" } };

export const config: core.ConfigMap = { apiVersion: "v1", kind: "ConfigMap", data: { a: "b" } };
// @ts-expect-error: data has strings only
export const wrongData: core.ConfigMap = { apiVersion: "v1", kind: "ConfigMap", data: { a: 1 } };
export const service: core.Service = {
  apiVersion: "v1",
  kind: "Service",
  spec: { ports: [{ port: 80, targetPort: "http" }, { port: 81, targetPort: 8081, protocol: "UDP" }] },
};
export const deployment: apps.Deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  spec: {
    selector: { matchLabels: { app: "a" } },
    template: { spec: { containers: [{ name: "a", image: "a", resources: { limits: { cpu: 1, memory: "1Gi" } } }] } },
  },
};
// @ts-expect-error: a container needs a name
export const noName: core.PodSpec = { containers: [{ image: "a" }] };
// @ts-expect-error: not one of the policies
export const policy: core.PodSpec = { containers: [], restartPolicy: "Sometimes" };
`;

test("right uses of types compile, and wrong ones do not", async () => {
  using folder = tempFolder({ "use.ts": uses });
  await writeAll(folder, [widget]);
  assert.equal(compileTypes(folder), "");
});

test("kinds keep their names, and what is derived from them gives way", async () => {
  using folder = tempFolder();
  const schema: JsonObject = {
    type: "object",
    properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
  };
  const names = ["App", "AppSpec", "ObservedApp", "meta", "string", "Type-With-Dash", "Record", "Array"];
  const kinds = names.map((kind) => ({ group: "e.org", version: "v1", kind, schema }));
  await writeAll(folder, kinds);
  assert.equal(compileTypes(folder), "");
  const text = finish(customModule("e.org/v1", kinds));
  for (const name of [
    "App",
    "AppSpec",
    "AppSpec_",
    "ObservedApp",
    "ObservedApp_",
    "meta_",
    "string_",
    "Type_With_Dash",
  ]) {
    assert.match(text, new RegExp(`^export type ${name} = `, "m"));
  }
  assert.equal(text, finish(customModule("e.org/v1", kinds.toReversed())), "the order of kinds does not matter");
});
