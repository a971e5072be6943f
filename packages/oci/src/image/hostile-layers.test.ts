// SPDX-License-Identifier: Apache-2.0
// Layers that were made to do harm: nothing is written outside of the root or past the limit.
import assert from "node:assert/strict";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { type Header, pack } from "tar-stream";
import { mediaTypes } from "../content/manifest.ts";
import { isOciError } from "../content/oci-error.ts";
import { type UnpackBudget, unpackLayer } from "./unpack-layer.ts";

type Item = Partial<Header> & Pick<Header, "name"> & { readonly content?: string | Buffer };
const file = (name: string, content: string | Buffer = name): Item => ({ name, content });
const link = (name: string, linkname: string): Item => ({ name, type: "symlink", linkname });
const hardLink = (name: string, linkname: string): Item => ({ name, type: "link", linkname });
const folder = (name: string, mode = 0o755): Item => ({ name, type: "directory", mode });

async function tarOf(items: readonly Item[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of items) tar.entry(header, content ?? "");
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

interface Scene {
  readonly root: string;
  readonly outside: string;
  unpack(items: readonly Item[], budget?: UnpackBudget): Promise<void>;
  /** Fails when anything beside the root changed. */
  assertUntouched(): Promise<void>;
}

async function scene(t: TestContext): Promise<Scene> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-hostile-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const [root, outside] = [join(directory, "root"), join(directory, "outside")];
  await mkdir(root);
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "untouched");
  return {
    root,
    outside,
    unpack: async (items, budget = { bytes: 10_000_000, entries: 1000 }) =>
      unpackBytes(root, gzipSync(await tarOf(items)), { mediaType: mediaTypes.ociLayerGzip, budget }),
    async assertUntouched() {
      assert.deepEqual((await readdir(directory)).toSorted(), ["outside", "root"]);
      assert.deepEqual(await readdir(outside), ["secret"]);
      assert.equal(await readFile(join(outside, "secret"), "utf8"), "untouched");
    },
  };
}

function unpackBytes(
  root: string,
  bytes: Buffer,
  { mediaType, budget }: { mediaType: string; budget: UnpackBudget },
): Promise<void> {
  return unpackLayer({ mediaType, open: () => Readable.from([bytes]), name: "layer 1" }, root, budget);
}

