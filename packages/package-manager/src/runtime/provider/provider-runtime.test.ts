// SPDX-License-Identifier: Apache-2.0
// Revisions that are not run: they would answer for a function, or for the webhooks of another Provider. Those that run are tested with real
// Providers, in test/interop.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@purlin/base";
import type { KubeObject, OwnerReference } from "@purlin/kube-objects/object";
import { packageTypes } from "../../package-kinds.ts";
import type { RuntimeContext } from "../package-runtime.ts";
import type { ProviderRuntimeOptions } from "./provider-host.ts";
import { createProviderRuntime } from "./provider-runtime.ts";

const type = packageTypes.Provider;

/** Reaches the stores of the control plane only for a revision that may run. */
const reached = "the client was asked";

function runtimeBeside(processes: Readonly<Record<string, { readonly isProvider: boolean }>>) {
  const options = {
    client: { get: () => Promise.reject(new Error(reached)) },
    processes: { get: (name: string) => processes[name] },
    namespace: "crossplane-system",
    directory: "/nonexistent",
    clock: systemClock,
    webhookTargets: new Map(),
  };
  return createProviderRuntime(options as unknown as ProviderRuntimeOptions);
}

function passOf(name: string, owner?: Partial<OwnerReference>): RuntimeContext {
  const ownerReferences = owner && [
    { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "1", controller: true, ...owner },
  ];
  const metadata = { name, uid: "u", labels: { "pkg.crossplane.io/package": "provider-fleet" }, ownerReferences };
  const revision = { ...type.revision, metadata, spec: { desiredState: "Active" } } as KubeObject;
  return { type, revision, signal: new AbortController().signal };
}

const own = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider", name: "provider-fleet" };
const foreign: Readonly<Record<string, Partial<OwnerReference>>> = {
  "a composite resource": { apiVersion: "example.org/v1", kind: "Attack", name: "provider-fleet" },
  "a kind of the same name": { apiVersion: "example.org/v1", kind: "Provider", name: "provider-fleet" },
  "another Provider": { ...own, name: "provider-other" },
  "a Function": { ...own, kind: "Function" },
};
for (const [what, owner] of Object.entries(foreign)) {
  test(`a revision that ${what} controls is not run with the label of a Provider`, async () => {
    const runtime = runtimeBeside({});
    const message = /^the revision belongs to \w+ "[\w-]+", not to Provider "provider-fleet": it is not run$/;
    await assert.rejects(runtime.prepare(passOf("fleet-1", owner)), { message });
    await assert.rejects(runtime.run(passOf("fleet-1", owner)), { message });
  });
}

for (const owner of [own, undefined]) {
  test(`a revision ${owner ? "of its Provider" : "that is kept by hand"} does not take the place of a function`, async () => {
    const runtime = runtimeBeside({ "function-1": { isProvider: false } });
    const message = 'the process of a function has the name "function-1": give the Provider another name';
    await assert.rejects(runtime.prepare(passOf("function-1", owner)), { message });
    await assert.rejects(runtime.run(passOf("function-1", owner)), { message });
  });

  test(`a revision ${owner ? "of its Provider" : "that is kept by hand"} is run, also again`, async () => {
    const runtime = runtimeBeside({ "fleet-2": { isProvider: true } });
    for (const name of ["fleet-1", "fleet-2"]) {
      await assert.rejects(runtime.prepare(passOf(name, owner)), { message: reached });
      await assert.rejects(runtime.run(passOf(name, owner)), { message: reached });
    }
  });
}
