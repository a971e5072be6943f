// SPDX-License-Identifier: Apache-2.0
// Mutating admission policies with their bindings and parameters.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, deployment, inGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { everyWrite, patching, startWebhook, withWebhooks } from "../harness/webhook-server.ts";

const apiVersion = "admissionregistration.k8s.io/v1";
const policies = `/apis/${apiVersion}/mutatingadmissionpolicies`;
const bindings = `/apis/${apiVersion}/mutatingadmissionpolicybindings`;

interface Row {
  /** Members of the spec of the policy. */
  readonly spec: Loose;
  /** Members of the spec of the binding; null: there is none. */
  readonly binding?: Loose | null;
  /** The object of the write. Default: a ConfigMap. */
  readonly object?: (name: string) => Loose;
}

const applied = (...expressions: string[]): Loose => ({
  mutations: expressions.map((expression) => ({ patchType: "ApplyConfiguration", applyConfiguration: { expression } })),
});
const patchedBy = (...expressions: string[]): Loose => ({
  mutations: expressions.map((expression) => ({ patchType: "JSONPatch", jsonPatch: { expression } })),
});
const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
const labels = "Object{metadata: Object.metadata{labels: {'added': 'yes'}}}";

/** Policies that one label selects each. */
const rows: Readonly<Record<string, Row>> = {
  label: { spec: applied(labels) },
  data: { spec: applied("Object{data: {'b': object.data.a + '!'}}") },
  "two-mutations": { spec: applied("Object{data: {'b': '1'}}", "Object{data: {'c': object.data.b + '2'}}") },
  "a-test": {
    spec: patchedBy(
      "[JSONPatch{op: 'test', path: '/data/a', value: 'no'}, JSONPatch{op: 'add', path: '/data/b', value: 'x'}]",
    ),
  },
  add: { spec: patchedBy("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('b'), value: 'x'}]") },
  escaped: {
    spec: patchedBy(
      "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}, JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('e.org/~x'), value: 'y'}]",
    ),
  },
  copy: { spec: patchedBy("[JSONPatch{op: 'copy', from: '/data/a', path: '/data/b'}]") },
  conditional: { spec: patchedBy("object.data.a == '7' ? [JSONPatch{op: 'remove', path: '/data/a'}] : []") },
  remove: { spec: patchedBy("[JSONPatch{op: 'remove', path: '/data/zzz'}]") },
  "remove-ignored": { spec: { ...patchedBy("[JSONPatch{op: 'remove', path: '/data/zzz'}]"), failurePolicy: "Ignore" } },
  "wrong-type": { spec: patchedBy("[JSONPatch{op: 'add', path: '/data/b', value: 7}]") },
  undeclared: { spec: applied("Object{nope: 'x'}") },
  "wrong-scalar": { spec: applied("Object{data: {'b': 7}}") },
  "nested-map": { spec: applied("Object{metadata: {'labels': {'a': 'b'}}}") },
  "wrong-name": { spec: applied("Object{metadata: Object.wrong{labels: {'a': 'b'}}}") },
  error: { spec: applied("Object{data: {'b': object.data.nope}}") },
  "error-ignored": { spec: { ...applied("Object{data: {'b': object.data.nope}}"), failurePolicy: "Ignore" } },
  condition: { spec: { ...applied(labels), matchConditions: [{ name: "c", expression: "object.data.a == '7'" }] } },
  "condition-once": {
    spec: {
      ...applied("Object{data: {'a': '2'}}", "Object{data: {'b': object.data.a + '!'}}"),
      matchConditions: [{ name: "c", expression: "object.data.a == '1'" }],
    },
  },
  "condition-fails": {
    spec: { ...applied(labels), matchConditions: [{ name: "c", expression: "object.nope == '7'" }] },
  },
  variables: {
    spec: {
      ...applied("Object{data: {'b': variables.b}}"),
      variables: [
        { name: "a", expression: "object.data.a" },
        { name: "b", expression: "variables.a + '!'" },
      ],
    },
  },
  optional: { spec: applied("Object{?data: has(object.nope) ? optional.of({'b': 'x'}) : optional.none()}") },
  unbound: { spec: applied(labels), binding: null },
  "no-param": {
    spec: { ...applied(labels), paramKind },
    binding: { paramRef: { name: "nope", parameterNotFoundAction: "Deny" } },
  },
  "no-param-allowed": {
    spec: { ...applied(labels), paramKind },
    binding: { paramRef: { name: "nope", parameterNotFoundAction: "Allow" } },
  },
  param: {
    spec: { ...applied("Object{data: {'b': string(params.data.wanted)}}"), paramKind },
    binding: { paramRef: { name: "param", parameterNotFoundAction: "Deny" } },
  },
  "unknown-kind": {
    spec: { ...applied(labels), paramKind: { apiVersion: "nope.example.org/v1", kind: "Zed" } },
    binding: { paramRef: { name: "x", parameterNotFoundAction: "Deny" } },
  },
  "several-fail": { spec: applied("Object{data: {'b': object.data.x}}", "Object{data: {'b': object.data.y}}") },
  authorizer: {
    spec: applied("Object{data: {'b': string(authorizer.group('').resource('pods').check('get').allowed())}}"),
  },
  invalid: { spec: applied("Object{data: {'not valid': 'x'}}") },
  atomic: {
    spec: applied(
      "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'main', args: ['x']}]}}}}",
    ),
    object: deployment,
  },
  "atomic-map": {
    spec: applied("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}"),
    object: deployment,
  },
  containers: {
    spec: applied(
      "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'main', env: [Object.spec.template.spec.containers.env{name: 'A', value: 'b'}]}, Object.spec.template.spec.containers{name: 'other', image: 'i'}]}}}}",
    ),
    object: deployment,
  },
};