/** Layers that succeed, and touch nothing beside the root. */
const harmless: { why: string; layers: (outside: string) => Item[][] }[] = [
  {
    why: "a link out and a file through it, in one layer",
    layers: (outside) => [[link("out", outside), file("out/secret", "stolen")]],
  },
  { why: "the same in two layers", layers: (outside) => [[link("out", outside)], [file("out/secret", "stolen")]] },
  {
    why: "a chain of links out",
    layers: (outside) => [[link("a", "b"), link("b", "c"), link("c", outside), file("a/secret", "stolen")]],
  },
  {
    why: "a relative chain out",
    layers: () => [[link("d/a", "../../outside"), link("b", "d/a"), file("b/secret", "stolen")]],
  },
  { why: "a whiteout through a link", layers: (outside) => [[link("out", outside)], [file("out/.wh.secret", "")]] },
  {
    why: "an opaque whiteout through a link",
    layers: (outside) => [[link("out", outside)], [file("out/.wh..wh..opq", "")]],
  },
  {
    why: "a folder where a link out was",
    layers: (outside) => [[link("out", outside)], [folder("out", 0o777), file("out/secret", "mine")]],
  },
  {
    why: "a link over a link out",
    layers: (outside) => [[link("out", outside)], [link("out", "elsewhere"), file("out/secret", "mine")]],
  },
  {
    why: "a hard link to a link out, then written to",
    layers: (outside) => [[link("l", join(outside, "secret")), hardLink("h", "l"), file("h", "stolen")]],
  },
  {
    why: "a hard link whose folder is a link out",
    layers: (outside) => [
      [link("out", outside), file("out/secret", "inside"), hardLink("h", "out/secret"), file("h", "changed")],
    ],
  },
  {
    why: "a hard link by an absolute path",
    layers: (outside) => [[file(join(outside, "secret"), "inside"), hardLink("h", join(outside, "secret"))]],
  },
  {
    why: "devices and pipes",
    layers: () => [
      [
        { name: "dev/sda", type: "block-device", devmajor: 8, devminor: 0 },
        { name: "dev/mem", type: "character-device", devmajor: 1, devminor: 1 },
        { name: "pipe", type: "fifo" },
      ],
    ],
  },
  { why: "a file where a folder with links was", layers: (outside) => [[link("d/out", outside)], [file("d", "file")]] },
  { why: "a folder where a file was, below it", layers: () => [[file("a", "file")], [file("a/b/c", "deep")]] },
  {
    why: "a link where a folder was, after files below that folder",
    layers: (outside) => [[file("d/e/f"), file("d/e/g"), link("d", outside), file("d/secret", "stolen")]],
  },
  {
    why: "the same below another folder, and in the middle of the path",
    layers: (outside) => [[file("a/d/e/f"), link("a/d", `${outside}/..`), file("a/d/outside/secret", "stolen")]],
  },
  {
    why: "a link where a folder was that a whiteout removed",
    layers: (outside) => [
      [file("d/f"), file("o/d/f")],
      [file("keep"), folder("d"), file(".wh.o", ""), link("d", outside), link("o", "d"), file("o/secret", "stolen")],
    ],
  },
  {
    why: "a link where a file replaced the folder",
    layers: (outside) => [[file("d/f"), file("d", "now a file"), link("d", outside), file("d/secret", "stolen")]],
  },
  {
    why: "a link where a hard link replaced the folder",
    layers: (outside) => [
      [file("x"), file("d/e/f"), hardLink("d", "x"), link("d", outside), file("d/secret", "stolen")],
    ],
  },
  {
    why: "a folder that was known, became a link, and is a folder again",
    layers: (outside) => [
      [file("d/f"), link("d", outside), folder("d"), file("d/g"), link("d", outside), file("d/secret", "stolen")],
    ],
  },
  {
    why: "a whiteout of the folder the link is in",
    layers: (outside) => [[link("d/out", outside)], [file(".wh.d", "")]],
  },
  { why: "the root itself, once more", layers: () => [[folder("./", 0o000), file("a")]] },
];
for (const { why, layers } of harmless) {
  test(`stays inside: ${why}`, async (t) => {
    const { outside, unpack, assertUntouched } = await scene(t);
    for (const items of layers(outside)) await unpack(items);
    await assertUntouched();
  });
}

const refused: { why: string; items: (outside: string) => Item[]; says: RegExp }[] = [
  { why: "a path that climbs", items: () => [file("../outside/secret", "stolen")], says: /outside of the image/ },
  { why: "a folder that climbs", items: () => [folder("../outside/new")], says: /outside of the image/ },
  { why: "a link placed outside", items: () => [link("../outside/l", "x")], says: /outside of the image/ },
  {
    why: "a device placed outside",
    items: () => [{ name: "../outside/null", type: "character-device" }],
    says: /outside of the image/,
  },
  { why: "a whiteout that climbs", items: () => [file("../outside/.wh.secret", "")], says: /outside of the image/ },
  {
    why: "an opaque whiteout that climbs",
    items: () => [file("../outside/.wh..wh..opq", "")],
    says: /outside of the image/,
  },
  { why: "a whiteout of the folder above", items: () => [file(".wh...", "")], says: /hides \.wh\.\.\./ },
  { why: "a whiteout of its own folder", items: () => [file("a/.wh..", "")], says: /hides \.wh\.\./ },
  {
    why: "a hard link out",
    items: (outside) => [hardLink("a", `../${outside.split("/").at(-1)}/secret`)],
    says: /outside of the image/,
  },
  {
    why: "a hard link to what is only outside",
    items: (outside) => [hardLink("a", join(outside, "secret"))],
    says: /is not a file of the image/,
  },
  {
    why: "a hard link through a link out",
    items: (outside) => [link("out", outside), hardLink("a", "out/secret")],
    says: /is not a file of the image/,
  },
  {
    why: "a hard link that replaces the folder of what it links to",
    items: () => [file("a/b"), hardLink("a", "a/b")],
    says: /links to "a\/b", which the link itself replaces/,
  },
  {
    why: "a name longer than any",
    items: () => [file("n".repeat(300), "x")],
    says: /layer 1 cannot be unpacked: ENAMETOOLONG/,
  },
  {
    why: "a path longer than any",
    items: () => [file(`${"d/".repeat(3000)}f`, "x")],
    says: /a name of 6001 characters/,
  },
  {
    why: "a path deeper than any",
    items: () => [file(`${"d/".repeat(256)}f`, "x")],
    says: /a name of 257 folders, more than 256/,
  },
  {
    why: "a path that links make deeper than any",
    items: () => [folder("e"), link("l", "e/../".repeat(120)), file(`${"l/".repeat(9)}f`, "x")],
    says: /longer than 1024 folders with its links/,
  },
];
for (const { why, items, says } of refused) {
  test(`refused: ${why}`, async (t) => {
    const { outside, unpack, assertUntouched } = await scene(t);
    await assert.rejects(unpack(items(outside)), (error: Error) => isOciError(error) && says.test(error.message));
    await assertUntouched();
  });
}

