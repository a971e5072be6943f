// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { showValue } from "../../test/expressions.ts";
import { compile } from "../program.ts";
import type { CelType } from "../types/types.ts";
import {
  type AccessCheck,
  authorizerType,
  authorizerValue,
  requestResourceValue,
  resourceCheckType,
} from "./authorizer.ts";

const variables = new Map<string, CelType>([
  ["authorizer", authorizerType],
  ["authorizer.requestResource", resourceCheckType],
]);

/** The value of an expression, and the accesses that it checked. All with the verb "get" are allowed. */
function checked(text: string): {
  readonly value: string;
  readonly checks: readonly AccessCheck[];
  readonly cost: number;
} {
  const program = compile(text, { variables, objects: new Map() });
  if ("problem" in program) return assert.fail(program.problem);
  const checks: AccessCheck[] = [];
  const decide = (check: AccessCheck): { allowed: boolean; reason: string } => {
    checks.push(check);
    return { allowed: check.verb === "get", reason: `for ${check.verb}` };
  };
  const values = {
    authorizer: authorizerValue(decide),
    "authorizer.requestResource": requestResourceValue({ group: "apps", resource: "deployments", name: "d" }, decide),
  };
  const { value, cost } = program.evaluate(values, 1_000_000);
  return { value: showValue(value), checks, cost };
}

const rows: readonly { readonly why: string; readonly expr: string; readonly check: AccessCheck }[] = [
  { why: "a path", expr: "authorizer.path('/healthz').check('get')", check: { path: "/healthz", verb: "get" } },
  {
    why: "a resource of a group",
    expr: "authorizer.group('apps').resource('deployments').check('create')",
    check: { group: "apps", resource: "deployments", verb: "create" },
  },
  {
    why: "everything that narrows it",
    expr: "authorizer.group('').resource('pods').subresource('log').namespace('n').name('p').check('get')",
    check: { group: "", resource: "pods", subresource: "log", namespace: "n", name: "p", verb: "get" },
  },
  {
    why: "the last of two names counts",
    expr: "authorizer.group('').resource('pods').name('a').name('b').check('get')",
    check: { group: "", resource: "pods", name: "b", verb: "get" },
  },
  {
    why: "a service account",
    expr: "authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('get')",
    check: { account: "ns/sa", group: "", resource: "pods", verb: "get" },
  },
  {
    why: "the resource of the request",
    expr: "authorizer.requestResource.check('delete')",
    check: { group: "apps", resource: "deployments", name: "d", verb: "delete" },
  },
  {
    why: "selectors are taken and do not narrow",
    expr: "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c=d').check('get')",
    check: { group: "", resource: "pods", verb: "get" },
  },
];

for (const { why, expr, check } of rows) {
  test(`access: ${why}`, () => {
    const { value, checks } = checked(`${expr}.allowed()`);
    assert.deepEqual(checks, [check]);
    assert.equal(value, String(check.verb === "get"));
  });
}

test("a decision has a reason, and never an error", () => {
  const decision = "authorizer.path('/x').check('list')";
  assert.equal(checked(`${decision}.reason()`).value, '"for list"');
  assert.equal(checked(`${decision}.errored()`).value, "false");
  assert.equal(checked(`${decision}.error()`).value, '""');
});

test("an authorizer that is narrowed stays as it was", () => {
  const { checks } = checked(
    "[authorizer.group('a'), authorizer.group('b')].all(g, !g.resource('x').check('get').allowed())",
  );
  assert.deepEqual(checks, [{ group: "a", resource: "x", verb: "get" }]);
});

const refused: readonly { readonly why: string; readonly expr: string; readonly problem: string }[] = [
  {
    why: "a group has no check",
    expr: "authorizer.group('a').check('get')",
    problem: "found no matching overload for 'check' applied to 'kubernetes.authorization.GroupCheck.(string)'",
  },
  {
    why: "a path has no namespace",
    expr: "authorizer.path('/a').namespace('n')",
    problem: "found no matching overload for 'namespace' applied to 'kubernetes.authorization.PathCheck.(string)'",
  },
  {
    why: "a group is a string",
    expr: "authorizer.group(1)",
    problem: "found no matching overload for 'group' applied to 'kubernetes.authorization.Authorizer.(int)'",
  },
];

for (const { why, expr, problem } of refused) {
  test(`no access: ${why}`, () => {
    const program = compile(expr, { variables, objects: new Map() });
    assert.ok("problem" in program && program.problem.split("\n")[0]?.endsWith(problem));
  });
}
