// SPDX-License-Identifier: Apache-2.0
// The scopes and the rules of quotas, and what they refuse. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionPlugin, ResourceType } from "@purlin/kube-apiserver/kinds";
import { objectCodec, openStore, tempDirectory } from "@purlin/kube-apiserver/testing";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { isInScope, quotaChecks } from "./quota-usage.ts";
import { quotaRefusal, ResourceQuotas } from "./resource-quota.ts";

const container = (requests: JsonObject): JsonObject => ({ resources: { requests } });
const pod = (spec: JsonObject, status: JsonObject = {}): JsonObject => ({ spec, status });
const scoped = (...scopes: string[]): JsonObject => ({ spec: { scopes } });
const selected = (scopeName: string, operator: string, ...values: string[]): JsonObject => ({
  spec: { scopeSelector: { matchExpressions: [{ scopeName, operator, values }] } },
});
const near = (kind: string, term: JsonObject): JsonObject =>
  pod({ affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } });
const wished = (term: JsonObject): JsonObject =>
  pod({
    affinity: {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
    },
  });
const high = pod({ priorityClassName: "high" });
const named = pod({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "namespace" }] }],
      },
    },
  },
});
const claim = (more: JsonObject): JsonObject => ({ spec: {}, ...more });

const scopes: readonly (readonly [
  reason: string,
  quota: JsonObject,
  resource: string,
  object: JsonObject,
  want: boolean,
])[] = [
  ["a quota without scopes concerns everything", {}, "secrets", {}, true],
  ["one with scopes concerns Pods", scoped("BestEffort"), "secrets", {}, false],
  ["a Pod without requests", scoped("BestEffort"), "pods", pod({ containers: [{}] }), true],
  [
    "a Pod with requests of nothing",
    scoped("BestEffort"),
    "pods",
    pod({ containers: [container({ cpu: "0" })] }),
    true,
  ],
  ["a Pod with requests", scoped("BestEffort"), "pods", pod({ containers: [container({ cpu: "1m" })] }), false],
  [
    "a Pod with requests of its own",
    scoped("NotBestEffort"),
    "pods",
    pod({ resources: { requests: { cpu: "1" } }, containers: [{}] }),
    true,
  ],
  [
    "a Pod with a recorded class of service",
    scoped("NotBestEffort"),
    "pods",
    pod({ containers: [{}] }, { qosClass: "Burstable" }),
    true,
  ],
  ["a Pod with a deadline", scoped("Terminating"), "pods", pod({ activeDeadlineSeconds: 0 }), true],
  ["a Pod without a deadline", scoped("Terminating"), "pods", pod({}), false],
  ["a Pod that runs on", scoped("NotTerminating"), "pods", pod({}), true],
  ["all scopes count", scoped("NotTerminating", "NotBestEffort"), "pods", pod({}), false],
  ["any class of priority", scoped("PriorityClass"), "pods", high, true],
  ["no class of priority", scoped("PriorityClass"), "pods", pod({}), false],
  ["a class in a list", selected("PriorityClass", "In", "high", "higher"), "pods", high, true],
  ["a class that is not in it", selected("PriorityClass", "In", "low"), "pods", high, false],
  ["a class outside a list", selected("PriorityClass", "NotIn", "high"), "pods", high, false],
  ["no class outside a list", selected("PriorityClass", "NotIn", "high"), "pods", pod({}), true],
  ["a class that must not be", selected("PriorityClass", "DoesNotExist"), "pods", high, false],
  [
    "Pods of other namespaces",
    scoped("CrossNamespacePodAffinity"),
    "pods",
    near("podAffinity", { namespaces: ["a"] }),
    true,
  ],
  [
    "Pods of selected namespaces",
    scoped("CrossNamespacePodAffinity"),
    "pods",
    near("podAntiAffinity", { namespaceSelector: {} }),
    true,
  ],
  [
    "Pods of other namespaces as a wish",
    scoped("CrossNamespacePodAffinity"),
    "pods",
    wished({ namespaces: ["a"] }),
    true,
  ],
  [
    "Pods of its own namespace",
    scoped("CrossNamespacePodAffinity"),
    "pods",
    near("podAffinity", { topologyKey: "zone", namespaces: [] }),
    false,
  ],
  ["a label of nodes that is called so", scoped("CrossNamespacePodAffinity"), "pods", named, false],
  ["an unknown scope", scoped("Other"), "pods", pod({}), false],
  [
    "a claim with a class of attributes",
    scoped("VolumeAttributesClass"),
    "persistentvolumeclaims",
    claim({ spec: { volumeAttributesClassName: "gold" } }),
    true,
  ],
  [
    "a claim that has one",
    selected("VolumeAttributesClass", "In", "gold"),
    "persistentvolumeclaims",
    claim({ status: { currentVolumeAttributesClassName: "gold" } }),
    true,
  ],
  [
    "a claim that gets one",
    selected("VolumeAttributesClass", "In", "gold"),
    "persistentvolumeclaims",
    claim({ status: { modifyVolumeStatus: { targetVolumeAttributesClassName: "gold" } } }),
    true,
  ],
  [
    "a claim with another one",
    selected("VolumeAttributesClass", "In", "gold"),
    "persistentvolumeclaims",
    claim({ spec: { volumeAttributesClassName: "silver" } }),
    false,
  ],
  ["a claim without one", scoped("VolumeAttributesClass"), "persistentvolumeclaims", claim({}), false],
  [
    "a claim without one outside a list",
    selected("VolumeAttributesClass", "NotIn", "gold"),
    "persistentvolumeclaims",
    claim({}),
    true,
  ],
  ["a claim and a scope of Pods", scoped("NotBestEffort"), "persistentvolumeclaims", claim({}), false],
  ["a Pod and a scope of claims", scoped("VolumeAttributesClass"), "pods", pod({}), false],
];

