// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { isUserError } from "../user-error.ts";
import { startKeptRegistry } from "./kept-registry.ts";

test("a registry is where it was before, moves when it must, and says so", async () => {
  using folder = tempFolder();
  using other = tempFolder();
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const first = await startKeptRegistry({ directory: folder.path, warn });
  await first.close();
  const again = await startKeptRegistry({ directory: folder.path, warn });
  assert.equal(again.address, first.address);
  const port = Number(again.address.split(":").at(-1));
  await assert.rejects(
    startKeptRegistry({ directory: other.path, port, warn }),
    (error) => isUserError(error) && error.message === `port ${port} is taken: choose another one with --registry-port`,
  );
  assert.deepEqual(warnings, []);
  other.write("port", String(port));
  const moved = await startKeptRegistry({ directory: other.path, warn });
  assert.notEqual(moved.address, again.address);
  assert.match(warnings.join("\n"), new RegExp(`^port ${port} is taken: the registry is now at ${moved.address}; `));
  await again.close();
  await moved.close();
  const chosen = await startKeptRegistry({ directory: other.path, port, warn });
  assert.equal(chosen.address, `127.0.0.1:${port}`);
  assert.match(warnings[1] ?? "", /^the registry is now at /);
  await chosen.close();
});
