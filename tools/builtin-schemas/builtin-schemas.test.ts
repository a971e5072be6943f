// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildData, type Originals } from "./build-data.ts";
import { readEnums } from "./enums.ts";
import { factsOf } from "./facts.ts";
import { type OriginalDocument, referencesIn } from "./original.ts";
import { renderModule } from "./render.ts";
import { goTypesOf, rootComponents } from "./roots.ts";
import { discoveryDocuments, servedVersions } from "./served.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

test("facts are everything but descriptions", () => {
  const schema = {
    description: "text",
    properties: { description: { description: "text", type: "string", default: { description: "data" } } },
    items: { description: "text", enum: ["description"] },
    additionalProperties: { description: "text" },
    not: { description: "text", type: "object" },
    oneOf: [{ description: "text", type: "string" }],
    "x-kubernetes-unions": [{ description: "data" }],
  };
  assert.deepEqual(factsOf(schema), {
    properties: { description: { type: "string", default: { description: "data" } } },
    items: { enum: ["description"] },
    additionalProperties: {},
    not: { type: "object" },
    oneOf: [{ type: "string" }],
    "x-kubernetes-unions": [{ description: "data" }],
  });
});

test("roots are what the operations name", () => {
  const document: OriginalDocument = {
    paths: {
      "/api/v1/": { get: { responses: { 200: ref("List") } } },
      "/api/v1/pods": { get: { content: [{ schema: ref("PodList") }] } },
      "/api/v1/secrets": { get: ref("Secret") },
    },
  };
  assert.deepEqual(rootComponents(document), ["List", "PodList", "Secret"]);
});

test("the Go types are those of kinds, not of lists or parts", () => {
  const kind = { "x-kubernetes-group-version-kind": [{}] };
  const types = goTypesOf({
    "io.k8s.api.core.v1.Pod": kind,
    "io.k8s.api.core.v1.PodList": kind,
    "io.k8s.api.core.v1.PodSpec": {},
    "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent": kind,
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": kind,
  });
  assert.deepEqual(
    types.filter((name) => !name.startsWith("meta.") && !name.endsWith("Review")),
    ["apiregistration.v1.APIService", "core.v1.List", "core.v1.Pod"],
  );
  assert.ok(types.includes("meta.v1.DeleteOptions"));
  assert.ok(types.includes("admission.v1beta1.AdmissionReview"), "what webhooks answer with has no component");
});

test("references are found at any depth; a property may be called $ref", () => {
  assert.deepEqual(
    [...referencesIn({ a: [ref("A"), { b: ref("B") }], properties: { $ref: { type: "string" } } })],
    ["A", "B"],
  );
});

const goSource = `
import (
	corev1 "k8s.io/api/core/v1"
	intstr "k8s.io/apimachinery/pkg/util/intstr"
)

func GetOpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	return map[string]common.OpenAPIDefinition{
		corev1.Pod{}.OpenAPIModelName():         schema_core_Pod(ref),
		intstr.IntOrString{}.OpenAPIModelName(): schema_intstr(ref),
	}
}

func schema_core_Pod(ref common.ReferenceCallback) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{
		Schema: spec.Schema{
			SchemaProps: spec.SchemaProps{
				Properties: map[string]spec.Schema{
					"phase": {
						SchemaProps: spec.SchemaProps{
							Description: "with \\"quotes\\": {",
							Enum:        []interface{}{"", "Run,ning"},
						},
					},
					"families": {
						SchemaProps: spec.SchemaProps{
							Type: []string{"array"},
							Items: &spec.SchemaOrArray{
								Schema: &spec.Schema{
									SchemaProps: spec.SchemaProps{
										Enum:    []interface{}{"IPv4"},
									},
								},
							},
						},
					},
					"modes": {
						SchemaProps: spec.SchemaProps{
							AdditionalProperties: &spec.SchemaOrBool{
								Schema: &spec.Schema{
									SchemaProps: spec.SchemaProps{
										Enum:    []interface{}{"x"},
									},
								},
							},
							Enum: []interface{}{"after a nested one"},
						},
					},
				},
			},
		},
	}
}
`;

test("enums are read from the generated Go definitions, with their places", () => {
  const component = "io.k8s.api.core.v1.Pod";
  assert.deepEqual(readEnums(goSource), [
    { component, path: ["phase"], values: ["", "Run,ning"] },
    { component, path: ["families", "[]"], values: ["IPv4"] },
    { component, path: ["modes", "{}"], values: ["x"] },
    { component, path: ["modes"], values: ["after a nested one"] },
  ]);
});

