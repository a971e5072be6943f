// SPDX-License-Identifier: Apache-2.0
// Switches, features and numbers of `purlin start`, from what was typed and from the environment.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { CommandInput } from "../options/command-spec.ts";
import {
  dependencyVersions,
  optionName,
  portOption,
  readFeatures,
  readFunctionFeatures,
  readSettings,
  readStartInput,
  revisionFeatures,
  wholeOption,
} from "./start-input.ts";

type Options = CommandInput["options"];
const inputOf = (options: Options): CommandInput => ({ args: [], options });
const completed = (options: Options = {}, env: Readonly<Record<string, string>> = {}) =>
  readStartInput(inputOf(options), { env });
const refused = (message: string) => ({ name: "UserError", exitCode: 2, message });

/** The options that have defaults of their own. */
const presets: Options = {
  ...{ syncInterval: "1h", pollInterval: "1m", minPollInterval: "1s", maxConcurrentReconciles: "100" },
  ...{ circuitBreakerBurst: "100", circuitBreakerRefillRate: "1", circuitBreakerCooldown: "5m" },
};
const settings = (options: Options = {}) => readSettings(completed({ ...presets, ...options }).input);

describe("a switch", () => {
  const read = (value: string): unknown => completed({ enableOperations: value }).input.options["enableOperations"];

  test("is true or false in the words of Crossplane", () => {
    for (const word of ["true", "TRUE", "yes", "Yes", "1"]) assert.equal(read(word), true, word);
    for (const word of ["false", "False", "no", "NO", "0"]) assert.equal(read(word), false, word);
  });

  test("with another value is refused, also one that every object has", () => {
    for (const word of ["", "on", "off", "2", "y", "constructor", "__proto__", "hasOwnProperty"]) {
      assert.throws(() => read(word), refused(`--enable-operations: expected true or false, not "${word}"`));
    }
    assert.throws(
      () => completed({ requireSandbox: "maybe" }),
      refused('--require-sandbox: expected true or false, not "maybe"'),
    );
    assert.throws(
      () => completed({}, { LEADER_ELECTION: "maybe" }),
      refused('$LEADER_ELECTION: expected true or false, not "maybe"'),
    );
  });

  test("of our own is read as well", () => {
    const { options } = completed({ acceptOtherClaimVersions: "yes", enableFunctionRollouts: "0" }).input;
    assert.deepEqual([options["acceptOtherClaimVersions"], options["enableFunctionRollouts"]], [true, false]);
  });
});

describe("a setting", () => {
  const value = (name: string, options: Options, env: Readonly<Record<string, string>> = {}): unknown =>
    completed(options, env).input.options[name];

  test("is that of the flag, then of a variable, then the default", () => {
    assert.equal(value("namespace", { namespace: "flag" }, { POD_NAMESPACE: "variable" }), "flag");
    assert.equal(value("namespace", {}, { POD_NAMESPACE: "variable" }), "variable");
    assert.equal(value("namespace", {}, { POD_NAMESPACE: "" }), "crossplane-system");
    assert.equal(value("namespace", {}), "crossplane-system");
    assert.equal(value("serviceAccount", {}), undefined, "without a default it stays unset");
  });

  test("may have its older name; the first variable with a value counts", () => {
    assert.equal(value("xpkgCacheDir", { cacheDir: "/old" }), "/old");
    assert.equal(value("xpkgCacheDir", { cacheDir: "/old", xpkgCacheDir: "/new" }), "/old");
    assert.equal(value("xpkgCacheDir", {}, { CACHE_DIR: "/old", XPKG_CACHE_DIR: "/new" }), "/new");
    assert.equal(value("xpkgCacheDir", {}, { CACHE_DIR: "/old", XPKG_CACHE_DIR: "" }), "/old");
    assert.equal(value("enableWebhooks", { webhookEnabled: "false" }), false);
    assert.equal(value("maxConcurrentReconciles", { maxReconcileRate: "7", maxConcurrentReconciles: "100" }), "7");
  });

  test("that changes nothing is reported, unless it asks for what is done anyway", () => {
    const reported = (options: Options, env: Readonly<Record<string, string>> = {}) => completed(options, env).unused;
    assert.deepEqual(reported({}), []);
    assert.deepEqual(reported({ enableSignatureVerification: "true" }), [
      {
        setting: "--enable-signature-verification",
        value: "true",
        reason: "this control plane cannot verify signatures",
      },
    ]);
    assert.deepEqual(reported({ enableSignatureVerification: "no" }), []);
    assert.deepEqual(reported({ enableDeploymentRuntimeConfigs: "true" }), []);
    assert.equal(reported({ enableDeploymentRuntimeConfigs: "false" })[0]?.value, "false");
    assert.deepEqual(
      reported({}, { TLS_SERVER_CERTS_DIR: "/tls" }).map(({ setting, value: text }) => [setting, text]),
      [["$TLS_SERVER_CERTS_DIR", "/tls"]],
    );
  });

  test("that Crossplane removed is refused, unless it is off", () => {
    const text = "was removed from Crossplane and is not supported: remove it";
    for (const flag of ["enable-external-secret-stores", "enable-composition-webhook-schema-validation", "registry"]) {
      assert.throws(() => completed({ [optionName(flag)]: "true" }), refused(`--${flag} ${text}`));
      completed({ [optionName(flag)]: "false" });
    }
  });

  test("the given command line is not changed", () => {
    const given = Object.freeze({ namespace: "a" });
    assert.notEqual(readStartInput(inputOf(given), { env: {} }).input.options, given);
  });
});

