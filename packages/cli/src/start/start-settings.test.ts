// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultControlPlaneSettings } from "@purlin/control-plane";
import type { CommandInput } from "../options/command-spec.ts";
import { startFlags } from "./start-flags.ts";
import { readSettings, readStartInput } from "./start-input.ts";

/** The values of the command line without flags. */
const defaults = Object.fromEntries(
  startFlags.flatMap(({ flags, default: preset }) => {
    const name = /--([a-z-]+)/.exec(flags)?.[1]?.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return name === undefined || preset === undefined ? [] : [[name, preset]];
  }),
);
const inputOf = (options: CommandInput["options"]): CommandInput =>
  readStartInput({ args: [], options: { ...defaults, ...options } }, { env: {} }).input;

test("the defaults of the command line are those of the control plane", () => {
  assert.deepEqual(readSettings(inputOf({})), defaultControlPlaneSettings);
});

test("every option reaches its setting", () => {
  const settings = readSettings(
    inputOf({
      syncInterval: "2h",
      pollInterval: "90s",
      minPollInterval: "500ms",
      maxConcurrentReconciles: "7",
      shadowSamplePercent: "0.5",
      circuitBreakerBurst: "50",
      circuitBreakerRefillRate: "0.5",
      circuitBreakerCooldown: "1m30s",
      enableRealtimeCompositions: "false",
      enableSsaClaims: "false",
      acceptOtherClaimVersions: true,
      enableFunctionRevisionSelectors: true,
      allowDevelopmentFunctions: true,
      restrictNamespacedEvents: true,
      enableOperations: true,
      enableCustomToManagedResourceConversion: "false",
      activation: ["a.*", "b.*"],
      enableProviderDeletionProtection: true,
    }),
  );
  assert.deepEqual(settings, {
    syncIntervalMs: 7_200_000,
    pollIntervalMs: 90_000,
    minPollIntervalMs: 500,
    maxConcurrentReconciles: 7,
    shadowSamplePercent: 0.5,
    circuitBreaker: { burst: 50, refillPerSecond: 0.5, cooldownMs: 90_000 },
    realtimeCompositions: false,
    serverSideApplyClaims: false,
    acceptOtherClaimVersions: true,
    functionRevisionSelectors: true,
    functionRollouts: false,
    developmentFunctions: true,
    namespacedEventsOnly: true,
    usages: true,
    operations: true,
    managedResourceConversion: false,
    activations: ["a.*", "b.*"],
    providerDeletionProtection: true,
  });
});

test("the older name of an option counts", () => {
  assert.equal(readSettings(inputOf({ maxReconcileRate: "3" })).maxConcurrentReconciles, 3);
});

const wrong: readonly { options: CommandInput["options"]; message: string }[] = [
  {
    options: { syncInterval: "soon" },
    message: '--sync-interval: expected a duration such as 30s or 1m30s, not "soon"',
  },
  { options: { pollInterval: "0s" }, message: '--poll-interval: expected a duration such as 30s or 1m30s, not "0s"' },
  {
    options: { maxConcurrentReconciles: "1.5" },
    message: '--max-concurrent-reconciles: expected a positive integer, not "1.5"',
  },
  {
    options: { maxReconcileRate: "-1" },
    message: '--max-concurrent-reconciles: expected a positive integer, not "-1"',
  },
  { options: { circuitBreakerBurst: "" }, message: '--circuit-breaker-burst: expected a positive number, not ""' },
  {
    options: { circuitBreakerRefillRate: "Infinity" },
    message: '--circuit-breaker-refill-rate: expected a positive number, not "Infinity"',
  },
  {
    options: { enableUsages: "false", enableProviderDeletionProtection: "true" },
    message: "provider deletion protection requires usages to be enabled (--enable-usages)",
  },
  {
    options: { activation: ["none", "*"] },
    message: "--activation: none cannot be combined with other patterns",
  },
  {
    options: { shadowSamplePercent: "101" },
    message: '--shadow-sample-percent: expected a percentage from 0 to 100, not "101"',
  },
  { options: { enableSsaClaims: "maybe" }, message: '--enable-ssa-claims: expected true or false, not "maybe"' },
];
for (const { options, message } of wrong) {
  test(message, () => {
    assert.throws(() => readSettings(inputOf(options)), { message, exitCode: 2 });
  });
}
