// SPDX-License-Identifier: Apache-2.0
// Admission policies and rules of definitions whose expressions take as long as they may: many, nested, and without cost.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const configMaps = "/api/v1/namespaces/default/configmaps";
const admission = "/apis/admissionregistration.k8s.io/v1";
const list = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const map = (count: number): JsonObject => Object.fromEntries(list(count, (i) => [`k${i}`, "v"]));
const nested = (inner: string): string => `object.data.all(a, object.data.all(b, ${inner}))`;
const validations = (...expressions: readonly string[]): JsonObject => ({
  validations: expressions.map((expression) => ({ expression })),
});
/** Lists that have twice as many elements each; the first has the keys of the object. */
const doubled = (times: number): readonly JsonValue[] => [
  { name: "v0", expression: "object.data.map(k, k)" },
  ...list(times, (i) => ({ name: `v${i + 1}`, expression: `variables.v${i} + variables.v${i}` })),
];
const slow = nested("a != '' && b != ''");
/** Variables of two loops each, which may read the one before. */
const slowVariables = (count: number, before: (index: number) => string = () => "0"): readonly JsonValue[] =>
  list(count, (i) => ({ name: `v${i}`, expression: `${slow} ? ${i === 0 ? "0" : before(i)} : 1` }));

interface Attack {
  readonly spec: JsonObject;
  /** How many keys the object has. */
  readonly keys: number;
}

const attacks: Record<string, Attack> = {
  "two loops in each other": { spec: validations(slow), keys: 1500 },
  "a hundred validations of two loops": {
    spec: validations(...list(100, () => nested("a.size() < 100"))),
    keys: 200,
  },
  "conditions of two loops": {
    spec: {
      ...validations("true"),
      matchConditions: list(10, (i) => ({ name: `c${i}`, expression: nested("a != ''") })),
    },
    keys: 200,
  },
  "a hundred messages of two loops": {
    spec: {
      validations: list(100, () => ({
        expression: "false",
        messageExpression: `${nested("b.size() < 100")} ? '' : ''`,
      })),
    },
    keys: 200,
  },
  "twenty annotations of two loops": {
    spec: {
      ...validations("true"),
      auditAnnotations: list(20, (i) => ({ key: `k${i}`, valueExpression: `${nested("b != ''")} ? '' : ''` })),
    },
    keys: 200,
  },
  "a variable of two loops": {
    spec: { ...validations("variables.v"), variables: [{ name: "v", expression: slow }] },
    keys: 1500,
  },
  "loops over terms without cost": {
    spec: validations(nested(`${list(300, () => "'x' in ['a']").join("||")} || true`)),
    keys: 500,
  },
  "loops over empty texts without cost": {
    spec: validations(nested(`${list(300, () => "'' != ''").join("||")} || true`)),
    keys: 500,
  },
  "forty slow variables that are compared at once": {
    spec: { ...validations("{'v0': 0} == dyn(variables)", "'v39' in dyn(variables)"), variables: slowVariables(40) },
    keys: 350,
  },
  "forty slow variables in a text": {
    spec: {
      validations: [{ expression: "false", messageExpression: "'%s'.format([dyn([variables])])" }],
      variables: slowVariables(40),
    },
    keys: 350,
  },
  "forty slow variables in an error": {
    spec: { ...validations("[?dyn(variables)].size() > 0"), variables: slowVariables(40) },
    keys: 350,
  },
  "a chain of forty slow variables": {
    spec: {
      ...validations("'v39' in dyn(variables)"),
      variables: slowVariables(40, (i) => `variables.v${i - 1} + 1`),
    },
    keys: 350,
  },
  "a loop over sixty slow variables": {
    spec: { ...validations("dyn(variables).all(k, k in dyn(variables))"), variables: slowVariables(60) },
    keys: 350,
  },
  "bytes of megabytes in an error": {
    spec: validations(
      "[?dyn(bytes(object.data.map(k, k).join('').replace('k', 'a b c d e f g h i j k l m n')))].size() > 0",
    ),
    keys: 40_000,
  },
  "lists of millions of elements that are compared": {
    spec: { ...validations("variables.v12 == variables.v12"), variables: doubled(12) },
    keys: 1000,
  },
};

for (const [name, { spec, keys }] of Object.entries(attacks)) {
  test(`a policy with ${name}`, () =>
    underPolicy("validating", { name, spec }, async () => {
      const object = { metadata: { name: "attacked" }, data: map(keys) };
      const { code, text } = await server.during(name, () => sendJson(server.target, ["POST", configMaps], object));
      assert.ok([201, 422].includes(code), `${code}: ${text.slice(0, 300)}`);
    }));
}

const patches: Record<string, { readonly mutation: JsonObject; readonly variables?: readonly JsonValue[] }> = {
  "two loops": {
    mutation: {
      patchType: "ApplyConfiguration",
      applyConfiguration: { expression: `${slow} ? Object{} : Object{}` },
    },
  },
  "a list of a billion elements": {
    mutation: {
      patchType: "JSONPatch",
      jsonPatch: { expression: "[JSONPatch{op: 'add', path: '/data/x', value: variables.v20}]" },
    },
    variables: doubled(20),
  },
};

for (const [name, { mutation, variables = [] }] of Object.entries(patches)) {
  test(`a mutating policy with ${name}`, () => {
    const spec = { mutations: [mutation], variables: [...variables], reinvocationPolicy: "Never" };
    return underPolicy("mutating", { name, spec }, async () => {
      const object = { metadata: { name: "attacked" }, data: map(1000) };
      const { code, text } = await server.during(name, () => sendJson(server.target, ["POST", configMaps], object));
      assert.ok([201, 403, 422].includes(code), `${code}: ${text.slice(0, 300)}`);
    });
  });
}

