// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inTurns } from "@purlin/base";
import { findStatusError, type StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { Registry as MetricsRegistry } from "prom-client";
import { storeOf } from "../../test/test-server.ts";
import { AdmissionMetrics } from "../metrics/admission-metrics.ts";
import { Registry, type ResourceType } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import { defineKinds } from "../strategy/kind-rules.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { policiesOf } from "./policy.ts";
import { evaluatePolicies, type PolicyDeps } from "./validating-policies.ts";

const [maps, namespaces] = defineKinds({ group: "", version: "v1", priority: 1 }, [
  { resource: "configmaps", kind: "ConfigMap" },
  { resource: "namespaces", kind: "Namespace", cluster: true },
]).map(({ type }) => type) as [ResourceType, ResourceType];
const { catalog } = new Registry([maps, namespaces]);

let store: Store<JsonObject>;
before(async () => {
  store = await storeOf({
    "//namespaces/ns": { metadata: { name: "ns", labels: { env: "prod" } } },
    "//configmaps/ns/limits": {
      metadata: { namespace: "ns", name: "limits", labels: { kind: "limit" } },
      data: { max: "3" },
    },
    "//configmaps/ns/other": {
      metadata: { namespace: "ns", name: "other", labels: { kind: "limit" } },
      data: { max: "5" },
    },
  });
});
after(() => store.close());

interface Outcome {
  /** The refusal; undefined when the write is allowed. */
  readonly error: StatusError | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

/** Evaluates a policy `p` with bindings `b0`, `b1`, … for a new ConfigMap with `n: 5`. */
async function evaluated(
  spec: JsonObject,
  bindings: readonly JsonObject[] = [{}],
  more: Partial<AdmissionAttributes> = {},
): Promise<Outcome> {
  const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
  const [policy] = policiesOf(
    [{ metadata: { name: "p" }, spec: { matchConstraints: { resourceRules: [rule] }, ...spec } }],
    bindings.map((one, index) => ({
      metadata: { name: `b${index}` },
      spec: { policyName: "p", validationActions: ["Deny"], ...one },
    })),
  );
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const attributes: AdmissionAttributes = {
    operation: "CREATE",
    type: maps,
    subresource: "",
    namespace: "ns",
    name: "a",
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", labels: { app: "web" } }, n: 5 },
    old: undefined,
    options: {},
    dryRun: false,
    user: { name: "jane", groups: [] },
    warn: (text) => warnings.push(text),
    annotate: (key, value) => {
      annotations[key] ??= value;
    },
    signal: new AbortController().signal,
    ...more,
  };
  const deps: PolicyDeps = {
    store,
    catalog: () => catalog,
    authorizer: (_, access) => ({ allowed: access.verb === "get", reason: "" }),
    metrics: new AdmissionMetrics(new MetricsRegistry()),
    convert: () => assert.fail("one version is served"),
    // biome-ignore lint/correctness/useYield: no conversion
    *served(objects) {
      return objects;
    },
  };
  assert.ok(policy !== undefined, "the policy has a binding");
  const error = await inTurns(evaluatePolicies([{ policy, type: attributes.type }], attributes, deps)).then(
    () => undefined,
    (reason: unknown) => findStatusError(reason) ?? Promise.reject(reason),
  );
  return { error, warnings, annotations };
}

const denied = (message: string, binding = "b0"): string =>
  `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding '${binding}' denied request: ${message}`;

async function message(...args: Parameters<typeof evaluated>): Promise<string | undefined> {
  return (await evaluated(...args)).error?.message;
}

test("a write that meets all validations is allowed", async () => {
  const spec = { validations: [{ expression: "object.n == 5" }, { expression: "request.operation == 'CREATE'" }] };
  assert.deepEqual(await evaluated(spec), { error: undefined, warnings: [], annotations: {} });
});

test("the first validation that fails denies the write, with the text of its expression", async () => {
  const { error } = await evaluated({
    validations: [{ expression: "true" }, { expression: " object.n < 3 " }, { expression: "false" }],
  });
  assert.equal(error?.message, denied("failed expression: object.n < 3"));
  assert.deepEqual([error?.code, error?.status.reason], [422, "Invalid"]);
  assert.deepEqual(error?.status.details, {
    name: "a",
    kind: "configmaps",
    causes: [
      { message: "ValidatingAdmissionPolicy 'p' with binding 'b0' denied request: failed expression: object.n < 3" },
    ],
  });
});

test("the reason of a validation decides the code", async () => {
  const codes = [];
  for (const reason of ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]) {
    codes.push((await evaluated({ validations: [{ expression: "false", reason }] })).error?.code);
  }
  assert.deepEqual(codes, [401, 403, 422, 413]);
});

const failing = (more: JsonObject): JsonObject => ({ validations: [{ expression: "false", ...more }] });
const messages: readonly (readonly [string, JsonObject, string])[] = [
  ["the message, without spaces around it", { message: " no " }, "no"],
  [
    "the message expression before the message",
    { message: "no", messageExpression: "'n is ' + string(object.n)" },
    "n is 5",
  ],
  ["the message when the expression fails", { message: "no", messageExpression: "string(object.missing)" }, "no"],
  ["the message when the expression is blank", { message: "no", messageExpression: "' '" }, "no"],
  ["the message when the expression has two lines", { message: "no", messageExpression: "'a\\nb'" }, "no"],
  ["the expression when nothing else is there", {}, "failed expression: false"],
  [
    "the message when the expression has more than 5 KiB",
    { message: "no", messageExpression: `'${"x".repeat(5121)}'` },
    "no",
  ],
  ["5 KiB of the message expression", { message: "no", messageExpression: `'${"x".repeat(5120)}'` }, "x".repeat(5120)],
];

for (const [name, more, expected] of messages) {
  test(`a denial shows ${name}`, async () => {
    assert.equal(await message(failing(more)), denied(expected));
  });
}

test("an error of an expression denies the write, unless the policy ignores failures", async () => {
  const spec = { validations: [{ expression: "object.missing == 1" }] };
  assert.equal(await message(spec), denied("expression 'object.missing == 1' resulted in error: no such key: missing"));
  assert.equal(await message({ ...spec, failurePolicy: "Ignore" }), undefined);
  const both = { validations: [...spec.validations, { expression: "false" }], failurePolicy: "Ignore" };
  assert.equal(await message(both), denied("failed expression: false"), "a false validation is not a failure");
});

test("a validation that does not compile fails", async () => {
  const text = "expression '1 + 1' resulted in error: compilation failed";
  assert.equal(await message({ validations: [{ expression: "1 + 1" }] }), denied(text));
});

test("match conditions select writes; one that cannot be evaluated denies unless failures are ignored", async () => {
  const withCondition = (expression: string, more: JsonObject = {}): JsonObject => ({
    ...failing({}),
    matchConditions: [{ name: "c", expression }],
    ...more,
  });
  assert.equal(await message(withCondition("false")), undefined);
  assert.equal(await message(withCondition("true")), denied("failed expression: false"));
  const error = "expression 'object.missing > 0' resulted in error: no such key: missing";
  assert.equal(await message(withCondition("object.missing > 0")), denied(error));
  assert.equal(await message(withCondition("object.missing > 0", { failurePolicy: "Ignore" })), undefined);
});

test("variables are evaluated once they are needed, and may use each other", async () => {
  const variables = [
    { name: "n", expression: "object.n" },
    { name: "double", expression: "variables.n * 2" },
    { name: "broken", expression: "object.missing" },
  ];
  assert.equal(await message({ variables, validations: [{ expression: "variables.double == 10" }] }), undefined);
  assert.match(
    (await message({ variables, validations: [{ expression: "variables.broken == 1" }] })) ?? "",
    /no such key: missing/,
  );
});

test("expressions can ask for rights and see the namespace", async () => {
  const validations = [
    { expression: "authorizer.group('').resource('pods').namespace('ns').check('get').allowed()" },
    { expression: "!authorizer.path('/x').check('post').allowed()" },
    { expression: "namespaceObject.metadata.labels.env == 'prod'" },
    { expression: "authorizer.requestResource.check('get').allowed()" },
  ];
  assert.equal(await message({ validations }), undefined);
});

test("the actions of the binding decide what a failure does", async () => {
  const warned = await evaluated(failing({ message: "no" }), [{ validationActions: ["Warn"] }]);
  assert.deepEqual(warned, {
    error: undefined,
    warnings: ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b0': no"],
    annotations: {},
  });
  const audited = await evaluated(failing({ message: "<no>" }), [{ validationActions: ["Audit"] }]);
  assert.equal(audited.error, undefined);
  assert.deepEqual(audited.annotations, {
    "validation.policy.admission.k8s.io/validation_failure":
      '[{"message":"\\u003cno\\u003e","policy":"p","binding":"b0","expressionIndex":0,"validationActions":["Audit"]}]',
  });
  const both = await evaluated(failing({}), [{ validationActions: ["Audit", "Deny"] }]);
  assert.ok(both.error !== undefined && Object.keys(both.annotations).length === 1);
});

test("every binding is evaluated, and the first denial is thrown", async () => {
  const { error, warnings } = await evaluated(failing({}), [
    { validationActions: ["Warn"] },
    { validationActions: ["Deny"] },
    { validationActions: ["Deny"] },
  ]);
  assert.equal(error?.message, denied("failed expression: false", "b1"));
  assert.equal(warnings.length, 1);
});

test("a binding can narrow what the policy selects", async () => {
  const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
  const narrowed = (matchResources: JsonObject): Promise<string | undefined> =>
    message(failing({}), [{ matchResources }]);
  assert.equal(await narrowed({ resourceRules: [{ ...rule, resources: ["pods"] }] }), undefined);
  assert.equal(await narrowed({ resourceRules: [{ ...rule, resourceNames: ["b"] }] }), undefined);
  assert.equal(await narrowed({ excludeResourceRules: [{ ...rule, resourceNames: ["a"] }] }), undefined);
  assert.equal(await narrowed({ objectSelector: { matchLabels: { app: "db" } } }), undefined);
  assert.equal(await narrowed({ namespaceSelector: { matchLabels: { env: "dev" } } }), undefined);
  const expected = denied("failed expression: false");
  assert.equal(await narrowed({}), expected, "no rules select everything");
  assert.equal(await narrowed({ resourceRules: [{ ...rule, resourceNames: ["a"] }] }), expected);
  assert.equal(await narrowed({ excludeResourceRules: [{ ...rule, resourceNames: ["b"] }] }), expected);
  assert.equal(await narrowed({ objectSelector: { matchLabels: { app: "web" } } }), expected);
});

const withParams = {
  paramKind: { apiVersion: "v1", kind: "ConfigMap" },
  validations: [{ expression: "object.n <= int(params.data.max)", messageExpression: "'at most ' + params.data.max" }],
};
const ref = (more: JsonObject): readonly JsonObject[] => [{ paramRef: { parameterNotFoundAction: "Deny", ...more } }];

test("parameters are found by name, or by labels with one evaluation for each", async () => {
  assert.equal(await message(withParams, ref({ name: "limits" })), denied("at most 3"));
  assert.equal(await message(withParams, ref({ name: "other" })), undefined);
  assert.equal(await message(withParams, ref({ selector: { matchLabels: { kind: "limit" } } })), denied("at most 3"));
});

test("parameters that do not exist deny or allow", async () => {
  const missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
  assert.equal(await message(withParams, ref({ name: "gone" })), denied(missing));
  assert.equal(await message({ ...withParams, failurePolicy: "Ignore" }, ref({ name: "gone" })), undefined);
  assert.equal(await message(withParams, ref({ name: "gone", parameterNotFoundAction: "Allow" })), undefined);
  const elsewhere = ref({ name: "limits", namespace: "other" });
  assert.equal(await message(withParams, elsewhere), denied(missing));
});

test("a kind of parameters that is not served is an error of the policy", async () => {
  const spec = { ...withParams, paramKind: { apiVersion: "example.org/v1", kind: "Limit" } };
  assert.equal(
    await message(spec),
    `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.org/v1, Kind=Limit'`,
  );
  assert.equal(await message({ ...spec, failurePolicy: "Ignore" }), undefined);
  const core = { ...withParams, paramKind: { apiVersion: "v1", kind: "Limit" } };
  assert.match((await message(core)) ?? "", /paramKind: '\/v1, Kind=Limit'$/);
});

test("parameters in namespaces cannot be used for objects of the cluster", async () => {
  const object = { metadata: { name: "a" }, n: 5 };
  assert.equal(
    await message(withParams, ref({ name: "limits" }), { type: namespaces, namespace: "a", object }),
    `namespaces "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b0' denied request: failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources`,
  );
  const inNamespace = ref({ name: "other", namespace: "ns" });
  assert.equal(await message(withParams, inNamespace, { type: namespaces, namespace: "a", object }), undefined);
});

test("a namespace of parameters that are not in namespaces is an error", async () => {
  const spec = { ...withParams, paramKind: { apiVersion: "v1", kind: "Namespace" } };
  const text = "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
  assert.equal(await message(spec, ref({ name: "ns", namespace: "ns" })), denied(text));
});

test("audit annotations are published, values of several bindings together", async () => {
  const spec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    validations: [{ expression: "true" }],
    auditAnnotations: [
      { key: "max", valueExpression: "' ' + params.data.max" },
      { key: "none", valueExpression: "null" },
      { key: "long", valueExpression: `'${"é".repeat(5000)}ab'` },
    ],
  };
  const bindings = [...ref({ name: "limits" }), ...ref({ name: "other" }), ...ref({ name: "limits" })];
  const { annotations } = await evaluated(spec, bindings);
  assert.deepEqual(Object.keys(annotations), ["p/max", "p/long"]);
  assert.equal(annotations["p/max"], "3, 5");
  assert.equal(annotations["p/long"], `${"é".repeat(5000)}ab`);
});

test("an annotation is cut to 10 KiB, and one that fails denies the write", async () => {
  const annotated = (valueExpression: string): JsonObject => ({ auditAnnotations: [{ key: "a", valueExpression }] });
  const { annotations } = await evaluated(annotated(`'${"x".repeat(10_241)}'`));
  assert.equal(annotations["p/a"], "x".repeat(10_240));
  const failed = annotated("string(object.missing)");
  assert.equal(
    await message(failed),
    denied("expression 'string(object.missing)' resulted in error: no such key: missing"),
  );
  assert.equal(await message({ ...failed, failurePolicy: "Ignore" }), undefined);
});

test("an object whose name is generated is named by its prefix in the denial", async () => {
  const object = { metadata: { generateName: "gen-" } };
  assert.match((await message(failing({}), [{}], { name: "", object })) ?? "", /^configmaps "gen-" is forbidden: /);
});
