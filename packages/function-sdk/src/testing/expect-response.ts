// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type RunFunctionRequest,
  type RunFunctionResponse,
  Severity,
  Status,
  Target,
} from "@purlin/function-protocol";
import type { ConditionStatus } from "../resource/kube-object.ts";

/** What a text must be, or look like. */
export type TextMatch = string | RegExp;

/** Details of a condition; what is left out may be anything. */
export interface ConditionDetails {
  readonly reason?: string;
  readonly message?: TextMatch;
  /** Whether it reaches the claim. */
  readonly claim?: boolean;
}

/** Checks on a response. Each throws an AssertionError, so they work with every test runner, and gives itself back. */
export interface ResponseExpectation {
  /** There is a FATAL result with this text, or with any. */
  fatal(text?: TextMatch): ResponseExpectation;
  noFatal(): ResponseExpectation;
  warning(text?: TextMatch): ResponseExpectation;
  normal(text?: TextMatch): ResponseExpectation;
  condition(type: string, status: ConditionStatus, details?: ConditionDetails): ResponseExpectation;
  noCondition(type: string): ResponseExpectation;
  /** The resource is desired and has at least these members. */
  composed(name: string, members?: object): ResponseExpectation;
  notComposed(name: string): ResponseExpectation;
  /** The desired composite's status has at least these members. */
  compositeStatus(members: object): ResponseExpectation;
  contextKey(key: string, value?: JsonValue): ResponseExpectation;
  requiresResources(name: string): ResponseExpectation;
  requiresSchema(name: string): ResponseExpectation;
  /**
   * Nothing that earlier steps wanted got lost: every resource is still desired and every status field still there. What
   * a function leaves out is deleted from the cluster.
   */
  noDesiredLoss(req: RunFunctionRequest): ResponseExpectation;
}

/** Starts checks on a response. */
export function expectResponse(rsp: RunFunctionResponse): ResponseExpectation {
  const expectation: ResponseExpectation = {
    fatal: (text) => check(() => result(rsp, Severity.SEVERITY_FATAL, text)),
    noFatal: () => check(() => noFatal(rsp)),
    warning: (text) => check(() => result(rsp, Severity.SEVERITY_WARNING, text)),
    normal: (text) => check(() => result(rsp, Severity.SEVERITY_NORMAL, text)),
    condition: (type, status, details) => check(() => condition(rsp, type, status, details)),
    noCondition: (type) => check(() => noCondition(rsp, type)),
    composed: (name, members) => check(() => composed(rsp, name, members)),
    notComposed: (name) => check(() => assert.ok(!rsp.desired?.resources.has(name), `"${name}" is desired`)),
    compositeStatus: (members) => check(() => compositeStatus(rsp, members)),
    contextKey: (key, value) => check(() => contextKey(rsp, key, value)),
    requiresResources: (name) =>
      check(() => assert.ok(rsp.requirements?.resources.has(name), `no resources are required as "${name}"`)),
    requiresSchema: (name) =>
      check(() => assert.ok(rsp.requirements?.schemas.has(name), `no schema is required as "${name}"`)),
    noDesiredLoss: (req) => check(() => assert.deepEqual(findLoss(req, rsp), [], "desired state got lost")),
  };
  const check = (assertion: () => void): ResponseExpectation => {
    assertion();
    return expectation;
  };
  return expectation;
}

function result(rsp: RunFunctionResponse, severity: Severity, text: TextMatch | undefined): void {
  const messages = rsp.results.filter((one) => one.severity === severity).map((one) => one.message);
  const found = messages.some((message) => text === undefined || matches(message, text));
  const wanted = `no ${severityNames[severity]} result${text === undefined ? "" : ` matches ${String(text)}`}`;
  assert.ok(found, `${wanted}; results: ${listResults(rsp)}`);
}

const severityNames: Readonly<Record<number, string>> = { 1: "FATAL", 2: "WARNING", 3: "NORMAL" };

function noFatal(rsp: RunFunctionResponse): void {
  const fatal = rsp.results.filter((one) => one.severity === Severity.SEVERITY_FATAL);
  assert.deepEqual(
    fatal.map(({ message }) => message),
    [],
    "there is a FATAL result",
  );
}

