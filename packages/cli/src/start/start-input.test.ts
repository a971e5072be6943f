// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { createProgram } from "../commands/program.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { crossplaneSettings } from "./crossplane-settings.ts";
import { optionName, readStartInput, type StartInput } from "./start-input.ts";

interface Row {
  readonly flags: readonly string[];
  readonly env?: readonly string[];
  /** A value as a chart would write it. */
  readonly value: string;
  /** Whether this control plane does anything with it. */
  readonly isUsed: boolean;
}
const used = (flags: string, value: string, ...env: string[]): Row => ({
  flags: flags.split(" "),
  env,
  value,
  isUsed: true,
});
const unused = (flags: string, value: string, ...env: string[]): Row => ({
  ...used(flags, value, ...env),
  isUsed: false,
});

/** What Crossplane's own command takes, short flags and aliases included. */
const crossplane: readonly Row[] = [
  unused("--profile", "localhost:6060"),
  used("--namespace -n", "system", "POD_NAMESPACE"),
  used("--service-account", "account", "POD_SERVICE_ACCOUNT"),
  used("--leader-election -l", "false", "LEADER_ELECTION"),
  used("--ca-bundle-path", "/ca.pem", "CA_BUNDLE_PATH"),
  used("--user-agent", "acme/1", "USER_AGENT"),
  used("--xpkg-cache-dir --cache-dir -c", "/cache", "XPKG_CACHE_DIR", "CACHE_DIR"),
  used("--package-runtime", "External", "PACKAGE_RUNTIME"),
  used("--sync-interval -s", "2h"),
  used("--poll-interval", "2m"),
  used("--min-poll-interval", "2s"),
  used("--max-concurrent-reconciles --max-reconcile-rate", "7"),
  used("--max-concurrent-package-establishers", "3"),
  used("--circuit-breaker-burst", "100.0"),
  used("--circuit-breaker-refill-rate", "1.5"),
  used("--circuit-breaker-cooldown", "6m"),
  used("--enable-webhooks --webhook-enabled", "false", "ENABLE_WEBHOOKS", "WEBHOOK_ENABLED"),
  used("--webhook-port", "9444", "WEBHOOK_PORT"),
  used("--metrics-port", "8090", "METRICS_PORT"),
  used("--health-probe-port", "8091", "HEALTH_PROBE_PORT"),
  used("--tls-server-secret-name", "crossplane-tls-server", "TLS_SERVER_SECRET_NAME"),
  unused("--tls-server-certs-dir", "/tls/server", "TLS_SERVER_CERTS_DIR"),
  used("--tls-client-secret-name", "client", "TLS_CLIENT_SECRET_NAME"),
  used("--tls-client-certs-dir", "/tls/client", "TLS_CLIENT_CERTS_DIR"),
  used("--enable-dependency-version-upgrades", "true"),
  used("--enable-dependency-version-downgrades", "true"),
  unused("--enable-signature-verification", "true"),
  used("--enable-function-response-cache", "true"),
  used("--xfn-cache-dir", "/xfn", "XFN_CACHE_DIR"),
  used("--xfn-cache-max-ttl", "1h", "XFN_CACHE_MAX_TTL"),
  used("--enable-operations", "true"),
  used("--enable-pipeline-inspector", "true"),
  used("--pipeline-inspector-socket", "/inspector", "PIPELINE_INSPECTOR_SOCKET"),
  used("--enable-provider-deletion-protection", "true"),
  unused("--enable-deployment-runtime-configs", "false"),
  used("--enable-usages", "false"),
  used("--enable-ssa-claims", "false"),
  used("--enable-realtime-compositions", "false"),
  used("--enable-custom-to-managed-resource-conversion", "false"),
  used("--restrict-namespaced-events", "true"),
  unused("--watch-cache-namespaced", "true"),
];

