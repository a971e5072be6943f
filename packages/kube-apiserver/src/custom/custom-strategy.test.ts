// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { customKind } from "../crd/custom-types.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import { customStrategy } from "./custom-strategy.ts";

const text = (more: JsonObject = {}): JsonObject => ({ type: "string", ...more });

function version(name: string, properties: JsonObject, more: JsonObject = {}): JsonObject {
  const openAPIV3Schema = { type: "object", properties: { spec: { type: "object", properties } } };
  return { name, served: true, storage: name === "v1", schema: { openAPIV3Schema }, ...more };
}

function strategyOf(shown: string, ...versions: JsonObject[]): ObjectStrategy {
  const names = { kind: "Gate", plural: "gates" };
  const kind = customKind({ spec: { group: "example.org", names, versions }, status: { acceptedNames: names } });
  return customStrategy(kind, shown, () => new Date(0));
}

const v1 = version("v1", { colour: text({ default: "red" }), width: { type: "integer" }, note: text() });
const v2 = version("v2", {
  colour: text({ default: "blue" }),
  locked: { type: "boolean", default: true },
  note: text(),
});

const stored = (spec: JsonObject, name = "v1"): JsonObject => ({
  apiVersion: `example.org/${name}`,
  kind: "Gate",
  metadata: { name: "a" },
  spec,
});

interface ShownCase {
  readonly reason: string;
  readonly shown: string;
  readonly stored: JsonObject;
  readonly want: JsonObject;
}

const cases: Record<string, ShownCase> = {
  SameVersion: {
    reason: "a default that came after the object was stored is shown",
    shown: "v1",
    stored: stored({ width: 2 }),
    want: stored({ width: 2, colour: "red" }),
  },
  OtherVersion: {
    reason:
      "the stored version's default is shown in every version, and the shown version's own are for what is sent in it",
    shown: "v2",
    stored: stored({ note: "x" }),
    want: stored({ note: "x", colour: "red" }, "v2"),
  },
  UnknownThere: {
    reason: "a field only the stored version knows is not shown in another",
    shown: "v2",
    stored: stored({ width: 2, colour: "green" }),
    want: stored({ colour: "green" }, "v2"),
  },
  UnknownHere: {
    reason: "a field only the shown version knows was lost when the object was stored",
    shown: "v2",
    stored: stored({ locked: false, colour: "green" }),
    want: stored({ colour: "green" }, "v2"),
  },
  StoredInTheOther: {
    reason: "stored before the storage version changed: the version it was stored in decides",
    shown: "v1",
    stored: stored({ note: "x" }, "v2"),
    want: stored({ note: "x", colour: "blue" }),
  },
  ForbiddenNull: {
    reason: "a null that no version allows is as good as absent, and a default takes its place",
    shown: "v2",
    stored: stored({ colour: null, note: null }),
    want: stored({ colour: "red" }, "v2"),
  },
  GoneVersion: {
    reason: "what was stored in a version that is no more can still be read, and so be stored again",
    shown: "v2",
    stored: stored({ note: "x" }, "v0"),
    want: stored({ note: "x", colour: "blue", locked: true }, "v2"),
  },
};

for (const [name, { reason, shown, stored: object, want }] of Object.entries(cases)) {
  test(`shown: ${name}: ${reason}`, () => {
    const strategy = strategyOf(shown, v1, v2);
    assert.deepEqual(strategy.storage.toServed(object), want);
    assert.equal(
      strategy.storage.toServed(object),
      strategy.storage.toServed(object),
      "the work is done once for each stored object",
    );
  });
}

test("what is shown as it is stored is not copied", () => {
  const object = stored({ colour: "red" });
  assert.equal(strategyOf("v1", v1, v2).storage.toServed(object), object);
});

const withWarning = { deprecated: true, deprecationWarning: "gates of old are going" };
const deprecations: Record<string, { reason: string; shown: string; versions: JsonObject[]; want: string[] }> = {
  NotDeprecated: { reason: "nothing to say", shown: "v1", versions: [version("v1", {})], want: [] },
  OwnWords: {
    reason: "the author's words, whatever else there is",
    shown: "v1",
    versions: [version("v1", {}, withWarning), version("v2", {})],
    want: ["gates of old are going"],
  },
  Newer: {
    reason: "a better version is named",
    shown: "v1beta1",
    versions: [version("v1beta1", {}, { deprecated: true }), version("v1beta2", {}), version("v1", {})],
    want: ["example.org/v1beta1 Gate is deprecated; use example.org/v1 Gate"],
  },
  OnlyOlder: {
    reason: "an older version is not a replacement",
    shown: "v2",
    versions: [version("v1", {}), version("v2", {}, { deprecated: true })],
    want: ["example.org/v2 Gate is deprecated"],
  },
  NotServed: {
    reason: "neither is a version that is not served or is deprecated too",
    shown: "v1",
    versions: [
      version("v1", {}, { deprecated: true }),
      version("v2", {}, { served: false }),
      version("v3", {}, { deprecated: true }),
    ],
    want: ["example.org/v1 Gate is deprecated"],
  },
};

for (const [name, { reason, shown, versions, want }] of Object.entries(deprecations)) {
  test(`deprecated: ${name}: ${reason}`, () => {
    assert.deepEqual(strategyOf(shown, ...versions).validator.requestWarnings?.(), want);
  });
}
