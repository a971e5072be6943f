// SPDX-License-Identifier: Apache-2.0
import { crossplaneLines } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";

export const testApiVersion = "test.purlin.dev/v1alpha1";
/** What the cases of a file test, by the kind of the file. */
export const testKinds = ["CompositionTest", "OperationTest"] as const;
export type TestKind = (typeof testKinds)[number];

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
  description: "JSON merge patch of the composite resource, claim or Operation, or a list of JSON patch operations.",
};

const functionInputs: Fields = {
  functions: source("The Functions of the pipelines"),
  crds: source("CustomResourceDefinitions of composed, applied and required resources"),
  required: source("Objects that functions may require"),
  credentials: source("Secrets with the credentials of pipeline steps"),
  asCrossplane: {
    enum: [...crossplaneLines],
    description: "The release line of Crossplane whose calls of functions are imitated.",
  },
};

/** What a case of a composition runs with. */
const inputFields: Fields = {
  xr: source("The composite resource"),
  claim: source("The claim, instead of a composite resource"),
  xrd: source("The CompositeResourceDefinitions"),
  composition: source("The Compositions"),
  ...functionInputs,
  observed: source("Composed resources that exist before the first reconcile"),
  context: { type: "object", description: "Context of the pipeline, by key." },
  schemas: source("XRDs and CRDs"),
  secrets: source("Secrets that exist before the first reconcile"),
};

/** What a case of an Operation runs with. */
const operationInputFields: Fields = {
  operation: source("The Operation, or the CronOperation or WatchOperation whose template it is made from"),
  watched: source("The object that a WatchOperation watches; it exists before the first attempt"),
  scheduledTime: text("The time for which a CronOperation made the Operation, such as 2026-01-02T02:30:00Z."),
  ...functionInputs,
};

const resultExpectations: Fields = {
  conditions: list({ type: "object" }, "Conditions of the composite resource or Operation."),
  results: list({ type: "object" }, "Results of functions: step, severity, reason, message, target."),
  events: list({ type: "object" }, "Events."),
  fatal: text("Regular expression that a fatal result matches."),
  synced: toggle("Whether the composite resource or Operation is synced."),
  writes: count("Number of writes."),
  calls: { type: "object", additionalProperties: { type: "integer" }, description: "Number of calls by function." },
  requirements: { type: "object", description: "Resources that functions require, by name." },
  context: match("Fields of the context after the last step."),
  golden: text("File with all composed or applied resources; `purlin test -u all` writes it."),
  valid: toggle("Whether the inputs and outputs match their schemas (true)."),
  not: { type: "object", description: "Expectations that must not hold." },
};

const resourceExpectations = (adjective: string): Fields => ({
  resources: closed(
    {
      count: count(`Number of ${adjective} resources.`),
      only: list({ type: "string" }, `Names of all ${adjective} resources.`),
      kinds: { type: "object", additionalProperties: { type: "integer" }, description: "Number of resources by kind." },
    },
    `The set of ${adjective} resources.`,
  ),
  resource: {
    type: "object",
    additionalProperties: match("Fields of the resource, or absent."),
    description: `The ${adjective} resources by name.`,
  },
  desired: closed(
    {
      composite: match("The composite resource that functions want, with exactly these fields."),
      resources: {
        type: "object",
        additionalProperties: match("The resource that functions want, with exactly these fields."),
        description: "All resources that functions want, by name.",
      },
    },
    "What functions want, exactly, before the API server sets defaults.",
  ),
});

/** What can be expected after a reconcile. */
const expectFields: Fields = {
  ...resourceExpectations("composed"),
  xr: match("Fields of the composite resource."),
  claim: match("Fields of the claim."),
  nested: { type: "object", description: "What to expect of composed composite resources, by name." },
  ...resultExpectations,
  ready: toggle("Whether the composite resource is ready."),
  deleted: list({ type: "string" }, "Names of the composed resources that are deleted."),
  ttl: text("TTL of the response, such as 60s."),
  cel: list({ type: "string" }, "CEL expressions over xr, resources and results that must be true."),
  unchanged: toggle("Whether one more reconcile writes nothing."),
};

