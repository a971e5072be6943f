// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { type Command, directoryOf, install, installed, type Peer } from "./peer.ts";

let cache = "";

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "peers-"));
});

afterEach(() => rmSync(cache, { recursive: true, force: true }));

const node = (script: string, directory: string): Command => ({
  program: process.execPath,
  args: ["-e", script],
  directory,
});

/** A peer whose installation writes a file and a line into `log`, so that a test can count installations. */
function peerOf(log: string, change: Partial<Peer> = {}): Peer {
  return {
    name: "@scope/peer",
    version: "1.2.3",
    needs: [{ program: process.execPath, args: ["--version"], remedy: "install Node" }],
    commands: (directory) => [
      node(`fs.writeFileSync("it", "whole"); fs.appendFileSync(${JSON.stringify(log)}, "x")`, directory),
    ],
    proof: (directory) => node(`fs.readFileSync("it"); console.log("version 1.2.3")`, directory),
    ...change,
  };
}

test("a peer is installed once and found afterwards", () => {
  const log = join(cache, "log");
  const peer = peerOf(log);
  assert.throws(() => installed(peer, cache), /@scope\/peer 1\.2\.3 is not installed: run "npm run peers" first/);
  assert.equal(install(peer, cache), "installed");
  assert.equal(install(peer, cache), "already there");
  assert.equal(readFileSync(log, "utf8"), "x");
  assert.equal(readFileSync(join(installed(peer, cache), "it"), "utf8"), "whole");
});

test("another version is installed beside the first", () => {
  const peer = peerOf(join(cache, "log"));
  install(peer, cache);
  const next = { ...peer, version: "1.2.4", proof: (directory: string) => node(`console.log("1.2.4")`, directory) };
  assert.equal(install(next, cache), "installed");
  assert.notEqual(directoryOf(peer, cache), directoryOf(next, cache));
  assert.ok(existsSync(installed(peer, cache)));
});

test("what is missing on the machine is named with its remedy, and nothing is left behind", () => {
  const needs = [
    { program: "no-such-program-here", args: ["--version"], remedy: "apt-get install it" },
    { program: process.execPath, args: ["-e", "process.exit(3)"], remedy: "repair it" },
  ];
  const peer = peerOf(join(cache, "log"), { needs });
  assert.throws(() => install(peer, cache), /no-such-program-here --version: apt-get install it\n.*repair it/);
  assert.ok(!existsSync(directoryOf(peer, cache)));
});

const failures = {
  "a command that fails is reported with its output": {
    change: { commands: (directory: string) => [node(`console.error("boom"); process.exit(7)`, directory)] },
    expected: /cannot install @scope\/peer 1\.2\.3: .*exit code 7\nboom/s,
  },
  "a program that cannot be started is reported": {
    change: { commands: () => [{ program: "no-such-program-here", args: [] }] },
    expected: /no-such-program-here.*ENOENT/,
  },
  "an installation whose proof fails is repeated": {
    change: { proof: (directory: string) => node("process.exit(1)", directory) },
    expected: /exit code 1/,
  },
  "an installation of another version is repeated": {
    change: { proof: (directory: string) => node(`console.log("9.9.9")`, directory) },
    expected: /reports "9\.9\.9"/,
  },
};

for (const [reason, { change, expected }] of Object.entries(failures)) {
  test(reason, () => {
    const log = join(cache, "log");
    const broken = peerOf(log, change);
    assert.throws(() => install(broken, cache), expected);
    assert.throws(() => installed(broken, cache));
    // The next attempt starts from an empty folder.
    appendFileSync(join(directoryOf(broken, cache), "rest"), "of the broken one");
    assert.equal(install(peerOf(log), cache), "installed");
    assert.ok(!existsSync(join(installed(peerOf(log), cache), "rest")));
  });
}

test("a half-finished installation of a killed process is replaced", () => {
  const peer = peerOf(join(cache, "log"));
  install(peer, cache);
  const directory = installed(peer, cache);
  rmSync(join(directory, ".complete"));
  writeFileSync(join(directory, "half"), "");
  assert.equal(install(peer, cache), "installed");
  assert.ok(!existsSync(join(directory, "half")));
});
