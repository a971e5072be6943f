// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isFunctionError } from "../errors/function-error.ts";
import { parseFlags, usageText } from "./main.ts";
import type { ServeOptions } from "./serve-options.ts";

const parsed: Record<string, { argv: string[]; env?: Record<string, string>; want: ServeOptions }> = {
  Nothing: { argv: [], want: {} },
  Address: { argv: ["--address", ":1"], want: { address: ":1" } },
  EqualsSign: { argv: ["--address=[::1]:1"], want: { address: "[::1]:1" } },
  EmptyValue: { argv: ["--metrics-address="], want: { metricsAddress: "" } },
  EmptyWord: { argv: ["--metrics-address", ""], want: { metricsAddress: "" } },
  Network: { argv: ["--network", "unix"], want: { network: "unix" } },
  Insecure: { argv: ["--insecure"], want: { insecure: true } },
  InsecureSaid: { argv: ["--insecure=false"], want: { insecure: false } },
  Debug: { argv: ["--debug"], want: { debug: true } },
  ShortDebug: { argv: ["-d"], want: { debug: true } },
  SwitchTakesNoWord: { argv: ["-d", "--insecure"], want: { debug: true, insecure: true } },
  Sizes: {
    argv: ["--max-recv-message-size", "4", "--max-send-message-size=8"],
    want: { maxRecvMessageSize: 4, maxSendMessageSize: 8 },
  },
  Ttl: { argv: ["--ttl", "1m30s"], want: { ttl: 90_000 } },
  "C39 Environment": { argv: [], env: { TLS_SERVER_CERTS_DIR: "/env" }, want: { tlsCertsDir: "/env" } },
  "C39 FlagBeatsEnvironment": {
    argv: ["--tls-certs-dir", "/flag"],
    env: { TLS_SERVER_CERTS_DIR: "/env" },
    want: { tlsCertsDir: "/flag" },
  },
  EmptyEnvironmentIsUnset: { argv: [], env: { TLS_SERVER_CERTS_DIR: "" }, want: {} },
  Alias: { argv: ["--tls-server-certs-dir", "/flag"], want: { tlsCertsDir: "/flag" } },
  LastWins: { argv: ["--address", ":1", "--address", ":2"], want: { address: ":2" } },
  ValueLikeAFlag: { argv: ["--address", "--insecure"], want: { address: "--insecure" } },
};

for (const [name, { argv, env = {}, want }] of Object.entries(parsed)) {
  test(`flags: ${name}`, () => {
    assert.deepEqual(parseFlags({ argv, env }).options, want);
  });
}

const refused: Record<string, { argv: string[]; names: string }> = {
  Unknown: { argv: ["--nonsense"], names: '"--nonsense"' },
  UnknownShort: { argv: ["-x"], names: '"-x"' },
  OneDash: { argv: ["-address", ":1"], names: '"-address"' },
  TwoDashesShort: { argv: ["--d"], names: '"--d"' },
  Argument: { argv: ["serve"], names: 'argument "serve"' },
  DashDash: { argv: ["--"], names: '"--"' },
  MissingValue: { argv: ["--address"], names: "--address needs a value" },
  Network: { argv: ["--network", "udp"], names: "--network" },
  Size: { argv: ["--max-recv-message-size", "4MB"], names: "--max-recv-message-size" },
  ZeroSize: { argv: ["--max-send-message-size", "0"], names: "--max-send-message-size" },
  Ttl: { argv: ["--ttl", "-5s"], names: "--ttl" },
  Switch: { argv: ["--debug=maybe"], names: "--debug" },
};

for (const [name, { argv, names }] of Object.entries(refused)) {
  test(`refused flags: ${name}`, () => {
    assert.throws(
      () => parseFlags({ argv, env: {} }),
      (error: unknown) => isFunctionError(error, "USAGE") && error.message.includes(names),
    );
  });
}

test("help stops reading, whatever follows", () => {
  assert.equal(parseFlags({ argv: ["-h", "--nonsense"], env: {} }).help, true);
  assert.equal(parseFlags({ argv: ["--help"], env: {} }).help, true);
  assert.equal(parseFlags({ argv: [], env: {} }).help, false);
});

test("own flags: default, environment, flag, switch", () => {
  const flags = {
    region: { value: "NAME", help: "Where", env: "REGION", default: "eu" },
    verbose: { help: "Say more" },
  };
  const values = (argv: string[], env: Record<string, string> = {}): object => parseFlags({ argv, env, flags }).values;
  assert.deepEqual(values([]), { region: "eu", verbose: undefined });
  assert.deepEqual(values([], { REGION: "us" }), { region: "us", verbose: undefined });
  assert.deepEqual(values(["--region", "ap", "--verbose"], { REGION: "us" }), { region: "ap", verbose: "true" });
});

test("the usage text names every flag once, in columns", () => {
  const usage = usageText("fn", { region: { value: "NAME", help: "Where", env: "REGION" } });
  for (const flag of ["address", "network", "tls-certs-dir", "insecure", "max-recv-message-size", "ttl", "region"]) {
    assert.equal(usage.split(`--${flag} `).length, 2, flag);
  }
  assert.match(usage, /\(env TLS_SERVER_CERTS_DIR\)/);
  const columns = usage
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => / {2,}\S/.exec(line.slice(2))?.[0].length);
  assert.ok(columns.every((width) => width !== undefined));
});
