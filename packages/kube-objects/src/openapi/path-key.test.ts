// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAPIPathKey, parseOpenAPIPathKey } from "./path-key.ts";

test("group-versions and their keys", () => {
  for (const [group, version, key] of [
    ["", "v1", "api/v1"],
    ["apps", "v1", "apis/apps/v1"],
    ["example.org", "v1alpha1", "apis/example.org/v1alpha1"],
  ] as const) {
    assert.equal(openAPIPathKey({ group, version }), key);
    assert.deepEqual(parseOpenAPIPathKey(key), { group, version });
  }
});

test("keys of other documents are not group-versions", () => {
  for (const key of [
    "",
    "api",
    "apis",
    "version",
    "apis/apps",
    "api/v1/x",
    "apis/a/b/c",
    "logs/x/y",
    "api/",
    "apis//v1",
  ]) {
    assert.equal(parseOpenAPIPathKey(key), undefined, key);
  }
});
