// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, made, now, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import {
  ageMs,
  ago,
  argumentOf,
  claimedRef,
  composedRefs,
  condition,
  conditionEvidence,
  crossplaneField,
  crossplaneName,
  crossplaneSelector,
  elapsed,
  fieldEvidence,
  functionRevisionsOf,
  hasLabels,
  isTrue,
  labelsText,
  listed,
  nearest,
  referencesOf,
  refOf,
  refText,
  resourceName,
  specChangedAt,
  timeToReadyMs,
  unmet,
} from "./facts.ts";

describe("names of objects", () => {
  const map = made("v1/ConfigMap", "default/settings");
  const xrd = made("apiextensions.crossplane.io/v2/CompositeResourceDefinition", "apps.example.org");

  test("a reference has a namespace only if the object has one", () => {
    assert.deepEqual(refOf(map), { apiVersion: "v1", kind: "ConfigMap", name: "settings", namespace: "default" });
    assert.deepEqual(refOf(xrd), { apiVersion: xrd.apiVersion, kind: xrd.kind, name: "apps.example.org" });
    assert.deepEqual(refOf({ ...map, metadata: {} }), { apiVersion: "v1", kind: "ConfigMap", name: "" });
  });

  test("messages show kind, namespace and name", () => {
    assert.equal(refText(refOf(map)), "ConfigMap default/settings");
    assert.equal(refText(refOf(xrd)), "CompositeResourceDefinition apps.example.org");
  });

  test("arguments of commands have the group of the kind, unless it is the core group", () => {
    assert.equal(argumentOf(refOf(map)), "configmap/settings -n default");
    assert.equal(argumentOf(refOf(xrd)), "compositeresourcedefinition.apiextensions.crossplane.io/apps.example.org");
  });
});

describe("conditions", () => {
  const object = withConditions(app("web"), [
    ["Synced", "True", "ReconcileSuccess"],
    ["Ready", "Unknown", "Creating", "no Pod"],
    ["Held", "False"],
  ]);

  test("unmet conditions are present and not True", () => {
    assert.equal(unmet(object, "Synced"), undefined);
    assert.equal(unmet(object, "Ready")?.reason, "Creating");
    assert.equal(unmet(object, "Held")?.status, "False");
    assert.equal(unmet(object, "Absent"), undefined);
    assert.equal(condition(object, "Absent"), undefined);
  });

  test("only True is true", () => {
    assert.deepEqual(
      ["Synced", "Ready", "Held", "Absent"].map((type) => isTrue(object, type)),
      [true, false, false, false],
    );
  });

  test("evidence leaves out what a condition does not have", () => {
    const evidence = (type: string): object => conditionEvidence(object, condition(object, type) ?? assert.fail());
    assert.deepEqual(evidence("Ready"), {
      object: "App default/web",
      path: "status.conditions[Ready]",
      time: secondsAgo(60),
      text: "Ready=Unknown: Creating: no Pod",
    });
    assert.equal((evidence("Held") as { readonly text: string }).text, "Held=False");
    const timeless = conditionEvidence(object, { type: "A", status: "False", reason: "", lastTransitionTime: "" });
    assert.equal(timeless.time, undefined);
  });

  test("a field is evidence without a time", () => {
    assert.deepEqual(fieldEvidence(object, "spec.replicas", "3"), {
      object: "App default/web",
      path: "spec.replicas",
      text: "3",
    });
  });
});

describe("times", () => {
  test("elapsed milliseconds of valid times only", () => {
    assert.equal(elapsed(secondsAgo(90), now), 90_000);
    assert.equal(elapsed(secondsAgo(-5), now), -5000);
    for (const time of [undefined, null, "", "yesterday"]) assert.equal(elapsed(time, now), undefined, String(time));
  });

  test("an object without a creation time has the age zero", () => {
    assert.equal(ageMs(app("web"), now), 3_600_000);
    assert.equal(ageMs({ ...app("web"), metadata: {} }, now), 0);
  });

  test("messages round times, and never show one in the future", () => {
    assert.equal(ago(secondsAgo(90), now), "90s ago");
    assert.equal(ago(secondsAgo(250), now), "4m10s ago");
    assert.equal(ago(secondsAgo(-30), now), "0s ago");
    assert.equal(ago(null, now), "at an unknown time");
  });

  const field = (time: string, fields: JsonObject, subresource?: string): JsonObject => ({
    manager: "m",
    operation: "Apply",
    time,
    fieldsV1: fields,
    ...(subresource === undefined ? {} : { subresource }),
  });

  test("the spec changed when a manager last wrote it", () => {
    const managedFields = [
      field(secondsAgo(500), { "f:spec": { "f:a": {} } }),
      field(secondsAgo(100), { "f:spec": { "f:b": {} } }),
      field(secondsAgo(300), { "f:spec": {} }),
      field(secondsAgo(20), { "f:metadata": { "f:labels": {} } }),
      field(secondsAgo(10), { "f:spec": {} }, "scale"),
    ];
    assert.equal(specChangedAt(app("web", {}, { managedFields })), secondsAgo(100));
  });

  test("without managed fields the spec is as old as the object", () => {
    assert.equal(specChangedAt(app("web")), secondsAgo(3600));
    assert.equal(specChangedAt(app("web", {}, { managedFields: [] })), secondsAgo(3600));
    assert.equal(specChangedAt({ ...app("web"), metadata: {} }), undefined);
  });
});

