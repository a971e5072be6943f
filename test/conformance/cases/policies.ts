// SPDX-License-Identifier: Apache-2.0
// Validating admission policies with their bindings and parameters.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const apiVersion = "admissionregistration.k8s.io/v1";
const policies = `/apis/${apiVersion}/validatingadmissionpolicies`;
const bindings = `/apis/${apiVersion}/validatingadmissionpolicybindings`;

interface Row {
  /** Members of the spec of the policy. */
  readonly spec: Loose;
  /** Members of the spec of the binding; undefined: there is none. */
  readonly binding?: Loose | null;
}

const fails = (more: Loose = {}): Loose => ({ validations: [{ expression: "object.data.a == 'z'", ...more }] });
const paramKind = { apiVersion: "v1", kind: "ConfigMap" };

/** Policies that one label selects each. */
const rows: Readonly<Record<string, Row>> = {
  false: { spec: fails() },
  true: { spec: { validations: [{ expression: "object.data.a == '1'" }] } },
  message: { spec: fails({ message: " not so " }) },
  forbidden: { spec: fails({ reason: "Forbidden", message: "m" }) },
  large: { spec: fails({ reason: "RequestEntityTooLarge" }) },
  made: { spec: fails({ messageExpression: "'a is ' + object.data.a + ' '" }) },
  "made-lines": { spec: fails({ messageExpression: "'a\\nb'", message: "fallback" }) },
  "made-fails": { spec: fails({ messageExpression: "string(object.nope.x)" }) },
  error: { spec: { validations: [{ expression: "object.nope == 1" }] } },
  ignored: { spec: { validations: [{ expression: "object.nope == 1" }], failurePolicy: "Ignore" } },
  warned: { spec: fails(), binding: { validationActions: ["Warn", "Audit"] } },
  unbound: { spec: fails(), binding: null },
  two: { spec: { validations: [{ expression: "1 == 2" }, { expression: "2 == 3" }] } },
  variables: {
    spec: {
      variables: [
        { name: "a", expression: "object.data.a" },
        { name: "b", expression: "variables.a + '!'" },
      ],
      validations: [{ expression: "variables.b == 'x'", messageExpression: "'b is ' + variables.b" }],
    },
  },
  "variable-fails": {
    spec: { variables: [{ name: "a", expression: "object.nope" }], validations: [{ expression: "variables.a == 1" }] },
  },
  condition: { spec: { ...fails(), matchConditions: [{ name: "c", expression: "object.data.a == '7'" }] } },
  "condition-fails": { spec: { ...fails(), matchConditions: [{ name: "c", expression: "object.nope == '7'" }] } },
  namespace: { spec: { validations: [{ expression: "namespaceObject.metadata.name == 'other'" }] } },
  access: { spec: { validations: [{ expression: "!authorizer.group('').resource('pods').check('get').allowed()" }] } },
  "no-param": {
    spec: { ...fails(), paramKind },
    binding: { paramRef: { name: "nope", parameterNotFoundAction: "Deny" } },
  },
  "no-param-allowed": {
    spec: { ...fails(), paramKind },
    binding: { paramRef: { name: "nope", parameterNotFoundAction: "Allow" } },
  },
  "unknown-kind": {
    spec: { ...fails(), paramKind: { apiVersion: "nope.example.org/v1", kind: "Zed" } },
    binding: { paramRef: { name: "x", parameterNotFoundAction: "Deny" } },
  },
  param: {
    spec: {
      paramKind,
      validations: [
        { expression: "object.data.a == params.data.wanted", messageExpression: "string(params.data.wanted)" },
      ],
    },
    binding: { paramRef: { name: "param", parameterNotFoundAction: "Deny" } },
  },
  selected: {
    spec: { paramKind, validations: [{ expression: "object.data.a == params.data.wanted" }] },
    binding: { paramRef: { selector: { matchLabels: { of: "params" } }, parameterNotFoundAction: "Deny" } },
  },
  "annotation-fails": { spec: { auditAnnotations: [{ key: "a", valueExpression: "string(object.data.nope)" }] } },
  "annotation-ignored": {
    spec: {
      auditAnnotations: [{ key: "a", valueExpression: "string(object.data.nope)" }],
      failurePolicy: "Ignore",
    },
  },
  excluded: { spec: { ...fails(), excluded: true } },
  narrowed: { spec: fails(), binding: { matchResources: { objectSelector: { matchLabels: { more: "yes" } } } } },
};

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };

