// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheChange, KubeObject } from "@purlin/kube-client";
import { noEvents } from "@purlin/kube-controller";
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
    cached: (type: { kind: string }) => cached[type.kind] ?? [],
    resolver: { allowUpgrades: false, allowDowngrades: false },
    runtimes,
  } as unknown as PackageControllerOptions);

/** Whom a change wakes. */
function woken(controller: string, watch: string, change: CacheChange): string[] {
  const found = controllers().find(({ spec }) => spec.name === controller);
  const spec = found?.watches.find(({ type }) => type === watch);
  assert.ok(spec, `${controller} does not watch ${watch}`);
  return [...spec.keys(change)].map(({ name }) => name);
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

const rows: { why: string; controller: string; change: CacheChange; wakes: string[] }[] = [
  {
    why: "a rewrite wakes whom it matches",
    controller: manager,
    change: added(config("registry.example.org/", rewrite)),
    wakes: ["near"],
  },
  {
    why: "a pull secret, too",
    controller: manager,
    change: added(config("registry.example.org/acme/", secret)),
    wakes: ["near"],
  },
  {
    why: "by what a reference was rewritten to",
    controller: manager,
    change: added(config("mirror.example.org/", secret)),
    wakes: ["moved"],
  },
  {
    why: "one that matches nobody wakes nobody",
    controller: manager,
    change: added(config("none.example.org/", rewrite)),
    wakes: [],
  },
  {
    why: "case 29: what only verifies wakes nobody",
    controller: manager,
    change: added(config("registry.example.org/", verification)),
    wakes: [],
  },
  {
    why: "case 29: nor what only chooses a runtime",
    controller: manager,
    change: added(config("registry.example.org/", runtimeConfig)),
    wakes: [],
  },
  {
    why: "case 28: one that matched before, and no longer does",
    controller: manager,
    change: updated(config("registry.example.org/", rewrite), config("none.example.org/", rewrite)),
    wakes: ["near"],
  },
  {
    why: "one that said something before, and no longer does",
    controller: manager,
    change: updated(config("registry.example.org/", rewrite), config("registry.example.org/", verification)),
    wakes: ["near"],
  },
  {
    why: "one that goes",
    controller: manager,
    change: { type: "deleted", object: config("registry.example.org/", rewrite) } as CacheChange,
    wakes: ["near"],
  },
  {
    why: "revisions by their image",
    controller: revisionController,
    change: added(config("registry.example.org/", rewrite)),
    wakes: ["near-1"],
  },
  {
    why: "and by what it was rewritten to",
    controller: revisionController,
    change: added(config("mirror.example.org/", secret)),
    wakes: ["moved-1"],
  },
];
for (const { why, controller, change, wakes } of rows) {
  test(`an ImageConfig: ${why}`, () => assert.deepEqual(woken(controller, "ImageConfig", change), wakes));
}

test("a package wakes itself, and is woken by its revisions by their label", () => {
  assert.deepEqual(woken(manager, "Package", added(object("Function", "f"))), ["f"]);
  const labels = { "pkg.crossplane.io/package": "f" };
  const revision = object("FunctionRevision", "f-1", { metadata: { name: "f-1", labels } });
  assert.deepEqual(woken(manager, "PackageRevision", added(revision)), ["f"]);
  assert.deepEqual(woken(manager, "PackageRevision", added(object("FunctionRevision", "stray"))), []);
});

test("a change of the Lock concerns every revision, and the resolver", () => {
  const lock = added(object("Lock", "lock"));
  assert.deepEqual(woken(revisionController, "Lock", lock), ["near-1", "moved-1"]);
  assert.deepEqual(woken("packages/lock.pkg.crossplane.io", "Lock", lock), ["lock"]);
  assert.deepEqual(woken("packages/lock.pkg.crossplane.io", "ImageConfig", added(config("x", secret))), ["lock"]);
});

test("case 49: where somebody else runs a kind of package, no controller of ours does", () => {
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
