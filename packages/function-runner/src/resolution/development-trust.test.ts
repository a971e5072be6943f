// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  type DevelopmentTrust,
  developmentOf,
  honoredDevelopmentOf,
  trustedDevelopmentOf,
} from "./development-trust.ts";

const [runtime, target, source] = [
  "render.crossplane.io/runtime",
  "render.crossplane.io/runtime-development-target",
  "purlin.dev/source",
];
const inFile = { [source]: "/project/fn.ts" };
const elsewhere = { [runtime]: "Development", [target]: "localhost:1" };
const composed = "apiextensions.crossplane.io/composed/0a1b";
const controller = { apiVersion: "e.org/v1", kind: "XApp", name: "a", uid: "u", controller: true };

/** An entry of managedFields that owns annotations. */
const by = (manager: JsonValue, more: JsonObject = {}, ...names: string[]): JsonObject => ({
  manager,
  operation: "Apply",
  fieldsType: "FieldsV1",
  fieldsV1: {
    "f:metadata": { "f:annotations": { ".": {}, ...Object.fromEntries(names.map((name) => [`f:${name}`, {}])) } },
  },
  ...more,
});
const update = { operation: "Update" };
const file = by("purlin-apply", {}, source, runtime, target);
const none = "annotation purlin.dev/source is ignored: metadata.managedFields does not say who set it;";
const setBy = (manager: string, operation = "Apply"): string =>
  `annotation purlin.dev/source is ignored: set by field manager "${manager}" (${operation});`;
const controlled =
  'annotation purlin.dev/source is ignored: the Function is controlled by XApp "a", so it was not applied from a file;';

interface Case {
  readonly annotations?: JsonObject;
  readonly managers?: JsonValue;
  readonly owners?: JsonValue;
  /** How the message begins; undefined when the annotations count. */
  readonly ignored?: string;
}

const up: Readonly<Record<string, Case>> = {
  "of a file": { managers: [file] },
  "of a file, and other fields of a controller": {
    managers: [file, by("crossplane", { ...update, subresource: "status" })],
  },
  "of a file, and another annotation of a function": { managers: [file, by(composed, {}, "other")] },
  "of a file, and all of metadata as a leaf": { managers: [file, by(composed, { fieldsV1: { "f:metadata": {} } })] },
  "of a file, and an owner that is not a controller": {
    managers: [file],
    owners: [{ ...controller, controller: false }],
  },
  "of a file, and an owner that does not say": { managers: [file], owners: [{ kind: "X", name: "a" }] },
  "of a file, and no list of owners": { managers: [file], owners: "no" },
  "of a file, and an entry that is not an object": { managers: [null, 1, "x", [], file], owners: [null, 1, []] },
  "of a composite resource": { managers: [by(composed, {}, source)], owners: [controller], ignored: controlled },
  "of a file that a composite resource took over": { managers: [file], owners: [controller], ignored: controlled },
  "with a controller after other owners": {
    managers: [file],
    owners: [{ kind: "B" }, controller],
    ignored: controlled,
  },
  "of a composite resource without an owner": { managers: [by(composed, {}, source)], ignored: setBy(composed) },
  "of a file and a composite resource": { managers: [file, by(composed, {}, source)], ignored: setBy(composed) },
  "of a composite resource, and other fields of a file": {
    managers: [by("purlin-apply", {}, "other"), by(composed, {}, source)],
    ignored: setBy(composed),
  },
  "of a package": {
    managers: [by("pkg.crossplane.io/manager", {}, source)],
    ignored: setBy("pkg.crossplane.io/manager"),
  },
  "of a dependency": { managers: [by("crossplane", update, source)], ignored: setBy("crossplane", "Update") },
  "of a claim": {
    managers: [by("apiextensions.crossplane.io/claim", {}, source)],
    ignored: setBy("apiextensions.crossplane.io/claim"),
  },
  "of kubectl": {
    managers: [by("kubectl-client-side-apply", update, source)],
    ignored: setBy("kubectl-client-side-apply", "Update"),
  },
  "of kubectl and a file": { managers: [by("kubectl", {}, source), file], ignored: setBy("kubectl") },
  "of a file and kubectl": { managers: [file, by("kubectl", {}, source)], ignored: setBy("kubectl") },
  "of purlin patch": { managers: [by("purlin-apply", update, source)], ignored: setBy("purlin-apply", "Update") },
  "of a file and purlin patch": {
    managers: [file, by("purlin-apply", update, source)],
    ignored: setBy("purlin-apply", "Update"),
  },
  "of a file through a subresource": {
    managers: [by("purlin-apply", { subresource: "status" }, source)],
    ignored: setBy("purlin-apply"),
  },
  "of a manager whose name begins the same": {
    managers: [by("purlin-apply-2", {}, source)],
    ignored: setBy("purlin-apply-2"),
  },
  "of a manager in other case": { managers: [by("Purlin-Apply", {}, source)], ignored: setBy("Purlin-Apply") },
  "of a manager with a space": { managers: [by("purlin-apply ", {}, source)], ignored: setBy("purlin-apply ") },
  "of a manager that is not a string": { managers: [by(["purlin-apply"], {}, source)], ignored: setBy("") },
  "of before the first apply": {
    managers: [by("before-first-apply", update, source), file],
    ignored: setBy("before-first-apply", "Update"),
  },
  "of no operation": {
    managers: [by("purlin-apply", { operation: null }, source)],
    ignored: setBy("purlin-apply", ""),
  },
  "without managers": { ignored: none },
  "with managers that are null": { managers: null, ignored: none },
  "with no manager": { managers: [], ignored: none },
  "with a manager of other fields": { managers: [by("purlin-apply", {}, "other")], ignored: none },
  "with a manager of no fields": { managers: [by("purlin-apply", { fieldsV1: null })], ignored: none },
  "with a manager of all metadata as a leaf": {
    managers: [by("purlin-apply", { fieldsV1: { "f:metadata": {} } })],
    ignored: none,
  },
  "with a manager of a field of that name elsewhere": {
    managers: [by("purlin-apply", { fieldsV1: { "f:metadata": { "f:labels": { [`f:${source}`]: {} } } } })],
    ignored: none,
  },
  "with a manager of the prototype's members": {
    managers: [by("purlin-apply", { fieldsV1: { "f:metadata": [] } })],
    ignored: none,
  },
  "to another program, of a file": { annotations: elsewhere, managers: [file] },
  "to another program at the usual place, of a file": {
    annotations: { [runtime]: "Development" },
    managers: [by("purlin-apply", {}, runtime)],
  },
  "to another program, of a composite resource": {
    annotations: elsewhere,
    managers: [by(composed, {}, runtime, target)],
    owners: [controller],
    ignored: `annotations ${runtime} and ${target} are ignored: the Function is controlled by XApp "a", so it was not applied from a file;`,
  },
  "to another program, of a file, at a place of a function": {
    annotations: elsewhere,
    managers: [by("purlin-apply", {}, runtime), by(composed, {}, target)],
    ignored: `annotations ${runtime} and ${target} are ignored: set by field manager "${composed}" (Apply);`,
  },
  "to another program, of a function, at a place of a file": {
    annotations: elsewhere,
    managers: [by("purlin-apply", {}, target), by(composed, {}, runtime)],
    ignored: `annotations ${runtime} and ${target} are ignored: set by field manager "${composed}" (Apply);`,
  },
  "to another program, at an address that was not set": {
    annotations: elsewhere,
    managers: [by("purlin-apply", {}, runtime)],
    ignored: `annotations ${runtime} and ${target} are ignored: metadata.managedFields does not say who set it;`,
  },
  "of a function beside a file's other program": {
    annotations: { ...elsewhere, ...inFile },
    managers: [by("purlin-apply", {}, runtime, target), by(composed, {}, source)],
    ignored: setBy(composed),
  },
};