describe("features", () => {
  const features = (options: Options = {}) => readFeatures(completed(options).input);

  test("have the defaults of Crossplane", () => {
    assert.deepEqual(features(), {
      ...{ realtimeCompositions: true, serverSideApplyClaims: true, acceptOtherClaimVersions: false },
      ...{ functionRevisionSelectors: false, functionRollouts: false, namespacedEventsOnly: false, usages: true },
      ...{ operations: false, managedResourceConversion: true, activations: ["*"], providerDeletionProtection: false },
    });
  });

  test("are switched one by one", () => {
    const rows: readonly (readonly [flag: string, value: string, feature: keyof ReturnType<typeof features>])[] = [
      ["enableRealtimeCompositions", "false", "realtimeCompositions"],
      ["enableSsaClaims", "false", "serverSideApplyClaims"],
      ["acceptOtherClaimVersions", "true", "acceptOtherClaimVersions"],
      ["enableFunctionRevisionSelectors", "true", "functionRevisionSelectors"],
      ["restrictNamespacedEvents", "true", "namespacedEventsOnly"],
      ["enableUsages", "false", "usages"],
      ["enableOperations", "true", "operations"],
      ["enableCustomToManagedResourceConversion", "false", "managedResourceConversion"],
      ["enableProviderDeletionProtection", "true", "providerDeletionProtection"],
    ];
    for (const [flag, text, feature] of rows) {
      assert.deepEqual(features({ [flag]: text }), { ...features(), [feature]: text === "true" }, flag);
    }
  });

  test("of rollouts imply several revisions", () => {
    const read = (options: Options) => revisionFeatures(completed(options).input);
    assert.deepEqual(read({ enableFunctionRollouts: "true" }), {
      functionRevisionSelectors: true,
      functionRollouts: true,
    });
    assert.deepEqual(read({ enableFunctionRollouts: "true", enableFunctionRevisionSelectors: "false" }), {
      functionRevisionSelectors: true,
      functionRollouts: true,
    });
  });

  test("that exclude each other are refused", () => {
    assert.throws(
      () => features({ enableProviderDeletionProtection: "true", enableUsages: "false" }),
      refused("provider deletion protection requires usages to be enabled (--enable-usages)"),
    );
  });

  test("activations are patterns; none stands for an empty list, alone", () => {
    assert.deepEqual(features({ activation: ["*.s3.example.org", "a"] }).activations, ["*.s3.example.org", "a"]);
    assert.deepEqual(features({ activation: [] }).activations, ["*"]);
    assert.deepEqual(features({ activation: ["none"] }).activations, []);
    assert.throws(
      () => features({ activation: ["none", "*"] }),
      refused("--activation: none cannot be combined with other patterns"),
    );
  });

  test("versions of dependencies: downgrades imply upgrades", () => {
    const read = (options: Options) => dependencyVersions(completed(options).input);
    assert.equal(read({}), "fixed");
    assert.equal(read({ enableDependencyVersionUpgrades: "true" }), "upgrade");
    assert.equal(read({ enableDependencyVersionDowngrades: "true" }), "downgrade");
  });
});

