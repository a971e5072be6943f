// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultControlPlaneSettings } from "@purlin/control-plane";
import { TestIo } from "../../test/test-io.ts";
import { createProgram, separateSwitches } from "../commands/program.ts";
import { upCommand } from "../commands/server-commands.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { startFlags } from "../start/start-flags.ts";
import { readUpOptions, type UpOptions } from "./up-options.ts";

const nameOf = ({ flags }: { readonly flags: string }): string => flags.replace(/^-\w, /, "").split(" ")[0] ?? "";

/** Reads a command line as the command does. */
async function parse(...words: readonly string[]): Promise<UpOptions> {
  const io = new TestIo();
  let typed: CommandInput | undefined;
  const chosen = async (_: unknown, input: CommandInput): Promise<void> => {
    typed = input;
  };
  const argv = separateSwitches(["up", ...words]);
  await createProgram({ version: "0", io, chosen, argv }).parseAsync([...argv], { from: "user" });
  assert.ok(typed);
  return readUpOptions(typed, io);
}

test("up has every feature flag of start", () => {
  const features = startFlags.map(nameOf).filter((name) => /^--enable-/.test(name));
  assert.ok(features.length >= 15, String(features.length));
  const known = new Set(upCommand.options?.map(nameOf));
  const missing = features.filter((name) => !known.has(name));
  assert.deepEqual(
    missing,
    missing.filter((name) => /schema-validation|secret-stores/.test(name)),
  );
});

test("the defaults of features are those of the control plane", async () => {
  const { features = {}, dependencyVersions, functionFeatures, unused } = await parse("platform");
  for (const [name, value] of Object.entries(features)) {
    assert.deepEqual(value, defaultControlPlaneSettings[name as keyof typeof features], name);
  }
  assert.equal(dependencyVersions, "fixed");
  assert.deepEqual(functionFeatures, { responseCache: undefined, sink: undefined });
  assert.deepEqual(unused, []);
});

test("every feature can be switched", async () => {
  const { features, dependencyVersions, functionFeatures, ...rest } = await parse(
    "--enable-usages=false",
    "--enable-operations",
    "--enable-ssa-claims=no",
    "--enable-realtime-compositions=0",
    "--enable-function-revision-selectors",
    "--enable-custom-to-managed-resource-conversion=false",
    "--activation=none",
    "--enable-dependency-version-upgrades",
    "--enable-dependency-version-downgrades",
    "--enable-function-response-cache",
    "--accept-other-claim-versions",
    "--restrict-namespaced-events",
    "--enable-signature-verification",
    "--data-dir=/data",
  );
  assert.deepEqual(features, {
    realtimeCompositions: false,
    serverSideApplyClaims: false,
    acceptOtherClaimVersions: true,
    functionRevisionSelectors: true,
    functionRollouts: false,
    namespacedEventsOnly: true,
    usages: false,
    operations: true,
    managedResourceConversion: false,
    activations: [],
    providerDeletionProtection: false,
  });
  assert.equal(rest.functionRevisionSelectors, true);
  assert.equal(dependencyVersions, "downgrade");
  assert.deepEqual(functionFeatures?.responseCache, { directory: "/data/xfn", maxTtlMs: 86_400_000 });
  assert.deepEqual(
    rest.unused?.map(({ setting }) => setting),
    ["--enable-signature-verification"],
  );
});

test("a switch without a value does not take the path after it", async () => {
  const { paths, features } = await parse("--enable-operations", "platform", "--enable-usages", "false", "claims");
  assert.deepEqual(paths, ["platform", "claims"]);
  assert.deepEqual([features?.operations, features?.usages], [true, false]);
});

test("provider deletion protection needs Usages", async () => {
  await assert.rejects(parse("--enable-provider-deletion-protection", "--enable-usages=false"), {
    message: "provider deletion protection requires usages to be enabled (--enable-usages)",
    exitCode: 2,
  });
});