/** On a cluster, people apply Functions with whatever they like. */
const cluster: Readonly<Record<string, Case>> = {
  "without managers": {},
  "of kubectl": { managers: [by("kubectl-client-side-apply", update, source)] },
  "of a GitOps controller": { managers: [by("argocd-controller", {}, source)] },
  "of a file": { managers: [file] },
  "of several users": { managers: [file, by("kubectl", {}, source), by("helm", update, source)] },
  "of a composite resource": { managers: [by(composed, {}, source)], owners: [controller], ignored: controlled },
  "of a composite resource without managers": { owners: [controller], ignored: controlled },
  "of a composite resource without an owner": { managers: [by(composed, {}, source)], ignored: setBy(composed) },
  "of kubectl and a composite resource": {
    managers: [by("kubectl", {}, source), by(composed, {}, source)],
    ignored: setBy(composed),
  },
  "of a package": {
    managers: [by("pkg.crossplane.io/manager", {}, source)],
    ignored: setBy("pkg.crossplane.io/manager"),
  },
  "of a plain update of a controller": {
    managers: [by("crossplane", update, source)],
    ignored: setBy("crossplane", "Update"),
  },
  "of an operation": { managers: [by("ops.crossplane.io/x", {}, source)], ignored: setBy("ops.crossplane.io/x") },
  "of a name that contains a controller's": { managers: [by("not-crossplane", {}, source)] },
};

const trusts: readonly (readonly [string, DevelopmentTrust, Readonly<Record<string, Case>>, RegExp])[] = [
  [
    "files of purlin up",
    { managers: ["purlin-apply"] },
    up,
    /; remove it, or put the Function into a file of a folder given to purlin up$/,
  ],
  ["a cluster", {}, cluster, /; remove it, or set it with kubectl on a Function that no other object controls$/],
];

for (const [title, trust, cases, advice] of trusts) {
  for (const [name, { annotations = inFile, managers, owners, ignored }] of Object.entries(cases)) {
    test(`${title}: development annotations ${name}`, () => {
      const metadata = {
        name: "fn",
        annotations,
        ...(managers !== undefined && { managedFields: managers }),
        ...(owners !== undefined && { ownerReferences: owners }),
      };
      const found = trustedDevelopmentOf({ metadata }, trust);
      const honored = honoredDevelopmentOf({ metadata }, trust);
      if (ignored === undefined) {
        assert.notEqual(honored, undefined);
        assert.deepEqual(honored, developmentOf({ metadata }));
        assert.deepEqual(found, honored);
        return;
      }
      assert.equal(honored, undefined);
      const message = found?.kind === "ignored" ? found.message : "";
      assert.equal(message.slice(0, ignored.length), ignored);
      assert.match(message, advice);
      assert.doesNotMatch(message, /\/project/, "what a function may read names no path of this machine");
    });
  }
}

const silent: Readonly<Record<string, JsonValue>> = {
  Nothing: undefined as unknown as JsonValue,
  Null: null,
  Empty: { [source]: "" },
  NotText: { [source]: 1 },
  OtherRuntime: { [runtime]: "Docker", [target]: "localhost:1" },
  TargetOnly: { [target]: "localhost:1" },
};

for (const [name, annotations] of Object.entries(silent)) {
  test(`annotations that ask for nothing are not reported: ${name}`, () => {
    const metadata = { annotations, ownerReferences: [controller] };
    for (const [, trust] of trusts) assert.equal(trustedDevelopmentOf({ metadata }, trust), undefined);
  });
}
