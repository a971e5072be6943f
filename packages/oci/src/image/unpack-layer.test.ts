// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { type Header, pack } from "tar-stream";
import { mediaTypes } from "../content/manifest.ts";
import { type UnpackBudget, unpackLayer } from "./unpack-layer.ts";

type Item = Partial<Header> & Pick<Header, "name"> & { readonly content?: string | Buffer };

async function tarOf(items: readonly Item[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of items) tar.entry(header, content ?? "");
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A root with a neighbour that must not change. */
async function rootOf(t: TestContext): Promise<{ root: string; outside: string }> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-unpack-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const [root, outside] = [join(directory, "root"), join(directory, "outside")];
  await mkdir(root);
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "untouched");
  return { root, outside };
}

const plenty = (): UnpackBudget => ({ bytes: 10_000_000, entries: 1000 });

async function unpack(root: string, items: readonly Item[], budget: UnpackBudget = plenty()): Promise<void> {
  const bytes = gzipSync(await tarOf(items));
  const open = (): Readable => Readable.from([bytes]);
  await unpackLayer({ mediaType: mediaTypes.ociLayerGzip, open, name: "layer 1" }, root, budget);
}

const file = (name: string, content = name): Item => ({ name, content });
const link = (name: string, linkname: string): Item => ({ name, type: "symlink", linkname });
const hardLink = (name: string, linkname: string): Item => ({ name, type: "link", linkname });

test("files, folders, links, modes and times come out as they went in", async (t) => {
  const { root } = await rootOf(t);
  const mtime = new Date("2024-05-06T07:08:09Z");
  await unpack(root, [
    { name: "bin", type: "directory", mode: 0o755 },
    { name: "bin/run", content: "#!", mode: 0o4755, mtime },
    { name: "locked", type: "directory", mode: 0o555 },
    file("locked/inside"),
    file("deep/er/than/listed"),
    link("etc", "deep"),
    hardLink("bin/same", "bin/run"),
    { name: "dev/null", type: "character-device", devmajor: 1, devminor: 3 },
    { name: "pipe", type: "fifo" },
  ]);
  const run = await stat(join(root, "bin/run"));
  assert.equal(run.mode & 0o7777, 0o755, "without setuid");
  assert.equal(run.mtime.toISOString(), mtime.toISOString());
  assert.equal((await stat(join(root, "bin/same"))).ino, run.ino);
  assert.equal(await readFile(join(root, "locked/inside"), "utf8"), "locked/inside");
  assert.equal(await readlink(join(root, "etc")), "deep");
  assert.equal(await readFile(join(root, "deep/er/than/listed"), "utf8"), "deep/er/than/listed");
  assert.deepEqual((await readdir(root)).toSorted(), ["bin", "deep", "dev", "etc", "locked"]);
  assert.deepEqual(await readdir(join(root, "dev")), [], "devices and pipes are left out");
});

