// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@purlin/kube-objects/json";
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

test("a review of another kind or group is not registered", () => {
  const inScheme = 'in scheme "pkg/runtime/scheme.go:111"';
  assert.deepEqual(reviewResponse({ kind: "Status", apiVersion: "v1" }, v1), {
    problem: `no kind "Status" is registered for version "v1" ${inScheme}`,
  });
  assert.deepEqual(reviewResponse({ apiVersion: "admission.k8s.io/v2" }, v1), {
    problem: `no kind "AdmissionReview" is registered for version "admission.k8s.io/v2" ${inScheme}`,
  });
  assert.deepEqual(reviewResponse({ kind: "Other", apiVersion: "admission.k8s.io/v1beta1" }, v1), {
    problem: `no kind "Other" is registered for version "admission.k8s.io/v1beta1" ${inScheme}`,
  });
});
