// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { watchManifests } from "./watch-manifests.ts";

test("saves of manifests are noticed, in folders and below, once for many; other files do not count", async () => {
  using folder = tempFolder({ "p/a.yaml": "1", "p/below/b.yml": "1", "one.yaml": "1", "other.yaml": "1" });
  let told = Promise.withResolvers<void>();
  let times = 0;
  const next = async (): Promise<void> => {
    await told.promise;
    told = Promise.withResolvers();
  };
  using _ = watchManifests(["p", "one.yaml", "gone.yaml"], folder.path, () => {
    times++;
    told.resolve();
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
