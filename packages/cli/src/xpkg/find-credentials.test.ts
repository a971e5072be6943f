// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { RegistryCredentials } from "@purlin/oci";
import { TestIo } from "../../test/test-io.ts";
import { findCredentials } from "./xpkg-workspace.ts";

const basic = (text: string): string => Buffer.from(text).toString("base64");

/** A helper that answers as the script says; `$registry` is what it was asked for. */
function helper(folder: TempFolder, name: string, script: string): void {
  const path = folder.write(
    `bin/docker-credential-${name}`,
    `#!/bin/sh\n[ "$1" = get ] || exit 9\nregistry=$(cat)\n${script}\n`,
  );
  chmodSync(path, 0o755);
}

interface Found {
  readonly credentials: RegistryCredentials | undefined;
  readonly stderr: string;
}

async function find(folder: TempFolder, config: object, source = "registry.example.org/acme/f"): Promise<Found> {
  folder.write("docker/config.json", JSON.stringify(config));
  const env = { PATH: `${join(folder.path, "bin")}:/usr/bin:/bin`, DOCKER_CONFIG: join(folder.path, "docker") };
  const io = new TestIo({ cwd: folder.path, env });
  const credentials = await (await findCredentials({ args: [], options: {} }, io))(source);
  return { credentials, stderr: io.stderr.text };
}

const answer = `echo "{\\"ServerURL\\":\\"$registry\\",\\"Username\\":\\"me\\",\\"Secret\\":\\"for $registry\\"}"`;
const known: RegistryCredentials = { username: "me", password: "for registry.example.org" };
const unknown = `echo "credentials not found in native keychain"; exit 1`;
const auths = { "registry.example.org": { auth: basic("file:secret") } };
const written = { username: "file", password: "secret", identityToken: undefined };

const rows: Record<string, { reason: string; config: object; scripts?: Record<string, string>; credentials: unknown }> =
  {
    ForAll: {
      reason: "credsStore is asked for every registry",
      config: { credsStore: "all" },
      scripts: { all: answer },
      credentials: known,
    },
    ForOne: {
      reason: "credHelpers takes precedence for its registry",
      config: { credsStore: "all", credHelpers: { "registry.example.org": "one" } },
      scripts: { one: answer, all: "exit 7" },
      credentials: known,
    },
    ForAnother: {
      reason: "a helper of another registry is not asked",
      config: { credHelpers: { "other.example.org": "one" } },
      scripts: { one: "exit 7" },
      credentials: undefined,
    },
    Token: {
      reason: "a refresh token comes with a placeholder as its user name",
      config: { credsStore: "all" },
      scripts: { all: `echo '{"Username":"<token>","Secret":"refresh"}'` },
      credentials: { identityToken: "refresh" },
    },
    Nothing: {
      reason: "a registry without a helper entry may be in the file",
      config: { credsStore: "all", auths },
      scripts: { all: unknown },
      credentials: written,
    },
    OnStderr: {
      reason: "some say so on the other channel",
      config: { credsStore: "all" },
      scripts: { all: `${unknown.replace(";", " >&2;")}` },
      credentials: undefined,
    },
    First: {
      reason: "the helper is used before the file",
      config: { credsStore: "all", auths },
      scripts: { all: answer },
      credentials: known,
    },
    Empty: {
      reason: "an empty answer means no credentials",
      config: { credsStore: "all", auths },
      scripts: { all: "echo '{}'" },
      credentials: written,
    },
    NoHelper: { reason: "without a helper the file counts", config: { auths }, credentials: written },
    EmptyName: { reason: "an empty name is not a helper", config: { credsStore: "", auths }, credentials: written },
  };
for (const [name, { reason, config, scripts = {}, credentials }] of Object.entries(rows)) {
  test(`credentials, ${name}: ${reason}`, async () => {
    using folder = tempFolder();
    for (const [one, script] of Object.entries(scripts)) helper(folder, one, script);
    const found = await find(folder, config);
    assert.deepEqual([found.credentials, found.stderr], [credentials, ""]);
  });
}

test("a missing helper is a warning, and the file is used", async () => {
  using folder = tempFolder();
  const { credentials, stderr } = await find(folder, { credsStore: "desktop", auths });
  assert.deepEqual(credentials, written);
  assert.match(stderr, /^warning: .*config\.json: docker-credential-desktop not found; continuing without it\n$/);
});

const failing: Record<string, { script?: string; name?: string; says: RegExp }> = {
  Locked: {
    script: "echo 'the keychain\n is locked' >&2; exit 1",
    says: /^docker-credential-h returned no credentials for registry\.example\.org: the keychain is locked$/,
  },
  Silent: {
    script: "exit 3",
    says: /^docker-credential-h returned no credentials for registry\.example\.org: Command failed/,
  },
  NoJson: { script: "echo hello", says: /^docker-credential-h returned invalid JSON$/ },
  Path: { name: "../../evil", says: /config\.json: "\.\.\/\.\.\/evil" is not a valid credential helper name$/ },
};
for (const [name, { script, name: helperName = "h", says }] of Object.entries(failing)) {
  test(`a helper that fails, ${name}, is an error of one line`, async () => {
    using folder = tempFolder();
    if (script !== undefined) helper(folder, helperName, script);
    await assert.rejects(find(folder, { credsStore: helperName, auths }), (error: Error) => says.test(error.message));
  });
}

test("--registry-config is used first, helpers included", async () => {
  using folder = tempFolder();
  helper(folder, "given", `echo '{"Username":"given","Secret":"x"}'`);
  folder.write("given.json", JSON.stringify({ credHelpers: { "registry.example.org": "given" } }));
  folder.write("home/.docker/config.json", JSON.stringify({ auths }));
  const env = { PATH: `${join(folder.path, "bin")}:/usr/bin:/bin`, HOME: join(folder.path, "home") };
  const io = new TestIo({ cwd: folder.path, env });
  const credentials = await findCredentials({ args: [], options: { registryConfig: "given.json" } }, io);
  assert.equal((await credentials("registry.example.org/f"))?.username, "given");
  assert.equal((await credentials("other.example.org/f"))?.username, undefined);
});
