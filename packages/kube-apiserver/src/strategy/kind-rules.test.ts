// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { allVerbs, defineKinds, statusSubresource, wholeMetaChecks, withEmptyLists } from "./kind-rules.ts";

test("a kind has the defaults of most kinds", () => {
  const [{ type, ...rest } = assert.fail()] = defineKinds({ group: "apps", version: "v1", priority: 7 }, [
    { resource: "deployments", kind: "Deployment" },
  ]);
  assert.deepEqual(rest, {}, "no rules, no initial objects");
  const { rules, ...shown } = type;
  assert.deepEqual(shown, {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    listKind: "DeploymentList",
    resource: "deployments",
    singular: "deployment",
    shortNames: [],
    categories: [],
    namespaced: true,
    verbs: allVerbs,
    subresources: [],
    custom: false,
    groupPriority: 7,
    storage: { group: "apps", version: "v1", resource: "deployments" },
  });
  const { name: _, ...write } = rules;
  assert.deepEqual(write, {
    createOnUpdate: false,
    unconditionalUpdate: true,
    generation: undefined,
    returnsDeleted: false,
    orphansByDefault: false,
    ttlSeconds: undefined,
  });
});

test("the members of a row replace the defaults", () => {
  const row = {
    resource: "events",
    kind: "Event",
    short: ["ev"],
    categories: ["all"],
    cluster: true,
    verbs: ["get"],
    subresources: [statusSubresource],
    unserved: { proxy: "proxies" },
    write: { ttlSeconds: 60 },
    rules: { keepsNewStatus: true },
    initialObjects: [{}],
    admission: [],
    storedIn: "",
    storageVersion: "v2",
  } as const;
  const [{ type, ...rest } = assert.fail()] = defineKinds({ group: "events.k8s.io", version: "v1", priority: 1 }, [
    row,
  ]);
  assert.deepEqual(rest, { rules: row.rules, initialObjects: [{}], admission: [] });
  assert.equal(type.namespaced, false);
  assert.deepEqual(
    [type.shortNames, type.categories, type.verbs, type.subresources, type.unserved],
    [row.short, row.categories, row.verbs, row.subresources, row.unserved],
  );
  assert.deepEqual(type.storage, { group: "", version: "v2", resource: "events" });
  assert.equal(type.rules.ttlSeconds, 60);
  assert.equal(type.rules.unconditionalUpdate, true);
});

test("only writes of the object itself check all of its metadata again", () => {
  assert.deepEqual(wholeMetaChecks(""), { ofChange: true, ofWhole: true });
  assert.deepEqual(wholeMetaChecks("status"), { ofChange: true, ofWhole: false });
});

const rules = withEmptyLists(["rules", "spec.limits"], { keepsNewStatus: true });

test("lists that are sent empty are kept when the body is decoded, and stored as null", () => {
  assert.deepEqual(rules.keepsEmpty, [["rules"], ["spec", "limits"]]);
  const decoded = deepFreeze({ rules: [], spec: { limits: [] } }) as JsonObject;
  assert.deepEqual(rules.prepareCreate?.(decoded), {
    rules: null,
    spec: { limits: null },
  });
  assert.deepEqual(rules.prepareUpdate?.({ rules: [] }, {}, ""), { rules: null });
});

test("lists that have items, or were not sent, are left as they are", () => {
  const object = deepFreeze({ rules: [{}], spec: {} }) as JsonObject;
  assert.equal(rules.prepareCreate?.(object), object);
  assert.equal(rules.keepsNewStatus, true);
});
