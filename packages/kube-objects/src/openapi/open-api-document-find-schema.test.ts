// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinOpenAPI } from "./builtin-openapi.ts";
import { findSchema } from "./open-api-document.ts";

const widget = { group: "example.org", version: "v1", kind: "Widget" };
const named = (...kinds: unknown[]): object => ({ "x-kubernetes-group-version-kind": kinds });
const documentOf = (schemas: unknown): { components: unknown } => ({ components: { schemas } });

const cases: Record<string, { reason: string; document: object; gvk?: typeof widget; want: string | undefined }> = {
  Found: { reason: "one entry, equal in all three", document: documentOf({ a: named(widget) }), want: "a" },
  MissingMembers: {
    reason: "a missing member counts as empty, which is the core group",
    document: documentOf({ pod: named({ version: "v1", kind: "Pod" }) }),
    gvk: { group: "", version: "v1", kind: "Pod" },
    want: "pod",
  },
  OtherKind: {
    reason: "kinds are case-sensitive",
    document: documentOf({ a: named({ ...widget, kind: "widget" }) }),
    want: undefined,
  },
  OtherVersion: {
    reason: "versions differ",
    document: documentOf({ a: named({ ...widget, version: "v2" }) }),
    want: undefined,
  },
  Several: {
    reason: "two entries describe neither",
    document: documentOf({ a: named(widget, widget) }),
    want: undefined,
  },
  NoEntries: { reason: "an empty array describes nothing", document: documentOf({ a: named() }), want: undefined },
  NotAnArray: {
    reason: "operations carry a single object; a component must carry an array",
    document: documentOf({ a: { "x-kubernetes-group-version-kind": widget } }),
    want: undefined,
  },
  FirstWins: {
    reason: "of several candidates the first in the document's order",
    document: documentOf({ z: named(widget), a: named(widget) }),
    want: "z",
  },
  OddEntries: {
    reason: "entries that are not objects are skipped",
    document: documentOf({ a: named("Widget"), b: null, c: 5, d: named(widget) }),
    want: "d",
  },
  NoSchemas: { reason: "components without schemas", document: { components: {} }, want: undefined },
  NoComponents: { reason: "a document without components", document: {}, want: undefined },
  OddComponents: { reason: "components that are not an object", document: { components: [1] }, want: undefined },
};

for (const [name, { reason, document, gvk, want }] of Object.entries(cases)) {
  test(`findSchema ${name}: ${reason}`, () => {
    assert.equal(findSchema(document, gvk ?? widget), want);
  });
}

test("DeleteOptions belongs to several kinds, so it is not found", () => {
  const document = builtinOpenAPI().document("apis/apps/v1");
  assert.ok(document);
  assert.ok("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions" in document.components.schemas);
  assert.equal(findSchema(document, { group: "apps", version: "v1", kind: "DeleteOptions" }), undefined);
});
