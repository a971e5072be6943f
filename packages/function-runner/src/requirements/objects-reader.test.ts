// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isClusterScoped } from "./objects-reader.ts";

test("the scope of a kind depends on its group, and an unknown kind is namespaced", () => {
  assert.equal(isClusterScoped({ group: "", kind: "Namespace" }), true);
  assert.equal(isClusterScoped({ group: "", kind: "ConfigMap" }), false);
  assert.equal(isClusterScoped({ group: "pkg.crossplane.io", kind: "Function" }), true);
  assert.equal(isClusterScoped({ group: "example.org", kind: "Function" }), false);
  assert.equal(isClusterScoped({ group: "constructor", kind: "name" }), false);
});
