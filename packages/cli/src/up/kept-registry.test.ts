// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { registryUser } from "@purlin/oci";
import { isUserError } from "../user-error.ts";
import { startKeptRegistry } from "./kept-registry.ts";

const portOf = (address: string): number => Number(address.split(":").at(-1));

test("a registry keeps its port, and moves only with --registry-port", async () => {
  using folder = tempFolder();
  using other = tempFolder();
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const first = await startKeptRegistry({ directory: folder.path, warn });
  await first.close();
  const again = await startKeptRegistry({ directory: folder.path, warn });
  assert.equal(again.address, first.address);
  const port = portOf(again.address);
  await assert.rejects(
    startKeptRegistry({ directory: other.path, port, warn }),
    (error) =>
      isUserError(error) &&
      error.message ===
        `--registry-port ${port} is in use by another program: choose another port with --registry-port`,
  );
  other.write("registry/port", String(port));
  await assert.rejects(
    startKeptRegistry({ directory: other.path, warn }),
    (error) =>
      isUserError(error) &&
      error.message.startsWith(`port ${port}, which the registry used before, is in use by another program: stop that`),
  );
  assert.deepEqual(warnings, []);
  const moved = await startKeptRegistry({ directory: other.path, port: 0, warn });
  assert.notEqual(moved.address, again.address);
  assert.match(warnings.join("\n"), new RegExp(`^the registry is now at ${moved.address}; `));
  assert.match(moved.access.refuses?.(again.address) ?? "", /may belong to another program: change the package to 127/);
  assert.equal(moved.access.refuses?.(moved.address), undefined);
  // At the other loopback address another program may listen.
  for (const name of ["localhost", "LOCALHOST", "[::1]"]) {
    assert.match(
      moved.access.refuses?.(`${name}:${portOf(moved.address)}`) ?? "",
      /known as 127\.0\.0\.1:\d+; .*another program/,
    );
    assert.match(
      moved.access.refuses?.(`${name}:${portOf(again.address)}`) ?? "",
      /registry of this control plane moved/,
    );
    assert.equal(moved.access.refuses?.(`${name}:1`), undefined);
  }
  await again.close();
  await moved.close();
  const chosen = await startKeptRegistry({ directory: other.path, port, warn });
  assert.equal(chosen.address, `127.0.0.1:${port}`);
  assert.equal(chosen.access.refuses?.(chosen.address), undefined, "it is there again");
  assert.notEqual(chosen.access.refuses?.(moved.address), undefined);
  await chosen.close();
});

test("the token is in a Docker config of this user's own, another one for each start, and gone at the end", async () => {
  using folder = tempFolder();
  const file = join(folder.path, "docker", "config.json");
  const seen: string[] = [];
  for (let start = 0; start < 2; start++) {
    const registry = await startKeptRegistry({ directory: folder.path, warn: () => {} });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const { auths } = JSON.parse(readFileSync(file, "utf8")) as { auths: Record<string, { auth: string }> };
    assert.deepEqual(Object.keys(auths), [registry.address]);
    const [user, token = ""] = Buffer.from(auths[registry.address]?.auth ?? "", "base64")
      .toString()
      .split(":");
    assert.equal(user, registryUser);
    seen.push(token);
    assert.deepEqual(await registry.access.credentials(`${registry.address}/acme/x`), {
      username: registryUser,
      password: token,
    });
    assert.equal(await registry.access.credentials(`${registry.address}1/acme/x`), undefined);
    const statuses = [];
    for (const password of seen) {
      const authorization = `Basic ${Buffer.from(`${registryUser}:${password}`).toString("base64")}`;
      statuses.push((await fetch(`http://${registry.address}/v2/`, { headers: { authorization } })).status);
    }
    assert.deepEqual(statuses, start === 0 ? [200] : [401, 200]);
    await registry.close();
    assert.equal(existsSync(file), false);
  }
});
