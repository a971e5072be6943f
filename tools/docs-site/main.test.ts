// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

const main = "tools/docs-site/main.ts";

function run(...options: readonly string[]): { readonly status: number | null; readonly stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [main, ...options], { encoding: "utf8" });
  return { status, stderr };
}

test("the site is written to a folder, over an earlier one, and never over anything else", (t) => {
  const out = mkdtempSync(join(tmpdir(), "purlin-docs-"));
  t.after(() => rmSync(out, { recursive: true }));
  for (const _ of [1, 2]) {
    assert.deepEqual(run("--out", out), { status: 0, stderr: "" });
    assert.ok(existsSync(join(out, "index.html")) && existsSync(join(out, "assets/style.css")));
  }
  const other = mkdtempSync(join(tmpdir(), "purlin-docs-"));
  t.after(() => rmSync(other, { recursive: true }));
  writeFileSync(join(other, "precious.txt"), "");
  const { status, stderr } = run("--out", other);
  assert.equal(status, 1);
  assert.match(stderr, /not empty, and not an earlier site/);
  assert.deepEqual(readdirSync(other), ["precious.txt"]);
});

test("--serve prints a loopback address that serves the front page", async (t) => {
  const server = spawn(process.execPath, [main, "--serve", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => server.kill());
  const [line] = (await once(createInterface(server.stdout), "line")) as [string];
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\//.exec(line) ?? [];
  assert.match(await (await fetch(url)).text(), /<title>Purlin<\/title>/);
});

test("a wrong option is refused", () => {
  for (const options of [["--port", "x"], ["--port", "70000"], ["--sreve"]]) {
    const { status, stderr } = run(...options);
    assert.equal(status, 1, options.join(" "));
    assert.equal(stderr.trim().split("\n").length, 1);
  }
});