describe("fields of the control plane", () => {
  const modern = app("a", { crossplane: { compositionRef: { name: "new" } }, compositionRef: { name: "old" } });
  const legacy = app("a", { compositionRef: { name: "old" }, compositionSelector: { matchLabels: { tier: "gold" } } });

  test("spec.crossplane comes before the fields of old composite resources", () => {
    assert.equal(crossplaneName(modern, "compositionRef"), "new");
    assert.equal(crossplaneName(legacy, "compositionRef"), "old");
    assert.deepEqual(crossplaneField(modern, "compositionRef"), { name: "new" });
  });

  test("a name that is empty, missing or not a string is absent", () => {
    for (const compositionRef of [{}, { name: "" }, { name: 3 }, "c"]) {
      assert.equal(crossplaneName(app("a", { crossplane: { compositionRef } }), "compositionRef"), undefined);
    }
  });

  test("a selector is its labels; without them it is absent", () => {
    assert.deepEqual(crossplaneSelector(legacy, "compositionSelector"), { tier: "gold" });
    assert.equal(crossplaneSelector(modern, "compositionSelector"), undefined);
    assert.equal(
      crossplaneSelector(app("a", { compositionSelector: { matchLabels: [] } }), "compositionSelector"),
      undefined,
    );
  });

  test("labels are shown in the order of their keys", () => {
    assert.equal(labelsText({ zone: "a", tier: "gold", empty: "" }), "empty=, tier=gold, zone=a");
    assert.equal(labelsText({}), "");
  });

  test("an object has labels if it has all of them with the same values", () => {
    const object = app("a", {}, { labels: { tier: "gold", zone: "a" } });
    assert.equal(hasLabels(object, {}), true);
    assert.equal(hasLabels(object, { tier: "gold" }), true);
    assert.equal(hasLabels(object, { tier: "gold", zone: "b" }), false);
    assert.equal(hasLabels(app("b"), { tier: "gold" }), false);
  });
});

describe("references", () => {
  const ref = (name: string, more: JsonObject = {}): JsonObject => ({
    apiVersion: "v1",
    kind: "Secret",
    name,
    ...more,
  });

  test("composed resources are in the namespace of the composite resource unless a reference names another", () => {
    const xr = app("a", { crossplane: { resourceRefs: [ref("one"), ref("two", { namespace: "team" })] } });
    assert.deepEqual(composedRefs(xr), [
      { apiVersion: "v1", kind: "Secret", name: "one", namespace: "default" },
      { apiVersion: "v1", kind: "Secret", name: "two", namespace: "team" },
    ]);
    const wide = made("example.org/v1/XShop", "x", { spec: { resourceRefs: [ref("one")] } });
    assert.deepEqual(composedRefs(wide), [{ apiVersion: "v1", kind: "Secret", name: "one" }]);
  });

  test("references of both places are followed, and incomplete ones are not", () => {
    const broken = [ref(""), { apiVersion: "v1", name: "x" }, { kind: "Secret", name: "x" }, {}];
    const xr = app("a", { crossplane: { resourceRefs: [...broken, ref("one")] }, resourceRefs: [ref("two")] });
    assert.deepEqual(
      composedRefs(xr).map(({ name }) => name),
      ["one", "two"],
    );
  });

  test("a claim refers to one cluster-scoped composite resource", () => {
    const claim = made("example.org/v1/Shop", "default/web", {
      spec: { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: "web-x" }, resourceRefs: [ref("one")] },
    });
    const xr = { apiVersion: "example.org/v1", kind: "XShop", name: "web-x" };
    assert.deepEqual(claimedRef(claim), xr);
    assert.deepEqual(referencesOf(claim), [xr]);
    for (const resourceRef of [undefined, null, {}, "web-x"]) {
      assert.equal(
        claimedRef(made("example.org/v1/Shop", "default/web", { spec: { resourceRef } as JsonObject })),
        undefined,
      );
    }
  });

  test("a composite resource refers to what it composes", () => {
    assert.deepEqual(
      referencesOf(app("a", { crossplane: { resourceRefs: [ref("one")] } })).map(({ name }) => name),
      ["one"],
    );
  });

  test("function revisions are listed once, in the order of the steps", () => {
    const used = ["fn-2", "", "other-1", "fn-2"].map((functionRevision) => ({ functionRevision }));
    const xr: typeof modernApp = { ...modernApp, status: { crossplane: { functionRevisions: [...used, {}, 3] } } };
    assert.deepEqual(functionRevisionsOf(xr), ["fn-2", "other-1"]);
    assert.deepEqual(functionRevisionsOf(modernApp), []);
  });
  const modernApp = app("a");

  test("the name of a composed resource is an annotation", () => {
    const annotations = { "crossplane.io/composition-resource-name": "files" };
    assert.equal(resourceName(made("v1/Secret", "default/a", { metadata: { annotations } })), "files");
    assert.equal(resourceName(modernApp), undefined);
  });
});