const rule = (resources: readonly string[]): Loose => ({
  apiGroups: ["*"],
  apiVersions: ["*"],
  operations: ["CREATE", "UPDATE"],
  resources,
});

function policyOf(s: Session, name: string, spec: Loose): Loose {
  const matchConstraints = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": s.namespace } },
    objectSelector: { matchLabels: { case: name } },
    resourceRules: [rule(["configmaps", "deployments"])],
  };
  return {
    apiVersion,
    kind: "MutatingAdmissionPolicy",
    metadata: { name: `${s.namespace}-${name}` },
    spec: { matchConstraints, reinvocationPolicy: "Never", ...spec },
  };
}

function bindingOf(s: Session, name: string, spec: Loose): Loose {
  const own = `${s.namespace}-${name}`;
  return {
    apiVersion,
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: own },
    spec: { policyName: own, ...spec },
  };
}

/** Creates a policy with its binding. Not part of the transcript. */
async function withPolicy(s: Session, name: string, { spec, binding = {} }: Row): Promise<void> {
  const made = [await s.post(policies, policyOf(s, name, spec), { quiet: true })];
  if (binding !== null) made.push(await s.post(bindings, bindingOf(s, name, binding), { quiet: true }));
  for (const { code, text } of made) if (code !== 201) throw new Error(`cannot create the policy ${name}: ${text}`);
}

const labelled = (object: Loose, label: string): Loose => ({
  ...object,
  metadata: { ...object.metadata, labels: { case: label } },
});

/** Waits until the newest policy is in effect. */
async function settled(s: Session): Promise<void> {
  await withPolicy(s, "probe", { spec: applied("Object{data: {'probed': 'yes'}}") });
  for (;;) {
    const probe = labelled(configMap("probe"), "probe");
    const { body } = await s.post(`${core(s, "configmaps")}?dryRun=All`, probe, { quiet: true });
    if (body.data?.probed === "yes") return;
    await delay(50);
  }
}

async function removed(s: Session, names: readonly string[]): Promise<void> {
  for (const name of [...names, "probe"]) {
    await s.delete(`${bindings}/${s.namespace}-${name}`, undefined, { quiet: true });
    await s.delete(`${policies}/${s.namespace}-${name}`, undefined, { quiet: true });
  }
}