describe("numbers", () => {
  test("are durations, counts and rates", () => {
    const { syncIntervalMs, pollIntervalMs, minPollIntervalMs, maxConcurrentReconciles, circuitBreaker } = settings();
    assert.deepEqual(
      [syncIntervalMs, pollIntervalMs, minPollIntervalMs, maxConcurrentReconciles],
      [3_600_000, 60_000, 1000, 100],
    );
    assert.deepEqual(circuitBreaker, { burst: 100, refillPerSecond: 1, cooldownMs: 300_000 });
    assert.equal(settings({ circuitBreakerRefillRate: "0.5" }).circuitBreaker?.refillPerSecond, 0.5);
    assert.equal(settings({ pollInterval: "1m30s" }).pollIntervalMs, 90_000);
  });

  test("that are wrong are refused with the flag and what it takes", () => {
    const rows: readonly (readonly [options: Options, message: string])[] = [
      [{ pollInterval: "soon" }, '--poll-interval: expected a duration such as 30s or 1m30s, not "soon"'],
      [{ pollInterval: "0s" }, '--poll-interval: expected a duration such as 30s or 1m30s, not "0s"'],
      [{ syncInterval: "5" }, '--sync-interval: expected a duration such as 30s or 1m30s, not "5"'],
      [{ maxConcurrentReconciles: "0" }, '--max-concurrent-reconciles: expected a positive integer, not "0"'],
      [{ maxConcurrentReconciles: "1.5" }, '--max-concurrent-reconciles: expected a positive integer, not "1.5"'],
      [{ circuitBreakerBurst: "" }, '--circuit-breaker-burst: expected a positive number, not ""'],
      [{ circuitBreakerBurst: "-1" }, '--circuit-breaker-burst: expected a positive number, not "-1"'],
      [
        { circuitBreakerRefillRate: "Infinity" },
        '--circuit-breaker-refill-rate: expected a positive number, not "Infinity"',
      ],
      [{ shadowSamplePercent: "101" }, '--shadow-sample-percent: expected a percentage from 0 to 100, not "101"'],
      [{ shadowSamplePercent: "" }, '--shadow-sample-percent: expected a percentage from 0 to 100, not ""'],
    ];
    for (const [options, message] of rows) assert.throws(() => settings(options), refused(message));
  });

  test("percentages are from 0 to 100, and unset unless given", () => {
    assert.equal("shadowSamplePercent" in settings(), false);
    for (const [text, value] of [
      ["0", 0],
      ["2.5", 2.5],
      ["100", 100],
    ] as const) {
      assert.equal(settings({ shadowSamplePercent: text }).shadowSamplePercent, value);
    }
  });

  test("ports and counts of other options", () => {
    assert.equal(portOption(inputOf({}), "webhookPort"), undefined);
    for (const port of ["0", "65535"]) assert.equal(portOption(inputOf({ webhookPort: port }), "webhookPort"), port);
    for (const port of ["65536", "-1", "", "080 ", "http"]) {
      assert.throws(
        () => portOption(inputOf({ webhookPort: port }), "webhookPort"),
        refused(`--webhook-port: expected a port between 0 and 65535, not "${port}"`),
      );
    }
    assert.equal(wholeOption(inputOf({ n: "3" }), "n"), 3);
    assert.throws(() => wholeOption(inputOf({}), "n"), refused('--n: expected a positive integer, not "undefined"'));
  });
});

describe("features of function calls", () => {
  const read = (options: Options) => readFunctionFeatures(completed(options).input, { cwd: "/work" });

  test("are off unless they are switched on", () => {
    assert.deepEqual(read({}), { responseCache: undefined, sink: undefined });
  });

  test("the cache has a folder, seen from here, and a longest time", () => {
    assert.deepEqual(read({ enableFunctionResponseCache: "true" }).responseCache, {
      directory: "/cache/xfn",
      maxTtlMs: 86_400_000,
    });
    const own = { enableFunctionResponseCache: "true", xfnCacheDir: "cache", xfnCacheMaxTtl: "90s" };
    assert.deepEqual(read(own).responseCache, { directory: join("/work", "cache"), maxTtlMs: 90_000 });
    assert.throws(
      () => read({ ...own, xfnCacheMaxTtl: "never" }),
      refused('--xfn-cache-max-ttl: expected a duration such as 30s or 1m30s, not "never"'),
    );
  });
});

test("the name of an option has capitals in place of dashes", () => {
  assert.deepEqual(["namespace", "webhook-port", "enable-ssa-claims"].map(optionName), [
    "namespace",
    "webhookPort",
    "enableSsaClaims",
  ]);
});
