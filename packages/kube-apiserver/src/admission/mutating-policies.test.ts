// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inTurns } from "@purlin/base";
import { customResourceType } from "@purlin/kube-objects/apply";
import { badRequest, findStatusError, type StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { Registry as MetricsRegistry } from "prom-client";
import { storeOf } from "../../test/test-server.ts";
import { AdmissionMetrics } from "../metrics/admission-metrics.ts";
import { Registry, type ResourceType } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import { defineKinds } from "../strategy/kind-rules.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { type MutatingPolicyDeps, mutateByPolicies } from "./mutating-policies.ts";
import { policiesOf } from "./policy.ts";
import type { Reinvocation } from "./webhook-dispatch.ts";

const [maps] = defineKinds({ group: "", version: "v1", priority: 1 }, [
  { resource: "configmaps", kind: "ConfigMap" },
]).map(({ type }) => type) as [ResourceType];
const { catalog } = new Registry([maps]);

let store: Store<JsonObject>;
before(async () => {
  store = await storeOf({
    "//namespaces/ns": { metadata: { name: "ns" } },
    "//configmaps/ns/one": { metadata: { namespace: "ns", name: "one", labels: { of: "p" } }, data: { key: "x" } },
    "//configmaps/ns/two": { metadata: { namespace: "ns", name: "two", labels: { of: "p" } }, data: { key: "y" } },
  });
});
after(() => store.close());

const object = deepFreeze({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a" },
  data: { a: "1" },
}) as JsonObject;

interface Options {
  readonly bindings?: readonly JsonObject[];
  readonly reinvocation?: Reinvocation;
  readonly isSecond?: boolean;
  readonly deps?: Partial<MutatingPolicyDeps>;
  readonly type?: ResourceType;
}

/** The object after policies `p0`, `p1`, …, each bound once unless the options say otherwise. */
async function mutated(specs: readonly JsonObject[], options: Options = {}): Promise<JsonObject> {
  const {
    bindings = [{}],
    reinvocation = { invoked: new Set(), due: new Set() },
    isSecond = false,
    type = maps,
  } = options;
  const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
  const policies = policiesOf(
    specs.map((spec, index) => ({
      metadata: { name: `p${index}` },
      spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
    })),
    specs.flatMap((_, index) =>
      bindings.map((spec, place) => ({ metadata: { name: `b${place}` }, spec: { policyName: `p${index}`, ...spec } })),
    ),
  );
  const attributes: AdmissionAttributes & { readonly object: JsonObject } = {
    operation: "CREATE",
    type: maps,
    subresource: "",
    namespace: "ns",
    name: "a",
    object,
    old: undefined,
    options: {},
    dryRun: false,
    user: { name: "jane", groups: [] },
    warn: () => {},
    annotate: () => {},
    signal: new AbortController().signal,
  };
  const deps: MutatingPolicyDeps = {
    store,
    catalog: () => catalog,
    authorizer: () => ({ allowed: false, reason: "" }),
    metrics: new AdmissionMetrics(new MetricsRegistry()),
    convert: async (one, _from, to) => ({ ...one, apiVersion: to.version }),
    // biome-ignore lint/correctness/useYield: no conversion
    *served(objects) {
      return objects;
    },
    // biome-ignore lint/correctness/useYield: decoding in one part
    *decode(one) {
      return one;
    },
    applyType: () => customResourceType({ type: "object", "x-kubernetes-preserve-unknown-fields": true }),
    ...options.deps,
  };
  const selected = policies.map((policy) => ({ policy, type }));
  return await inTurns(mutateByPolicies(selected, attributes, { deps, reinvocation, isSecond }));
}

async function refused(...args: Parameters<typeof mutated>): Promise<StatusError> {
  const error = await mutated(...args).then(
    () => assert.fail("the policies allowed the write"),
    (reason: unknown) => reason,
  );
  return findStatusError(error) ?? assert.fail(String(error));
}

const patch = (expression: string): JsonObject => ({ patchType: "JSONPatch", jsonPatch: { expression } });
const apply = (expression: string): JsonObject => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const set = (key: string, value: string): JsonObject =>
  patch(`[JSONPatch{op: "add", path: "/data/${key}", value: ${value}}]`);
const dataOf = async (...args: Parameters<typeof mutated>): Promise<unknown> => (await mutated(...args))["data"];

test("a JSON patch changes the object", async () => {
  assert.deepEqual(await mutated([{ mutations: [set("b", '"2"')] }]), { ...object, data: { a: "1", b: "2" } });
});

test("an apply configuration is merged, and its type is that of the object", async () => {
  const mutations = [apply('Object{metadata: Object.metadata{labels: {"team": "x"}}}')];
  assert.deepEqual(await mutated([{ mutations }]), { ...object, metadata: { name: "a", labels: { team: "x" } } });
});

test("mutations and policies are evaluated in order, each on the object of the one before", async () => {
  const first = { mutations: [set("b", "object.data.a + '2'"), set("c", "object.data.b + '3'")] };
  assert.deepEqual(await dataOf([first, { mutations: [set("d", "object.data.c + '4'")] }]), {
    a: "1",
    b: "12",
    c: "123",
    d: "1234",
  });
});

test("every operation of a JSON patch is understood", async () => {
  const expression = `[
    JSONPatch{op: "copy", from: "/data/a", path: "/data/b"},
    JSONPatch{op: "move", from: "/data/b", path: "/data/c"},
    JSONPatch{op: "replace", path: "/data/a", value: "9"},
    JSONPatch{op: "test", path: "/data/c", value: "1"},
    JSONPatch{op: "remove", path: "/data/c"}]`;
  assert.deepEqual(await dataOf([{ mutations: [patch(expression)] }]), { a: "9" });
});

test("a patch whose test fails changes nothing, and the next mutation is evaluated", async () => {
  const tested = patch(
    '[JSONPatch{op: "add", path: "/data/b", value: "2"}, JSONPatch{op: "test", path: "/data/a", value: "0"}]',
  );
  assert.deepEqual(await dataOf([{ mutations: [tested, set("c", '"3"')] }]), { a: "1", c: "3" });
});

test("variables and parameters are available, with one invocation for each parameter", async () => {
  const spec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    variables: [{ name: "key", expression: "params.data.key" }],
    mutations: [patch('[JSONPatch{op: "add", path: "/data/" + variables.key, value: params.metadata.name}]')],
  };
  const bindings = [{ paramRef: { selector: { matchLabels: { of: "p" } }, parameterNotFoundAction: "Deny" } }];
  assert.deepEqual(await dataOf([spec], { bindings }), { a: "1", x: "one", y: "two" });
});

