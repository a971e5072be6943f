import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { newManaged } from "@purlin/provider-sdk/testing";
import { fileResource } from "./file.ts";

const folder = mkdtempSync(join(tmpdir(), "files-"));
after(() => rmSync(folder, { recursive: true }));
const file = fileResource(folder);
const managed = (content: string) => newManaged(file, { name: "note.txt", forProvider: { content } });

test("a file is created, found, changed and deleted", async () => {
  assert.deepEqual(await file.observe(managed("hello")), { exists: false });
  await file.create(managed("hello"));
  assert.equal(readFileSync(join(folder, "note.txt"), "utf8"), "hello");
  assert.deepEqual(await file.observe(managed("hello")), { exists: true, upToDate: true, atProvider: { bytes: 5 } });
  assert.equal((await file.observe(managed("bye"))).upToDate, false);
  await file.update(managed("bye"));
  assert.equal((await file.observe(managed("bye"))).upToDate, true);
  await file.delete(managed("bye"));
  assert.deepEqual(await file.observe(managed("bye")), { exists: false });
});

test("a name that leaves the folder is refused", async () => {
  await assert.rejects(file.observe(newManaged(file, { name: "../note.txt" })), /is not the name of a file/);
});