export const mutatingPolicyCases: readonly Case[] = [
  scenario("mutating policies that change and refuse", async (s) => {
    await s.post(core(s, "configmaps"), configMap("param", { wanted: "7" }), { quiet: true });
    for (const [name, row] of Object.entries(rows)) await withPolicy(s, name, row);
    await settled(s);
    for (const [name, { object = configMap }] of Object.entries(rows)) {
      const path = object === deployment ? inGroup(s, "apps/v1/deployments") : core(s, "configmaps");
      await s.post(path, labelled(object(name), name));
    }
    await s.patch(core(s, "configmaps", "label"), "merge", { data: { more: "x" } });
    await s.patch(`${core(s, "configmaps", "data")}?fieldManager=m`, "apply", {
      ...labelled(configMap("data"), "data"),
      data: { a: "z" },
    });
    await s.delete(core(s, "configmaps", "label"));
    await removed(s, Object.keys(rows));
  }),
  scenario("mutating policies before webhooks and again", async (s) => {
    const append = (name: string, reinvocationPolicy: string): Row => ({
      spec: {
        ...applied(`Object{data: {'order': (has(object.data.order) ? object.data.order : '') + '${name}'}}`),
        reinvocationPolicy,
        matchConstraints: { ...policyOf(s, "order", {}).spec.matchConstraints },
      },
    });
    const hook = await startWebhook(s, (review) =>
      patching(review, [
        { op: "replace", path: "/data/order", value: `${review.request.object.data.order}h` },
        { op: "add", path: "/data/hooked", value: "yes" },
      ]),
    );
    const webhooks = [
      {
        ...everyWrite,
        name: "order.test.example.org",
        clientConfig: { url: `${hook.url}/order`, caBundle: hook.caBundle },
        objectSelector: { matchLabels: { case: "order" } },
      },
    ];
    const end = await withWebhooks(s, { kind: "MutatingWebhookConfiguration", hook, webhooks });
    await withPolicy(s, "needed", append("n", "IfNeeded"));
    await settled(s);
    await s.post(core(s, "configmaps"), labelled(configMap("needed"), "order"));
    await removed(s, ["needed"]);
    await end();
    await hook.stop();
  }),
  scenario("mutating policies that are refused", async (s) => {
    const post = (title: string, spec: Loose): Promise<unknown> =>
      s.post(`${policies}?dryRun=All`, policyOf(s, "refused", spec), {
        title,
        part: ({ code, message, spec: made }) => ({ code, message, made }),
      });
    await post("accepted", applied(labels));
    await post("no mutations", {});
    await post("no reinvocation policy", { ...applied(labels), reinvocationPolicy: undefined });
    await post("other reinvocation policy", { ...applied(labels), reinvocationPolicy: "Always" });
    await post("no constraints", { ...applied(labels), matchConstraints: undefined });
    await post("no rules", { ...applied(labels), matchConstraints: { resourceRules: [] } });
    await post("delete", {
      ...applied(labels),
      matchConstraints: { resourceRules: [{ ...rule(["pods"]), operations: ["DELETE"] }] },
    });
    await post("no patch type", { mutations: [{ applyConfiguration: { expression: labels } }] });
    await post("other patch type", { mutations: [{ patchType: "Merge", applyConfiguration: { expression: labels } }] });
    await post("no patch", { mutations: [{ patchType: "JSONPatch" }] });
    await post("no configuration", { mutations: [{ patchType: "ApplyConfiguration" }] });
    await post("both", {
      mutations: [{ ...applied(labels).mutations[0], jsonPatch: { expression: "[JSONPatch{}]" } }],
    });
    await post("empty expression", applied(" "));
    await post("a map", applied("{'a': 'b'}"));
    await post("a list", applied("[Object{}]"));
    await post("an operation", patchedBy("JSONPatch{op: 'add'}"));
    await post("a list of maps", patchedBy("[{'op': 'add'}]"));
    await post("unknown field", patchedBy("[JSONPatch{nope: 'add'}]"));
    await post("field of another type", patchedBy("[JSONPatch{op: 7}]"));
    await post("unknown type", applied("Nope{a: 1}"));
    await post("syntax", applied("Object{"));
    await post("no params", applied("Object{data: params.data}"));
    await post("forward reference", {
      ...applied(labels),
      variables: [{ name: "a", expression: "variables.b" }],
    });
    await post("patch in a variable", { ...applied(labels), variables: [{ name: "a", expression: "Object{}" }] });
    await post("escape in a condition", {
      ...applied(labels),
      matchConditions: [{ name: "c", expression: "jsonpatch.escapeKey('a') == 'a'" }],
    });
    const bound = (title: string, spec: Loose): Promise<unknown> =>
      s.post(`${bindings}?dryRun=All`, bindingOf(s, "refused", spec), { title });
    await bound("binding", {});
    await bound("no policy", { policyName: "" });
    await bound("neither name nor selector", { paramRef: { parameterNotFoundAction: "Deny" } });
  }),
];
