// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { takeDataDirectory } from "./data-directory.ts";
import { isStoreError } from "./store-error.ts";

/** Another process that takes the directory, says "taken" or why not, and lives until it is killed. */
const holder = `
  import { takeDataDirectory } from ${JSON.stringify(new URL("./data-directory.ts", import.meta.url).href)};
  try {
    takeDataDirectory(process.argv[1]);
    // The result is dropped; the directory stays locked all the same.
    globalThis.gc();
    console.log("taken");
    setInterval(() => {}, 1000);
  } catch (error) {
    console.log(error.message);
  }
`;

async function hold(
  t: TestContext,
  directory: string,
): Promise<{ said: string; pid: number | undefined; kill: () => Promise<unknown> }> {
  const child = spawn(process.execPath, ["--expose-gc", "--input-type=module-typescript", "-e", holder, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  const exited = once(child, "exit");
  return {
    said: said.toString().trim(),
    pid: child.pid,
    kill: () => {
      child.kill("SIGKILL");
      return exited;
    },
  };
}

test("a directory another process has is refused with its pid, and free when that process dies in any way", async (t) => {
  const directory = tempDirectory();
  const other = await hold(t, directory);
  assert.equal(other.said, "taken");
  assert.throws(
    () => takeDataDirectory(directory),
    (error) => isStoreError(error, "locked") && error.message.includes(`pid ${other.pid}`),
  );
  await other.kill();
  assert.ok(existsSync(join(directory, "lock.pid")), "what the dead left behind does not matter");
  const taken = takeDataDirectory(directory);
  assert.equal(readFileSync(join(directory, "lock.pid"), "utf8"), `${process.pid}\n`);
  const late = await hold(t, directory);
  assert.match(late.said, new RegExp(`in use by the process with pid ${process.pid}`));
  taken.release();
});

test("a file gets its name only when it is complete", () => {
  const directory = tempDirectory();
  const taken = takeDataDirectory(directory);
  const boom = new Error("boom");
  const fail = (path: string): void => {
    writeFileSync(path, "half");
    throw boom;
  };
  assert.throws(() => taken.file("data", fail), boom);
  assert.equal(existsSync(join(directory, "data")), false);
  const path = taken.file("data", (unfinished) => writeFileSync(unfinished, "whole", { flag: "a" }));
  assert.equal(readFileSync(path, "utf8"), "whole", "nothing is left of the first attempt");
  assert.equal(taken.file("data", fail), path, "it exists: it is not created again");
  taken.release();
});

test("a file others could read is closed to them", () => {
  const directory = tempDirectory();
  const taken = takeDataDirectory(directory);
  writeFileSync(join(directory, "data"), "");
  chmodSync(join(directory, "data"), 0o644);
  assert.equal(statSync(taken.file("data", () => {})).mode & 0o777, 0o600);
  taken.release();
});

test("a path that cannot be a directory is refused with the reason", () => {
  const file = join(tempDirectory(), "file");
  writeFileSync(file, "");
  assert.throws(
    () => takeDataDirectory(join(file, "data")),
    (error) =>
      isStoreError(error, "unavailable") && error.message.includes(file) && /ENOTDIR|EEXIST/.test(error.message),
  );
});