test("a layout that is not understood is an error, not a loss", () => {
  assert.throws(() => readEnums('func f(ref x) {\n\t\tEnum: []interface{}{"a"},\n}'), /outside a known definition/);
  assert.throws(() => readEnums(`${goSource}\n\tEnum: somethingElse,`), /read 4 of 5 enums/);
});

const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const kind = (group: string) => ({ group, version: "v1", kind: "DeleteOptions" });
const documentOf = (key: string, kinds: object[]): OriginalDocument => ({
  paths: { [`/${key}/`]: { get: ref("Pod"), delete: ref(deleteOptions) } },
  components: {
    schemas: {
      Pod: {
        description: "text",
        type: "object",
        properties: { phase: { type: "string" }, spec: { allOf: [ref("Spec")] } },
      },
      Spec: { type: "object" },
      Unused: { type: "object" },
      [deleteOptions]: { type: "object", "x-kubernetes-group-version-kind": kinds },
    },
  },
});
const originals: Originals = {
  release: "v1.2.3",
  documents: {
    "api/v1": documentOf("api/v1", [kind("")]),
    "apis/apps/v1": documentOf("apis/apps/v1", [kind(""), kind("apps")]),
  },
  enums: [
    { component: "Pod", path: ["phase"], values: ["Running"] },
    { component: "Elsewhere", path: ["x"], values: ["y"] },
  ],
  deleteOptionsKinds: [kind(""), kind("apps"), kind("apiregistration.k8s.io")],
};

test("the data has what the documents share, once", () => {
  const data = buildData(originals);
  assert.deepEqual(Object.keys(data.schemas), ["Pod", "Spec", deleteOptions]);
  assert.deepEqual(data.schemas["Pod"], {
    type: "object",
    properties: { phase: { enum: ["Running"], type: "string" }, spec: { allOf: [ref("Spec")] } },
  });
  assert.deepEqual(data.schemas[deleteOptions]?.["x-kubernetes-group-version-kind"], [kind("")]);
  assert.deepEqual(data.documents, { "api/v1": ["Pod", deleteOptions], "apis/apps/v1": ["Pod", deleteOptions] });
  assert.deepEqual(data.clientGroupVersions, ["v1", "apps/v1"]);
});

test("assumptions that do not hold stop the tool", () => {
  const different = documentOf("apis/apps/v1", [kind(""), kind("apps")]);
  const pod = { ...different, components: { schemas: { ...different.components?.schemas, Pod: { type: "string" } } } };
  assert.throws(
    () => buildData({ ...originals, documents: { ...originals.documents, "apis/apps/v1": pod } }),
    /Pod of apis\/apps\/v1 differs/,
  );
  const kinds = { "apis/apps/v1": documentOf("apis/apps/v1", [kind("apps")]) };
  assert.throws(() => buildData({ ...originals, documents: kinds }), /unexpected x-kubernetes-group-version-kind/);
  const dangling = { "api/v1": { paths: { "/api/v1/": ref("Missing") }, components: { schemas: {} } } };
  assert.throws(() => buildData({ ...originals, documents: dangling }), /Missing is referred to but not defined/);
  const enums = [{ component: "Pod", path: ["missing"], values: ["x"] }];
  assert.throws(() => buildData({ ...originals, enums }), /no schema at missing/);
});

test("the generated module is a string of JSON, a line a component", async () => {
  const data = buildData(originals);
  const text = renderModule(data);
  assert.match(
    text,
    /^\/\/ SPDX-License-Identifier: Apache-2.0\n\/\/ Generated .*\n\/\/ Source: .*v1\.2\.3.*Kubernetes Authors/,
  );
  assert.equal(text.split("\n").filter((line) => line.startsWith('"Pod":')).length, 1);
  const source = text.replace("builtinSchemaJson: string", "builtinSchemaJson");
  const module = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  assert.deepEqual(JSON.parse(module.builtinSchemaJson), JSON.parse(JSON.stringify(data)));
  assert.throws(() => renderModule({ ...data, release: "`" }), /backtick/);
});

test("every served group has its discovery document, once", () => {
  const documents = discoveryDocuments();
  assert.equal(new Set(documents).size, documents.length);
  for (const key of servedVersions.filter((one) => one.startsWith("apis/"))) {
    assert.ok(documents.includes(key.slice(0, key.lastIndexOf("/"))), key);
  }
});
