// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { answerValue, definitionsPath, widgetCrd } from "../../test/test-server.ts";
import type { Catalog } from "../registry/registry.ts";
import { expressionWarnings } from "./policy-status.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

const rule = (group: string, ...resources: string[]): JsonObject => ({
  apiGroups: [group],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources,
});

/** What is found about the expressions of a policy: the warning by the field. */
async function warnings(server: TestServer, spec: JsonObject): Promise<unknown> {
  await server.post(policies, { metadata: { name: "p" }, spec });
  const path = `${policies}/p`;
  await server.until(
    path,
    (answer) => numberAt(answerValue(answer) as JsonObject, ["status", "observedGeneration"]) === 1,
  );
  const status = (await server.body(path))["status"] as JsonObject;
  await server.delete(path);
  return memberAt(status, ["typeChecking"]);
}

const of = (rules: readonly JsonObject[], ...expressions: string[]): JsonObject => ({
  matchConstraints: { resourceRules: [...rules] },
  validations: expressions.map((expression) => ({ expression })),
});

test("a policy without findings says so", async () => {
  await using server = await startTestServer();
  assert.deepEqual(await warnings(server, of([rule("apps", "deployments")], "object.spec.replicas < 5")), {});
});

test("findings name the field, the kind and the place in the expression", async () => {
  await using server = await startTestServer();
  const found = await warnings(server, {
    matchConstraints: { resourceRules: [rule("apps", "deployments"), rule("", "configmaps")] },
    validations: [{ expression: "true" }, { expression: "object.nope == 1", messageExpression: "'a' + object.data.a" }],
  });
  const nope = "ERROR: <input>:1:7: undefined field 'nope'\n | object.nope == 1\n | ......^\n";
  const data = "ERROR: <input>:1:13: undefined field 'data'\n | 'a' + object.data.a\n | ............^\n";
  assert.deepEqual(found, {
    expressionWarnings: [
      {
        fieldRef: "spec.validations[1].expression",
        warning: `/v1, Kind=ConfigMap: ${nope}\napps/v1, Kind=Deployment: ${nope}`,
      },
      { fieldRef: "spec.validations[1].messageExpression", warning: `apps/v1, Kind=Deployment: ${data}` },
    ],
  });
});

test("rules with wildcards and subresources name no kind", async () => {
  await using server = await startTestServer();
  const rules = [rule("*", "configmaps"), rule("", "*"), rule("apps", "deployments/status")];
  assert.deepEqual(await warnings(server, of(rules, "object.nope == 1")), {});
});

test("the schemas of custom resources and parameters are known", async () => {
  await using server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  await server.until("/apis/example.org/v1/widgets", ({ code }) => code === 200);
  const found = await warnings(server, {
    ...of([rule("", "configmaps")], "params.metadata.name == 1"),
    paramKind: { apiVersion: "example.org/v1", kind: "Widget" },
  });
  assert.match(JSON.stringify(found), /no matching overload for '_==_' applied to '\(string, int\)'/);
});

test("a variable that is an object can have any field", async () => {
  await using server = await startTestServer();
  const spec = of([rule("apps", "deployments")], "variables.spec.nope == 1", "variables.count == 'x'");
  const variables = [
    { name: "spec", expression: "object.spec" },
    { name: "count", expression: "object.spec.replicas" },
  ];
  const found = JSON.stringify(await warnings(server, { ...spec, variables }));
  assert.ok(!found.includes("validations[0]"), found);
  assert.match(found, /validations\[1\].*applied to '\(int, string\)'/);
});

test("each check of an expression is a part of the work", () => {
  const resources = ["deployments", "statefulsets"];
  const types = resources.map((resource) => ({ group: "apps", version: "v1", kind: resource, resource }));
  const catalog = { groups: [{ name: "apps", versions: [{ version: "v1", resources: types }] }] } as unknown as Catalog;
  const schemaOf = (): Schema => ({ type: "object", properties: { a: { type: "integer" } } });
  const policy = { spec: of([rule("apps", ...resources)], "object.a == 1", "object.b == 1", "true") };
  const work = expressionWarnings(policy, { catalog, schemaOf });
  let parts = 0;
  let part = work.next();
  for (; !part.done; part = work.next()) parts += 1;
  assert.equal(parts, resources.length + resources.length * 3);
  assert.deepEqual(
    part.value.map(({ fieldRef }) => fieldRef),
    ["spec.validations[1].expression"],
  );
});