test("conditions see the object as the policies before left it", async () => {
  const conditional = (expression: string): JsonObject => ({
    matchConditions: [{ name: "c", expression }],
    mutations: [set("c", '"3"')],
  });
  const first = { mutations: [set("b", '"2"')] };
  assert.deepEqual(await dataOf([first, conditional("has(object.data.b)")]), { a: "1", b: "2", c: "3" });
  assert.deepEqual(await dataOf([first, conditional("!has(object.data.b)")]), { a: "1", b: "2" });
});

test("a policy that does not select the write is not invoked", async () => {
  const mutations = [set("b", '"2"')];
  const constraints = { objectSelector: { matchLabels: { app: "x" } } };
  assert.equal(await mutated([{ mutations, matchConstraints: constraints }]), object);
  assert.equal(await mutated([{ mutations }], { bindings: [{ matchResources: constraints }] }), object);
});

const text = (message: string, policy = "p0"): string =>
  `policy '${policy}' with binding 'b0' denied request: ${message}`;

test("a mutation that fails denies the write after all policies were evaluated", async () => {
  const failing = { mutations: [set("b", "object.missing")] };
  const error = await refused([failing, { mutations: [patch('[JSONPatch{op: "remove", path: "/z"}]')] }]);
  const why = `expression '[JSONPatch{op: "add", path: "/data/b", value: object.missing}]' resulted in error: no such key: missing`;
  const remove = "JSON Patch: error in remove for path: '/z': Unable to remove nonexistent key: z: missing value";
  assert.equal(error.message, text(why));
  assert.deepEqual([error.code, error.status.reason], [403, "Invalid"]);
  assert.deepEqual(error.status.details?.causes, [{ message: text(why) }, { message: text(remove, "p1") }]);
});

