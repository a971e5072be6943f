// SPDX-License-Identifier: Apache-2.0
// Files that turn hostile while `purlin up` follows them: a line each, the former state stays, and a good file is applied again.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { spawnPurlin } from "../../../packages/cli/test/spawn-purlin.ts";
import { runInProcess } from "../../../packages/cli/test/test-io.ts";
import { closeSockets, hostileFiles } from "./hostile-files.ts";

const cwd = mkdtempSync(join(tmpdir(), "hostile-up-"));
after(() => {
  closeSockets();
  rmSync(cwd, { recursive: true, force: true });
});

const turned = new Set([
  ...["a FIFO", "a socket", "a link to /dev/zero", "a link to itself", "a sparse file of 8 GiB"],
  ...["an alias bomb", "an alias that stands for itself", "brackets without end", "UTF-16", "a NUL"],
]);

const manifest = (round: number): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {round: "${round}"}\n`;

test("a followed file becomes each of them, and is good again after it", async () => {
  const folder = join(cwd, "manifests");
  mkdirSync(folder);
  const file = join(folder, "a.yaml");
  writeFileSync(file, manifest(0));
  await using up = spawnPurlin(["up", "manifests", "--data-dir", "data"], { cwd });
  await up.next("stdout", /applied 1 object of manifests/);
  const roundServed = async (): Promise<string> => {
    const args = ["get", "configmap", "kept", "-o", "jsonpath={.data.round}", "--data-dir", "data"];
    const { stdout, stderr } = await runInProcess(args, { cwd });
    assert.equal(stderr, "");
    return stdout;
  };
  const wanted = Object.entries(hostileFiles).filter(([what]) => turned.has(what));
  assert.equal(wanted.length, turned.size);
  for (const [round, [what, { make, says }]] of wanted.entries()) {
    rmSync(file, { force: true, recursive: true });
    await make(file);
    await up.next("stdout", new RegExp(`error: [^\\n]*(${says.source}|is a symbolic link to [^\\n]*, outside )`));
    assert.equal(await roundServed(), String(round), `${what}: the former state stays`);
    rmSync(file, { force: true, recursive: true });
    for (const more of [`${file}.fifo`, `${file}.b`]) rmSync(more, { force: true });
    writeFileSync(file, manifest(round + 1));
    await up.next("stdout", /applied 1 object of manifests\/a\.yaml/);
    assert.equal(await roundServed(), String(round + 1), `${what}: the good file is applied`);
  }
  assert.equal(await up.stop(), 0);
});
