// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { sandboxOf } from "../../test/local-processes.ts";
import { type SandboxedProgram, sandboxCommand } from "./sandbox-arguments.ts";

const sandbox = { program: "/usr/bin/bwrap", canDisableUserns: true };
const programOf = (root: string): SandboxedProgram => ({
  root,
  command: ["/main"],
  cwd: "/",
  env: { SECRET: "hunter2" },
  tmpBytes: 1024,
  folders: { "/tls/server": "/host/certificates" },
});

/** Links of an image at places where something is mounted, by where they are and where they lead. */
const out = [
  ["tls", "/oldroot/tmp"],
  ["tls", "/tmp"],
  ["tls", "../../../../../../oldroot/tmp"],
  ["tls", "../.."],
  ["tls/server", "/oldroot/tmp/x"],
  ["tmp", "/oldroot/etc"],
  ["proc", "/root"],
  ["dev", "dev"],
  ["dev", "nothing"],
] as const;
for (const [at, to] of out) {
  test(`an image with a link that leads out where something is mounted is refused: ${at} to ${to}`, () => {
    using folder = tempFolder();
    mkdirSync(dirname(join(folder.path, at)), { recursive: true });
    symlinkSync(to, join(folder.path, at));
    const says = /^Error: the image has a link out of itself at or above \//;
    assert.throws(() => sandboxCommand(sandbox, programOf(folder.path)), says);
  });
}

test("a link to another folder of the image may be where something is mounted", () => {
  using folder = tempFolder({ "var/tmp/x": "", "run/tls/server/x": "" });
  symlinkSync("var/tmp", join(folder.path, "tmp"));
  symlinkSync("run/tls", join(folder.path, "tls"));
  assert.ok(sandboxCommand(sandbox, programOf(folder.path)).words.length > 0);
});

test("links elsewhere in an image are its own", () => {
  using folder = tempFolder();
  for (const name of ["lib", "bin", "var"]) symlinkSync("/oldroot/tmp", join(folder.path, name));
  assert.ok(sandboxCommand(sandbox, programOf(folder.path)).words.length > 0);
});

test("bubblewrap's command line names neither folders of this machine nor variables of the function", () => {
  using folder = tempFolder();
  const { words, inputs } = sandboxCommand(sandbox, programOf(folder.path));
  assert.doesNotMatch(words.join(" "), /hunter2|certificates|purlin-process/);
  assert.match(String(inputs[0]), /hunter2/);
  assert.deepEqual(words.slice(words.indexOf("--")), ["--", "/main"]);
});

test("links of an image that runs on Purlin's Node do not lead the sandbox anywhere", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  using folder = tempFolder({ "outside/keep": "" });
  const root = join(folder.path, "root");
  mkdirSync(root);
  for (const name of ["tls", "etc", "purlin", "lib", "usr", "x"])
    symlinkSync(`/oldroot${folder.path}/outside`, join(root, name));
  const files = { "/purlin/node/node": "/bin/true", "/lib/y": "/bin/true", "/usr/lib/z": "/bin/true" };
  const program = { ...programOf(root), folders: { "/tls/server": folder.path }, files };
  const { inputs } = sandboxCommand(support, program);
  const words = String(inputs[0]).split("\0").filter(Boolean);
  // Without the files that come through descriptors, which a shell opens.
  const plain = words.filter((word, at) => ![word, words[at - 1], words[at - 2]].includes("--ro-bind-data"));
  spawnSync(support.program, [...plain, "--", "/purlin/node/node"]);
  assert.deepEqual(readdirSync(join(folder.path, "outside")), ["keep"]);
});
