// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "@purlin/base";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { openPackages, readPackages, type StartPackages } from "./start-services.ts";

const plain: StartPackages = {
  runtimes: { Function: "Deployment", Provider: "Deployment" },
  serviceAccount: undefined,
  clientSecretName: undefined,
  registry: { ca: undefined, userAgent: undefined },
  functionRevisionSelectors: false,
  functionRollouts: false,
  developmentFunctions: false,
  managedResourceConversion: true,
  dependencyVersions: "fixed",
  maxConcurrentEstablishers: 10,
};
/** What commander and {@link readStartInput} add. */
const defaults = {
  maxConcurrentPackageEstablishers: "10",
  packageRuntime: "Deployment",
  enableCustomToManagedResourceConversion: true,
};

const rows: Readonly<Record<string, { reason: string; options?: CommandInput["options"]; want: object }>> = {
  Nothing: { reason: "as Crossplane does it", want: {} },
  Flags: {
    reason: "settings of the command line take effect",
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
  Registries: {
    reason: "an authority of its own, and a name for the registry's logs",
    options: { caBundlePath: "ca.pem", userAgent: "acme/1" },
    want: { registry: { ca: "PEM", userAgent: "acme/1" } },
  },
  ClientCertificate: {
    reason: "the chart may rename the Secret",
    options: { tlsClientSecretName: "other" },
    want: { clientSecretName: "other" },
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
    reason: "a setting that can be lowered can be raised",
    options: { enableDependencyVersionDowngrades: true },
    want: { dependencyVersions: "downgrade" },
  },
};
for (const [name, { reason, options = {}, want }] of Object.entries(rows)) {
  test(`packages ${name}: ${reason}`, () => {
    using folder = tempFolder({ "ca.pem": "PEM" });
    const input = { args: [], options: { ...defaults, ...options } };
    assert.deepEqual(readPackages(input, new TestIo({ cwd: folder.path })), { ...plain, ...want });
  });
}

test("an invalid number of establishers is rejected", () => {
  const input = { args: [], options: { ...defaults, maxConcurrentPackageEstablishers: "0" } };
  assert.throws(() => readPackages(input, new TestIo({})), {
    message: '--max-concurrent-package-establishers: expected a positive integer, not "0"',
  });
});

const open = { ...plain, namespace: "ns", log: silentLog };

test("packages are kept in the folder that is named", async () => {
  using temporary = tempFolder();
  const io = new TestIo({ cwd: temporary.path, env: { HOME: "home" } });
  await using _opened = await openPackages({ args: [], options: { xpkgCacheDir: "named" } }, io, open);
  assert.deepEqual(readdirSync(temporary.path), ["named"]);
});

test("a folder that others may have written to, or that others may replace, is refused; in a Pod it is a volume", async () => {
  using temporary = tempFolder();
  const [cache, inside] = [join(temporary.path, "cache"), join(temporary.path, "cache/xpkg")];
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  const openWith = async (xpkgCacheDir: string, env: Record<string, string>): Promise<void> => {
    const io = new TestIo({ cwd: temporary.path, env });
    await (await openPackages({ args: [], options: { xpkgCacheDir } }, io, open))[Symbol.asyncDispose]();
  };
  const advice = `run "chmod go-w ${realpathSync(cache)}"`;
  for (const directory of [cache, inside]) {
    await assert.rejects(openWith(directory, {}), (error: Error) => {
      assert.ok(error.message.startsWith(`--xpkg-cache-dir ${directory}: ${realpathSync(cache)} is writable by other`));
      assert.ok(error.message.includes(advice), error.message);
      return true;
    });
  }
  assert.deepEqual(readdirSync(inside), [], "nothing was put there");
  await openWith(cache, { KUBERNETES_SERVICE_HOST: "10.0.0.1" });
  chmodSync(cache, 0o755);
  await openWith(cache, {});
  assert.equal(statSync(cache).mode & 0o777, 0o700, "others cannot read packages of private registries");
});

test("a bundle of authorities that cannot be read is named", () => {
  const input = { args: [], options: { ...defaults, caBundlePath: "missing.pem" } };
  assert.throws(() => readPackages(input, new TestIo({})), /cannot read --ca-bundle-path missing\.pem: no such file/);
});

test("otherwise they are kept in the user's cache, or without one in a temporary folder", async () => {
  using temporary = tempFolder();
  const home = new TestIo({ env: { HOME: temporary.path } });
  await (await openPackages({ args: [], options: {} }, home, open))[Symbol.asyncDispose]();
  assert.ok(existsSync(join(temporary.path, ".cache/purlin/xpkg/images")));
  const nowhere = new TestIo();
  await using opened = await openPackages({ args: [], options: {} }, nowhere, open);
  assert.ok(opened.packages.store);
});
