// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheChange } from "@purlin/kube-client";
import { noEvents } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageTypes } from "./package-kinds.ts";
import type { PackageRuntime } from "./runtime/package-runtime.ts";
import {
  createPackageControllers,
  type PackageControllerOptions,
  revisionControllerName,
  runtimeControllerName,
} from "./setup.ts";

const object = (kind: string, name: string, more: object = {}): KubeObject =>
  ({ apiVersion: "pkg.crossplane.io/v1", kind, metadata: { name }, ...more }) as KubeObject;

const cached: Record<string, KubeObject[]> = {
  Function: [
    object("Function", "near", { spec: { package: "registry.example.org/acme/near:v1" } }),
    object("Function", "moved", {
      spec: { package: "other.example.org/moved:v1" },
      status: { resolvedPackage: "mirror.example.org/moved:v1" },
    }),
    object("Function", "far", { spec: { package: "far.example.org/f:v1" } }),
  ],
  FunctionRevision: [
    object("FunctionRevision", "near-1", { spec: { image: "registry.example.org/acme/near:v1" } }),
    object("FunctionRevision", "moved-1", {
      spec: { image: "other.example.org/moved:v1" },
      status: { resolvedImage: "mirror.example.org/moved:v1" },
    }),
  ],
};

const runtime = { watches: () => [] } as unknown as PackageRuntime;
const controllers = (runtimes: PackageControllerOptions["runtimes"] = { Function: runtime }) =>
  createPackageControllers({
    events: noEvents,
    features: { functionRevisionSelectors: false, developmentFunctions: false },
    cached: (type: { kind: string }) => cached[type.kind] ?? [],
    resolver: { allowUpgrades: false, allowDowngrades: false },
    runtimes,
  } as unknown as PackageControllerOptions);

/** Whom a change wakes. */
function woken(controller: string, watch: string, change: CacheChange): string[] {
  const found = controllers().find(({ spec }) => spec.name === controller);
  const spec = found?.watches.find(({ type }) => type === watch);
  assert.ok(spec, `${controller} does not watch ${watch}`);
  return [...spec.keys(change)].flatMap((key) => key?.name ?? []);
}

const added = (made: KubeObject): CacheChange => ({ type: "added", object: made }) as CacheChange;
const updated = (previous: KubeObject, now: KubeObject): CacheChange =>
  ({ type: "updated", previous, object: now }) as CacheChange;
const config = (prefix: string, spec: object): KubeObject =>
  object("ImageConfig", "c", { spec: { matchImages: [{ prefix }], ...spec } });
const rewrite = { rewriteImage: { prefix: "mirror.example.org/" } };
const secret = { registry: { authentication: { pullSecretRef: { name: "s" } } } };
const verification = { verification: { provider: "Cosign" } };
const runtimeConfig = { runtime: { configRef: { name: "r" } } };
const manager = "packages/function.pkg.crossplane.io";
const revisionController = revisionControllerName(packageTypes.Function);

const near = "registry.example.org/";
const mirror = "mirror.example.org/";
const none = "none.example.org/";
const deleted = (gone: KubeObject): CacheChange => ({ type: "deleted", object: gone }) as CacheChange;

const rows: [why: string, change: CacheChange, wakes: string, controller?: string][] = [
  ["a rewrite wakes whom it matches", added(config(near, rewrite)), "near"],
  ["a pull secret, too", added(config(`${near}acme/`, secret)), "near"],
  ["by what a reference was rewritten to", added(config(mirror, secret)), "moved"],
  ["one that matches no package starts no reconcile", added(config(none, rewrite)), ""],
  ["a rule for signatures wakes what it covers", added(config(near, verification)), "near"],
  ["one that only chooses a runtime wakes nothing", added(config(near, runtimeConfig)), ""],
  ["one that matched before", updated(config(near, rewrite), config(none, rewrite)), "near"],
  ["one that said something before", updated(config(near, rewrite), config(near, runtimeConfig)), "near"],
  ["one that goes", deleted(config(near, rewrite)), "near"],
  ["revisions by their image", added(config(near, rewrite)), "near-1", revisionController],
  ["and by what it was rewritten to", added(config(mirror, secret)), "moved-1", revisionController],
];
for (const [why, change, wakes, controller = manager] of rows) {
  test(`an ImageConfig: ${why}`, () => assert.equal(woken(controller, "ImageConfig", change).join(), wakes));
}

const labels = { "pkg.crossplane.io/package": "f" };
const labelled = object("FunctionRevision", "f-1", { metadata: { name: "f-1", labels } });
const resolver = "packages/lock.pkg.crossplane.io";
const others: [why: string, controller: string, watch: string, change: KubeObject, wakes: string][] = [
  ["a package wakes itself", manager, "Package", object("Function", "f"), "f"],
  ["a revision its package, by its label", manager, "PackageRevision", labelled, "f"],
  ["one without a label, none", manager, "PackageRevision", object("FunctionRevision", "stray"), ""],
  ["a revision wakes itself", revisionController, "PackageRevision", labelled, "f-1"],
  ["the Lock every revision", revisionController, "Lock", object("Lock", "lock"), "near-1,moved-1"],
  ["and the resolver", resolver, "Lock", object("Lock", "lock"), "lock"],
  ["which any ImageConfig wakes as well", resolver, "ImageConfig", config("x", secret), "lock"],
];
for (const [why, controller, watch, change, wakes] of others) {
  test(`whom a change wakes: ${why}`, () => assert.equal(woken(controller, watch, added(change)).join(), wakes));
}

test("a kind of package with an external runtime has no runtime controller", () => {
  const names = (runtimes: PackageControllerOptions["runtimes"]): string[] =>
    controllers(runtimes)
      .map(({ spec }) => spec.name)
      .filter((name) => name.startsWith("runtime/"));
  assert.deepEqual(names({}), []);
  assert.deepEqual(names({ Function: runtime }), [runtimeControllerName(packageTypes.Function)]);
  assert.deepEqual(names({ Function: runtime, Provider: runtime }), [
    runtimeControllerName(packageTypes.Function),
    runtimeControllerName(packageTypes.Provider),
  ]);
});

test("controllers have names of their own, by which their events are signed", () => {
  const names = controllers({ Function: runtime, Provider: runtime }).map(({ spec }) => spec.name);
  assert.equal(new Set(names).size, names.length);
  assert.equal(names.length, 3 + 3 + 1 + 2);
});
