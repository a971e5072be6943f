// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { eventually } from "@purlin/kube-controller/testing";
import { runInProcess, TestIo } from "../../test/test-io.ts";
import { run } from "../run.ts";
import { UserError } from "../user-error.ts";
import { runOnSaves } from "./watch-files.ts";

test("it runs at once and on each save of a named file, continues after an error, and ends when it is stopped", async () => {
  using folder = tempFolder({ "a.yaml": "a" });
  const stop = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stop.signal });
  let runs = 0;
  const running = runOnSaves(["a.yaml"], io, {
    async run() {
      runs += 1;
      if (runs === 3) stop.abort();
      // After the run, so that the save is not part of it.
      setTimeout(() => folder.write("a.yaml", String(runs)), 20);
      if (runs === 1) throw new UserError("a.yaml:1:1: wrong");
    },
  });
  assert.equal(await running, 0);
  assert.equal(runs, 3);
  assert.equal(io.stdout.text, "error: a.yaml:1:1: wrong\n");
});

test("a save of a file that does not concern it starts nothing", async () => {
  using folder = tempFolder({ "a.yaml": "a: 1\n" });
  const stop = new AbortController();
  const seen: string[] = [];
  let runs = 0;
  const asked = Promise.withResolvers<void>();
  const running = runOnSaves(["a.yaml"], new TestIo({ cwd: folder.path, signal: stop.signal }), {
    concerns(path) {
      seen.push(path);
      if (path === "a.log") asked.resolve();
      return path.endsWith(".yaml");
    },
    run: async () => {
      runs += 1;
      if (runs === 2) stop.abort();
    },
  });
  folder.write("a.log", "x\n");
  await asked.promise;
  // Longer than saves are waited for.
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(runs, 1);
  folder.write("a.yaml", "a: 2\n");
  assert.equal(await running, 0);
  assert.deepEqual([runs, seen.includes("a.log")], [2, true]);
});

test("a save while it runs starts another run, and what it writes itself does not", async () => {
  using folder = tempFolder({ "a.yaml": "a" });
  const stop = new AbortController();
  const seen: string[] = [];
  const changed = async (name: string): Promise<void> => {
    const before = seen.length;
    folder.write(name, String(before));
    await eventually(`the change of ${name} is seen`, () => seen.includes(name, before));
  };
  let runs = 0;
  const running = runOnSaves(["a.yaml"], new TestIo({ cwd: folder.path, signal: stop.signal }), {
    concerns: (path) => seen.push(path) > 0,
    wrote: (path) => path === join(folder.path, "golden.yaml"),
    async run() {
      runs += 1;
      if (runs === 1) await changed("a.yaml");
      if (runs < 3) await changed("golden.yaml");
      if (runs === 2) setTimeout(() => folder.write("a.yaml", "last"), 100);
      if (runs === 3) stop.abort();
    },
  });
  assert.equal(await running, 0);
  assert.deepEqual([runs, seen.at(-1)], [3, "a.yaml"], "the third run waits for the last save");
});

test("it runs again when it is woken, also while it runs", async () => {
  using folder = tempFolder({ "a.yaml": "a" });
  const stop = new AbortController();
  let [runs, wake] = [0, (): void => {}];
  const running = runOnSaves(["a.yaml"], new TestIo({ cwd: folder.path, signal: stop.signal }), {
    async run() {
      runs += 1;
      if (runs === 1) wake();
      else if (runs === 2) setTimeout(wake, 20);
      else stop.abort();
    },
    onStart(start) {
      wake = start;
    },
  });
  assert.equal(await running, 0);
  assert.equal(runs, 3);
});

test("validate --watch takes a file by its absolute path, and stops", async () => {
  using folder = tempFolder({ "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" });
  const stop = new AbortController();
  const io = new TestIo({ cwd: folder.path, signal: stop.signal });
  const watching = run(["validate", "--watch", join(folder.path, "a.yaml")], io);
  await eventually("the file is validated", () => io.stdout.text.includes("1 object in 1 file: 0 errors, 0 warnings"));
  stop.abort();
  await watching;
  const stdin = await runInProcess(["validate", "--watch", "-"], { cwd: folder.path });
  assert.deepEqual([stdin.exitCode, /standard input cannot be watched/.test(stdin.stderr)], [2, true]);
});
