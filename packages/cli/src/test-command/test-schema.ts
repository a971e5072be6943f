// SPDX-License-Identifier: Apache-2.0
import { crossplaneLines } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";

export const testApiVersion = "test.purlin.dev/v1alpha1";
export const testKind = "CompositionTest";

/** JSON Schemas of the fields of an object, by name. */
type Fields = Readonly<Record<string, JsonObject>>;

const text = (description: string): JsonObject => ({ type: "string", minLength: 1, description });
const toggle = (description: string): JsonObject => ({ type: "boolean", description });
const count = (description: string): JsonObject => ({ type: "integer", minimum: 0, description });
const list = (items: JsonObject, description: string): JsonObject => ({ type: "array", items, description });
const anything = (description: string): JsonObject => ({ description });
const match = (description: string): JsonObject => ({ type: ["object", "string"], description });
const closed = (fields: Fields, description: string): JsonObject => ({
  ...{ type: "object", additionalProperties: false, properties: { ...fields }, description },
});
const source = (description: string): JsonObject => ({
  type: ["string", "object", "array"],
  description: `${description}: a file, a folder, an object, or a list of them.`,
});
const patch: JsonObject = {
  type: ["object", "array"],
  description: "JSON merge patch of the composite resource or claim, or a list of JSON patch operations.",
};

/** What a case runs with. */
export const inputFields: Fields = {
  xr: source("The composite resource"),
  claim: source("The claim, instead of a composite resource"),
  xrd: source("The CompositeResourceDefinitions"),
  composition: source("The Compositions"),
  functions: source("The Functions of the pipelines"),
  crds: source("CustomResourceDefinitions of composed and required resources"),
  observed: source("Composed resources that exist before the first reconcile"),
  required: source("Objects that functions may require"),
  credentials: source("Secrets with the credentials of pipeline steps"),
  context: { type: "object", description: "Context of the pipeline, by key." },
  schemas: source("XRDs and CRDs"),
  asCrossplane: {
    enum: [...crossplaneLines],
    description: "The release line of Crossplane whose calls of functions are imitated.",
  },
  secrets: source("Secrets that exist before the first reconcile"),
};

/** What can be expected after a reconcile. */
export const expectFields: Fields = {
  resources: closed(
    {
      count: count("Number of composed resources."),
      only: list({ type: "string" }, "Names of all composed resources."),
      kinds: { type: "object", additionalProperties: { type: "integer" }, description: "Number of resources by kind." },
    },
    "The set of composed resources.",
  ),
  resource: {
    type: "object",
    additionalProperties: match("Fields of the resource, or absent."),
    description: "Composed resources by name.",
  },
  xr: match("Fields of the composite resource."),
  claim: match("Fields of the claim."),
  nested: { type: "object", description: "What to expect of composed composite resources, by name." },
  conditions: list({ type: "object" }, "Conditions of the composite resource."),
  results: list({ type: "object" }, "Results of functions: step, severity, reason, message, target."),
  events: list({ type: "object" }, "Events."),
  fatal: text("Regular expression that a fatal result matches."),
  ready: toggle("Whether the composite resource is ready."),
  synced: toggle("Whether the composite resource is synced."),
  deleted: list({ type: "string" }, "Names of the composed resources that are deleted."),
  writes: count("Number of writes."),
  calls: { type: "object", additionalProperties: { type: "integer" }, description: "Number of calls by function." },
  requirements: { type: "object", description: "Resources that functions require, by name." },
  context: match("Fields of the context after the last step."),
  ttl: text("TTL of the response, such as 60s."),
  cel: list({ type: "string" }, "CEL expressions over xr, resources and results that must be true."),
  golden: text("File with all composed resources; `purlin test -u all` writes it."),
  unchanged: toggle("Whether one more reconcile writes nothing."),
  valid: toggle("Whether the inputs and outputs match their schemas (true)."),
  not: { type: "object", description: "Expectations that must not hold." },
};

const expect = closed(expectFields, "What to expect.");

/** What changes before a reconcile. */
export const changeFields: Fields = {
  xr: patch,
  observed: { type: "object", description: "Patches of composed resources by name; null deletes one." },
  ready: {
    anyOf: [{ const: "all" }, { type: "array", items: { type: "string" } }],
    description: "Composed resources that become ready.",
  },
  required: source("Objects that functions may require from now on"),
  delete: toggle("Delete the composite resource or claim."),
  functions: source("Functions that replace those before"),
};

/** One step of a case. */
export const reconcileFields: Fields = {
  name: text("Name in reports."),
  change: closed(changeFields, "What changes before the reconcile."),
  until: {
    anyOf: [{ const: "settled" }, { type: "integer", minimum: 1 }],
    description: "Number of reconciles, or settled to go on until nothing changes.",
  },
  expect,
};

/** One row of a table of inputs. */
export const rowFields: Fields = {
  name: text("Name of the row."),
  patch,
  expect,
  skip: text("Why the row is skipped."),
  only: toggle("Run only this row."),
};

/** One case of a file. */
export const caseFields: Fields = {
  name: text("Name of the case, unique in the file."),
  tags: list({ type: "string" }, "Tags that --tag selects."),
  skip: text("Why the case is skipped."),
  only: toggle("Run only this case."),
  timeout: text("Time limit, such as 5s."),
  inputs: closed(inputFields, "Inputs of this case, over those of the file."),
  patch,
  each: list(closed(rowFields, "A row: one case."), "A table of inputs: one case for each row."),
  reconciles: list(closed(reconcileFields, "One reconcile, or several."), "Reconciles in order (one)."),
  expect,
};

/** The JSON Schema of test files. */
export function testFileSchema(): JsonObject {
  const cases = list(
    { ...closed(caseFields, "A case."), required: ["name"] },
    "The cases of the file. Cases do not see each other's state.",
  );
  const spec = {
    ...closed({ inputs: closed(inputFields, "Inputs of all cases."), cases }, "The tests."),
    required: ["cases"],
  };
  const root = closed(
    {
      apiVersion: { const: testApiVersion },
      kind: { const: testKind },
      metadata: anything("Name and annotations."),
      spec,
    },
    "Tests of a composition.",
  );
  return { ...root, required: ["apiVersion", "kind", "spec"] };
}
