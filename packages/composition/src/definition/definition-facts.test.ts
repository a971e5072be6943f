// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { checkVersions } from "./definition-facts.ts";

const version = (name: string, change: JsonObject = {}): JsonObject => ({ name, served: true, ...change });
const stored = { referenceable: true };
const xrd = (...versions: JsonObject[]): KubeObject => ({ ...kinds.definition, metadata: {}, spec: { versions } });

const refused: Readonly<Record<string, { reason: string; versions: JsonObject[]; want: string }>> = {
  None: {
    reason: "objects are stored in some version",
    versions: [],
    want: "spec.versions: none is referenceable; set referenceable: true on the version to store",
  },
  NoneReferenceable: {
    reason: "and it must say in which",
    versions: [version("v1"), version("v2")],
    want: "spec.versions: none is referenceable; set referenceable: true on the version to store",
  },
  Two: {
    reason: "in one only",
    versions: [version("v1", stored), version("v2", stored)],
    want: 'spec.versions: only one may be referenceable, but "v1" and "v2" are',
  },
  Unserved: {
    reason: "what is stored must be served",
    versions: [version("v1"), version("v2", { ...stored, served: false })],
    want: "spec.versions[1].served: the referenceable version must be served",
  },
  Twice: {
    reason: "a version is there once",
    versions: [version("v1", stored), version("v2"), version("v2")],
    want: 'spec.versions: "v2" is listed more than once',
  },
};

for (const [name, { reason, versions, want }] of Object.entries(refused)) {
  test(`versions, ${name}: ${reason}`, () => assert.throws(() => checkVersions(xrd(...versions)), { message: want }));
}

test("one that is referenceable and served, among any number of others, is fine", () => {
  const others = Array.from({ length: 100_000 }, (_, index) => version(`v1alpha${index}`, { served: false }));
  checkVersions(xrd(version("v1", stored), ...others));
});
