// SPDX-License-Identifier: Apache-2.0
// Entries without a valid size: tar-stream alone would wait for their content forever.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { pack } from "tar-stream";
import { openContentStore } from "../content/content-store.ts";
import { mediaTypes } from "../content/manifest.ts";
import { isOciError } from "../content/oci-error.ts";
import { readArchive } from "../xpkg/xpkg-archive.ts";
import { createTarReader } from "./layer-archive.ts";
import { unpackLayer } from "./unpack-layer.ts";

/** An archive of two files, the first of which has these bytes as its size. */
async function archiveWith(size: Uint8Array): Promise<Buffer> {
  const tar = pack();
  tar.entry({ name: "first" }, "content");
  tar.entry({ name: "second" }, "content");
  tar.finalize();
  const bytes = await buffer(tar);
  bytes.set(size, 124);
  // The checksum counts its own field as spaces.
  bytes.fill(" ", 148, 156);
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}

const octal = (value: number): Buffer => Buffer.from(`${value.toString(8).padStart(11, "0")}\0`);
const base256 = (first: number, last: number): Buffer => Buffer.from([first, ...Array<number>(10).fill(0), last]);

async function read(bytes: Buffer): Promise<string[]> {
  const tar = createTarReader();
  const reading = pipeline(Readable.from([bytes]), tar);
  reading.catch(() => {});
  const names: string[] = [];
  for await (const entry of tar) {
    names.push(`${entry.header.name} ${(await buffer(entry as AsyncIterable<Buffer>)).length}`);
  }
  await reading;
  return names;
}

for (const [title, size] of Object.entries({ octal: octal(7), "base 256": base256(0x80, 7) })) {
  test(`an entry with a size in ${title} is read`, async () => {
    assert.deepEqual(await read(await archiveWith(size)), ["first 7", "second 7"]);
  });
}

const invalid: Readonly<Record<string, Uint8Array>> = {
  "a first byte that no notation has": base256(0xab, 7),
  "a negative number": base256(0xff, 7),
  "a number that is too large": Buffer.from([0x80, ...Array<number>(11).fill(0xff)]),
  letters: Buffer.from("not a number"),
};
for (const [title, size] of Object.entries(invalid)) {
  test(`an entry whose size is ${title} ends the archive with an error`, async () => {
    await assert.rejects(
      read(await archiveWith(size)),
      /^Error: (the entry "first" has no valid size|Invalid header)$/,
    );
  });
}

test("a layer and a package file with such an entry are refused", async () => {
  using folder = tempFolder();
  const bytes = await archiveWith(base256(0xab, 7));
  const layer = { mediaType: mediaTypes.ociLayer, open: () => Readable.from([bytes]), name: "layer 1" };
  await assert.rejects(unpackLayer(layer, folder.path, { bytes: 10_000, entries: 10 }), isOciError);
  const store = await openContentStore(join(folder.path, "store"));
  const path = join(folder.path, "a.xpkg");
  writeFileSync(path, bytes);
  await assert.rejects(readArchive(store, path, "a.xpkg"), {
    message: 'a.xpkg is not a package file: the entry "first" has no valid size; build one with "purlin xpkg build"',
  });
});
