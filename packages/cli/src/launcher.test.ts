// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";

const launcher = fileURLToPath(new URL("../bin/purlin.js", import.meta.url));

/** Makes this Node say that it is an older one; the one it starts instead says the truth. */
const pretendOld = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`;

test("an older Node starts the command on ours, with arguments, output and exit code", () => {
  const args = ["--import", pretendOld("20.19.0"), launcher, "function", "call", "--target", "a b:x", "--insecure"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.match(stderr, /^error: --target: expected host:port, .* not "a b:x"\n$/);
  assert.equal(status, 2);
});

test("an older Node without a newer one beside it says how to get one whose package runs no script", () => {
  using folder = tempFolder({ "package.json": '{"type":"module"}' });
  const copy = join(folder.path, "purlin.js");
  copyFileSync(launcher, copy);
  const { status, stderr } = spawnSync(process.execPath, ["--import", pretendOld("20.19.0"), copy], {
    encoding: "utf8",
  });
  assert.match(
    stderr,
    /^error: purlin needs Node 26 or newer, and this is v\S+: install a newer Node from https:\/\/nodejs\.org, or run "npm install --save-optional node-\S+@26" in the project\n$/,
  );
  assert.equal(status, 1);
});

test("signals reach the command on our Node, and its exit code comes back", async () => {
  using folder = tempFolder({
    "package.json": '{"type":"module"}',
    "fn.ts": "export default (req, ctx) => ctx.to(req);",
  });
  const args = ["function", "run", "fn.ts", "--insecure", "--address", "localhost:0"];
  const node = ["--import", pretendOld("20.19.0"), launcher, ...args];
  const child = spawn(process.execPath, node, { cwd: folder.path, stdio: ["ignore", "pipe", "inherit"] });
  for await (const data of child.stdout) if (String(data).includes("Serving")) break;
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("a Node that is new enough runs the command itself", () => {
  const { status, stdout } = spawnSync(process.execPath, [launcher, "--version"], { encoding: "utf8" });
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test("output that cannot be written is one line and exit code 1", () => {
  const command = `"${process.execPath}" "${launcher}" --help > /dev/full`;
  const { status, stderr } = spawnSync("/bin/sh", ["-c", command], { encoding: "utf8" });
  assert.match(stderr, /^error: cannot write to stdout: ENOSPC: .*\n$/);
  assert.equal(status, 1);
});

test("a closed stderr does not crash the command", () => {
  const { status } = spawnSync("/bin/sh", ["-c", `"${process.execPath}" "${launcher}" nope 2>&-`]);
  assert.equal(status, 2);
});

test("a reader that closes the pipe is not an error", () => {
  const command = `"${process.execPath}" "${launcher}" function call --help | head -n 1`;
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", command], { encoding: "utf8" });
  assert.deepEqual(
    { status, stdout, stderr },
    { status: 0, stdout: "Usage: purlin function call [options]\n", stderr: "" },
  );
});