function policyOf(s: Session, name: string, { excluded, ...spec }: Loose): Loose {
  const matchConstraints = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": s.namespace } },
    objectSelector: { matchLabels: { case: name } },
    resourceRules: [rule],
    ...(excluded && { excludeResourceRules: [rule] }),
  };
  const kind = "ValidatingAdmissionPolicy";
  return { apiVersion, kind, metadata: { name: `${s.namespace}-${name}` }, spec: { matchConstraints, ...spec } };
}

function bindingOf(s: Session, name: string, spec: Loose): Loose {
  const own = `${s.namespace}-${name}`;
  const kind = "ValidatingAdmissionPolicyBinding";
  return { apiVersion, kind, metadata: { name: own }, spec: { policyName: own, validationActions: ["Deny"], ...spec } };
}

const labelled = (name: string): Loose => ({ ...configMap(name), metadata: { name, labels: { case: name } } });

/** Creates a policy with its binding. Not part of the transcript. */
async function withPolicy(s: Session, name: string, { spec, binding = {} }: Row): Promise<void> {
  const made = [await s.post(policies, policyOf(s, name, spec), { quiet: true })];
  if (binding !== null) made.push(await s.post(bindings, bindingOf(s, name, binding), { quiet: true }));
  for (const { code, text } of made) if (code !== 201) throw new Error(`cannot create the policy ${name}: ${text}`);
}

/** Specs of policies that are refused. */
const refusedPolicies: readonly Loose[] = [
  {},
  { matchConstraints: {}, ...fails() },
  { matchConstraints: { resourceRules: [{ ...rule, resources: ["*", "pods"], apiVersions: [""] }] }, ...fails() },
  { matchConstraints: { resourceRules: [{ ...rule, resources: ["a/*", "a/b", "*/*"] }] }, ...fails() },
  { matchConstraints: { resourceRules: [{ ...rule, resourceNames: ["a", "a", "b/c"] }] }, ...fails() },
  { failurePolicy: "Nope", paramKind: { apiVersion: "a/b/c", kind: "Not a kind" }, ...fails() },
  {
    matchConditions: [
      { name: "a", expression: " " },
      { name: "a", expression: "1" },
      { name: "Not a name", expression: "true" },
    ],
    ...fails(),
  },
  { validations: [{ expression: " ", message: " ", messageExpression: " ", reason: "Nope" }] },
  { variables: [{ name: " ", expression: " " }], ...fails() },
  { auditAnnotations: ["a", "a", "Not a key"].map((key) => ({ key, valueExpression: "'x'" })) },
  { validations: [{ expression: "'a'" }] },
  { validations: [{ expression: "true", messageExpression: "1" }] },
  { validations: [{ expression: "true", message: "a\nb" }] },
  { variables: [{ name: "for", expression: "1" }], ...fails() },
  {
    variables: [
      { name: "a", expression: "variables.b" },
      { name: "b", expression: "1" },
    ],
    ...fails(),
  },
  { validations: [{ expression: "request.object == null" }] },
  { validations: [{ expression: "params.x == 1" }] },
  { validations: [{ expression: "true", messageExpression: "string(authorizer.path('/').check('get').allowed())" }] },
];

const refusedBindings: readonly Loose[] = [
  { policyName: "Not a name" },
  { validationActions: ["Deny", "Deny", "Nope"] },
  { paramRef: { name: "a/b", selector: { matchLabels: { "-": "x" } }, parameterNotFoundAction: "Nope" } },
  { matchResources: { matchPolicy: "Nope", resourceRules: [{ ...rule, operations: ["*", "CREATE"] }] } },
  { validationActions: [] },
  { validationActions: ["Deny", "Warn"] },
  { paramRef: { parameterNotFoundAction: "Deny" } },
];