const compressions = {
  gzip: { mediaType: mediaTypes.ociLayerGzip, compress: gzipSync },
  zstd: { mediaType: mediaTypes.ociLayerZstd, compress: zstdCompressSync },
};
for (const [name, { mediaType, compress }] of Object.entries(compressions)) {
  test(`a ${name} layer that unpacks to a hundred times its size stops at the limit`, async (t) => {
    const { root } = await scene(t);
    const limit = 2_000_000;
    const bomb = compress(await tarOf([file("zeros", Buffer.alloc(20_000_000)), file("after")]));
    assert.ok(bomb.length * 100 < 20_000_000, `${bomb.length}`);
    const budget = { bytes: limit, entries: 10 };
    await assert.rejects(unpackBytes(root, bomb, { mediaType, budget }), (error) => isOciError(error, "TOO_LARGE"));
    assert.ok(((await stat(join(root, "zeros")).catch(() => undefined))?.size ?? 0) <= limit);
    assert.ok(!(await readdir(root)).includes("after"));
  });
}

test("the budget is one for all layers of an image", async (t) => {
  const { unpack } = await scene(t);
  const budget = { bytes: 1_000_000, entries: 5 };
  await unpack([file("a", Buffer.alloc(600_000)), file("b")], budget);
  await assert.rejects(unpack([file("c", Buffer.alloc(600_000))], budget), /unpacks to more than is allowed/);
  const entries = { bytes: 1_000_000, entries: 3 };
  await unpack([file("a"), file("b")], entries);
  await assert.rejects(unpack([file("c"), file("d")], entries), /has more files than are allowed/);
});

test("folders that no entry names count as those that one does", async (t) => {
  const { root, unpack } = await scene(t);
  const deep = (top: string): Item => file(`${top}/${"a/".repeat(99)}f`, "");
  const left = { bytes: 1_000_000, entries: 1000 };
  await unpack([deep("1"), deep("2"), file("1/a/a/g", "")], left);
  assert.equal(left.entries, 1000 - 2 * 101 - 1, "100 folders and a file each, and one more file");
  await unpack([file("1/a/a/h", "")], left);
  assert.equal(left.entries, 1000 - 2 * 101 - 2, "folders of lower layers are there already");
  const many = Array.from({ length: 50 }, (_, at) => deep(`m${at}`));
  await assert.rejects(unpack(many, { bytes: 1_000_000, entries: 1000 }), (error) => isOciError(error, "TOO_LARGE"));
  const made = await readdir(root, { recursive: true });
  assert.ok(made.length <= 1000 + 205, `${made.length} files and folders`);
});

test("a file whose header exceeds the limit is not written", async (t) => {
  const { root, unpack } = await scene(t);
  const many = Array.from({ length: 50 }, (_, at) => file(`f${at}`, Buffer.alloc(100_000)));
  await assert.rejects(unpack(many, { bytes: 1_000_000, entries: 100 }), (error) => isOciError(error, "TOO_LARGE"));
  const sizes = await Promise.all((await readdir(root)).map(async (name) => (await stat(join(root, name))).size));
  assert.ok(sizes.reduce((a, b) => a + b, 0) <= 1_000_000);
});

