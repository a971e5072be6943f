// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { watchManifests } from "./watch-files.ts";

test("saves of manifests are noticed, in folders and below, once for many; other files do not count", async () => {
  using folder = tempFolder({ "p/a.yaml": "1", "p/below/b.yml": "1", "one.yaml": "1", "other.yaml": "1" });
  let pending = Promise.withResolvers<void>();
  let times = 0;
  const next = async (): Promise<void> => {
    await pending.promise;
    pending = Promise.withResolvers();
  };
  using _ = watchManifests(["p", "one.yaml", "gone.yaml"], folder.path, {
    onChange() {
      times++;
      pending.resolve();
    },
  });
  for (const name of ["p/a.yaml", "p/below/b.yml"]) folder.write(name, "2");
  await next();
  assert.equal(times, 1);
  folder.write("p/new.yaml", "1");
  await next();
  renameSync(folder.write("one.yaml.tmp", "2"), join(folder.path, "one.yaml"));
  await next();
  folder.write("other.yaml", "2");
  folder.write("p/notes.md", "2");
  folder.write("one.yaml", "3");
  await next();
  assert.equal(times, 4);
});

test("manifests in new, moved and replaced folders are noticed; a link to itself does no harm", async () => {
  using folder = tempFolder({ "p/a.yaml": "1", "aside/inner/b.yaml": "1", "p/.hidden/c.yaml": "1" });
  const root = join(folder.path, "p");
  let times = 0;
  using _ = watchManifests(["p"], folder.path, {
    onChange() {
      times++;
    },
  });
  const noticed = async (change: () => void): Promise<boolean> => {
    const before = times;
    change();
    for (let waited = 0; waited < 5_000 && times === before; waited += 20) await delay(20);
    // Nothing of this change may count for the next one.
    await delay(300);
    return times > before;
  };
  assert.ok(await noticed(() => folder.write("p/new/deep/d.yaml", "1")), "a new folder");
  assert.ok(await noticed(() => folder.write("p/new/deep/d.yaml", "2")), "a file in a new folder");
  assert.ok(
    await noticed(() => renameSync(join(folder.path, "aside"), join(root, "moved"))),
    "a folder that is moved in",
  );
  assert.ok(await noticed(() => folder.write("p/moved/inner/b.yaml", "2")), "a file in it");
  const toItself = (): void => {
    rmSync(join(root, "a.yaml"));
    symlinkSync("a.yaml", join(root, "a.yaml"));
  };
  assert.ok(await noticed(toItself), "a link to itself");
  const again = (): void => {
    rmSync(join(root, "new"), { recursive: true });
    folder.write("p/new/e.yaml", "1");
  };
  assert.ok(await noticed(again), "a folder that is removed and made again");
  assert.ok(await noticed(() => folder.write("p/new/e.yaml", "2")), "a file in it");
  const before = times;
  folder.write("p/.hidden/c.yaml", "2");
  await delay(500);
  assert.equal(times, before, "hidden folders do not count");
});
