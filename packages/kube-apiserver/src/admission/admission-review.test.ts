// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { ResourceType } from "../registry/registry.ts";
import { WebhookCallError } from "../webhooks/webhook-client.ts";
import type { AdmissionAttributes } from "./admission.ts";
import {
  deniedBy,
  patchOperations,
  type ReviewResponse,
  readReviewResponse,
  reviewBody,
  reviewRequest,
} from "./admission-review.ts";

const scale = { group: "autoscaling", version: "v1", kind: "Scale" };
const deployments = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  resource: "deployments",
  subresources: [
    { name: "status", verbs: [] },
    { name: "scale", verbs: [], kind: scale },
  ],
} as unknown as ResourceType;
const older = { ...deployments, version: "v1beta1" };

function attributesOf(more: Partial<AdmissionAttributes> = {}): AdmissionAttributes {
  return {
    operation: "UPDATE",
    type: deployments,
    subresource: "",
    namespace: "ns",
    name: "a",
    object: { spec: 2 },
    old: { spec: 1 },
    options: { kind: "UpdateOptions" },
    dryRun: true,
    user: { name: "jane", groups: ["dev"] },
    warn: () => {},
    annotate: () => {},
    signal: new AbortController().signal,
    ...more,
  };
}

const kind = { group: "apps", version: "v1", kind: "Deployment" };
const resource = { group: "apps", version: "v1", resource: "deployments" };

test("a request states what the webhook sees, what was requested, and who requests it", () => {
  assert.deepEqual(reviewRequest({ attributes: attributesOf({ type: older }), type: deployments }), {
    kind,
    resource,
    requestKind: { ...kind, version: "v1beta1" },
    requestResource: { ...resource, version: "v1beta1" },
    name: "a",
    namespace: "ns",
    operation: "UPDATE",
    userInfo: { username: "jane", groups: ["dev"] },
    dryRun: true,
  });
});

test("a subresource is named twice and may have a kind of its own", () => {
  const request = reviewRequest({ attributes: attributesOf({ subresource: "scale" }), type: deployments });
  assert.deepEqual(
    [
      request["kind"],
      request["requestKind"],
      request["resource"],
      request["subResource"],
      request["requestSubResource"],
    ],
    [scale, scale, resource, "scale", "scale"],
  );
  const status = reviewRequest({ attributes: attributesOf({ subresource: "status" }), type: deployments });
  assert.deepEqual([status["kind"], status["subResource"]], [kind, "status"]);
});

test("members of a request that are empty are left out", () => {
  const request = reviewRequest({ attributes: attributesOf({ name: "", namespace: "" }), type: deployments });
  for (const member of ["name", "namespace", "subResource", "requestSubResource"])
    assert.ok(!(member in request), member);
  const user = { name: "x", uid: "", groups: [] };
  assert.deepEqual(reviewRequest({ attributes: attributesOf({ user }), type: deployments })["userInfo"], {
    username: "x",
    groups: [],
  });
  const whole = { name: "x", uid: "u", groups: ["g"], extra: { scopes: ["a"] } };
  assert.deepEqual(reviewRequest({ attributes: attributesOf({ user: whole }), type: deployments })["userInfo"], {
    username: "x",
    uid: "u",
    groups: ["g"],
    extra: { scopes: ["a"] },
  });
});

test("the body of a review has the objects, null for one that is not there, and the options", () => {
  const attributes = attributesOf({ dryRun: false });
  const body = reviewBody("uid-1", "v1beta1", {
    attributes,
    type: deployments,
    object: { n: 2n ** 60n },
    old: undefined,
  });
  assert.ok(body.includes('"n":1152921504606846976'), "large integers keep their digits");
  const { kind: reviewKind, apiVersion, request } = JSON.parse(body) as { request: JsonObject } & JsonObject;
  assert.deepEqual([reviewKind, apiVersion], ["AdmissionReview", "admission.k8s.io/v1beta1"]);
  assert.deepEqual(
    [request["uid"], request["oldObject"], request["dryRun"], request["options"]],
    ["uid-1", null, false, { kind: "UpdateOptions" }],
  );
});

