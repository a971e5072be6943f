// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { errorsOf, validateCustom } from "../custom/custom-validation.ts";
import { customKind } from "./custom-types.ts";

const note = /some validation rules were not checked/;

/** The messages about an object whose colour is none of those allowed. */
function messagesFor(spec: JsonObject): string[] {
  const openAPIV3Schema = { type: "object", properties: { spec: { type: "object", ...spec } } };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  const kind = customKind({ spec: { group: "example.org", names: { kind: "Gate", plural: "gates" }, versions } });
  const version = kind.versions.get("v1");
  assert.ok(version);
  const change = { object: { spec: { colour: "blue" } }, old: undefined, endpoint: "" } as const;
  return errorsOf(finish(validateCustom(change, version)), []).map(({ body }) => body);
}

const colour = { properties: { colour: { type: "string", enum: ["red"] } } };

test("unchecked rules are reported only where there are rules", () => {
  const plain = messagesFor(colour);
  assert.equal(plain.length, 1);
  assert.match(plain[0] ?? "", /^Unsupported value: "blue"/);
  const ruled = messagesFor({ ...colour, "x-kubernetes-validations": [{ rule: "self.colour != ''" }] });
  assert.equal(ruled.length, 2);
  assert.match(ruled[1] ?? "", note);
});
