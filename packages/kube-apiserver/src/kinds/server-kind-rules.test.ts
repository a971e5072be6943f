// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldError, fieldErrorText, isForbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { namespaceRules as rules } from "./server-kind-rules.ts";

const label = "kubernetes.io/metadata.name";
const texts = (errors: readonly FieldError[] | undefined): string[] => (errors ?? []).map(fieldErrorText);
const update = (object: JsonObject, old: JsonObject, endpoint: "" | "status" | "finalize"): JsonObject | undefined =>
  rules.prepareUpdate?.(deepFreeze(object), deepFreeze(old), endpoint);

test("a namespace has its name as a label, whatever it was sent with", () => {
  const sent = { metadata: { name: "a", labels: { b: "c", [label]: "other" } } };
  assert.deepEqual(rules.decode?.(sent, sent), { metadata: { name: "a", labels: { b: "c", [label]: "a" } } });
  assert.deepEqual(sent.metadata.labels[label], "other", "the object that was sent is not changed");
  const unnamed = { metadata: { generateName: "a-" } };
  assert.equal(rules.decode?.(unnamed, unnamed), unnamed);
});

test("the label of a namespace whose name is generated is empty until it has one", () => {
  assert.deepEqual(rules.defaults?.({ metadata: { generateName: "a-" } }), {
    metadata: { generateName: "a-", labels: { [label]: "" } },
  });
  assert.deepEqual(rules.defaults?.({ metadata: { name: "a", labels: { x: "y" } } }), {
    metadata: { name: "a", labels: { x: "y", [label]: "a" } },
  });
});

test("a new namespace is active and has the finalizer once, after its own", () => {
  assert.deepEqual(rules.prepareCreate?.({ metadata: {}, status: { phase: "Terminating" } }), {
    metadata: {},
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  });
  const finalizers = (...sent: string[]): unknown => rules.prepareCreate?.({ spec: { finalizers: sent } })?.["spec"];
  assert.deepEqual(finalizers("example.org/a"), { finalizers: ["example.org/a", "kubernetes"] });
  assert.deepEqual(finalizers("kubernetes", "example.org/a"), { finalizers: ["kubernetes", "example.org/a"] });
});

const old = { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };

test("an update keeps the finalizers and the status", () => {
  const sent = { metadata: { name: "a" }, spec: { finalizers: [] }, status: { phase: "Terminating" } };
  assert.deepEqual(update(sent, old, ""), { metadata: { name: "a" }, ...old });
  assert.deepEqual(update({ spec: { finalizers: ["x/y"] }, status: {} }, {}, ""), { spec: { finalizers: ["x/y"] } });
});

test("an update of the status keeps the spec, and the phase is Active where it is not set", () => {
  assert.deepEqual(update({ spec: {}, status: { conditions: [] } }, old, "status"), {
    spec: old.spec,
    status: { phase: "Active", conditions: [] },
  });
  assert.deepEqual(update({ status: { phase: "Terminating" } }, old, "status")?.["status"], { phase: "Terminating" });
});

test("the finalize endpoint changes the finalizers and keeps the status", () => {
  assert.deepEqual(update({ spec: { finalizers: [] }, status: { phase: "X" } }, old, "finalize"), {
    spec: { finalizers: [] },
    status: { phase: "Active" },
  });
});

test("a finalizer is the standard one or has a domain", () => {
  const why = "name is neither a standard finalizer name nor is it fully qualified";
  assert.deepEqual(texts(rules.validate?.({ spec: { finalizers: ["kubernetes", "a.org/b", "c", "d"] } })), [
    `spec.finalizers: Invalid value: "c": ${why}`,
    `spec.finalizers: Invalid value: "d": ${why}`,
  ]);
  assert.deepEqual(texts(rules.validate?.({ spec: { finalizers: null } })), []);
});

test("the phase follows from the deletion", () => {
  const errors = (phase: string, deletionTimestamp?: string): string[] =>
    texts(
      rules.validateChange?.(
        { metadata: deletionTimestamp === undefined ? {} : { deletionTimestamp }, status: { phase } },
        {},
        "",
      ),
    );
  assert.deepEqual([errors("Active"), errors("Terminating", "2024-01-01T00:00:00Z")], [[], []]);
  assert.deepEqual(errors("Terminating"), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
  assert.deepEqual(errors("Active", "2024-01-01T00:00:00Z"), [
    "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
  ]);
});

test("the namespaces of the system cannot be deleted", () => {
  for (const name of ["default", "kube-system", "kube-public"]) {
    assert.throws(
      () => rules.requireDeletable?.({ metadata: { name } }),
      (error: Error) => {
        assert.ok(isForbidden(error));
        assert.equal(error.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
        return true;
      },
    );
  }
  for (const name of ["kube-node-lease", "defaults"]) rules.requireDeletable?.({ metadata: { name } });
});

test("a deleted namespace is Terminating and stays while it has finalizers in its spec", () => {
  const object = deepFreeze({ spec: { finalizers: ["kubernetes"] }, status: { phase: "Active", conditions: [] } });
  assert.deepEqual(rules.markDeleted?.(object)["status"], { phase: "Terminating", conditions: [] });
  assert.equal(rules.blocksDeletion?.(object), true);
  assert.equal(rules.blocksDeletion?.({ spec: { finalizers: [] } }), false);
  assert.equal(rules.blocksDeletion?.({ metadata: { finalizers: ["a/b"] } }), false);
});

test("namespaces are selected by phase, and not by namespace", () => {
  assert.equal(rules.fields?.["status.phase"]?.({ status: { phase: "Active" } }), "Active");
  assert.equal(rules.fields?.["status.phase"]?.({}), "");
  assert.equal(rules.fieldProblem?.("metadata.namespace"), "field label not supported: metadata.namespace");
  assert.equal(rules.fieldProblem?.("metadata.name"), undefined);
});