/** What can be expected after an attempt of an Operation. */
const operationExpectFields: Fields = {
  ...resourceExpectations("applied"),
  operation: match("Fields of the Operation."),
  outputs: { type: "object", description: "Outputs of the steps, by name of the step." },
  ...resultExpectations,
  succeeded: toggle("Whether the Operation has succeeded."),
  cel: list({ type: "string" }, "CEL expressions over operation, resources, results and outputs that must be true."),
};

const functionChanges: Fields = {
  required: source("Objects that functions may require from now on"),
  functions: source("Functions that replace those before"),
};

/** What changes before a reconcile. */
const changeFields: Fields = {
  xr: patch,
  observed: { type: "object", description: "Patches of composed resources by name; null deletes one." },
  ready: {
    anyOf: [{ const: "all" }, { type: "array", items: { type: "string" } }],
    description: "Composed resources that become ready.",
  },
  ...functionChanges,
  delete: toggle("Delete the composite resource or claim."),
};

/** The fields of the files of a kind. */
export interface TestFields {
  readonly inputs: Fields;
  readonly expect: Fields;
  readonly change: Fields;
  readonly reconcile: Fields;
  readonly row: Fields;
  readonly case: Fields;
}

function fieldsOf(inputs: Fields, expectations: Fields, change: Fields): TestFields {
  const expect = closed(expectations, "What to expect.");
  const reconcile: Fields = {
    name: text("Name in reports."),
    change: closed(change, "What changes before the reconcile."),
    until: {
      anyOf: [{ const: "settled" }, { type: "integer", minimum: 1 }],
      description: "Number of reconciles, or settled to continue until nothing changes.",
    },
    expect,
  };
  const row: Fields = {
    name: text("Name of the row."),
    patch,
    expect,
    skip: text("Why the row is skipped."),
    only: toggle("Run only this row."),
  };
  const one: Fields = {
    name: text("Name of the case, unique in the file."),
    tags: list({ type: "string" }, "Tags that --tag selects."),
    skip: text("Why the case is skipped."),
    only: toggle("Run only this case."),
    timeout: text("Time limit, such as 5s."),
    inputs: closed(inputs, "Inputs of this case, over those of the file."),
    patch,
    each: list(closed(row, "A row: one case."), "A table of inputs: one case for each row."),
    reconciles: list(closed(reconcile, "One reconcile, or several."), "Reconciles in order (one)."),
    expect,
  };
  return { inputs, expect: expectations, change, reconcile, row, case: one };
}

/** The fields of test files. */
export const testFields: Readonly<Record<TestKind, TestFields>> = {
  CompositionTest: fieldsOf(inputFields, expectFields, changeFields),
  OperationTest: fieldsOf(operationInputFields, operationExpectFields, functionChanges),
};

/** The JSON Schema of test files. */
export function testFileSchema(): JsonObject {
  return { oneOf: testKinds.map((kind) => kindSchema(kind, testFields[kind])) };
}

function kindSchema(kind: TestKind, fields: TestFields): JsonObject {
  const cases = list(
    { ...closed(fields.case, "A case."), required: ["name"] },
    "The cases of the file. Cases do not see each other's state.",
  );
  const spec = {
    ...closed({ inputs: closed(fields.inputs, "Inputs of all cases."), cases }, "The tests."),
    required: ["cases"],
  };
  const root = closed(
    {
      apiVersion: { const: testApiVersion },
      kind: { const: kind },
      metadata: anything("Name and annotations."),
      spec,
    },
    kind === "OperationTest" ? "Tests of an Operation." : "Tests of a composition.",
  );
  return { ...root, required: ["apiVersion", "kind", "spec"] };
}
