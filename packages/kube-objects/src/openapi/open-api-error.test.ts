// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isOpenAPIError, OpenAPIError } from "./open-api-error.ts";

test("an OpenAPIError is known by its brand, also from another copy of the package", () => {
  const cause = new Error("inner");
  const error = new OpenAPIError("outer", { cause });
  assert.ok(isOpenAPIError(error));
  assert.equal(error.cause, cause);
  assert.equal(error.name, "OpenAPIError");
  const foreign = Object.defineProperty(new Error("x"), Symbol.for("purlin.dev/kube-objects/OpenAPIError"), {
    value: true,
  });
  assert.ok(isOpenAPIError(foreign));
  for (const other of [new Error("x"), undefined, null, "x", {}]) assert.ok(!isOpenAPIError(other));
});