test("a failure is ignored where the policy allows that, and the object stays as it was", async () => {
  const failing = { failurePolicy: "Ignore", mutations: [set("b", "object.missing"), set("c", '"3"')] };
  assert.deepEqual(await dataOf([failing]), { a: "1", c: "3" });
});

test("a condition that cannot be evaluated denies unless failures are ignored", async () => {
  const spec = { matchConditions: [{ name: "c", expression: "object.missing == 1" }], mutations: [set("b", '"2"')] };
  const error = await refused([spec]);
  assert.equal(error.message, text("expression 'object.missing == 1' resulted in error: no such key: missing"));
  assert.equal(await mutated([{ ...spec, failurePolicy: "Ignore" }]), object);
});

test("an expression that does not compile is a failure", async () => {
  const error = await refused([{ mutations: [patch("1")] }]);
  assert.equal(error.message, text("expression '1' resulted in error: compilation failed"));
});

test("parameters that cannot be found deny, with a reason of their own", async () => {
  const spec = { paramKind: { apiVersion: "v1", kind: "ConfigMap" }, mutations: [set("b", '"2"')] };
  const bindings = [{ paramRef: { name: "gone", parameterNotFoundAction: "Deny" } }];
  const error = await refused([spec], { bindings });
  const missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
  assert.deepEqual([error.message, error.status.reason], [text(missing), "Forbidden"]);
  assert.equal(await mutated([{ ...spec, failurePolicy: "Ignore" }], { bindings }), object);
  const unknown = await refused([{ ...spec, paramKind: { apiVersion: "v1", kind: "Limit" } }]);
  assert.equal(
    unknown.message,
    "policy \"p0\" denied request: failed to configure policy: failed to find resource referenced by paramKind: '/v1, Kind=Limit'",
  );
});

test("a result that is not an object of the type is an error of the server, also where failures are ignored", async () => {
  const spec = { failurePolicy: "Ignore", mutations: [set("b", '"2"')] };
  const decoding = (error: Error): Options => ({
    deps: {
      // biome-ignore lint/correctness/useYield: throws at once
      *decode() {
        throw error;
      },
    },
  });
  assert.equal((await refused([spec], decoding(badRequest("bad")))).message, "bad");
  assert.equal((await refused([spec], decoding(new Error("bad")))).message, "Internal error occurred: bad");
});

test("a merge that fails says so", async () => {
  const schema = {
    type: "object",
    properties: { data: { type: "object", properties: { a: { type: "string" } } } },
  } as const;
  const error = await refused([{ mutations: [apply('Object{data: Object.data{zz: "1"}}')] }], {
    deps: { applyType: () => customResourceType(schema) },
  });
  assert.equal(
    error.message,
    text(
      "error applying patch: failed to convert patch object to typed object: .data.zz: field not declared in schema",
    ),
  );
});

test("a policy of another version sees the object converted, and its result is converted back", async () => {
  const result = await mutated([{ mutations: [set("seen", "object.apiVersion")] }], {
    type: { ...maps, version: "v2" },
  });
  assert.deepEqual([result["apiVersion"], result["data"]], ["v1", { a: "1", seen: "v2" }]);
});

test("a policy that asks for it is due again after a later change", async () => {
  const reinvocation: Reinvocation = { invoked: new Set(), due: new Set() };
  const policies = [
    { reinvocationPolicy: "IfNeeded", mutations: [set("b", "string(size(object.data))")] },
    { mutations: [set("c", '"3"')] },
    { reinvocationPolicy: "IfNeeded", mutations: [set("a", '"1"')] },
  ];
  await mutated(policies, { reinvocation });
  assert.deepEqual([[...reinvocation.due], [...reinvocation.invoked]], [["p0/b0//"], ["p2/b0//"]]);
  assert.deepEqual(await dataOf(policies, { reinvocation, isSecond: true }), { a: "1", b: "1" });
});