/** Runs an attack on a write that a policy selects. */
async function underPolicy(
  kind: "validating" | "mutating",
  { name: text, spec }: { readonly name: string; readonly spec: JsonObject },
  attack: () => Promise<void>,
): Promise<void> {
  const name = text.replaceAll(/[^a-z]+/g, "-");
  const [policies, bindings] = [`${admission}/${kind}admissionpolicies`, `${admission}/${kind}admissionpolicybindings`];
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  const policy = { metadata: { name }, spec: { matchConstraints: { resourceRules: [rule] }, ...spec } };
  const actions = kind === "validating" ? { validationActions: ["Deny"] } : {};
  const binding = { metadata: { name }, spec: { policyName: name, ...actions } };
  for (const [path, object] of [[policies, policy] as const, [bindings, binding] as const]) {
    const { code, text: answer } = await sendJson(server.target, ["POST", path], object as JsonObject);
    assert.equal(code, 201, answer.slice(0, 500));
  }
  try {
    await attack();
  } finally {
    for (const path of [`${bindings}/${name}`, `${policies}/${name}`, `${configMaps}/attacked`]) {
      await sendJson(server.target, ["DELETE", path]);
    }
  }
}

test("a definition with nine rules of two loops", async () => {
  const rule = "self.all(a, self.all(b, a <= 1 && b <= 1))";
  const items = { type: "array", maxItems: 1000, items: { type: "integer" } };
  await define(
    server.target,
    "Ruled",
    definition("Ruled", { list: { ...items, "x-kubernetes-validations": list(9, () => ({ rule })) } }),
  );
  const object = objectNamed("Ruled", "ruled", { list: list(300, () => 1) });
  const { code, text } = await server.during("rules", () =>
    sendJson(server.target, ["POST", objectsOf("Ruled")], object),
  );
  assert.equal(code, 201, text.slice(0, 300));
});

test("types of sixty long expressions are checked for a dozen kinds", async () => {
  const rule = (group: string, ...resources: string[]): JsonObject => ({
    ...{ apiGroups: [group], apiVersions: ["v1"], operations: ["CREATE"], resources },
  });
  const resourceRules = [
    rule("apps", "deployments", "statefulsets", "daemonsets", "replicasets"),
    rule("batch", "jobs", "cronjobs"),
    rule("", "pods", "podtemplates", "replicationcontrollers", "services", "nodes", "persistentvolumes"),
  ];
  const long = list(250, () => "object.metadata.name == 'a'").join(" || ");
  const spec = { matchConstraints: { resourceRules }, ...validations(...list(60, () => long)) };
  const path = `${admission}/validatingadmissionpolicies`;
  await server.during("types", async () => {
    const { code, text } = await sendJson(server.target, ["POST", path], { metadata: { name: "long" }, spec });
    assert.equal(code, 201, text.slice(0, 300));
    const isChecked = async (): Promise<boolean> =>
      (await sendJson(server.target, ["GET", `${path}/long`])).text.includes('"observedGeneration":1');
    while (!(await isChecked())) await delay(50);
  });
});

const conditions = (count: number): JsonObject[] =>
  list(count, (index) => ({ name: `c${index}`, expression: `object.metadata.name == 'a${index}'` }));
const nowhere: JsonObject = { apiGroups: ["none"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["x"] };

test("more match conditions than are allowed, of a webhook and of a policy", async () => {
  const webhook = {
    ...{ name: "w.example.org", clientConfig: { url: "https://127.0.0.1:1/" }, sideEffects: "None" },
    ...{ admissionReviewVersions: ["v1"], rules: [nowhere], matchConditions: conditions(30_000) },
  };
  const spec = {
    matchConstraints: { resourceRules: [nowhere] },
    ...validations("true"),
    matchConditions: conditions(30_000),
  };
  const objects: Record<string, JsonObject> = {
    validatingwebhookconfigurations: { metadata: { name: "conditions" }, webhooks: [webhook] },
    validatingadmissionpolicies: { metadata: { name: "conditions" }, spec },
  };
  for (const [resource, object] of Object.entries(objects)) {
    const send = () => sendJson(server.target, ["POST", `${admission}/${resource}`], object);
    const { code, text } = await server.during(`30,000 conditions of ${resource}`, send);
    assert.equal(code, 422, text.slice(0, 300));
    assert.match(text, /matchConditions: Too many: 30000: must have at most 64 items/);
  }
});

test("26 configurations of 4,000 webhooks each", async () => {
  const path = `${admission}/validatingwebhookconfigurations`;
  const webhook = (index: number): JsonObject => ({
    ...{ name: `w${index}.example.org`, clientConfig: { url: "https://127.0.0.1:1/" }, sideEffects: "None" },
    ...{ admissionReviewVersions: ["v1"], failurePolicy: "Ignore" },
    rules: [nowhere],
    matchConditions: [{ name: "a", expression: "true" }],
  });
  await server.during("26 configurations", async () => {
    for (let index = 0; index < 26; index++) {
      const configuration = { metadata: { name: `c${index}` }, webhooks: list(4000, webhook) };
      const { code, text } = await sendJson(server.target, ["POST", path], configuration);
      assert.equal(code, 201, text.slice(0, 300));
      const object = { metadata: { name: `configured-${index}` } };
      assert.equal((await sendJson(server.target, ["POST", configMaps], object)).code, 201);
    }
  });
});

test("memory stays bounded", () => {
  server.requireBoundedMemory();
});