test("every compression, and none", async (t) => {
  const bytes = await tarOf([file("a")]);
  const rows: { mediaType: string; packed: Buffer }[] = [
    { mediaType: "application/vnd.oci.image.layer.v1.tar", packed: bytes },
    { mediaType: mediaTypes.ociLayerGzip, packed: gzipSync(bytes) },
    { mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip", packed: gzipSync(bytes) },
    { mediaType: "application/vnd.oci.image.layer.v1.tar+zstd", packed: zstdCompressSync(bytes) },
  ];
  for (const { mediaType, packed } of rows) {
    const { root } = await rootOf(t);
    await unpackLayer({ mediaType, open: () => Readable.from([packed]), name: "x" }, root, plenty());
    assert.equal(await readFile(join(root, "a"), "utf8"), "a", mediaType);
  }
});

test("a later layer replaces, hides, and clears", async (t) => {
  const { root } = await rootOf(t);
  await unpack(root, [
    file("a"),
    file("b/c"),
    file("b/d"),
    file("e/f"),
    file("e/g"),
    file("h/i"),
    file("kind"),
    file("x/y"),
  ]);
  await unpack(root, [
    file("a", "new"),
    file(".wh.kind", ""),
    file("b/.wh.c", ""),
    file("e/fresh"),
    file("e/.wh..wh..opq", ""),
    file("h"),
    { name: "x", type: "directory" },
    file("own"),
    file(".wh.own", ""),
  ]);
  assert.equal(await readFile(join(root, "a"), "utf8"), "new");
  assert.deepEqual((await readdir(root)).toSorted(), ["a", "b", "e", "h", "own", "x"]);
  assert.deepEqual(await readdir(join(root, "b")), ["d"]);
  assert.deepEqual(
    await readdir(join(root, "e")),
    ["fresh"],
    "what the same layer brought stays, whichever comes first",
  );
  assert.ok((await lstat(join(root, "h"))).isFile(), "a file in the place of a folder");
  assert.deepEqual(await readdir(join(root, "x")), ["y"], "a folder listed again keeps its contents");
});

test("links of the image are followed inside of it, wherever they point", async (t) => {
  const { root, outside } = await rootOf(t);
  await unpack(root, [
    { name: "usr/bin", type: "directory" },
    link("bin", "usr/bin"),
    link("abs", "/usr/bin"),
    link("up", "../../../../usr/bin"),
    link("out", outside),
  ]);
  await unpack(root, [file("bin/a"), file("abs/b"), file("up/c"), file("out/secret", "stolen?")]);
  assert.deepEqual((await readdir(join(root, "usr/bin"))).toSorted(), ["a", "b", "c"]);
  assert.equal(await readFile(join(outside, "secret"), "utf8"), "untouched");
  assert.equal(await readFile(join(root, outside, "secret"), "utf8"), "stolen?", "the link's target, below the root");
});

const hostile: { what: string; items: Item[]; problem: RegExp }[] = [
  { what: "a path that climbs", items: [file("../outside/secret")], problem: /outside of the image/ },
  { what: "a path that climbs later", items: [file("a/../../outside/secret")], problem: /outside of the image/ },
  { what: "a hard link out", items: [hardLink("a", "../outside/secret")], problem: /outside of the image/ },
  { what: "a hard link to nothing", items: [hardLink("a", "/etc/passwd")], problem: /is not a file of the image/ },
  {
    what: "a hard link to a folder",
    items: [{ name: "d", type: "directory" }, hardLink("a", "d")],
    problem: /is not a file/,
  },
  { what: "a whiteout of the root", items: [file("a/.wh...", "")], problem: /hides \.wh\.\.\./ },
  { what: "a whiteout of nothing", items: [file("a/.wh.", "")], problem: /hides/ },
  { what: "a circle of links", items: [link("a", "b"), link("b", "a"), file("a/x")], problem: /loop of links/ },
];

for (const { what, items, problem } of hostile) {
  test(`refused: ${what}`, async (t) => {
    const { root, outside } = await rootOf(t);
    await assert.rejects(unpack(root, items), problem);
    assert.deepEqual(await readdir(outside), ["secret"]);
    assert.equal(await readFile(join(outside, "secret"), "utf8"), "untouched");
  });
}

test("an absolute path is one below the root", async (t) => {
  const { root, outside } = await rootOf(t);
  await unpack(root, [file(join(outside, "secret"), "stolen?"), hardLink("/copy", join(outside, "secret"))]);
  assert.equal(await readFile(join(outside, "secret"), "utf8"), "untouched");
  assert.equal(await readFile(join(root, "copy"), "utf8"), "stolen?");
});

test("a link in the place of a file is replaced, not followed", async (t) => {
  const { root, outside } = await rootOf(t);
  await symlink(join(outside, "secret"), join(root, "a"));
  await unpack(root, [file("a", "mine")]);
  assert.equal(await readFile(join(outside, "secret"), "utf8"), "untouched");
  assert.equal(await readFile(join(root, "a"), "utf8"), "mine");
});

test("a layer that unpacks to a hundred times its size stops at the limit", async (t) => {
  const { root } = await rootOf(t);
  const bomb = [{ name: "zeros", content: Buffer.alloc(5_000_000) }, file("after")];
  await assert.rejects(
    unpack(root, bomb, { bytes: 1_000_000, entries: 10 }),
    /layer 1 unpacks to more than is allowed/,
  );
  const size = (await stat(join(root, "zeros")).catch(() => undefined))?.size ?? 0;
  assert.ok(size <= 1_000_000, `${size} bytes were written`);
});

test("too many files stop at the limit", async (t) => {
  const { root } = await rootOf(t);
  const many = Array.from({ length: 20 }, (_, at) => file(`f${at}`));
  await assert.rejects(unpack(root, many, { bytes: 1_000_000, entries: 10 }), /more files than are allowed/);
  assert.ok((await readdir(root)).length <= 10);
});

test("a layer that is broken says so", async (t) => {
  const { root } = await rootOf(t);
  const whole = gzipSync(await tarOf([file("a", "x".repeat(10_000))]));
  const rows: { what: string; bytes: Buffer }[] = [
    { what: "cut off", bytes: whole.subarray(0, whole.length / 2) },
    { what: "not compressed at all", bytes: Buffer.from("hello") },
    { what: "a tar cut off", bytes: gzipSync((await tarOf([file("a", "x".repeat(10_000))])).subarray(0, 2000)) },
    { what: "no tar inside", bytes: gzipSync(Buffer.alloc(2048, "x")) },
  ];
  for (const { what, bytes } of rows) {
    const layer = { mediaType: mediaTypes.ociLayerGzip, open: () => Readable.from([bytes]), name: "layer 3" };
    await assert.rejects(unpackLayer(layer, root, plenty()), /layer 3 cannot be unpacked: /, what);
  }
});
