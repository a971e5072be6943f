// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type FileWatcher, watchFiles } from "./source-file.ts";

/** A watcher and the next save that it reports. */
function watching(): { watcher: FileWatcher; next: () => Promise<string> } {
  let saved = Promise.withResolvers<string>();
  const watcher = watchFiles((file) => saved.resolve(file));
  const next = async (): Promise<string> => {
    const file = await saved.promise;
    saved = Promise.withResolvers<string>();
    return file;
  };
  return { watcher, next };
}

test("each save is reported once, also a file moved over another; other files are ignored", async () => {
  using folder = tempFolder({ "a.ts": "1", "b.ts": "1", "lib/c.ts": "1" });
  const { watcher, next } = watching();
  using _ = watcher;
  watcher.add(join(folder.path, "a.ts"));
  watcher.add(join(folder.path, "lib/c.ts"));
  folder.write("b.ts", "2");
  folder.write("a.ts", "2");
  assert.equal(await next(), "a.ts", "b.ts was not added");
  folder.write("lib/c.ts", "2");
  assert.equal(await next(), "c.ts");
  renameSync(folder.write("a.ts.tmp", "3"), join(folder.path, "a.ts"));
  assert.equal(await next(), "a.ts");
});

test("after a failed start a new source file counts", async () => {
  using folder = tempFolder({ "a.ts": "1" });
  const { watcher, next } = watching();
  using _ = watcher;
  watcher.add(join(folder.path, "a.ts"));
  watcher.watchBeside(true);
  folder.write("notes.txt", "1");
  folder.write("missing.ts", "1");
  assert.equal(await next(), "missing.ts");
});

test("a folder that did not exist is watched when it is added again", async () => {
  using folder = tempFolder({});
  const { watcher, next } = watching();
  using _ = watcher;
  const file = join(folder.path, "later/a.ts");
  watcher.add(file);
  folder.write("later/a.ts", "1");
  watcher.add(file);
  folder.write("later/a.ts", "2");
  assert.equal(await next(), "a.ts");
});

test("files added after dispose are not watched", () => {
  using folder = tempFolder({ "a.ts": "1" });
  const { watcher } = watching();
  watcher[Symbol.dispose]();
  const watches = (): number => process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;
  const before = watches();
  watcher.add(join(folder.path, "a.ts"));
  assert.equal(watches(), before);
});
