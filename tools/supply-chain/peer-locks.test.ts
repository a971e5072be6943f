// SPDX-License-Identifier: Apache-2.0
// Software that only tests use is pinned as far as its ecosystem allows.
import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { allPeers } from "../peers/catalog.ts";
import { directoryOf } from "../peers/peer.ts";
import { fetchedPackages, type LockFile } from "./lock-file.ts";

const folder = "tools/peers/locks";

test("each lock belongs to a peer", () => {
  const peers = allPeers.map((peer) => directoryOf(peer, "").replace(/-[0-9a-f]{12}(?=-[\d.]+$)/, ""));
  assert.deepEqual(
    readdirSync(folder).filter((name) => !peers.includes(name)),
    [],
  );
});

for (const file of globSync(`${folder}/*/package-lock.json`)) {
  test(`${file} has a hash for every package`, () => {
    const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: LockFile };
    const bad = fetchedPackages(lock.packages).filter(
      ([, { integrity = "", resolved }]) => !integrity.startsWith("sha512-") || resolved !== undefined,
    );
    assert.deepEqual(bad, []);
  });
}

for (const file of globSync(`${folder}/*/requirements.txt`)) {
  test(`${file} has a version and a hash for every package`, () => {
    const entries = readFileSync(file, "utf8")
      .replaceAll(/\\\n\s*/g, " ")
      .split("\n")
      .filter((line) => /^\w/.test(line));
    assert.ok(entries.length > 1);
    for (const entry of entries) assert.match(entry, /^[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}/);
  });
}

for (const peer of allPeers) {
  test(`${peer.name} is installed from checksums`, () => {
    for (const { program, args } of peer.commands("/nowhere")) {
      const text = [program, ...args].join(" ");
      // A module and its go.sum are ours, or a released module at a version, which the checksum database knows.
      assert.doesNotMatch(text, /\bgo (?:get|run|mod)\b/);
      if (/\bgo install\b/.test(text)) assert.match(text, /@v\d+\.\d+\.\d+$/);
      if (/\bpip install\b/.test(text))
        assert.match(text, / --require-hashes --only-binary :all: -r \S+requirements\.txt/);
      if (/\bnpm (?!--version)/.test(text)) assert.match(text, /npm ci --ignore-scripts/);
    }
  });
}

test("each Go module that is built has its go.sum", () => {
  const modules = globSync([`${folder}/**/go.mod`, "test/interop/**/go.mod"]).map((file) =>
    file.replace(/go\.mod$/, ""),
  );
  const needs = modules.filter((path) => /^require/m.test(readFileSync(`${path}go.mod`, "utf8")));
  assert.ok(needs.length >= 7, needs.join());
  assert.deepEqual(
    needs.filter((path) => !existsSync(`${path}go.sum`)),
    [],
  );
});

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