describe("lists in messages", () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index + 1}`);
  const cases: readonly (readonly [number, string])[] = [
    [0, "none"],
    [1, "n1"],
    [5, "n1, n2, n3, n4, n5"],
    [6, "n1, n2, n3, n4, n5 and 1 more"],
    [12, "n1, n2, n3, n4, n5 and 7 more"],
  ];
  for (const [count, text] of cases) test(`${count} names: ${text}`, () => assert.equal(listed(names(count)), text));

  test("the caller chooses how many names are shown", () => {
    assert.equal(listed(names(3), 1), "n1 and 2 more");
    assert.equal(listed(names(3), 3), "n1, n2, n3");
  });
});

describe("the nearest text", () => {
  const cases: Readonly<Record<string, readonly [string, readonly string[], string | undefined]>> = {
    "one letter differs": ["function-redy", ["function-patch", "function-ready"], "function-ready"],
    "case does not count": ["Function-READY", ["function-ready"], "function-ready"],
    "texts that are equally near are ordered": ["fn-a", ["fn-c", "fn-b"], "fn-b"],
    "short texts may differ in two letters": ["ab", ["cd"], "cd"],
    "and not in three": ["abc", ["xyz"], undefined],
    "a third of a long text may differ": ["abcdefghi", ["abcdefxyz"], "abcdefxyz"],
    "and not more": ["abcdefghi", ["abcdewxyz"], undefined],
    "added letters count": ["web", ["web-1234"], undefined],
    "there is none to choose from": ["web", [], undefined],
  };
  for (const [title, [wanted, texts, expected]] of Object.entries(cases)) {
    test(title, () => assert.equal(nearest(wanted, texts), expected));
  }

  test("only the first 128 characters of long texts are compared", () => {
    const long = "x".repeat(128);
    assert.equal(nearest(`${long}${"a".repeat(500)}`, [`${long}${"b".repeat(500)}`])?.length, 628);
  });

  test("the list of texts keeps its order", () => {
    const texts = ["b", "a"];
    nearest("a", texts);
    assert.deepEqual(texts, ["b", "a"]);
  });
});

test("the time to become ready begins with the last change of the spec before it", () => {
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const object = (status: string, managedFields: readonly object[] = []): KubeObject =>
    ({
      ...{ apiVersion: "example.org/v1", kind: "App" },
      metadata: { name: "a", creationTimestamp: at(0), managedFields },
      status: { conditions: [{ type: "Ready", status, reason: "R", lastTransitionTime: at(50) }] },
    }) as unknown as KubeObject;
  const write = (second: number, more: object = {}): object => ({
    ...{ manager: "kubectl", time: at(second), fieldsV1: { "f:spec": {} } },
    ...more,
  });
  const references = { manager: "apiextensions.crossplane.io/composite" };
  assert.equal(timeToReadyMs(object("True")), 50_000);
  assert.equal(
    timeToReadyMs(object("True", [write(10), write(40), write(60)])),
    10_000,
    "a later change has no effect",
  );
  assert.equal(timeToReadyMs(object("True", [write(45, references)])), 50_000, "references are not a change");
  assert.equal(timeToReadyMs(object("True", [write(45, { fieldsV1: { "f:status": {} } })])), 50_000);
  assert.equal(timeToReadyMs(object("True", [{ manager: "kubectl" }])), 50_000);
  assert.equal(timeToReadyMs(object("False")), undefined);
  assert.equal(timeToReadyMs({ apiVersion: "v1", kind: "A", metadata: {} }), undefined);
});
