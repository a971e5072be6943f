// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePackage } from "./package-contents.ts";
import { hasCapability, type PackageMeta } from "./package-meta.ts";

const meta = (kind = "Function", spec = "{}", version = "v1"): string =>
  `apiVersion: meta.pkg.crossplane.io/${version}\nkind: ${kind}\nmetadata: {name: function-bucket}\nspec: ${spec}\n`;
const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\n";
const xrd = "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: a.b}\n";

async function metaOf(text: string): Promise<PackageMeta> {
  return (await parsePackage(text)).meta;
}

test("a package is one metadata object and its objects; blank documents are ignored", async () => {
  const text = `---\n# a comment\n---\n...\n---\n${meta()}---\n\n---\n${crd}---   \n# end\n`;
  const { meta: read, objects, findings } = await parsePackage(text);
  assert.deepEqual([read.kind, read.name], ["Function", "function-bucket"]);
  assert.deepEqual(
    objects.map((object) => object["kind"]),
    ["CustomResourceDefinition"],
  );
  assert.deepEqual(findings, []);
});

test("labels, annotations, dependencies and constraints are read", async () => {
  const text = `
apiVersion: meta.pkg.crossplane.io/v1alpha1
kind: Configuration
metadata:
  name: platform
  labels: {a: b}
  annotations: {friendly: "yes"}
spec:
  crossplane: {version: ">=v2.0.0"}
  dependsOn:
    - {function: registry.example.org/acme/f, version: ">=v1"}
    - {provider: registry.example.org/acme/p, version: "sha256:${"0".repeat(64)}"}
    - {apiVersion: pkg.crossplane.io/v1, kind: Configuration, package: registry.example.org/acme/c, function: ignored, version: "*"}
`;
  const read = await metaOf(text);
  assert.deepEqual([read.labels, read.annotations], [{ a: "b" }, { friendly: "yes" }]);
  assert.equal(read.crossplaneConstraint, ">=v2.0.0");
  assert.deepEqual(
    read.dependencies.map(({ kind, source, constraint }) => `${kind} ${source} ${constraint.slice(0, 8)}`),
    [
      "Function registry.example.org/acme/f >=v1",
      "Provider registry.example.org/acme/p sha256:0",
      "Configuration registry.example.org/acme/c *",
    ],
  );
});

test("absent capabilities mean composition for a function; an empty list means none", async () => {
  assert.deepEqual((await metaOf(meta())).capabilities, ["composition"]);
  assert.deepEqual((await metaOf(meta("Function", "{capabilities: []}"))).capabilities, []);
  assert.deepEqual((await metaOf(meta("Provider"))).capabilities, []);
  assert.ok(hasCapability(["COMPO-SITION"], "composition"));
  assert.ok(hasCapability(["SafeStart"], "safe-start"));
  assert.ok(!hasCapability(["composition2"], "composition"));
});

test("objects that do not belong in the package are findings, not errors", async () => {
  const { findings } = await parsePackage(`${meta()}---\n${xrd}`);
  assert.deepEqual(findings, ["package.yaml:5: CompositeResourceDefinition does not belong in a Function package"]);
  assert.deepEqual((await parsePackage(`${meta("Configuration")}---\n${xrd}`)).findings, []);
});

const refused: { what: string; text: string; problem: RegExp }[] = [
  { what: "no metadata", text: crd, problem: /expected exactly one object of meta\.pkg\.crossplane\.io .*found 0/ },
  { what: "two metadata objects", text: `${meta()}---\n${meta()}`, problem: /found 2/ },
  {
    what: "an unknown kind",
    text: `${meta()}---\napiVersion: v1\nkind: ConfigMap\n`,
    problem: /^PackageError: package\.yaml:5: a package cannot hold ConfigMap of v1/,
  },
  {
    what: "a malformed apiVersion",
    text: `${meta()}---\napiVersion: a/b/c\nkind: X\n`,
    problem: /^PackageError: package\.yaml:5: a package cannot hold X of a\/b\/c/,
  },
  {
    what: "a group that every object has",
    text: `${meta()}---\napiVersion: constructor/v1\nkind: X\n`,
    problem: /a package cannot hold X of constructor\/v1/,
  },
  {
    what: "a dependency of a kind that every object has",
    text: meta("Function", "{dependsOn: [{apiVersion: v1, kind: toString, package: a.b/c, version: '*'}]}"),
    problem: /dependsOn\[0\]\.kind: toString is not a kind of package/,
  },
  { what: "an unknown version", text: meta("Function", "{}", "v1alpha1"), problem: /cannot hold Function of meta/ },
  { what: "broken YAML", text: `${meta()}---\n\na: [\n`, problem: /package\.yaml:\d+: invalid YAML/ },
  { what: "a text", text: "hello", problem: /package\.yaml:1: expected an object/ },
  { what: "no name", text: "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function", problem: /:1: metadata\.name/ },
  {
    what: "an object without metadata",
    text: `${meta("Provider")}---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n`,
    problem: /^PackageError: package\.yaml:5: metadata\.name: expected the name of the CustomResourceDefinition$/,
  },
  {
    what: "an object that the server would name, another one each time",
    text: `${meta("Configuration")}---\n${xrd.replace("name: a.b", "generateName: a-")}`,
    problem: /package\.yaml:5: metadata\.name: expected the name of the CompositeResourceDefinition/,
  },
  {
    what: "an object whose name is a number",
    text: `${meta("Configuration")}---\n${xrd.replace("name: a.b", "name: 7")}`,
    problem: /metadata\.name: expected the name/,
  },
  {
    what: "an invalid constraint",
    text: meta("Function", "{crossplane: {version: new}}"),
    problem: /:1: spec\.crossplane\.version: "new" is not a version constraint/,
  },
  {
    what: "a dependency on nothing",
    text: meta("Function", "{dependsOn: [{version: '*'}]}"),
    problem: /spec\.dependsOn\[0\]: invalid dependency/,
  },
  {
    what: "a dependency on no version",
    text: meta("Function", "{dependsOn: [{function: a.b/c}]}"),
    problem: /spec\.dependsOn\[0\]\.version: expected a version constraint/,
  },
  {
    what: "a dependency of an unknown kind",
    text: meta("Function", "{dependsOn: [{apiVersion: v1, kind: Pod, package: a.b/c, version: '*'}]}"),
    problem: /dependsOn\[0\]\.kind: Pod is not a kind of package/,
  },
];

for (const { what, text, problem } of refused) {
  test(`refused: ${what}`, () => assert.rejects(parsePackage(text), problem));
}

test("parsing a large package yields to the event loop", async () => {
  const text = `${meta("Provider")}${`---\n${crd}`.repeat(5_000)}`;
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await parsePackage(text);
  clearInterval(timer);
  assert.ok(turns > 0, "the event loop was blocked");
});