const patch = Buffer.from('[{"op":"remove","path":"/a"}]').toString("base64");
const typed = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };

function read(response: JsonValue, isMutating = false): ReviewResponse {
  return readReviewResponse({ ...typed, response }, { reviewVersion: "v1" }, { uid: "u", isMutating });
}

test("a response has no result, warnings, annotations or patch unless it states them", () => {
  assert.deepEqual(read({ uid: "u", allowed: true }), {
    allowed: true,
    result: undefined,
    warnings: [],
    auditAnnotations: {},
    patch: "",
    patchType: "",
  });
});

test("a response allows only with true", () => {
  assert.equal(read({ uid: "u" }).allowed, false);
  assert.equal(read({ uid: "u", allowed: null }).allowed, false);
});

test("the members of a response are read", () => {
  const response = {
    uid: "u",
    allowed: false,
    status: { message: "no" },
    warnings: ["careful"],
    auditAnnotations: { a: "1" },
    patch,
    patchType: "JSONPatch",
  };
  assert.deepEqual(read(response, true), {
    allowed: false,
    result: { message: "no" },
    warnings: ["careful"],
    auditAnnotations: { a: "1" },
    patch: '[{"op":"remove","path":"/a"}]',
    patchType: "JSONPatch",
  });
});

test("of more warnings and annotations than a response can show, the first are read", () => {
  const warnings = Array.from({ length: 12_000 }, (_, i) => `warning ${i}`);
  const auditAnnotations = Object.fromEntries(warnings.map((text) => [text, "x"]));
  const found = read({ uid: "u", allowed: true, warnings, auditAnnotations });
  assert.deepEqual([found.warnings.length, found.warnings.at(-1)], [10_000, "warning 9999"]);
  const keys = Object.keys(found.auditAnnotations);
  assert.deepEqual([keys.length, keys.at(-1)], [1000, "warning 999"]);
});

const invalid = "received invalid webhook response:";
const failed = "failed to call webhook:";
const refused: readonly (readonly [string, JsonValue, boolean, string])[] = [
  ["no response", null, false, `${invalid} webhook response was absent`],
  ["another uid", { uid: "v" }, false, `${invalid} expected response.uid="u", got "v"`],
  ["no uid", {}, false, `${invalid} expected response.uid="u", got ""`],
  [
    "a patch of a validating webhook",
    { uid: "u", patch },
    false,
    `${invalid} validating webhook may not return response.patch`,
  ],
  [
    "a patch type of a validating webhook",
    { uid: "u", patchType: "JSONPatch" },
    false,
    `${invalid} validating webhook may not return response.patchType`,
  ],
  [
    "a patch without its type",
    { uid: "u", patch },
    true,
    `${invalid} webhook returned response.patch but not response.patchType`,
  ],
  [
    "a type without a patch",
    { uid: "u", patchType: "JSONPatch" },
    true,
    `${invalid} webhook returned response.patchType but not response.patch`,
  ],
  [
    "a response that is not an object",
    "yes",
    false,
    `${failed} json: cannot unmarshal string into Go struct field AdmissionReview.response of type v1.AdmissionResponse`,
  ],
  [
    "a decision that is not a boolean",
    { uid: "u", allowed: "true" },
    false,
    `${failed} json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool`,
  ],
  [
    "a uid that is not a string",
    { uid: 1, allowed: true },
    false,
    `${failed} json: cannot unmarshal number into Go struct field AdmissionResponse.response.uid of type types.UID`,
  ],
  [
    "a patch type that is not a string",
    { uid: "u", allowed: true, patchType: [] },
    true,
    `${failed} json: cannot unmarshal array into Go struct field AdmissionResponse.response.patchType of type v1.PatchType`,
  ],
];

for (const [name, response, isMutating, message] of refused) {
  test(`a response breaks the protocol: ${name}`, () => {
    assert.throws(
      () => read(response, isMutating),
      (error: Error) => {
        assert.ok(error instanceof WebhookCallError);
        assert.equal(error.message, message);
        return true;
      },
    );
  });
}

