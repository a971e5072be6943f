// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicies in the shapes that Kyverno and Gatekeeper make of their own policies.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import { core, inGroup, ownGroup, withCrd } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const apiVersion = "admissionregistration.k8s.io/v1";
const policies = `/apis/${apiVersion}/validatingadmissionpolicies`;
const bindings = `/apis/${apiVersion}/validatingadmissionpolicybindings`;

const pods = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["pods"] };
const controllers = { ...pods, apiGroups: ["apps"], resources: ["deployments", "daemonsets", "statefulsets"] };
/** Without cluster-scoped objects: selectors of namespaces do not leave them out, so other cases would be refused. */
const all = { ...pods, apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], scope: "Namespaced" };

/** The containers of a Pod, or of the template of a workload. */
const containers =
  "(has(object.spec.template) ? object.spec.template.spec : object.spec).containers + " +
  "((has(object.spec.template) ? object.spec.template.spec : object.spec).?initContainers.orValue([]))";

/** Policies as `kyverno` writes them: one expression for each rule, messages as texts. */
const kyverno: Readonly<Record<string, Loose>> = {
  "disallow-latest-tag": {
    matchConstraints: { resourceRules: [pods, controllers] },
    variables: [{ name: "containers", expression: containers }],
    validations: [
      { expression: "variables.containers.all(c, c.image.contains(':'))", message: "An image tag is required." },
      {
        expression: "variables.containers.all(c, !c.image.endsWith(':latest'))",
        message: "Using a mutable image tag e.g. 'latest' is not allowed.",
      },
    ],
  },
  "restrict-image-registries": {
    matchConstraints: { resourceRules: [pods] },
    variables: [{ name: "allowed", expression: "['eu.foo.io/', 'bar.io/']" }],
    validations: [
      {
        expression: "object.spec.containers.all(c, variables.allowed.exists(one, c.image.startsWith(one)))",
        messageExpression: "'Unknown image registry: ' + object.spec.containers.map(c, c.image).join(', ')",
        reason: "Forbidden",
      },
    ],
  },
  "require-requests-limits": {
    matchConstraints: { resourceRules: [pods] },
    validations: [
      {
        expression:
          "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && has(c.resources.limits.memory) && " +
          "quantity(c.resources.limits.memory).isLessThan(quantity('1Gi')))",
        message: "CPU and memory resource limits are required.",
      },
    ],
  },
  "disallow-host-namespaces": {
    matchConstraints: { resourceRules: [pods] },
    matchConditions: [{ name: "not-system", expression: "!request.userInfo.groups.exists(g, g == 'system:nodes')" }],
    validations: [
      {
        expression:
          "(!has(object.spec.hostNetwork) || !object.spec.hostNetwork) && (!has(object.spec.hostPID) || !object.spec.hostPID)",
        message: "Sharing the host namespaces is disallowed.",
      },
    ],
  },
};

/** A constraint template as `gatekeeper` writes it: parameters are a custom resource, one binding for each of them. */
const requiredLabels = (group: string): Loose => ({
  paramKind: { apiVersion: `${group}/v1beta1`, kind: "RequiredLabels" },
  failurePolicy: "Fail",
  matchConstraints: { resourceRules: [all] },
  matchConditions: [
    {
      name: "gatekeeper_internal_match_excluded_namespaces",
      expression:
        "[object, oldObject].exists(obj, obj != null && (!has(params.spec) || !has(params.spec.match) || " +
        "!has(params.spec.match.excludedNamespaces) || !params.spec.match.excludedNamespaces.exists(nsMatcher, " +
        "string(obj.metadata.?namespace.orValue('')).matches('^' + nsMatcher + '$'))))",
    },
    {
      name: "gatekeeper_internal_match_kinds",
      expression:
        "!has(params.spec) || !has(params.spec.match) || !has(params.spec.match.kinds) || " +
        "params.spec.match.kinds.exists(k, k.kinds.exists(kind, kind == '*' || kind == request.kind.kind))",
    },
  ],
  variables: [
    {
      name: "anyObject",
      expression: 'has(request.operation) && request.operation == "DELETE" && object == null ? oldObject : object',
    },
    {
      name: "params",
      expression: "!has(params.spec) ? null : !has(params.spec.parameters) ? null : params.spec.parameters",
    },
    {
      name: "missing",
      expression:
        "variables.params.labels.filter(label, !(has(variables.anyObject.metadata.labels) && " +
        "label.key in variables.anyObject.metadata.labels))",
    },
  ],
  validations: [
    {
      expression: "size(variables.missing) == 0",
      messageExpression: "'missing required label(s): ' + variables.missing.map(one, one.key).join(', ')",
    },
    {
      expression:
        "variables.params.labels.all(label, !has(label.allowedRegex) || " +
        "variables.anyObject.metadata.labels[label.key].matches(label.allowedRegex))",
      message: "regex mismatch",
    },
  ],
});