export const policyCases: readonly Case[] = [
  scenario("policies by users who may not read their parameters", async (s) => {
    const rbac = "rbac.authorization.k8s.io";
    const name = s.namespace;
    const rules = [
      { apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] },
    ];
    await s.post(`/apis/${rbac}/v1/clusterroles`, { metadata: { name }, rules }, { quiet: true });
    const subjects = [{ kind: "User", apiGroup: rbac, name: "writer" }];
    const roleRef = { kind: "ClusterRole", apiGroup: rbac, name };
    await s.post(`/apis/${rbac}/v1/clusterrolebindings`, { metadata: { name }, roleRef, subjects }, { quiet: true });
    const headers = { "impersonate-user": "writer" };
    await s.until(policies, ({ code }) => code === 200, { headers });
    const of = (kind: string, version = "v1"): Loose => ({ ...fails(), paramKind: { apiVersion: version, kind } });
    const post = (title: string, path: string, body: Loose): Promise<unknown> =>
      s.post(`${path}?dryRun=All`, body, {
        headers,
        title,
        part: ({ code, reason, message }) => ({ code, reason, message }),
      });
    await post("no parameters", policies, policyOf(s, "a", fails()));
    await post("parameters that can be read", policies, policyOf(s, "a", of("Secret")));
    await post("parameters that cannot be read", policies, policyOf(s, "a", of("ConfigMap")));
    await post("parameters of an unknown kind", policies, policyOf(s, "a", of("Zed", "nope.example.org/v1")));
    await s.post(policies, policyOf(s, "maps", of("ConfigMap")), { quiet: true });
    const ref = (paramRef: Loose): Loose =>
      bindingOf(s, "maps", { paramRef: { parameterNotFoundAction: "Deny", ...paramRef } });
    await post("a parameter by name", bindings, ref({ name: "x", namespace: "default" }));
    await post("a parameter in any namespace", bindings, ref({ name: "x" }));
    await post("parameters by labels", bindings, ref({ selector: { matchLabels: { a: "b" } } }));
    await post("no parameter", bindings, bindingOf(s, "maps", {}));
    await s.delete(`${policies}/${s.namespace}-maps`, undefined, { quiet: true });
    await s.delete(`/apis/${rbac}/v1/clusterrolebindings/${name}`, undefined, { quiet: true });
    await s.delete(`/apis/${rbac}/v1/clusterroles/${name}`, undefined, { quiet: true });
  }),
  scenario("policies and bindings that are refused", async (s) => {
    for (const spec of refusedPolicies) await s.post(`${policies}?dryRun=All`, policyOf(s, "p", spec));
    for (const spec of refusedBindings) await s.post(`${bindings}?dryRun=All`, bindingOf(s, "p", spec));
  }),
  scenario("validating policies", async (s) => {
    const param = {
      ...configMap("param", { wanted: "from param" }),
      metadata: { name: "param", labels: { of: "params" } },
    };
    await s.post(core(s, "configmaps"), param, { quiet: true });
    for (const [name, row] of Object.entries(rows)) await withPolicy(s, name, row);
    // Policies take effect in the order in which they were written.
    await withPolicy(s, "last", { spec: fails() });
    for (;;) {
      const { code } = await s.post(`${core(s, "configmaps")}?dryRun=All`, labelled("last"), { quiet: true });
      if (code === 422) break;
      await delay(50);
    }
    await delay(1000);
    for (const name of Object.keys(rows)) await s.post(core(s, "configmaps"), labelled(name));
    for (const name of [...Object.keys(rows), "last"]) {
      await s.delete(`${bindings}/${s.namespace}-${name}`, undefined, { quiet: true });
      await s.delete(`${policies}/${s.namespace}-${name}`, undefined, { quiet: true });
    }
  }),
];