test("an extended header without end is refused, not read into memory", async (t) => {
  const { root } = await scene(t);
  const tar = await tarOf([{ name: "x".repeat(200), pax: { comment: "y" } } as Item]);
  // The size of the extended header: 11 octal digits at byte 124, covered by a checksum, which is corrected.
  tar.write("77777777777", 124, "latin1");
  tar.fill(" ", 148, 156);
  const sum = tar.subarray(0, 512).reduce((a, b) => a + b, 0);
  tar.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  const layer = { mediaType: mediaTypes.ociLayer, budget: { bytes: 1e12, entries: 10 } };
  await assert.rejects(unpackBytes(root, tar, layer), /layer 1 cannot be unpacked: /);
});

test("rights: no setuid, folders can be filled, files are as they were", async (t) => {
  const { root, unpack } = await scene(t);
  await unpack([
    folder("locked", 0o100),
    { name: "locked/su", content: "x", mode: 0o7777 },
    { name: "locked/none", content: "x", mode: 0o001 },
    folder("sticky", 0o1777),
  ]);
  const mode = async (name: string): Promise<number> => (await lstat(join(root, name))).mode & 0o7777;
  assert.deepEqual([await mode("locked"), await mode("locked/su"), await mode("sticky")], [0o700, 0o777, 0o777]);
  await unpack([file("locked/none", "again")]);
  assert.equal(await readFile(join(root, "locked/none"), "utf8"), "again");
});

test("whiteouts take what lower layers brought, and nothing else", async (t) => {
  const { root, unpack } = await scene(t);
  await unpack([file("d/a"), file("d/b"), link("d/l", "a"), file("d/sub/c"), file("keep")]);
  await unpack([file("d/.wh.a", ""), file("d/.wh.l", ""), file("d/.wh.never-there", ""), file("none/.wh.x", "")]);
  assert.deepEqual((await readdir(join(root, "d"))).toSorted(), ["b", "sub"]);
  await unpack([file("d/.wh..wh..opq", ""), file("d/sub/new")]);
  assert.deepEqual(await readdir(join(root, "d")), ["sub"]);
  assert.deepEqual((await readdir(root)).toSorted(), ["d", "keep"]);
  const inside = (await readdir(join(root, "d", "sub"))).toSorted();
  assert.deepEqual(inside, ["new"], "an emptied folder is empty at every depth");
});

test("an emptied or removed folder keeps what its own layer brings, whichever comes first", async (t) => {
  for (const mark of ["d/.wh..wh..opq", ".wh.d"]) {
    for (const isFirst of [true, false]) {
      const { root, unpack } = await scene(t);
      await unpack([file("d/old"), file("d/sub/old"), file("d/gone/old")]);
      const brought = [file("d/new"), file("d/sub/new")];
      await unpack(isFirst ? [file(mark, ""), ...brought] : [...brought, file(mark, "")]);
      const left = (await readdir(join(root, "d"), { recursive: true })).toSorted();
      assert.deepEqual(left, ["new", "sub", "sub/new"], `${mark} ${isFirst ? "first" : "last"}`);
    }
  }
});

test("random layers stay inside, whatever they hold", async (t) => {
  const { root, outside, assertUntouched } = await scene(t);
  const name = fc
    .array(fc.constantFrom("a", "b", "..", ".", "", "c", ".wh.a", ".wh..wh..opq", "out"), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join("/") || "a");
  const item = fc.oneof(
    name.map((one) => file(one, "stolen")),
    name.map((one) => folder(one)),
    fc.tuple(name, fc.oneof(name, fc.constant(outside), fc.constant("../outside"))).map(([one, to]) => link(one, to)),
    fc.tuple(name, name).map(([one, to]) => hardLink(one, to)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 12 }), async (items) => {
      const bytes = gzipSync(await tarOf(items.filter((one) => one.name !== "" && !one.name.startsWith("/"))));
      const layer = { mediaType: mediaTypes.ociLayerGzip, budget: { bytes: 1_000_000, entries: 100 } };
      await unpackBytes(root, bytes, layer).catch((error: unknown) => assert.ok(isOciError(error), String(error)));
      await assertUntouched();
    }),
    { numRuns: 200 },
  );
});

test("symbolic links are unpacked unchanged", async (t) => {
  const { root, unpack } = await scene(t);
  await unpack([link("etc/localtime", "/usr/share/zoneinfo/UTC"), link("up", "../../x")]);
  assert.deepEqual(
    [await readlink(join(root, "etc/localtime")), await readlink(join(root, "up"))],
    ["/usr/share/zoneinfo/UTC", "../../x"],
  );
});
