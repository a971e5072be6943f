// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { create, fromJson, ResourceSelector, SchemaSelector } from "@purlin/function-protocol";
import type { RequirementFetchers } from "@purlin/function-runner";
import { TestIo } from "../../test/test-io.ts";
import { fetchersFromFiles, type RequirementPaths } from "./requirement-files.ts";

const none: RequirementPaths = { requiredResources: undefined, crds: undefined, openapi: undefined };

async function fetchers(files: Record<string, string>, paths: Partial<RequirementPaths>): Promise<RequirementFetchers> {
  using folder = tempFolder(files);
  return await fetchersFromFiles({ ...none, ...paths }, new TestIo({ cwd: folder.path }));
}

const names = async ({ resources }: RequirementFetchers, selector: object): Promise<unknown[]> => {
  const { items } = await resources(fromJson(ResourceSelector, selector));
  return items
    .map(({ resource }) => resource?.value["metadata"])
    .map((metadata) => (metadata as { name: string }).name);
};
const schemaOf = async ({ schema }: RequirementFetchers, apiVersion: string, kind: string): Promise<unknown> =>
  (await schema(create(SchemaSelector, { apiVersion, kind }))).openapiV3?.value;

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: string}}}}}
`;
const secret = (name: string, extra = ""): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}, labels: {app: x}${extra}}\n---\n`;

test("resources come from files, in the namespaces kubectl would put them into", async () => {
  const files = { "o/a.yaml": secret("b") + secret("a", ", namespace: other"), "o/c.yaml": secret("c") };
  const from = await fetchers(files, { requiredResources: "o" });
  const kind = { apiVersion: "v1", kind: "Secret" };
  assert.deepEqual(await names(from, { ...kind, matchLabels: { labels: { app: "x" } } }), ["b", "c", "a"]);
  assert.deepEqual(await names(from, { ...kind, matchName: "b", namespace: "default" }), ["b"]);
  assert.deepEqual(await names(from, { ...kind, matchName: "b", namespace: "other" }), []);
});

test("a defined kind without objects is empty, an unknown kind is an error", async () => {
  const from = await fetchers({ "crd.yaml": crd }, { crds: "crd.yaml" });
  assert.deepEqual(await names(from, { apiVersion: "example.org/v1", kind: "Widget" }), []);
  assert.deepEqual(await names(from, { apiVersion: "v1", kind: "ConfigMap" }), [], "built-in kinds always exist");
  assert.deepEqual(await names(from, { apiVersion: "v1", kind: "Namespace", matchName: "x" }), []);
  await assert.rejects(names(from, { apiVersion: "example.org/v1", kind: "Gadget" }), {
    message: 'no matches for kind "Gadget" in version "example.org/v1"',
  });
});

test("schemas come from definitions, documents and the built-in kinds", async () => {
  const document = {
    components: {
      schemas: {
        A: {
          type: "object",
          "x-kubernetes-group-version-kind": [{ group: "docs.example.org", version: "v1", kind: "A" }],
        },
      },
    },
  };
  const files = { "crd.yaml": crd, "openapi/docs.json": JSON.stringify(document) };
  const from = await fetchers(files, { crds: "crd.yaml", openapi: "openapi" });
  assert.partialDeepStrictEqual(await schemaOf(from, "example.org/v1", "Widget"), {
    properties: { spec: { type: "string" }, metadata: { type: "object" } },
  });
  assert.partialDeepStrictEqual(await schemaOf(from, "docs.example.org/v1", "A"), { type: "object" });
  assert.partialDeepStrictEqual(await schemaOf(from, "apps/v1", "Deployment"), { type: "object" });
  assert.equal(await schemaOf(from, "apps/v1", "Nothing"), undefined);
});

const bad: Record<
  string,
  { readonly files: Record<string, string>; readonly paths: Partial<RequirementPaths>; readonly says: string }
> = {
  NoFolder: {
    files: {},
    paths: { requiredResources: "nope" },
    says: "cannot read nope: no such file: check the path",
  },
  Twins: {
    files: { "o/a.yaml": secret("s"), "o/b.yaml": secret("s") },
    paths: { requiredResources: "o" },
    says: 'o/b.yaml:3:12: duplicate Secret "s", also defined at o/a.yaml:3:12: remove one',
  },
  NotADefinition: {
    files: { "c.yaml": secret("s") },
    paths: { crds: "c.yaml" },
    says: "c.yaml:2:1: expected an apiextensions.k8s.io/v1 CustomResourceDefinition, got v1 Secret: --crds takes CustomResourceDefinitions",
  },
  BrokenDefinition: {
    files: { "c.yaml": crd.replace("names: {kind: Widget, plural: widgets}", "names: []") },
    paths: { crds: "c.yaml" },
    says: 'c.yaml:2:1: CustomResourceDefinition "widgets.example.org": spec: names must be an object: --crds takes CustomResourceDefinitions',
  },
  NotADocument: {
    files: { "d/a.json": "{}" },
    paths: { openapi: "d" },
    says: "d/a.json: no kinds found: expected an OpenAPI v3 document as served at /openapi/v3/apis/<group>/<version>",
  },
  BrokenDocument: {
    files: { "d/a.json": '{"components":\n  {"schemas": }' },
    paths: { openapi: "d" },
    says: "d/a.json:2:16: invalid JSON: unexpected end of the stream within a flow collection: check this line and the one before it",
  },
};
for (const [name, { files, paths, says }] of Object.entries(bad)) {
  test(`bad files: ${name}`, async () => {
    await assert.rejects(fetchers(files, paths), { name: "UserError", message: says });
  });
}
