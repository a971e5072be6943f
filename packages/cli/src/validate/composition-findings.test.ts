// SPDX-License-Identifier: Apache-2.0
// Findings about Compositions over what a test says is known; with a server they are in validate-command.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Manifest } from "../manifests/manifest.ts";
import { compositionFindings } from "./composition-findings.ts";
import type { ScratchServer } from "./kind-schemas.ts";
import type { KnownPackage } from "./packages.ts";

const manifest = (object: JsonObject): Manifest => ({
  object: object as KubeObject,
  file: "f.yaml",
  at: () => "f.yaml:1:1",
});
const composition = (
  pipeline: readonly JsonObject[],
  type: JsonObject = { apiVersion: "acme.org/v1", kind: "App" },
): Manifest =>
  manifest({
    ...{ apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", metadata: { name: "apps" } },
    spec: { compositeTypeRef: type, pipeline: [...pipeline] },
  });
const definition = (kind: string, ...versions: JsonObject[]): Manifest =>
  manifest({
    ...{ apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition", metadata: { name: "x" } },
    spec: { group: "acme.org", names: { kind }, versions },
  });
const app = definition(
  "App",
  { name: "v1", referenceable: true },
  { name: "v1beta1", referenceable: false },
  { name: "v2", referenceable: true },
);
const fn = (name: string): Manifest =>
  manifest({ apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name } });
const step = (name: string, functionName: string, input?: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...{ step: name, functionRef: { name: functionName } },
  ...(input && { input }),
  ...more,
});
const auto = step("ready", "function-auto-ready");

interface Known {
  readonly packages?: readonly KnownPackage[];
  /** Kinds that have a schema, as `apiVersion Kind`. */
  readonly kinds?: readonly string[];
}

async function found(manifests: readonly Manifest[], { packages = [], kinds = [] }: Known = {}): Promise<string[]> {
  const of = ({ apiVersion, kind }: KubeObject): object | undefined =>
    kinds.includes(`${apiVersion} ${kind}`) ? {} : undefined;
  const scratch = { schemas: { of } } as unknown as ScratchServer;
  const findings = await compositionFindings({ manifests, packages, scratch });
  return findings.map(({ code, level, path, text }) => `${code} ${level} ${path.join(".")}: ${text}`);
}

test("the type of a Composition: its kind, its version, and whether that may be referred to", async () => {
  const typed = (apiVersion: string, kind: string): Promise<string[]> =>
    found([composition([auto], { apiVersion, kind }), app, fn("function-auto-ready")]);
  const at = "spec.compositeTypeRef";
  assert.deepEqual(await typed("acme.org/v1", "App"), []);
  assert.deepEqual(await typed("acme.org/v3", "App"), [
    `V06 error ${at}.apiVersion: ${at}.apiVersion: App has no version v3: it has v1, v1beta1, v2`,
  ]);
  assert.deepEqual(await typed("acme.org/v1beta1", "App"), [
    `V06 error ${at}.apiVersion: ${at}.apiVersion: version v1beta1 of App is not referenceable: use v1 or v2`,
  ]);
  assert.deepEqual(await typed("acme.org/v1", "Ap"), [
    `V06 error ${at}.kind: ${at}.kind: no definition of Ap in acme.org: did you mean App?`,
  ]);
  assert.deepEqual(await typed("acme.org/v1", "Database"), [
    `V06 warning ${at}.kind: ${at}.kind: no definition of Database in acme.org among the objects`,
  ]);
  assert.deepEqual(await typed("other.org/v1", "App"), [
    `V06 warning ${at}.kind: ${at}.kind: no definition of App in other.org among the objects`,
  ]);
  assert.deepEqual(
    await found([composition([auto], {}), fn("function-auto-ready")]),
    [],
    "the schema reports a missing type",
  );
});

test("definitions in packages count", async () => {
  const configuration: KnownPackage = { name: "c", kind: "Configuration", manifests: [app], capabilities: [] };
  assert.deepEqual(await found([composition([auto]), fn("function-auto-ready")], { packages: [configuration] }), []);
});

const at0 = "spec.pipeline.0";

