// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { reviewResponse } from "./review-response.ts";

const v1 = { group: "admission.k8s.io", version: "v1", kind: "AdmissionReview" };
const response = { uid: "u", allowed: true };

const typed = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };

test("the response of a review of the same type is returned as it is", () => {
  assert.deepEqual(reviewResponse({ ...typed, response, more: 1 }, v1), { response, untyped: undefined });
});

test("a v1 review states its type, and one of v1beta1 need not", () => {
  const expected = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview";
  const { kind, apiVersion } = typed;
  assert.deepEqual(reviewResponse({ response }, v1), { response, untyped: `${expected}, got /, Kind=` });
  assert.deepEqual(reviewResponse({ apiVersion: "", kind, response }, v1), {
    response,
    untyped: `${expected}, got /, Kind=AdmissionReview`,
  });
  assert.deepEqual(reviewResponse({ apiVersion, response }, v1), {
    response,
    untyped: `${expected}, got admission.k8s.io/v1, Kind=`,
  });
  assert.deepEqual(reviewResponse({ response }, { ...v1, version: "v1beta1" }), { response, untyped: undefined });
});

test("a review without a response has none", () => {
  assert.deepEqual(reviewResponse(typed, v1), { response: undefined, untyped: undefined });
  assert.deepEqual(reviewResponse({ ...typed, response: null }, v1), { response: null, untyped: undefined });
});

const struct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

const notObjects: readonly (readonly [JsonValue, string])[] = [
  ["ok", "string"],
  [[], "array"],
  [1, "number"],
  [true, "bool"],
];

for (const [value, kind] of notObjects) {
  test(`a review that is JSON of kind ${kind} is not read`, () => {
    assert.deepEqual(reviewResponse(value, v1), {
      problem: `couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value of type ${struct}`,
    });
  });
}

test("a review of the other version is not converted", () => {
  const beta = { apiVersion: "admission.k8s.io/v1beta1", kind: "AdmissionReview", response };
  assert.deepEqual(reviewResponse(beta, v1), {
    problem: "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
  });
  const stable = { apiVersion: "admission.k8s.io/v1", response };
  assert.deepEqual(reviewResponse(stable, { ...v1, version: "v1beta1" }), {
    problem: "converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion",
  });
});

test("a kind that the reference knows is not converted", () => {
  const conversion = { group: "apiextensions.k8s.io", version: "v1", kind: "ConversionReview" };
  const stated = (apiVersion: string, kind: string, type = conversion) => reviewResponse({ apiVersion, kind }, type);
  const problem = (text: string) => ({ problem: `converting (${text}): unknown conversion` });
  assert.deepEqual(stated("v1", "Status", v1), problem("v1.Status) to (v1.AdmissionReview"));
  const beta = "apiextensions.k8s.io/v1beta1";
  assert.deepEqual(stated(beta, "ListOptions"), problem("v1.ListOptions) to (v1.ConversionReview"));
  const definition = "CustomResourceDefinition";
  assert.deepEqual(stated(beta, definition), problem(`v1beta1.${definition}) to (v1.ConversionReview`));
});

test("members of other types are not read", () => {
  const problemOf = (members: JsonObject): unknown => reviewResponse({ ...typed, ...members }, v1);
  const unmarshal = (text: string) => ({ problem: `json: cannot unmarshal ${text}` });
  const parsing = "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field";
  assert.deepEqual(problemOf({ kind: 7 }), { problem: `${parsing} .kind of type string` });
  assert.deepEqual(
    problemOf({ response: { uid: "u", patch: {} } }),
    unmarshal("object into Go struct field AdmissionResponse.response.patch of type []uint8"),
  );
  assert.deepEqual(
    problemOf({ response: { uid: "u", warnings: [7] } }),
    unmarshal("number into Go struct field AdmissionResponse.response.warnings of type string"),
  );
  assert.deepEqual(problemOf({ response: { patch: "not base64" } }), {
    problem: "illegal base64 data at input byte 3",
  });
});

test("null is a review without members", () => {
  const expected = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=";
  assert.deepEqual(reviewResponse(null, v1), { response: undefined, untyped: expected });
});

test("a review of another kind or group is not registered", () => {
  const inScheme = 'in scheme "pkg/runtime/scheme.go:111"';
  assert.deepEqual(reviewResponse({ apiVersion: "admission.k8s.io/v2" }, v1), {
    problem: `no kind "AdmissionReview" is registered for version "admission.k8s.io/v2" ${inScheme}`,
  });
  assert.deepEqual(reviewResponse({ kind: "Other", apiVersion: "admission.k8s.io/v1beta1" }, v1), {
    problem: `no kind "Other" is registered for version "admission.k8s.io/v1beta1" ${inScheme}`,
  });
});
