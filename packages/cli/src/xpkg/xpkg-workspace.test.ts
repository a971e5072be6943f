// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { registryUser } from "@purlin/oci";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { startKeptRegistry } from "../up/kept-registry.ts";
import { findCredentials } from "./xpkg-workspace.ts";

const input: CommandInput = { args: [], options: {} };
const ioOf = (cwd: string, env: Readonly<Record<string, string>>): Io =>
  ({ cwd, env, signal: AbortSignal.timeout(60_000) }) as Partial<Io> as Io;

test("the token of a control plane is found by its data directory and by $KUBECONFIG, and by nothing else", async () => {
  using data = tempFolder();
  using elsewhere = tempFolder();
  const registry = await startKeptRegistry({ directory: data.path, warn: () => {} });
  try {
    const found = async (io: Io, given = input) => {
      const credentials = await findCredentials(given, io);
      return (await credentials(`${registry.address}/acme/x:v1`))?.username;
    };
    assert.equal(await found(ioOf(elsewhere.path, { KUBECONFIG: join(data.path, "kubeconfig") })), registryUser);
    assert.equal(await found(ioOf(elsewhere.path, {}), { args: [], options: { dataDir: data.path } }), registryUser);
    assert.equal(await found(ioOf(elsewhere.path, {})), undefined);
    assert.equal(await found(ioOf(elsewhere.path, { KUBECONFIG: join(elsewhere.path, "kubeconfig") })), undefined);
  } finally {
    await registry.close();
  }
});
