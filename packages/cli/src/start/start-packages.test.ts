// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "@purlin/kube-controller";
import type { CommandInput } from "../commands/command-spec.ts";
import { tempFolder } from "../testing/temp-folder.ts";
import { TestIo } from "../testing/test-io.ts";
import { openPackages, readPackages, type StartPackages } from "./start-packages.ts";

const plain: StartPackages = {
  runtimes: { Function: "Deployment", Provider: "Deployment" },
  serviceAccount: undefined,
  functionRevisionSelectors: false,
  developmentFunctions: false,
  dependencyVersions: "fixed",
  maxConcurrentEstablishers: 10,
};
/** What commander adds. */
const defaults = { maxConcurrentPackageEstablishers: "10" };

const rows: Readonly<
  Record<string, { reason: string; options?: CommandInput["options"]; env?: Record<string, string>; want: object }>
> = {
  Nothing: { reason: "as Crossplane does it", want: {} },
  Flags: {
    reason: "what is said is done",
    options: {
      packageRuntime: "Function=External",
      serviceAccount: "mine",
      enableFunctionRevisionSelectors: true,
      allowDevelopmentFunctions: true,
    },
    want: {
      runtimes: { Function: "External", Provider: "Deployment" },
      serviceAccount: "mine",
      functionRevisionSelectors: true,
      developmentFunctions: true,
    },
  },
  Environment: {
    reason: "a Pod is told by its environment",
    env: { PACKAGE_RUNTIME: "External", POD_SERVICE_ACCOUNT: "crossplane" },
    want: { runtimes: { Function: "External", Provider: "External" }, serviceAccount: "crossplane" },
  },
  Both: {
    reason: "the command line wins",
    options: { packageRuntime: "Deployment", serviceAccount: "mine" },
    env: { PACKAGE_RUNTIME: "External", POD_SERVICE_ACCOUNT: "crossplane" },
    want: { serviceAccount: "mine" },
  },
  Establishers: {
    reason: "a cluster may take more at a time",
    options: { maxConcurrentPackageEstablishers: "25" },
    want: { maxConcurrentEstablishers: 25 },
  },
  Upgrades: {
    reason: "dependencies may rise",
    options: { enableDependencyVersionUpgrades: true },
    want: { dependencyVersions: "upgrade" },
  },
  Downgrades: {
    reason: "who may fall may rise",
    options: { enableDependencyVersionDowngrades: true },
    want: { dependencyVersions: "downgrade" },
  },
};
for (const [name, { reason, options = {}, env = {}, want }] of Object.entries(rows)) {
  test(`packages ${name}: ${reason}`, () => {
    const input = { args: [], options: { ...defaults, ...options } };
    assert.deepEqual(readPackages(input, new TestIo({ env })), { ...plain, ...want });
  });
}

test("a number of establishers that is none is refused", () => {
  const input = { args: [], options: { maxConcurrentPackageEstablishers: "0" } };
  assert.throws(() => readPackages(input, new TestIo({})), {
    message: '--max-concurrent-package-establishers: expected a whole number above 0, not "0"',
  });
});

const open = { ...plain, namespace: "ns", log: silentLog };

for (const [name, { options, env, folder }] of Object.entries({
  Option: { options: { xpkgCacheDir: "said" }, env: { XPKG_CACHE_DIR: "other" }, folder: "said" },
  Environment: { options: {}, env: { XPKG_CACHE_DIR: "env", HOME: "home" }, folder: "env" },
})) {
  test(`packages are kept where somebody said: ${name}`, async () => {
    using temporary = tempFolder();
    const io = new TestIo({ cwd: temporary.path, env });
    await using _opened = await openPackages({ args: [], options }, io, open);
    assert.deepEqual(readdirSync(temporary.path), [folder]);
  });
}

test("otherwise they are kept in the user's cache, and where there is none for as long as we run", async () => {
  using temporary = tempFolder();
  const home = new TestIo({ env: { HOME: temporary.path } });
  await (await openPackages({ args: [], options: {} }, home, open))[Symbol.asyncDispose]();
  assert.ok(existsSync(join(temporary.path, ".cache/purlin/xpkg/images")));
  const nowhere = new TestIo();
  await using opened = await openPackages({ args: [], options: {} }, nowhere, open);
  assert.ok(opened.packages.store);
});