test("functions are among the objects or the packages; without any Function that is a warning", async () => {
  const steps = composition([step("a", "function-a")]);
  assert.deepEqual(await found([steps, app, fn("function-a")]), []);
  assert.deepEqual(await found([steps, app]), [
    `V08 warning ${at0}.functionRef.name: step "a": no Function function-a among the objects`,
  ]);
  assert.deepEqual(await found([steps, app, fn("function-b")]), [
    `V08 error ${at0}.functionRef.name: step "a": no Function function-a among the objects: did you mean function-b?`,
  ]);
  const packaged = (capabilities: readonly string[]): Known => ({
    packages: [{ name: "function-a", kind: "Function", manifests: [], capabilities }],
  });
  assert.deepEqual(await found([steps, app], packaged([])), []);
  assert.deepEqual(await found([steps, app], packaged(["operation", "Composition"])), []);
  assert.deepEqual(await found([steps, app, fn("function-a")], packaged(["operation"])), [
    `V08 error ${at0}.functionRef.name: step "a": function-a cannot compose: the capabilities of its package are operation`,
  ]);
});

test("a step without a name is an error", async () => {
  const steps = composition([{ functionRef: { name: "function-a" } }]);
  assert.deepEqual(await found([steps, app, fn("function-a")]), [
    `V06 error ${at0}.step: spec.pipeline[0].step: the step has no name: add one`,
  ]);
});

test("required resources and schemas of unknown kinds are warnings", async () => {
  const requirements = {
    requiredResources: [{ apiVersion: "v1", kind: "Pod" }, { apiVersion: "acme.org/v1", kind: "Net" }, "wrong"],
    requiredSchemas: [{ apiVersion: "acme.org/v1", kind: "Net" }, { kind: "Half" }],
  };
  const steps = composition([step("a", "function-a", undefined, { requirements })]);
  const text = 'step "a" requires acme.org/v1 Net, which no definition among the objects offers';
  assert.deepEqual(await found([steps, app, fn("function-a")], { kinds: ["v1 Pod"] }), [
    `V09 warning ${at0}.requirements.requiredResources.1.kind: ${text}`,
    `V09 warning ${at0}.requirements.requiredSchemas.0.kind: ${text}`,
  ]);
});

test("the input of a step: another kind than its function takes, or one without a schema, named once", async () => {
  const input = { apiVersion: "a.org/v1", kind: "Input" };
  const steps = composition([step("a", "function-a", input), step("b", "function-a", input)]);
  const missing = "no schema for the input of function-a: add its package (.xpkg) to the paths";
  assert.deepEqual(await found([steps, app, fn("function-a")]), [
    `V07 warning ${at0}.input.kind: step "a": ${missing}`,
  ]);
  const crd = manifest({
    ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "others.a.org" } },
    spec: { group: "a.org", names: { kind: "Other" }, versions: [{ name: "v1", served: true, schema: {} }] },
  });
  const packages: readonly KnownPackage[] = [
    { name: "function-a", kind: "Function", manifests: [crd], capabilities: [] },
  ];
  assert.deepEqual(await found([composition([step("a", "function-a", input)]), app], { packages }), [
    `V07 error ${at0}.input.kind: step "a": function-a takes a.org/v1 Other, not a.org/v1 Input`,
  ]);
});

const template = (text: string, more: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: "gotemplating.fn.crossplane.io/v1beta1", kind: "GoTemplate", inline: { template: text } },
  ...more,
});
const go = "function-go-templating";
const known: Known = { kinds: [] };
const textsOf = async (...pipeline: readonly JsonObject[]): Promise<string[]> => {
  const names = new Set(pipeline.map((one) => String((one["functionRef"] as JsonObject)["name"])));
  const lines = await found([composition(pipeline), app, ...[...names].map(fn)], known);
  return lines.filter((line) => !line.startsWith("V07"));
};

test("inline templates are parsed, with their own delimiters", async () => {
  assert.deepEqual(await textsOf(step("t", go, template("{{ .a }}")), auto), []);
  const [line, ...others] = await textsOf(step("t", go, template("a: 1\nb: {{ if }}")), auto);
  assert.deepEqual(others, []);
  assert.match(
    line ?? "",
    /^V11 error spec\.pipeline\.0\.input\.inline\.template: step "t": line 2 of the template: ./,
  );
  assert.deepEqual(
    await textsOf(step("t", go, template("{{ if }}", { delims: { left: "[[", right: "]]" } })), auto),
    [],
  );
  assert.equal(
    (await textsOf(step("t", go, template("[[ if ]]", { delims: { left: "[[", right: "]]" } })), auto)).length,
    1,
  );
});

test("expressions of function-cel-filter are parsed", async () => {
  const filters = [{ expression: "a == 1" }, { expression: "a ==" }, { name: "none" }];
  const input = { apiVersion: "cel.fn.crossplane.io/v1beta1", kind: "Filters", filters };
  const lines = await textsOf(step("f", "function-cel-filter", input), auto);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /^V11 error spec\.pipeline\.0\.input\.filters\.1\.expression: step "f": [^\n]+$/);
});

