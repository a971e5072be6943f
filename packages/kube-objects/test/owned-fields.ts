// SPDX-License-Identifier: Apache-2.0
// A kind with two versions, for the tests of who owns which fields.
import { applyTypeOf } from "../src/apply/apply-schema.ts";
import type { ApplyType } from "../src/apply/apply-type.ts";
import type { ApplyVersions, TypedObject } from "../src/apply/apply-versions.ts";
import { decodeFieldsV1 } from "../src/apply/fields-v1.ts";
import type { OwnedFields } from "../src/apply/managers.ts";
import type { JsonObject } from "../src/json/json-value.ts";
import { deepFreeze } from "../src/object/kube-object.ts";

const type: ApplyType = applyTypeOf({
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    a: { type: "string" },
    b: { type: "string" },
    map: { type: "object", additionalProperties: { type: "string" } },
    struct: { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } },
    list: { type: "array", items: { type: "string" } },
  },
});

// At version v2, `a` is called `b` and the other way round.
const swap = ({ a, b, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  ...(b !== undefined && { a: b }),
  ...(a !== undefined && { b: a }),
});
/** Versions v1 and v2. */
export const versions: ApplyVersions = {
  typeAt: (version) => (version === "v1" || version === "v2" ? type : undefined),
  convert: (object, version) =>
    version === "v1" || version === "v2" ? { ...swap(object), apiVersion: version } : undefined,
};

/** An object at v1. */
export const typed = (value: JsonObject): TypedObject => ({ type, value: deepFreeze({ apiVersion: "v1", ...value }) });
/** The fields of an applier, recorded at v1 by default. */
export const owns = (fields: JsonObject, more: Partial<OwnedFields> = {}): OwnedFields => ({
  set: decodeFieldsV1(fields),
  apiVersion: "v1",
  applied: true,
  ...more,
});