function listResults(rsp: RunFunctionResponse): string {
  const texts = rsp.results.map(
    (one) => `${severityNames[one.severity] ?? one.severity} ${JSON.stringify(one.message)}`,
  );
  return texts.join(", ") || "none";
}

const statusTexts: Readonly<Record<number, ConditionStatus>> = {
  [Status.STATUS_CONDITION_TRUE]: "True",
  [Status.STATUS_CONDITION_FALSE]: "False",
};

function condition(
  rsp: RunFunctionResponse,
  type: string,
  status: ConditionStatus,
  details: ConditionDetails = {},
): void {
  // Of two conditions of one type, the later one counts.
  const found = rsp.conditions.findLast((one) => one.type === type);
  const types = rsp.conditions.map((one) => one.type).join(", ") || "none";
  assert.ok(found, `no condition "${type}"; conditions: ${types}`);
  assert.equal(statusTexts[found.status] ?? "Unknown", status, `status of condition "${type}"`);
  if (details.reason !== undefined) assert.equal(found.reason, details.reason, `reason of condition "${type}"`);
  if (details.message !== undefined) {
    const said = found.message ?? "";
    const problem = `message ${JSON.stringify(said)} of condition "${type}" does not match ${String(details.message)}`;
    assert.ok(matches(said, details.message), problem);
  }
  if (details.claim !== undefined) {
    const claim = found.target === Target.TARGET_COMPOSITE_AND_CLAIM;
    assert.equal(claim, details.claim, `whether condition "${type}" reaches the claim`);
  }
}

function noCondition(rsp: RunFunctionResponse, type: string): void {
  assert.ok(!rsp.conditions.some((one) => one.type === type), `there is a condition "${type}"`);
}

function composed(rsp: RunFunctionResponse, name: string, members: object | undefined): void {
  const resource = rsp.desired?.resources.get(name);
  const names = [...(rsp.desired?.resources.keys() ?? [])].join(", ") || "none";
  assert.ok(resource, `"${name}" is not desired; desired: ${names}`);
  if (members !== undefined) hasMembers(resource.resource?.value ?? {}, members, `desired resource "${name}"`);
}

function compositeStatus(rsp: RunFunctionResponse, members: object): void {
  const status = rsp.desired?.composite?.resource?.value["status"];
  hasMembers(isJsonObject(status) ? status : {}, members, "status of the desired composite");
}

function contextKey(rsp: RunFunctionResponse, key: string, value: JsonValue | undefined): void {
  const context = rsp.context?.value ?? {};
  assert.ok(Object.hasOwn(context, key), `the context has no key "${key}"`);
  if (value !== undefined) assert.deepEqual(context[key], value, `context key "${key}"`);
}

function hasMembers(object: JsonObject, members: object, what: string): void {
  assert.deepEqual(pick(object, members as JsonObject), members, what);
}

/** The part of an object that a set of members talks about. */
function pick(value: JsonValue | undefined, wanted: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(value) || !isJsonObject(wanted)) return value;
  const keys = Object.keys(wanted).filter((key) => Object.hasOwn(value, key));
  return Object.fromEntries(keys.map((key) => [key, pick(value[key], wanted[key]) ?? null]));
}

function matches(text: string, match: TextMatch): boolean {
  return typeof match === "string" ? text === match : match.test(text);
}

/** What a request's desired state has and a response's lacks: resources by name, and fields of the composite's status. */
function findLoss(req: RunFunctionRequest, rsp: RunFunctionResponse): string[] {
  const kept = rsp.desired?.resources;
  const names = [...(req.desired?.resources.keys() ?? [])].filter((name) => !kept?.has(name));
  const before = req.desired?.composite?.resource?.value["status"];
  const after = rsp.desired?.composite?.resource?.value["status"];
  return [...names.map((name) => `resource "${name}"`), ...lostFields(before, after, "status")];
}

/** The paths of members that are gone. A changed value, or one of another kind, is a change and no loss. */
function lostFields(before: JsonValue | undefined, after: JsonValue | undefined, path: string): string[] {
  if (before === undefined) return [];
  if (after === undefined) return [`composite ${path}`];
  if (!isJsonObject(before) || !isJsonObject(after)) return [];
  return Object.entries(before).flatMap(([key, value]) =>
    lostFields(value, Object.hasOwn(after, key) ? after[key] : undefined, `${path}.${key}`),
  );
}