for (const [reason, quota, resource, object, want] of scopes) {
  test(`the scope of a quota: ${reason}`, () => {
    assert.equal(isInScope(quota, resource, object), want);
  });
}

const quotaErrors = (spec: JsonObject): string[] => (quotaChecks.validate?.({ spec }) ?? []).map(fieldErrorText);
const selector = (...matchExpressions: JsonObject[]): JsonObject => ({ scopeSelector: { matchExpressions } });
const at = "spec.scopeSelector.matchExpressions";

const specs: readonly (readonly [name: string, spec: JsonObject, want: readonly string[]])[] = [
  ["a plain one", { hard: { pods: "1", "count/widgets.example.org": "2", "requests.example.org/gpu": "1" } }, []],
  [
    "amounts",
    { hard: { pods: "1.5", cpu: "-1" } },
    [
      'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.hard[pods]: Invalid value: "1.5": must be an integer',
    ],
  ],
  [
    "an unknown resource",
    { hard: { gpus: "1" } },
    [
      'spec.hard[gpus]: Invalid value: "gpus": must be a standard resource type or fully qualified',
      'spec.hard[gpus]: Invalid value: "gpus": must be a standard resource for quota',
    ],
  ],
  ["an unknown scope", { scopes: ["x"] }, ['spec.scopes: Invalid value: ["x"]: unsupported scope']],
  [
    "a scope for another resource",
    { hard: { cpu: "1", pods: "1" }, scopes: ["BestEffort"] },
    ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
  ],
  [
    "scopes that exclude each other",
    { scopes: ["Terminating", "NotTerminating"] },
    ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
  ],
  ["a selector", selector({ scopeName: "PriorityClass", operator: "In", values: ["a"] }), []],
  [
    "a selector without values",
    selector({ scopeName: "PriorityClass", operator: "In" }),
    [
      `${at}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
    ],
  ],
  [
    "a selector with values that need not be",
    selector({ scopeName: "PriorityClass", operator: "Exists", values: ["a"] }),
    [
      `${at}.values: Invalid value: ["a"]: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
    ],
  ],
  [
    "an unknown operator",
    selector({ scopeName: "PriorityClass", operator: "x" }),
    [`${at}.operator: Invalid value: "x": not a valid selector operator`],
  ],
  [
    "a scope that can only exist",
    selector({ scopeName: "BestEffort", operator: "DoesNotExist" }),
    [
      `${at}.operator: Invalid value: "DoesNotExist": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
    ],
  ],
  [
    "an unknown scope in a selector",
    selector({ scopeName: "x", operator: "Exists" }),
    [`${at}.scopeName: Invalid value: "x": unsupported scope`],
  ],
  [
    "a scope in a selector for another resource",
    { hard: { services: "1" }, ...selector({ scopeName: "Terminating", operator: "Exists" }) },
    [
      `${at}: Invalid value: {"MatchExpressions":[{"ScopeName":"Terminating","Operator":"Exists","Values":null}]}: unsupported scope applied to resource`,
    ],
  ],
];

for (const [name, spec, want] of specs) {
  test(`the spec of a quota: ${name}`, () => {
    assert.deepEqual(quotaErrors(spec), want);
  });
}

test("the scopes of a quota stay, in any order, and its status has valid amounts", () => {
  const change = (now: string[], old: string[]): string[] =>
    (quotaChecks.validateChange?.(scoped(...now), scoped(...old), "") ?? []).map(fieldErrorText);
  assert.deepEqual(change(["b", "a"], ["a", "b"]), []);
  assert.deepEqual(change(["a"], ["a", "b"]), ['spec.scopes: Invalid value: ["a"]: field is immutable']);
  assert.deepEqual(change([""], []), ['spec.scopes: Invalid value: [""]: field is immutable']);
  const status = { hard: { pods: "-1" }, used: { gpus: "1" } };
  assert.deepEqual(
    (quotaChecks.validateChange?.({ status }, {}, "status") ?? []).map((error) => error.field),
    ["status.hard[pods]", "status.used[gpus]", "status.used[gpus]"],
  );
});

test("a planned object is refused by what is used, created and deleted before it", () => {
  const quota = { metadata: { name: "q" }, spec: { hard: { configmaps: "2" } }, status: { used: { configmaps: "1" } } };
  const refusal = (created: number, deleted: number): string | undefined =>
    quotaRefusal(quota, {
      type: { group: "", resource: "configmaps" },
      object: {},
      created: Array(created).fill({}),
      deleted: Array(deleted).fill({}),
    });
  assert.equal(refusal(0, 0), undefined);
  assert.equal(refusal(1, 0), "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2");
  assert.equal(refusal(1, 1), undefined);
  assert.equal(
    quotaRefusal(scoped("BestEffort"), {
      type: { group: "", resource: "configmaps" },
      object: {},
      created: [],
      deleted: [],
    }),
    undefined,
  );
});

/** Creates objects as the API server does: a plugin looks at each within the transaction that stores it. */
async function creating(quotas: Record<string, JsonObject>) {
  const store = openStore({ directory: tempDirectory(), codec: objectCodec });
  for (const [at, spec] of Object.entries(quotas)) {
    const [namespace = "", name = ""] = at.split("/");
    const value = { kind: "ResourceQuota", metadata: { namespace, name, uid: at }, spec };
    await store.write(`//resourcequotas/${at}`, () => ({ action: "put", value }));
  }
  const enforced = new ResourceQuotas(store);
  const type = { group: "", resource: "configmaps", storage: { group: "" } } as ResourceType;
  const create = (namespace: string, name: string): Promise<unknown> => {
    const object = { metadata: { namespace, name } };
    const attributes: Partial<Attributes> = { type, namespace, name, object, dryRun: false };
    return store.write(`//configmaps/${namespace}/${name}`, (transaction) => {
      enforced.plugin.commit?.(attributes as Attributes, transaction);
      return { action: "put", value: object };
    });
  };
  return { enforced, create, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

type Attributes = Parameters<NonNullable<AdmissionPlugin["commit"]>>[0];

test("objects that no quota concerns are not kept, of others only those that were written last", async () => {
  await using scene = await creating({
    "scoped/q": { scopes: ["Terminating"], hard: { pods: "1" } },
    "plain/q": { hard: { "count/configmaps": "1000" } },
  });
  for (let i = 0; i < 100; i++) await scene.create("scoped", `c${i}`);
  assert.equal(scene.enforced.pending, 0);
  for (let i = 0; i < 100; i++) await scene.create("plain", `c${i}`);
  assert.ok(scene.enforced.pending <= 2, `${scene.enforced.pending} are kept`);
});

test("objects of namespaces that come and go are kept for a thousand of them", async () => {
  const names = Array.from({ length: 1100 }, (_, i) => `ns-${i}`);
  const spec = { hard: { "count/configmaps": "1" } };
  await using scene = await creating(Object.fromEntries(names.map((name) => [`${name}/q`, spec])));
  for (const name of names) await scene.create(name, "c");
  assert.equal(scene.enforced.pending, 1000);
  await assert.rejects(scene.create("ns-1099", "d"), /exceeded quota: q/);
  await assert.rejects(scene.create("ns-0", "d"), /exceeded quota: q/);
});

test("errors that show a list of scopes are made once, and the first hundred of them are reported", () => {
  const unknown = quotaChecks.validate?.(scoped(...Array.from({ length: 1000 }, (_, at) => `s${at}`))) ?? [];
  assert.deepEqual([unknown.length, new Set(unknown).size], [100, 1], "one text of all scopes, not a hundred");
  const hard = { cpu: "1", memory: "1" };
  const scopes = Array.from({ length: 1000 }, () => "BestEffort");
  const misfits = quotaChecks.validate?.({ spec: { hard, scopes } }) ?? [];
  assert.deepEqual([misfits.length, new Set(misfits).size], [100, 1]);
  const matchExpressions = scopes.map((scopeName) => ({ scopeName, operator: "Exists" }));
  const selected = quotaChecks.validate?.({ spec: { hard, scopeSelector: { matchExpressions } } }) ?? [];
  assert.deepEqual([selected.length, new Set(selected).size], [100, 1]);
});
