// SPDX-License-Identifier: Apache-2.0
// Type checks of the expressions of a policy for one kind.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { formatType } from "../types/types.ts";
import { anyObject, objectTypeOf, typeChecker } from "./environment.ts";

const schema: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        port: { format: "int-or-string", type: "string" },
        ports: { type: "array", items: { format: "int-or-string", type: "string" } },
        limits: { type: "object", additionalProperties: { format: "int-or-string", type: "string" } },
      },
    },
  },
};
const deployment = objectTypeOf(schema, "Deployment");

const problemOf = (text: string): string | undefined => typeChecker(deployment, undefined, [])(text)?.split("\n")[0];

test("fields of the kind have types", () => {
  assert.equal(problemOf("object.spec.replicas > 1"), undefined);
  assert.equal(problemOf("oldObject.spec.replicas > 1"), undefined);
  assert.equal(problemOf("object.spec.nope"), "ERROR: <input>:1:12: undefined field 'nope'");
  assert.equal(
    problemOf("object.spec.replicas == 'a'"),
    "ERROR: <input>:1:22: found no matching overload for '_==_' applied to '(int, string)'",
  );
});

test("an object has the fields of a resource", () => {
  assert.equal(problemOf("object.kind + object.apiVersion + object.metadata.name"), undefined);
});

test("integers or strings of published schemas are dynamic, wherever they stand", () => {
  assert.equal(problemOf("object.spec.port == 80 || object.spec.port == 'http'"), undefined);
  assert.equal(problemOf("object.spec.ports[0] == 80"), undefined);
  assert.equal(problemOf("object.spec.limits['cpu'] == 1"), undefined);
});

test("the kind is part of the names of its types", () => {
  assert.equal(formatType(deployment.type), "Deployment1");
  const fieldOf = (name: string, field: string): string =>
    formatType(deployment.objects.get(name)?.get(field) ?? assert.fail(name));
  assert.equal(fieldOf("Deployment1", "metadata"), "Deployment1.metadata");
  assert.equal(fieldOf("Deployment1", "spec"), "Deployment1.spec");
  assert.ok(deployment.objects.get("Deployment1.spec"));
});

test("an object without a schema has any field", () => {
  assert.equal(objectTypeOf({}, "Any"), anyObject);
  assert.equal(typeChecker(anyObject, undefined, [])("object.a.b.c == 1"), undefined);
});

test("params exist where the policy has them", () => {
  assert.equal(problemOf("params.a"), "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')");
  assert.equal(typeChecker(deployment, anyObject, [])("params.a == 1"), undefined);
  const typed = typeChecker(deployment, objectTypeOf(schema, "Param"), []);
  assert.equal(typed("params.spec.replicas == object.spec.replicas"), undefined);
  assert.match(typed("params.spec.nope") ?? "", /undefined field 'nope'/);
});

test("the resource of the request cannot be authorized in type checks", () => {
  assert.equal(problemOf("authorizer.path('/a').check('get').allowed()"), undefined);
  assert.match(problemOf("authorizer.requestResource.check('get').allowed()") ?? "", /^ERROR: <input>:1:11: /);
});

test("variables have the types of their expressions, in their order", () => {
  const variables = [
    { name: "n", expression: "object.spec.replicas" },
    { name: "twice", expression: "[variables.n, variables.n]" },
    { name: "whole", expression: "object.spec" },
    { name: "broken", expression: "object.nope" },
  ];
  const check = typeChecker(deployment, undefined, variables);
  assert.equal(check("variables.n + 1 > variables.twice[0]"), undefined);
  assert.match(check("variables.n == 'a'") ?? "", /applied to '\(int, string\)'/);
  assert.match(check("variables.twice == ['a']") ?? "", /applied to '\(list\(int\), list\(string\)\)'/);
  assert.match(check("variables.nope") ?? "", /undefined field 'nope'/);
  assert.equal(check("variables.whole.anything == 1"), undefined);
  assert.equal(check("variables.broken.anything == 1"), undefined);
});

test("a variable cannot read one behind it", () => {
  const variables = [
    { name: "a", expression: "variables.b" },
    { name: "b", expression: "1" },
  ];
  const check = typeChecker(deployment, undefined, variables);
  assert.equal(check("variables.a == 'any type'"), undefined);
  assert.match(check("variables.b == 'a'") ?? "", /applied to '\(int, string\)'/);
});
