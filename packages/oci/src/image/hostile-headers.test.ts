// SPDX-License-Identifier: Apache-2.0
// Tar headers that no tool writes: sizes that are negative, endless or wrong, names that come twice or by detours.
import assert from "node:assert/strict";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { mediaTypes } from "../content/manifest.ts";
import { isOciError } from "../content/oci-error.ts";
import { unpackLayer } from "./unpack-layer.ts";

interface RawEntry {
  readonly name?: string;
  readonly type?: string;
  readonly linkname?: string;
  readonly mode?: string;
  /** What the header says, as octal digits or as 12 bytes; the length of the content unless given. */
  readonly size?: string | Buffer;
  readonly content?: string | Buffer;
  readonly magic?: string;
  readonly prefix?: string;
  readonly checksum?: string;
}

/** One header and its content, exactly as they are given. */
function raw({ name = "f", type = "0", linkname = "", mode = "0000644", content = "", ...rest }: RawEntry): Buffer {
  const body = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(name, 0, 100, "latin1");
  header.write(`${mode}\0`, 100, "latin1");
  header.write("0000000\0", 108, "latin1");
  header.write("0000000\0", 116, "latin1");
  const size = rest.size ?? body.length.toString(8).padStart(11, "0");
  if (typeof size === "string") header.write(`${size}\0`, 124, 12, "latin1");
  else size.copy(header, 124);
  header.write("00000000000\0", 136, "latin1");
  header.write(type, 156, "latin1");
  header.write(linkname, 157, 100, "latin1");
  header.write(rest.magic ?? "ustar\x0000", 257, "latin1");
  header.write(rest.prefix ?? "", 345, 155, "latin1");
  header.fill(" ", 148, 156);
  const sum = header.reduce((a, b) => a + b, 0);
  header.write(rest.checksum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const end = Buffer.alloc(1024);

/** Records of an extended header: each begins with its own length. */
function pax(values: Readonly<Record<string, string>>): Buffer {
  const records = Object.entries(values).map(([key, value]) => {
    let length = key.length + value.length + 3;
    length += String(length + String(length).length).length;
    return `${length} ${key}=${value}\n`;
  });
  return raw({ name: "PaxHeader", type: "x", content: records.join("") });
}

function gnuLong(type: "L" | "K", text: string): Buffer {
  return raw({ name: "././@LongLink", type, content: `${text}\0`, magic: "ustar  \0" });
}

async function scene(
  t: TestContext,
): Promise<{ root: string; outside: string; unpack(parts: Buffer[]): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-headers-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const [root, outside] = [join(directory, "root"), join(directory, "outside")];
  await mkdir(root);
  await mkdir(outside);
  const budget = { bytes: 5_000_000, entries: 100 };
  return {
    root,
    outside,
    unpack: (parts) => {
      const bytes = Buffer.concat(parts);
      return unpackLayer(
        { mediaType: mediaTypes.ociLayer, open: () => Readable.from([bytes]), name: "layer 1" },
        root,
        budget,
      );
    },
  };
}

const base256 = (bytes: readonly number[]): Buffer =>
  Buffer.from([...bytes, ...Array<number>(12 - bytes.length).fill(0xff)]);
const outsideName = "../outside/stolen";

/** Layers that are refused, and leave nothing outside of the root. */
const refused: Record<string, (outside: string) => Buffer[]> = {
  "a size of minus two": () => [
    raw({ size: base256([...Array<number>(11).fill(0xff), 0xfe]) }),
    raw({ name: "after", content: "x" }),
    end,
  ],
  "a size of minus a lot": () => [raw({ size: base256([0xff, 0x80, 0]) }), end],
  "a size beyond every disk": () => [raw({ size: base256([0x80, 0x7f]) }), end],
  "a size beyond the limit": () => [raw({ size: "77777777777" }), end],
  "a size that is more than there is": () => [raw({ size: "00000010000", content: "short" })],
  "a size that is less than there is": () => [raw({ size: "00000000001", content: "x".repeat(2000) }), end],
  "a size that is not a number": () => [raw({ size: "99xx", content: "abc".repeat(400) }), end],
  "a wrong checksum": () => [raw({ content: "x", checksum: "000001\0 " }), end],
  "an end in the middle of a header": () => [raw({ content: "x" }).subarray(0, 300)],
  "an end in the middle of a file": () => [raw({ content: "x".repeat(5000) }).subarray(0, 2048)],
  "an extended name that climbs": () => [pax({ path: outsideName }), raw({ content: "x" }), end],
  "a long name that climbs": () => [gnuLong("L", outsideName), raw({ content: "x" }), end],
  "a prefix that climbs": () => [raw({ name: "stolen", prefix: "../outside", content: "x" }), end],
  "an extended hard link that climbs": () => [pax({ linkpath: outsideName }), raw({ type: "1", linkname: "a" }), end],
  "a long hard link that climbs": () => [gnuLong("K", outsideName), raw({ type: "1", linkname: "a" }), end],
  "an extended size beyond the limit": () => [pax({ size: "99999999999" }), raw({ content: "x" }), end],
  "an extended size below nothing": () => [pax({ size: "-512" }), raw({ content: "x" }), end],
  "an extended name with a NUL": () => [pax({ path: "a\0b" }), raw({ content: "x" }), end],
  "an extended name of 5,000 bytes": () => [pax({ path: "d/".repeat(2500) }), raw({ content: "x" }), end],
  "a long name of 5,000 bytes": () => [gnuLong("L", "d/".repeat(2500)), raw({ content: "x" }), end],
  "one part of 4,000 bytes": () => [gnuLong("L", "n".repeat(4000)), raw({ content: "x" }), end],
  "an absolute hard link to what is only outside": (outside) => [raw({ type: "1", linkname: `${outside}/x` }), end],
};
for (const [why, parts] of Object.entries(refused)) {
  test(`refused: ${why}`, async (t) => {
    const { outside, unpack } = await scene(t);
    await assert.rejects(unpack(parts(outside)), (error) => isOciError(error));
    assert.deepEqual(await readdir(outside), []);
  });
}

const longFolder = `${"d".repeat(49)}/`.repeat(79);

/** Layers that are taken, with what is then in the root. */
const taken: Record<string, { readonly parts: Buffer[]; readonly holds: Readonly<Record<string, string>> }> = {
  "a name that comes twice: the later one counts": {
    parts: [raw({ content: "first" }), raw({ content: "second" }), end],
    holds: { f: "second" },
  },
  "a file, a link of the same name, and a file again": {
    parts: [raw({ content: "1" }), raw({ type: "2", linkname: "/etc/passwd" }), raw({ content: "3" }), end],
    holds: { f: "3" },
  },
  "a name of 4,000 bytes": {
    parts: [gnuLong("L", `${longFolder}f`), raw({ content: "deep" }), end],
    holds: { [`${longFolder}f`]: "deep" },
  },
  "an extended name, and one that is absolute": {
    parts: [pax({ path: "a/long/name" }), raw({ content: "1" }), pax({ path: "/b" }), raw({ content: "2" }), end],
    holds: { "a/long/name": "1", b: "2" },
  },
  "an extended size that is right": { parts: [pax({ size: "3" }), raw({ content: "abc" }), end], holds: { f: "abc" } },
  "a setuid program": { parts: [raw({ mode: "0006755", content: "x" }), end], holds: { f: "x" } },
  "devices, pipes and unknown types": {
    parts: [
      ...["3", "4", "6", "D", "M", "V", "Z"].map((type) => raw({ name: `n${type}`, type })),
      raw({ content: "x" }),
      end,
    ],
    holds: { f: "x" },
  },
  "zeros and nothing else": { parts: [end, Buffer.alloc(102_400)], holds: {} },
};
for (const [why, { parts, holds }] of Object.entries(taken)) {
  test(`taken: ${why}`, async (t) => {
    const { root, outside, unpack } = await scene(t);
    await unpack(parts);
    for (const [name, content] of Object.entries(holds)) {
      assert.equal(await readFile(join(root, name), "utf8"), content);
      assert.equal((await lstat(join(root, name))).mode & 0o7000, 0);
    }
    assert.deepEqual(await readdir(outside), []);
    for (const entry of await readdir(root, { withFileTypes: true })) {
      assert.ok(entry.isFile() || entry.isDirectory(), entry.name);
    }
  });
}
