// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { extract, type Header } from "tar-stream";
import { mediaTypes } from "../content/manifest.ts";
import { fileEntry, folderEntries, type LayerEntry, writeLayer } from "./layer-archive.ts";

async function headersOf(tar: Buffer): Promise<Header[]> {
  const reader = extract();
  const headers: Header[] = [];
  reader.end(tar);
  for await (const entry of reader) {
    headers.push(entry.header);
    entry.resume();
  }
  return headers;
}

async function entriesOf(folder: string): Promise<LayerEntry[]> {
  const entries: LayerEntry[] = [];
  for await (const entry of folderEntries(folder)) entries.push(entry);
  return entries;
}

test("a layer is what its digests say, before and after compression", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "layer");
  const { descriptor, diffId } = await writeLayer(
    [fileEntry("a", "hello"), fileEntry("b/c", Buffer.alloc(100_000, 7))],
    path,
  );
  const packed = await readFile(path);
  const sha = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  assert.deepEqual(descriptor, { mediaType: mediaTypes.ociLayerGzip, digest: sha(packed), size: packed.length });
  assert.equal(diffId, sha(gunzipSync(packed)));
  const headers = await headersOf(gunzipSync(packed));
  assert.deepEqual(
    headers.map(({ name, size, mode, uid, gid, uname, gname, mtime }) => ({
      name,
      size,
      mode,
      uid,
      gid,
      uname,
      gname,
      time: mtime?.getTime(),
    })),
    [
      { name: "a", size: 5, mode: 0o644, uid: 0, gid: 0, uname: "", gname: "", time: 0 },
      { name: "b/c", size: 100_000, mode: 0o644, uid: 0, gid: 0, uname: "", gname: "", time: 0 },
    ],
  );
});

test("the header of the compression names neither a time nor a system", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "layer");
  await writeLayer([fileEntry("a", "hello")], path);
  assert.deepEqual([...(await readFile(path)).subarray(0, 10)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
});

test("the same entries give the same bytes, however they come", async () => {
  using folder = tempFolder();
  const bytes = Buffer.alloc(200_000, "purlin");
  async function* slowly(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
  }
  const entry = (open: () => Readable): LayerEntry => ({
    type: "file",
    name: "f",
    mode: 0o644,
    size: bytes.length,
    mtime: new Date(0),
    open,
  });
  const one = await writeLayer([entry(() => Readable.from([bytes]))], join(folder.path, "one"));
  const two = await writeLayer([entry(() => Readable.from(slowly()))], join(folder.path, "two"));
  assert.deepEqual(one, two);
});

test("an entry that cannot be read, or is not as long as it says, is an error", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "layer");
  async function* failing(): AsyncGenerator<LayerEntry> {
    yield fileEntry("a", "x");
    throw new Error("no more");
  }
  await assert.rejects(writeLayer(failing(), path), /no more/);
  const base = { type: "file", name: "f", mode: 0o644, mtime: new Date(0) } as const;
  const broken = new Readable({
    read() {
      this.destroy(new Error("bad disk"));
    },
  });
  await assert.rejects(writeLayer([{ ...base, size: 5, open: () => broken }], path), /bad disk/);
  for (const content of ["xy", "more than five"]) {
    const open = (): Readable => Readable.from([Buffer.from(content)]);
    await assert.rejects(writeLayer([{ ...base, size: 5, open }], path), /Size mismatch/);
  }
  await assert.rejects(writeLayer([fileEntry("a", "x")], join(folder.path, "no", "layer")), { code: "ENOENT" });
});

test("a folder comes in an order that is always the same, with modes reduced to the right to execute", async () => {
  using folder = tempFolder();
  const at = (name: string): string => join(folder.path, name);
  for (const name of ["b.txt", "B.txt", "a/z", "a/b/c", "run"]) {
    await mkdir(join(at(name), ".."), { recursive: true });
    await writeFile(at(name), name);
  }
  await chmod(at("b.txt"), 0o600);
  await chmod(at("run"), 0o4711);
  await symlink("/anywhere/at all", at("link"));
  await utimes(at("b.txt"), 1_000_000.75, 1_000_000.75);
  const entries = await entriesOf(folder.path);
  assert.deepEqual(
    entries.map(
      (entry) =>
        `${entry.type} ${entry.name}${entry.type === "symlink" ? ` → ${entry.target}` : ` ${entry.mode.toString(8)}`}`,
    ),
    [
      "file B.txt 644",
      "directory a/ 755",
      "directory a/b/ 755",
      "file a/b/c 644",
      "file a/z 644",
      "file b.txt 644",
      "symlink link → /anywhere/at all",
      "file run 755",
    ],
  );
  const dated = entries.find(({ name }) => name === "b.txt");
  assert.equal(dated?.mtime.getTime(), 1_000_000_000, "whole seconds");
});

test("sockets are skipped and empty folders kept", async (t) => {
  using folder = tempFolder();
  await mkdir(join(folder.path, "empty"));
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder.path, "socket"), resolve));
  t.after(() => server.close());
  assert.deepEqual(
    (await entriesOf(folder.path)).map(({ name }) => name),
    ["empty/"],
  );
  assert.deepEqual(await entriesOf(join(folder.path, "empty")), []);
});

test("names longer than a tar header has room for survive", async () => {
  using folder = tempFolder();
  const name = `${"d".repeat(120)}/${"ü".repeat(60)}`;
  await writeLayer(
    [fileEntry(name, "x"), { type: "symlink", name: "l", target: name, mtime: new Date(0) }],
    join(folder.path, "layer"),
  );
  const headers = await headersOf(gunzipSync(await readFile(join(folder.path, "layer"))));
  assert.deepEqual(
    headers.map((header) => [header.name, header.linkname]),
    [
      [name, null],
      ["l", name],
    ],
  );
});
