// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../json/json-value.ts";
import * as fields from "./field-error.ts";
import { childPath, indexPath, keyPath } from "./field-error.ts";
import * as guards from "./status-error.ts";
import {
  findStatusError,
  isStatusError,
  type StatusCause,
  StatusError,
  type StatusReason,
  toStatus,
} from "./status-error.ts";
import * as make from "./status-error-constructors.ts";
// Observed from the constructors of the reference (k8s.io/apimachinery pkg/api/errors and pkg/util/validation/field).
import observed from "./testdata/status-errors.json" with { type: "json" };

interface Call {
  readonly fn: string;
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly text?: string;
  readonly n?: number;
  readonly causes?: readonly StatusCause[];
}

function construct({ fn, group = "", resource = "", name = "", text = "", n = 0, causes = [] }: Call): StatusError {
  const of = { group, resource };
  const table: Record<string, () => StatusError> = {
    notFound: () => make.notFound(of, name),
    alreadyExists: () => make.alreadyExists(of, name),
    generateNameConflict: () => make.generateNameConflict(of, name, n),
    conflict: () => make.conflict(of, name, text),
    applyConflict: () => make.applyConflict(text, causes),
    patchNotApplicable: () => make.patchNotApplicable(),
    badRequest: () => make.badRequest(text),
    unauthorized: () => make.unauthorized(text),
    forbidden: () => make.forbidden(of, name, text),
    methodNotSupported: () => make.methodNotSupported(of, text),
    expired: () => make.expired(text),
    gone: () => make.gone(text),
    requestEntityTooLarge: () => make.requestEntityTooLarge(text),
    tooManyRequests: () => make.tooManyRequests(text, n),
    internalError: () => make.internalError(new Error(text)),
    serviceUnavailable: () => make.serviceUnavailable(text),
    serverTimeout: () => make.serverTimeout(of, text, n),
    timeout: () => make.timeout(text, n),
  };
  const build = table[fn];
  assert.ok(build, `no constructor ${fn}`);
  return build();
}

for (const { call, status } of observed.statuses) {
  test(`${call.fn} ${call.text ?? call.name} answers as the reference`, () => {
    assert.deepEqual(construct(call as Call).status, status);
  });
}

interface FieldCall {
  readonly type: string;
  readonly field: string;
  readonly value?: JsonValue;
  readonly detail?: string;
  readonly n?: number;
  readonly supported?: readonly string[];
}

function findingFor({ type, field, value = null, detail = "", n = 0, supported = [] }: FieldCall): fields.FieldError {
  const path = field === "" ? undefined : field;
  const table: Record<string, () => fields.FieldError> = {
    Invalid: () => fields.invalidValue(path, value, detail),
    TypeInvalid: () => fields.invalidType(path, value, detail),
    Required: () => fields.requiredValue(path, detail),
    Forbidden: () => fields.forbiddenValue(path, detail),
    NotSupported: () => fields.unsupportedValue(path, value, supported),
    Duplicate: () => fields.duplicateValue(path, value),
    NotFound: () => fields.notFoundValue(path, value),
    TooLong: () => fields.tooLong(path, n),
    TooMany: () => fields.tooMany(path, value as number, n),
    TooFew: () => fields.tooFew(path, value as number, n),
    TooShort: () => fields.tooShort(path, n),
    Internal: () => fields.internalFieldError(path, detail),
  };
  const build = table[type];
  assert.ok(build, `no finding ${type}`);
  return build();
}

for (const [i, { call, status }] of observed.invalid.entries()) {
  test(`findings ${i} are listed, deduplicated and worded as the reference does`, () => {
    const errors = (call.errors as readonly FieldCall[]).map(findingFor);
    assert.deepEqual(make.invalid(call, call.name, errors).status, status);
  });
}

test("texts the reference builds outside its error package", () => {
  assert.deepEqual(make.tooLargeResourceVersion("9", "3", 1).status, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "Timeout: Too large resource version: 9, current: 3",
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
    code: 504,
  });
  assert.equal(
    make.notAcceptable(["application/json", "application/yaml"]).message,
    "only the following media types are accepted: application/json, application/yaml",
  );
  assert.equal(
    make.unsupportedMediaType(["application/json-patch+json", "application/merge-patch+json"]).message,
    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json",
  );
  const terminating = make.namespaceTerminating({ group: "", resource: "configmaps" }, "a", "ns");
  assert.equal(
    terminating.message,
    'configmaps "a" is forbidden: unable to create new content in namespace ns because it is being terminated',
  );
  assert.deepEqual(terminating.status.details?.causes, [
    { reason: "NamespaceTerminating", message: "namespace ns is being terminated", field: "metadata.namespace" },
  ]);
  assert.deepEqual(make.expired("too old", "next").status.metadata, { continue: "next" });
  assert.equal(
    fields.fieldErrorText(fields.tooLongCharacters("a", 1)),
    "a: Too long: may not be more than 1 character",
  );
});

test("an unclassified error is 500 without reason and details", () => {
  const want = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message: "raw", code: 500 };
  assert.deepEqual(make.unclassifiedError("raw").status, want);
  assert.deepEqual(toStatus(new Error("raw")), want);
  assert.deepEqual(toStatus("raw"), want);
});

test("a status is found through wrapping errors, and wrapping in circles ends", () => {
  const inner = make.notFound({ group: "", resource: "secrets" }, "s");
  const wrapped = new Error("cannot get Secret", { cause: new Error("outer", { cause: inner }) });
  assert.equal(findStatusError(wrapped), inner);
  assert.ok(guards.isNotFound(wrapped));
  assert.equal(toStatus(wrapped), inner.status);
  const circle = new Error("circle");
  circle.cause = circle;
  assert.equal(findStatusError(circle), undefined);
  assert.ok(!isStatusError(null) && !isStatusError(new Error("x")));
});