const constraintCrd = (group: string): Loose => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `requiredlabels.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { kind: "RequiredLabels", plural: "requiredlabels", singular: "requiredlabels" },
    versions: [
      {
        name: "v1beta1",
        ...{ served: true, storage: true },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
});

/** Creates a policy and its binding for the namespace of the case. Not part of the transcript. */
async function withPolicy(s: Session, name: string, { spec, binding = {} }: Loose): Promise<void> {
  const own = `${s.namespace}-${name}`;
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": s.namespace } };
  const matchConstraints = { ...spec.matchConstraints, namespaceSelector };
  const made = [
    await s.post(policies, { metadata: { name: own }, spec: { ...spec, matchConstraints } }, { quiet: true }),
    await s.post(
      bindings,
      { metadata: { name: own }, spec: { policyName: own, validationActions: ["Deny"], ...binding } },
      { quiet: true },
    ),
  ];
  for (const { code, text } of made) if (code !== 201) throw new Error(`cannot create the policy ${name}: ${text}`);
}

async function withoutPolicies(s: Session, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await s.delete(`${bindings}/${s.namespace}-${name}`, undefined, { quiet: true });
    await s.delete(`${policies}/${s.namespace}-${name}`, undefined, { quiet: true });
  }
}

const maxTries = 900;

interface Wait {
  readonly isWanted: (response: { readonly code: number; readonly body: Loose }) => boolean;
  /** Called with each other response. */
  readonly onRefused?: (text: string) => Promise<void>;
}

/** Tries to create an object until the response is the wanted one: the reference reads policies and parameters by watches. */
async function untilTried(
  s: Session,
  { path, object }: { readonly path: string; readonly object: Loose },
  { isWanted, onRefused = async () => {} }: Wait,
): Promise<void> {
  let last = "";
  for (let tries = 0; tries < maxTries; tries += 1) {
    const response = await s.post(`${path}?dryRun=All`, object, { quiet: true });
    if (isWanted(response)) return;
    last = response.text;
    await onRefused(last);
    await delay(100);
  }
  throw new Error(`policies had no effect after ${maxTries} tries; the last response: ${last}`);
}

/** Waits until a policy refuses an object. */
const untilRefused = (s: Session, name: string, tried: { readonly path: string; readonly object: Loose }) =>
  untilTried(s, tried, {
    isWanted: ({ body }) => {
      const message = String(body.message);
      return message.includes(`'${s.namespace}-${name}'`) && !message.includes(unknownParameters);
    },
    // The reference looks for the kind of parameters when a policy changes, and may not know a new kind yet.
    onRefused: async (text) => {
      if (!text.includes(unknownParameters)) return;
      const annotations = { tried: String(performance.now()) };
      await s.patch(`${policies}/${s.namespace}-${name}`, "merge", { metadata: { annotations } }, { quiet: true });
    },
  });

const unknownParameters = "failed to find resource referenced by paramKind";

const pod = (name: string, image: string, spec: Loose = {}): Loose => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: "c", image, resources: { limits: { memory: "64Mi" } } }],
    ...spec,
  },
});

const workload = (name: string, image: string): Loose => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image }] } },
  },
});

const outcome = (body: Loose): Loose => (body.kind === "Status" ? body : body.kind);

export const policyShapeCases: readonly Case[] = [
  scenario("policies in the shape of Kyverno", async (s) => {
    await s.until(core(s, "serviceaccounts", "default"), ({ code }) => code === 200);
    const large = { containers: [{ name: "c", image: "bar.io/x:1", resources: { limits: { memory: "2Gi" } } }] };
    const refused: Readonly<Record<string, Loose>> = {
      "disallow-latest-tag": pod("latest", "bar.io/x:latest"),
      "restrict-image-registries": pod("registry", "docker.io/x:1"),
      "require-requests-limits": pod("large", "bar.io/x:1", large),
      "disallow-host-namespaces": pod("host", "bar.io/x:1", { hostNetwork: true }),
    };
    for (const [name, spec] of Object.entries(kyverno)) {
      await withPolicy(s, name, { spec });
      await untilRefused(s, name, { path: core(s, "pods"), object: refused[name] });
    }
    for (const [name, object] of Object.entries(refused)) {
      await s.post(core(s, "pods"), object, { title: name, part: outcome });
    }
    const init = [{ name: "i", image: "bar.io/x:latest" }];
    await s.post(core(s, "pods"), pod("init", "bar.io/x:1", { initContainers: init }), { part: outcome });
    await s.post(core(s, "pods"), pod("good", "bar.io/x:1"), { part: outcome });
    const image = { spec: { containers: [{ name: "c", image: "bar.io/x:latest" }] } };
    await s.patch(core(s, "pods", "good"), "strategic", image, { part: outcome });
    const deployments = inGroup(s, "apps/v1/deployments");
    await s.post(deployments, workload("untagged", "nginx"), { part: outcome });
    await s.post(deployments, workload("tagged", "nginx:1.27"), { part: outcome });
    await withoutPolicies(s, Object.keys(kyverno));
  }),
  scenario("policies in the shape of Gatekeeper", async (s) => {
    const group = ownGroup(s);
    await withCrd(s, constraintCrd(group));
    const constraint = (name: string, spec: Loose): Loose => ({
      apiVersion: `${group}/v1beta1`,
      kind: "RequiredLabels",
      metadata: { name },
      spec,
    });
    const parameters = { labels: [{ key: "owner", allowedRegex: "^[a-z]+[.]example[.]org$" }, { key: "tier" }] };
    const kinds = [{ apiGroups: [""], kinds: ["ConfigMap"] }];
    const constraints = `/apis/${group}/v1beta1/requiredlabels`;
    await s.post(constraints, constraint("owned", { parameters, match: { kinds } }), { part: outcome });
    const paramRef = { name: "owned", parameterNotFoundAction: "Allow" };
    await withPolicy(s, "labels", { spec: requiredLabels(group), binding: { paramRef } });
    const map = (name: string, labels?: Loose): Loose => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, ...(labels && { labels }) },
    });
    const maps = core(s, "configmaps");
    await untilRefused(s, "labels", { path: maps, object: map("none") });
    await s.post(maps, map("none"), { part: outcome });
    await s.post(maps, map("one", { owner: "a.example.org" }), { part: outcome });
    await s.post(maps, map("wrong", { owner: "A", tier: "x" }), { part: outcome });
    await s.post(maps, map("right", { owner: "a.example.org", tier: "x" }), { part: outcome });
    await s.patch(`${maps}/right`, "merge", { metadata: { labels: { tier: null } } }, { part: outcome });
    await s.post(
      core(s, "secrets"),
      { apiVersion: "v1", kind: "Secret", metadata: { name: "other" } },
      { part: outcome },
    );
    const excluded = { parameters, match: { excludedNamespaces: [`${s.namespace.slice(0, 5)}.*`] } };
    await s.patch(
      `${constraints}/owned`,
      "merge",
      { spec: { ...excluded, match: { ...excluded.match, kinds: null } } },
      {
        part: outcome,
      },
    );
    await untilTried(s, { path: maps, object: map("free") }, { isWanted: ({ code }) => code === 201 });
    await s.post(maps, map("free"), { part: outcome });
    await s.delete(`${constraints}/owned`, undefined, { quiet: true });
    await withoutPolicies(s, ["labels"]);
    await s.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/requiredlabels.${group}`, undefined, {
      quiet: true,
    });
  }),
];
