// SPDX-License-Identifier: Apache-2.0
// What the type check of the expressions of validating admission policies finds.
import { type Case, scenario } from "../harness/case.ts";
import { ownGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";
import { widgetCrd } from "../harness/widget-crd.ts";

const apiVersion = "admissionregistration.k8s.io/v1";
const path = `/apis/${apiVersion}/validatingadmissionpolicies`;

const rule = (apiGroup: string, ...resources: string[]): Loose => ({
  apiGroups: [apiGroup],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources,
});
const configMaps = rule("", "configmaps");
const deployments = rule("apps", "deployments");

const of = (rules: Loose, ...expressions: string[]): Loose => ({
  matchConstraints: { resourceRules: [rules].flat() },
  validations: expressions.map((expression) => ({ expression })),
});

/** Specs of policies by name. */
const specs: Readonly<Record<string, Loose>> = {
  "no-findings": of(deployments, "object.spec.replicas <= 5", "has(object.metadata.labels.a)"),
  "unknown-field": of(deployments, "object.spec.foo == 1", "object.data.a == 'x'", "object.spec.replicas == 1"),
  "wrong-type": of(deployments, "object.spec.replicas == 'x'", "object.metadata.name > 1", "object.spec == 1"),
  "not-bool": of(configMaps, "object.data['a'] == 'x' && object.metadata.name.size() > 1 && oldObject.nope"),
  "old-object": of(configMaps, "oldObject == null || oldObject.date == object.data"),
  "several-kinds": of([rule("apps", "statefulsets", "deployments"), configMaps], "object.spec.replicas > 1"),
  "several-lines": of(configMaps, "object.data.a == 'x' &&\n  object.nope == 1 ||\n  object.neither"),
  "core-group": of(rule("", "deployments", "events"), "object.nope == 1"),
  singular: of(rule("", "configmap"), "object.nope == 1"),
  wildcards: of(
    [{ ...configMaps, apiGroups: ["*"] }, { ...configMaps, apiVersions: ["*"] }, rule("", "*", "pods/status")],
    "object.nope == 1",
  ),
  subresource: of(rule("apps", "deployments/scale"), "object.nope == 1"),
  "unknown-kind": of([rule("nope.example.org", "zeds"), configMaps], "object.nope == 1"),
  "many-kinds": of(
    [
      rule(
        "",
        ...[
          "configmaps",
          "endpoints",
          "limitranges",
          "namespaces",
          "nodes",
          "persistentvolumeclaims",
          "persistentvolumes",
        ],
        ...[
          "pods",
          "podtemplates",
          "replicationcontrollers",
          "resourcequotas",
          "secrets",
          "serviceaccounts",
          "services",
        ],
      ),
      deployments,
    ],
    "object.nope == 1",
  ),
  union: of(rule("", "services"), "object.spec.ports.all(p, p.targetPort == 1 || p.targetPort.nope == 'x')"),
  quantity: of(rule("", "pods"), "object.spec.containers.all(c, c.resources.limits['cpu'] == '1')"),
  bytes: of(rule("", "secrets"), "object.data.a == 'x'", "object.stringData.a == b'x'"),
  time: of(configMaps, "object.metadata.creationTimestamp == 'x'", "object.metadata.generation == 1.5"),
  keyword: of(rule("networking.k8s.io", "networkpolicies"), "object.metadata.__namespace__ == 1"),
  nested: of(deployments, "object.spec.template.spec.containers.exists(c, c.image.startsWith('a') && c.imagee == 'x')"),
  selector: of(deployments, "object.spec.selector.matchLabels.a == 1", "object.spec.selector.matchExpressions == 'x'"),
  variables: {
    ...of(
      deployments,
      "variables.a == 'x'",
      "variables.bad == 1",
      "variables.spec.nope == 1",
      "variables.names[0] == 1",
    ),
    variables: [
      { name: "a", expression: "object.spec.replicas" },
      { name: "bad", expression: "object.nope" },
      { name: "spec", expression: "object.spec" },
      { name: "names", expression: "object.spec.template.spec.containers.map(c, c.name)" },
    ],
  },
  "objects-in-variables": {
    ...of(configMaps, "variables.r.nope == 1", "variables.l[0].nope == 1", "variables.t == 1", "variables.o == 1"),
    variables: [
      { name: "r", expression: "request" },
      { name: "l", expression: "[request.userInfo]" },
      { name: "t", expression: "type(1)" },
      { name: "o", expression: "object.?data" },
    ],
  },
  message: {
    matchConstraints: { resourceRules: [configMaps] },
    validations: [
      { expression: "object.data.a == 'x'", messageExpression: "'a' + object.nope" },
      { expression: "object.nope == 'x'", messageExpression: "'name ' + object.metadata.name" },
    ],
  },
  "other-expressions": {
    ...of(configMaps, "true"),
    matchConditions: [{ name: "a", expression: "object.nope == 1" }],
    auditAnnotations: [{ key: "a", valueExpression: "string(object.nope)" }],
  },
  annotations: {
    matchConstraints: { resourceRules: [configMaps] },
    auditAnnotations: [{ key: "a", valueExpression: "string(object.nope)" }],
  },
  params: {
    ...of(deployments, "params.data.a == 'x'", "params.nope == 1", "params.data.a == object.spec.replicas"),
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
  },
  "unknown-params": {
    ...of(deployments, "params.data.a == 'x'"),
    paramKind: { apiVersion: "nope.example.org/v1", kind: "Zed" },
  },
  authorizer: of(
    configMaps,
    "authorizer.group('').resource('pods').check('get').allowed() && request.name == object.nope",
    "authorizer.requestResource.check('get').allowed()",
    "namespaceObject.metadata.name == object.data",
  ),
  definitions: of(
    rule("apiextensions.k8s.io", "customresourcedefinitions"),
    "object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.size() > 0 && v.nope)",
    "object.spec.versions[0].schema.openAPIV3Schema.not.type == 'x'",
  ),
};

/** Specs of policies about widgets. */
const widgetSpecs = (group: string): Readonly<Record<string, Loose>> => {
  const widgets = rule(group, "widgets");
  return {
    widgets: of(
      widgets,
      "object.spec.size < 5 && object.spec.nope == 1",
      "object.spec.size == 'x'",
      "object.metadata.labels.a == 1",
      "object.spec.port == 1 || object.spec.port == 'x'",
      "object.spec.free.nope == 1",
      "object.spec.template.metadata.name == 1",
      "object.spec.template.metadata.labels == 1",
      "object.spec.parts.all(p, p.count > 1 && p.name == 2)",
      "object.spec.tags.a == 1",
    ),
    versions: of({ ...widgets, apiVersions: ["v1", "v1beta1", "v7"] }, "object.spec.nope == 1"),
    "widget-params": {
      ...of(configMaps, "params.spec.size == 'x'", "params.spec.size == 1"),
      paramKind: { apiVersion: `${group}/v1`, kind: "Widget" },
    },
  };
};

const policyOf = (name: string, spec: Loose): Loose => ({
  apiVersion,
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec,
});

/** The names of types contain the nanosecond of their creation. */
const withoutNumbers = (status: Loose): Loose =>
  JSON.parse(JSON.stringify(status ?? null).replaceAll(/\b([A-Z][A-Za-z]+?)\d+\b/g, "$1<n>"));

const isChecked =
  (generation: number) =>
  ({ body }: { readonly body: Loose }): boolean =>
    body.status?.observedGeneration === generation;

async function compare(s: Session, specsOf: Readonly<Record<string, Loose>>): Promise<void> {
  for (const [title, spec] of Object.entries(specsOf)) {
    const name = `${s.namespace}-${title}`;
    const { code, text } = await s.post(path, policyOf(name, spec), { quiet: true });
    if (code !== 201) throw new Error(`cannot create the policy ${title}: ${text}`);
    const { status, metadata } = await s.until(`${path}/${name}`, isChecked(1));
    s.note(title, withoutNumbers(status));
    s.note(`owners of ${title}`, metadata.managedFields);
    await s.delete(`${path}/${name}`, undefined, { quiet: true });
  }
}

export const policyTypeCases: readonly Case[] = [
  scenario("types of expressions of policies", (s) => compare(s, specs)),
  scenario("types of expressions of policies for custom resources", async (s) => {
    const group = ownGroup(s);
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await s.post(crds, widgetCrd(group), { quiet: true });
    // The check reads the published schemas.
    await s.until(`/openapi/v3/apis/${group}/v1`, ({ code, text }) => code === 200 && text.includes("Widget"));
    await s.until(`/openapi/v3/apis/${group}/v1beta1`, ({ code, text }) => code === 200 && text.includes("Widget"));
    await compare(s, widgetSpecs(group));
    await s.delete(`${crds}/widgets.${group}`, undefined, { quiet: true });
  }),
  scenario("each generation of a policy is checked once", async (s) => {
    const name = `${s.namespace}-generations`;
    await s.post(path, policyOf(name, of(configMaps, "object.nope == 1")), { quiet: true });
    await s.until(`${path}/${name}`, isChecked(1));
    await s.patch(`${path}/${name}`, "merge", { metadata: { labels: { a: "b" } } });
    await s.patch(`${path}/${name}`, "merge", { spec: of(configMaps, "object.data.a == 1") }, { quiet: true });
    const { status } = await s.until(`${path}/${name}`, isChecked(2));
    s.note("changed", withoutNumbers(status));
    await s.patch(`${path}/${name}`, "merge", { spec: of(configMaps, "object.data.a == '1'") }, { quiet: true });
    await s.until(`${path}/${name}`, isChecked(3));
    await s.get(`${path}/${name}`);
    await s.delete(`${path}/${name}`, undefined, { quiet: true });
  }),
];