test("a copy of the package recognizes our errors by their brand", () => {
  const foreign = Object.assign(new Error("x"), { status: make.gone("x").status });
  Object.defineProperty(foreign, Symbol.for("purlin.dev/kube-objects/StatusError"), { value: true });
  assert.ok(isStatusError(foreign));
  assert.equal(findStatusError(new Error("w", { cause: foreign }))?.message, "x");
});

test("each guard holds for its reason, and for its code when there is no reason", () => {
  const rows: ReadonlyArray<readonly [(error: unknown) => boolean, StatusReason, number, boolean]> = [
    [guards.isNotFound, "NotFound", 404, true],
    [guards.isAlreadyExists, "AlreadyExists", 409, false],
    [guards.isConflict, "Conflict", 409, true],
    [guards.isInvalid, "Invalid", 422, true],
    [guards.isGone, "Gone", 410, true],
    [guards.isExpired, "Expired", 410, false],
    [guards.isNotAcceptable, "NotAcceptable", 406, true],
    [guards.isUnsupportedMediaType, "UnsupportedMediaType", 415, true],
    [guards.isMethodNotSupported, "MethodNotAllowed", 405, true],
    [guards.isServiceUnavailable, "ServiceUnavailable", 503, true],
    [guards.isBadRequest, "BadRequest", 400, true],
    [guards.isUnauthorized, "Unauthorized", 401, true],
    [guards.isForbidden, "Forbidden", 403, true],
    [guards.isTimeout, "Timeout", 504, true],
    [guards.isServerTimeout, "ServerTimeout", 500, false],
    [guards.isInternalError, "InternalError", 500, true],
    [guards.isTooManyRequests, "TooManyRequests", 429, true],
    [guards.isRequestEntityTooLarge, "RequestEntityTooLarge", 413, true],
  ];
  const status = (reason: StatusReason, code: number): StatusError =>
    new StatusError({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason, code });
  for (const [guard, reason, code, codeDecides] of rows) {
    assert.ok(guard(status(reason, 1)), `${reason} by reason`);
    assert.equal(guard(status("", code)), codeDecides, `${reason} by code alone`);
    assert.ok(!guard(status("StorageReadError", 418)), `${reason} not by another reason`);
    const denied = status("This resource is in-use by 1 usage(s)" as StatusReason, code);
    if (code !== 429 && code !== 413) assert.ok(!guard(denied), `${reason} not by a reason of a webhook`);
    assert.ok(!guard(new Error("plain")));
  }
  assert.ok(guards.isTooManyRequests(status("Conflict", 429)), "429 counts whatever the reason");
  assert.ok(!guards.isNotFound(status("Forbidden", 404)), "a known reason wins over the code");
});

test("a suggested delay is returned when the server sent one", () => {
  const resource = { group: "", resource: "pods" };
  assert.equal(guards.suggestedDelaySeconds(make.tooManyRequests("x", 2)), 2);
  assert.equal(guards.suggestedDelaySeconds(make.serverTimeout(resource, "get", 0)), 0);
  assert.equal(guards.suggestedDelaySeconds(make.timeout("x")), undefined);
  assert.equal(guards.suggestedDelaySeconds(new Error("x")), undefined);
  assert.ok(guards.isTooLargeResourceVersion(make.tooLargeResourceVersion("2", "1", 1)));
  assert.ok(!guards.isTooLargeResourceVersion(make.timeout("x")));
});

test("ignoreNotFound swallows NotFound and nothing else", async () => {
  const missing = make.notFound({ group: "", resource: "pods" }, "p");
  assert.equal(await guards.ignoreNotFound(Promise.reject(missing)), undefined);
  assert.equal(await guards.ignoreNotFound(Promise.resolve(3)), 3);
  const boom = new Error("boom");
  await assert.rejects(guards.ignoreNotFound(Promise.reject(boom)), boom);
});

test("paths print as messages show them", () => {
  assert.equal(childPath(undefined, "spec"), "spec");
  assert.equal(
    keyPath(childPath(indexPath(childPath("spec", "ports"), 0), "labels"), "a/b"),
    "spec.ports[0].labels[a/b]",
  );
});

test("of very many errors the first ones are shown, with the number of the rest", () => {
  const errors = Array.from({ length: 3_000 }, (_, index) =>
    fields.invalidValue(`spec.items[${index}]`, "x".repeat(1_000), "no"),
  );
  const { status } = make.invalid({ group: "", kind: "ConfigMap" }, "a", errors);
  const causes = status.details?.causes ?? [];
  assert.ok(causes.length > 900 && causes.length < 1_100, `${causes.length} causes`);
  assert.match(status.message ?? "", new RegExp(` and ${3_000 - causes.length} more$`));
  const long = "x".repeat(2_000_000);
  const [first, second] = [fields.invalidValue("spec.a", "x", long), fields.requiredValue("spec.b")];
  const alone = make.invalid({ group: "", kind: "ConfigMap" }, "a", [first, second]).status;
  assert.deepEqual(
    alone.details?.causes?.map(({ field }) => field),
    ["spec.a"],
    "at least one is shown",
  );
});

test("of a very long text the beginning is shown, and how long it is", () => {
  const whole = "\n".repeat(65_536);
  assert.ok(
    fields.invalidValue("spec.a", whole, "no").body.endsWith('\\n": no'),
    "a text up to the limit is shown whole",
  );
  const { body } = fields.invalidValue("spec.a", "\n".repeat(1_000_000), "no");
  assert.ok(body.length < 140_000, `${body.length} characters`);
  assert.ok(body.endsWith('\\n"... (1000000 characters): no'), body.slice(-60));
});