test("the uid is compared before the type of the review", () => {
  const untyped = (response: JsonObject): ReviewResponse =>
    readReviewResponse({ response }, { reviewVersion: "v1" }, { uid: "u", isMutating: false });
  assert.throws(() => untyped({ uid: "v" }), { message: `${invalid} expected response.uid="u", got "v"` });
  assert.throws(() => untyped({ uid: "u" }), {
    message: `${invalid} expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=`,
  });
});

test("a review that is not one is a failed call", () => {
  assert.throws(() => readReviewResponse({ kind: "Pod" }, { reviewVersion: "v1" }, { uid: "u", isMutating: false }), {
    message: `${failed} no kind "Pod" is registered for version "admission.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"`,
  });
});

test("a response of v1beta1 needs no uid, no type and no patch type", () => {
  const beta = (isMutating: boolean): ReviewResponse =>
    readReviewResponse({ response: { patch } }, { reviewVersion: "v1beta1" }, { uid: "u", isMutating });
  assert.deepEqual([beta(true).patchType, beta(true).patch], ["JSONPatch", '[{"op":"remove","path":"/a"}]']);
  assert.equal(beta(false).patch, "", "a validating webhook has no patch");
});

const withPatch = (text: string, patchType = "JSONPatch"): ReviewResponse => ({
  ...read({ uid: "u" }),
  patch: text,
  patchType,
});

test("the operations of a patch are read", () => {
  assert.deepEqual(patchOperations(withPatch('[{"op":"add"}]')), [{ op: "add" }]);
  assert.deepEqual(patchOperations(withPatch("")), []);
  assert.deepEqual(patchOperations(withPatch("null")), []);
  assert.deepEqual(patchOperations(withPatch("[]", "Merge")), [], "the type of an empty patch does not matter");
});

const undecodable = "received undecodable patch in webhook response:";
const patches: readonly (readonly [string, ReviewResponse, string])[] = [
  ["another type", withPatch("[{}]", "Merge"), 'unsupported patch type "Merge"'],
  [
    "not a list",
    withPatch('{"op":"add"}'),
    `${undecodable} json: cannot unmarshal object into Go value of type jsonpatch.Patch`,
  ],
  [
    "not operations",
    withPatch("[{},1]"),
    `${undecodable} json: cannot unmarshal number into Go value of type jsonpatch.Operation`,
  ],
  ["not JSON", withPatch("[{]"), `${undecodable} invalid character ']' looking for beginning of object key string`],
  ["too many operations", withPatch(`[${"{},".repeat(10_000)}{}]`), `${undecodable} it has more than 10000 operations`],
];

for (const [name, response, message] of patches) {
  test(`a patch is refused: ${name}`, () => {
    assert.throws(() => patchOperations(response), { message });
  });
}

test("a patch of 10000 operations is read", () => {
  assert.equal(patchOperations(withPatch(`[${"{},".repeat(9_999)}{}]`)).length, 10_000);
});

test("a denial has the message, else the reason, else a text of its own", () => {
  const denied = 'admission webhook "a\\"b" denied the request';
  const messageOf = (result?: JsonObject): string => deniedBy('a"b', result).message;
  assert.equal(messageOf(), `${denied} without explanation`);
  assert.equal(messageOf({}), `${denied} without explanation`);
  assert.equal(messageOf({ reason: "Forbidden" }), `${denied}: Forbidden`);
  assert.equal(messageOf({ message: "no", reason: "Forbidden" }), `${denied}: no`);
});

test("a denial keeps reason, details and a code of 400 and above; its status is Failure", () => {
  const details = { causes: [{ message: "c" }] };
  const { status } = deniedBy("w", { status: "Success", message: "m", reason: "Conflict", details, code: 409 });
  assert.deepEqual(status, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: 'admission webhook "w" denied the request: m',
    reason: "Conflict",
    details,
    code: 409,
  });
  for (const code of [399, 200, 0]) assert.equal(deniedBy("w", { code }).code, 400, String(code));
  assert.equal(deniedBy("w", { code: 400 }).code, 400);
  assert.ok(!("details" in deniedBy("w", {}).status) && !("reason" in deniedBy("w", {}).status));
});
