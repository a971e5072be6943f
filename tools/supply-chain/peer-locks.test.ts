// SPDX-License-Identifier: Apache-2.0
// Software that only tests use is pinned as far as its ecosystem allows.
import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { allPeers } from "../peers/catalog.ts";
import { directoryOf } from "../peers/peer.ts";
import { fetchedPackages, type LockFile } from "./lock-file.ts";

const folder = "tools/peers/locks";

for (const name of readdirSync(folder)) {
  test(`the lock file of ${name} has a hash for every package, and belongs to a peer`, () => {
    const lock = JSON.parse(readFileSync(`${folder}/${name}/package-lock.json`, "utf8")) as { packages: LockFile };
    const bad = fetchedPackages(lock.packages).filter(
      ([, { integrity = "", resolved }]) => !integrity.startsWith("sha512-") || resolved !== undefined,
    );
    assert.deepEqual(bad, []);
    assert.ok(allPeers.some((peer) => directoryOf(peer, "") === name));
  });
}

test("nothing turns off the checksum database of Go modules", () => {
  const files = [...globSync("tools/**/*.{ts,go,mod}"), ...globSync("test/**/*.{ts,go,mod}"), ".ci/run"];
  const variables = ["GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOPRIVATE", "GOSUMDB"];
  const pattern = new RegExp(`\\b(${variables.join("|")})\\s*[:=]`);
  assert.ok(files.length > 100);
  assert.deepEqual(
    files.filter((file) => pattern.test(readFileSync(file, "utf8"))),
    [],
  );
});
