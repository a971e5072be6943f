// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Endpoint } from "../strategy/object-strategy.ts";
import { crdRules } from "./crd-rules.ts";

const rules = crdRules(() => new Date("2026-01-01T00:00:00Z"));

function widgets(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
      ...spec,
    },
    status: { storedVersions: ["v1"], ...status },
  };
}

const texts = (errors: Iterable<Parameters<typeof fieldErrorText>[0]> | undefined): string[] =>
  [...(errors ?? [])].map(fieldErrorText);

function problems(crd: JsonObject, old?: JsonObject, endpoint: Endpoint = ""): string[] {
  const work = rules.validating?.(crd, old, endpoint);
  return texts(work && finish(work));
}

test("the name of a new definition is checked; that of a changed one is not checked again", () => {
  const wrong = widgets({ names: { plural: "gadgets", singular: "widget", kind: "Widget", listKind: "WidgetList" } });
  assert.deepEqual(problems(wrong), [
    'metadata.name: Invalid value: "widgets.example.org": must be spec.names.plural+"."+spec.group',
  ]);
  assert.deepEqual(problems(wrong, widgets(), ""), ['spec.names.plural: Invalid value: "gadgets": field is immutable']);
});

test("through the status stored versions can be given up, and only names are checked", () => {
  const given = widgets({}, { storedVersions: ["nope"], acceptedNames: { plural: "A_B", kind: "" } });
  const [problem, ...others] = problems(given, widgets(), "status");
  assert.match(problem ?? "", /^status\.acceptedNames\.plural: Invalid value: "A_B": /);
  assert.deepEqual(others, []);
  assert.equal(problems(given, widgets(), "").length, 3);
});

test("no stored versions are the one that is stored", () => {
  const read = (sent: JsonObject): unknown => rules.decode?.(sent, sent)["status"];
  assert.deepEqual(read(widgets({}, { storedVersions: [] })), { storedVersions: ["v1"] });
  assert.deepEqual(read(widgets({}, { storedVersions: ["v0"] })), { storedVersions: ["v0"] });
});

test("an empty list of versions and missing versions have different errors", () => {
  const problem = (sent: JsonObject): string | undefined => {
    const typed = widgets({ versions: null });
    return problems(rules.decode?.(typed, sent) ?? {})[0];
  };
  const detail = "must have exactly one version marked as storage version";
  assert.equal(problem(widgets({ versions: [] })), `spec.versions: Invalid value: []: ${detail}`);
  assert.equal(problem(widgets({ versions: null })), `spec.versions: Invalid value: null: ${detail}`);
});