test("one name for resources of two kinds is an error, of one kind is not", async () => {
  const patching = (kind: string): JsonObject => ({
    ...{ apiVersion: "pt.fn.crossplane.io/v1beta1", kind: "Resources" },
    resources: [{ name: "web", base: { apiVersion: "v1", kind } }, { name: "bare" }],
  });
  const pt = "function-patch-and-transform";
  assert.deepEqual(await textsOf(step("a", pt, patching("Pod")), step("b", pt, patching("Pod"))), []);
  assert.deepEqual(await textsOf(step("a", pt, patching("Pod")), step("b", pt, patching("Service"))), [
    'V12 error spec.pipeline.1.input.resources.0.base.kind: resource "web" is v1 Service in step "b" and v1 Pod in step "a": give them different names',
  ]);
});

test("resources that are added after a step that drops resources", async () => {
  const pt = "function-patch-and-transform";
  const patching = (...names: readonly string[]): JsonObject => ({
    ...{ apiVersion: "pt.fn.crossplane.io/v1beta1", kind: "Resources" },
    resources: names.map((name) => ({ name, base: { apiVersion: "v1", kind: "Pod" } })),
  });
  const filter = (...names: readonly string[]): JsonObject =>
    step("filter", "function-cel-filter", {
      ...{ apiVersion: "cel.fn.crossplane.io/v1beta1", kind: "Filters" },
      filters: names.map((name) => ({ name, expression: "true" })),
    });
  const order = (...sequence: readonly string[]): JsonObject =>
    step("order", "crossplane-contrib-function-sequencer", {
      ...{ apiVersion: "sequencer.fn.crossplane.io/v1beta1", kind: "Input" },
      rules: [{ sequence }],
    });
  const late = (name: string, dropper: string, index = 0): string =>
    `V12 warning spec.pipeline.1.input.resources.${index}.name: step "p" adds resource "${name}" after step "${dropper}", which decides whether it is dropped: move step "${dropper}" after it`;
  const rows: readonly [readonly JsonObject[], readonly string[]][] = [
    [[step("p", pt, patching("web")), filter("web"), auto], []],
    [[filter("web"), step("p", pt, patching("db", "web"))], [late("web", "filter", 1)]],
    [[filter("we"), step("p", pt, patching("web"))], []],
    [[filter("w.*", "(", "(a+)+$"), step("p", pt, patching("web"))], [late("web", "filter")]],
    [[order("db", "web"), step("p", pt, patching("db"))], [late("db", "order")]],
    [[order("^we"), step("p", pt, patching("web"))], [late("web", "order")]],
    [[filter(), step("p", pt, patching("web"))], []],
    [[step("t", go), auto, order("db", "web")], []],
    [
      [step("t", go), filter("web"), step("u", go), auto],
      [
        'V12 warning spec.pipeline.2.step: step "u" adds resources after step "filter", which drops resources of earlier steps only: move step "filter" after it',
      ],
    ],
    [[filter("web"), step("x", "function-of-mine")], []],
  ];
  for (const [pipeline, lines] of rows) assert.deepEqual(await textsOf(...pipeline), lines);
});

test("readiness is decided, and after all resources are there", async () => {
  const late = 'step "ready" decides readiness before step "t" adds resources: move it to the end of the pipeline';
  assert.deepEqual(await textsOf(auto, step("t", go)), [`V12 warning ${at0}.step: ${late}`]);
  assert.deepEqual(await textsOf(step("t", go), auto), []);
  const never = "no step decides whether resources are ready: add a step with function-auto-ready";
  assert.deepEqual(await textsOf(step("t", go), step("k", "upbound-function-kcl")), [
    `V12 warning spec.pipeline: spec.pipeline: ${never}`,
  ]);
  assert.deepEqual(await textsOf(step("t", go, template("gotemplating.fn.crossplane.io/ready: 'True'"))), []);
  assert.deepEqual(await textsOf(step("t", go), step("x", "function-of-mine")), [], "it may decide");
});

test("other kinds are not Compositions, and a pipeline that is not a list has no steps", async () => {
  const other = manifest({
    apiVersion: "acme.org/v1",
    kind: "Composition",
    metadata: {},
    spec: { pipeline: [step("a", "x")] },
  });
  assert.deepEqual(await found([other]), []);
  const { object, ...place } = composition([]);
  const broken = { ...place, object: { ...object, spec: { pipeline: "x" } } };
  assert.deepEqual(await found([broken, app]), []);
});