/** Parses a command line as the command does. */
async function parse(argv: readonly string[], env: Record<string, string> = {}): Promise<StartInput> {
  const io = new TestIo({ env });
  let typed: CommandInput | undefined;
  const chosen = async (_: unknown, input: CommandInput): Promise<void> => {
    typed = input;
  };
  await createProgram({ version: "0", io, chosen }).parseAsync(["start", ...argv], { from: "user" });
  assert.ok(typed);
  return readStartInput(typed, io);
}

function check({ input, unused: notices }: StartInput, row: Row, setting: string): void {
  const name = optionName((row.flags[0] ?? "").slice(2));
  assert.equal(String(input.options[name]), row.value, setting);
  const expected = row.isUsed ? [] : [{ setting, value: row.value }];
  assert.deepEqual(
    notices.map(({ reason: _, ...notice }) => notice),
    expected,
  );
}

for (const row of crossplane) {
  test(`start takes Crossplane's ${row.flags.join(", ")}`, async () => {
    for (const flag of row.flags) {
      const long = flag.startsWith("--") ? flag : (row.flags[0] ?? "");
      check(await parse([flag, row.value]), row, long);
      if (flag.startsWith("--")) check(await parse([`${flag}=${row.value}`]), row, long);
      if (row.value === "true") check(await parse([flag]), row, long);
    }
    for (const variable of row.env ?? []) check(await parse([], { [variable]: row.value }), row, `$${variable}`);
    for (const variable of row.env ?? [])
      check(await parse([row.flags[0] ?? "", row.value], { [variable]: "other" }), row, row.flags[0] ?? "");
  });
}

test("no setting of the table is missing here", () => {
  const listed = crossplane.flatMap(({ flags, env = [] }) => [
    ...flags.filter((flag) => flag.startsWith("--")),
    ...env,
  ]);
  const known = crossplaneSettings.filter(({ removed }) => removed !== true);
  const names = known.flatMap(({ flag, aliases = [], env = [] }) => [
    ...[flag, ...aliases].map((name) => `--${name}`),
    ...env,
  ]);
  assert.deepEqual(listed, names);
});

test("unset and empty settings, and those that match the default, are not logged", async () => {
  assert.deepEqual((await parse([])).unused, []);
  assert.deepEqual((await parse([], { PROFILE: "", TLS_SERVER_CERTS_DIR: "" })).unused, []);
  const met = [
    "--enable-webhooks=false",
    "--enable-signature-verification=no",
    "--enable-deployment-runtime-configs=1",
  ];
  assert.deepEqual((await parse(met)).unused, []);
});

test("without flags and variables the defaults are Crossplane's, with an election", async () => {
  const { options } = (await parse([])).input;
  const { namespace, leaderElection, packageRuntime, xfnCacheDir, xfnCacheMaxTtl, enableSsaClaims } = options;
  assert.deepEqual(
    { namespace, leaderElection, packageRuntime, xfnCacheDir, xfnCacheMaxTtl, enableSsaClaims },
    {
      namespace: "crossplane-system",
      leaderElection: true,
      packageRuntime: "Deployment",
      xfnCacheDir: "/cache/xfn",
      xfnCacheMaxTtl: "24h",
      enableSsaClaims: true,
    },
  );
});

for (const flag of ["--enable-composition-webhook-schema-validation", "--enable-external-secret-stores"]) {
  test(`${flag} is refused, as by Crossplane, unless it is off`, async () => {
    await assert.rejects(parse([flag]), {
      message: `${flag} was removed from Crossplane and is not supported: remove it`,
    });
    assert.deepEqual((await parse([`${flag}=false`])).unused, []);
  });
}

test("--registry is refused, as by Crossplane", async () => {
  await assert.rejects(parse(["--registry", "xpkg.example.org"]), /--registry was removed from Crossplane/);
});

test("a switch with another value than true or false is refused, with the place it was set at", async () => {
  await assert.rejects(parse([], { LEADER_ELECTION: "maybe" }), {
    message: '$LEADER_ELECTION: expected true or false, not "maybe"',
    exitCode: 2,
  });
  await assert.rejects(parse(["--allow-development-functions=maybe"]), /^UserError: --allow-development-functions: /);
});
