// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnerReference } from "../object/kube-object.ts";
import { validateOwnerReferences } from "./validate-metadata.ts";

const path = "metadata.ownerReferences";
const owner = (name: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  uid: `uid-of-${name}`,
  ...more,
});
const controller = (name: string): OwnerReference => owner(name, { controller: true });
const shown = (name: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","name":"${name}","uid":"uid-of-${name}","controller":true}`;

const cases: Record<string, { reason: string; references: OwnerReference[]; want: string[] }> = {
  None: { reason: "an object without owners", references: [], want: [] },
  Fine: { reason: "several owners, one of them the controller", references: [owner("a"), controller("b")], want: [] },
  NotTrue: {
    reason: "any number of references that are not controllers",
    references: [controller("a"), owner("b", { controller: false }), owner("c", { controller: false })],
    want: [],
  },
  Empty: {
    reason: "every member is required, and each missing one is reported",
    references: [{} as OwnerReference],
    want: [
      `${path}.apiVersion Invalid value: "": version must not be empty`,
      `${path}.kind Invalid value: "": must not be empty`,
      `${path}.name Invalid value: "": must not be empty`,
      `${path}.uid Invalid value: "": must not be empty`,
    ],
  },
  TwoSlashes: {
    reason: "an apiVersion of three parts has no version",
    references: [owner("a", { apiVersion: "a/b/c" })],
    want: [`${path}.apiVersion Invalid value: "a/b/c": version must not be empty`],
  },
  TrailingSlash: {
    reason: "nor has one that ends with a slash",
    references: [owner("a", { apiVersion: "apps/" })],
    want: [`${path}.apiVersion Invalid value: "apps/": version must not be empty`],
  },
  TwoControllers: {
    reason: "the second is one too many, and the whole list is shown",
    references: [controller("a"), controller("b")],
    want: [
      `${path} Invalid value: [${shown("a")},${shown("b")}]: Only one reference can have Controller set to true. Found "true" in references for ConfigMap/a and ConfigMap/b`,
    ],
  },
  ThreeControllers: {
    reason: "every other is held against the first",
    references: [controller("a"), controller("b"), controller("c")],
    want: ["b", "c"].map(
      (name) =>
        `${path} Invalid value: [${["a", "b", "c"].map(shown).join(",")}]: Only one reference can have Controller set to true. Found "true" in references for ConfigMap/a and ConfigMap/${name}`,
    ),
  },
};

for (const [name, { reason, references, want }] of Object.entries(cases)) {
  test(`owners: ${name}: ${reason}`, () => {
    const found = validateOwnerReferences(references, path).map(({ field, body }) => `${field} ${body}`);
    assert.deepEqual(found, want);
  });
}

test("an event owns nothing, in whatever way its version is written", () => {
  for (const apiVersion of ["v1", "/v1"]) {
    const [error] = validateOwnerReferences([owner("a", { apiVersion, kind: "Event" })], path);
    assert.match(error?.body ?? "", /is disallowed from being an owner$/);
  }
  assert.deepEqual(validateOwnerReferences([owner("a", { apiVersion: "events.k8s.io/v1", kind: "Event" })], path), []);
});

test("thousands of controllers do not cause thousands of errors", () => {
  const many = Array.from({ length: 5_000 }, (_, index) => controller(`n${index}`));
  const errors = validateOwnerReferences(many, path);
  assert.equal(errors.length, 10);
  assert.ok(errors.every(({ body }) => body.includes("n4999")));
});
