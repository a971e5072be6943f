// SPDX-License-Identifier: Apache-2.0
// What registries send: references, manifests, configurations, layers, archives and challenges.
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { parseElf } from "../../../packages/function-process/src/elf/linked-files.ts";
import { parseChallenges } from "../../../packages/oci/src/client/registry-auth.ts";
import { mediaTypes, parseManifest } from "../../../packages/oci/src/content/manifest.ts";
import {
  credentialsFromDockerConfig,
  formatReference,
  isImageReferenceError,
  isOciError,
  isPackageError,
  isPullSecretError,
  openContentStore,
  parseImageConfig,
  parseReference,
  readArchive,
  unpackLayer,
} from "../../../packages/oci/src/index.ts";
import { parseRegistryPath } from "../../../packages/oci/src/registry/registry-handler.ts";
import { decodeMappings, encodeMappings } from "../../../packages/oci/src/xpkg/bundle-function.ts";
import { accepted, acceptedAsync, isRefusal, property, type Target } from "../engine/target.ts";

export const imageReference: Target = {
  covers: ["oci/src/content", "oci/src/client", "oci/src/registry"],
  dictionary: [
    "/",
    ":",
    "@",
    "sha256:",
    "localhost",
    "[::1]",
    ":5000",
    "latest",
    "library",
    "v2",
    "blobs",
    "manifests",
    "uploads",
  ],
  seeds: [
    "xpkg.example.org/a/b:v1.0.0",
    `localhost:5000/a@sha256:${"0".repeat(64)}`,
    "a",
    "[::1]:5000/a/b",
    "/v2/a/b/manifests/latest",
    "/v2/a/blobs/uploads/1",
  ],
  growth: {
    parts: (count) => `a${"/a".repeat(count)}`,
    colons: (count) => ":".repeat(count),
    dots: (count) => "a.".repeat(count),
  },
  run(input) {
    const text = input.toString();
    const reference = accepted(() => parseReference(text), isImageReferenceError);
    if (reference !== undefined) {
      const written = formatReference(reference);
      property(formatReference(parseReference(written)) === written, `a reference is written as ${written}`);
    }
    parseRegistryPath(text);
  },
};

const digest = `sha256:${"a".repeat(64)}`;
const descriptor = `{"mediaType":"${mediaTypes.ociLayer}","digest":"${digest}","size":5}`;
const manifest = `{"schemaVersion":2,"mediaType":"${mediaTypes.ociManifest}","config":${descriptor},"layers":[${descriptor}],"annotations":{"a":"b"}}`;
const index = `{"schemaVersion":2,"mediaType":"${mediaTypes.ociIndex}","manifests":[${descriptor.replace("}", ',"platform":{"os":"linux","architecture":"amd64"}}')}]}`;
const config =
  '{"os":"linux","architecture":"amd64","config":{"Env":["A=b"],"Cmd":["a"],"Entrypoint":["b"],"WorkingDir":"/","User":"1","Labels":{"a":"b"}},"rootfs":{"diff_ids":["x"]}}';

export const ociManifest: Target = {
  covers: ["oci/src/content", "oci/src/image"],
  dictionary: [
    '"layers":[',
    '"manifests":[',
    '"config":',
    '"digest":"',
    digest,
    '"size":-1',
    '"platform":{',
    "null",
    "{",
    "}",
    "[",
    "]",
    ",",
    '"Env":[',
    '"auths":{',
    '"auth":"YTpi"',
  ],
  seeds: [
    manifest,
    index,
    config,
    '{"auths":{"https://index.docker.io/v1/":{"auth":"YTpi"},"a":{"identitytoken":"x"}}}',
  ],
  growth: {
    layers: (count) => manifest.replace('layers":[', `layers":[${`${descriptor},`.repeat(Math.min(count, 900))}`),
    labels: (count) => config.replace('"a":"b"', Array.from({ length: count }, (_, at) => `"k${at}":"v"`).join()),
  },
  run(input) {
    for (const type of ["", mediaTypes.ociIndex, mediaTypes.ociManifest]) {
      accepted(() => parseManifest(input, type, "m"), isOciError);
    }
    accepted(() => parseImageConfig(input, "c"), isOciError);
    accepted(() => credentialsFromDockerConfig(input.toString(), "s")("index.docker.io/library/a"), isPullSecretError);
  },
};

export const headersOfRegistries: Target = {
  covers: ["oci/src/content", "oci/src/xpkg"],
  dictionary: ["Bearer ", "Basic ", "realm=", '"https://a/t"', "service=", "scope=", ",", '\\"', " ", ";", "A", "g"],
  seeds: [
    'Bearer realm="https://a/token",service="a",scope="repository:a/b:pull"',
    'Basic realm="x", Bearer realm=y',
    "AAAA,CAAC;;SAAS",
  ],
  growth: {
    parameters: (count) => `Bearer ${'a="b",'.repeat(count)}`,
    words: (count) => "a ".repeat(count),
    quotes: (count) => `Bearer a="${'\\"'.repeat(count)}`,
    mappings: (count) => "AAAA,".repeat(count),
  },
  run(input) {
    const text = input.toString("latin1");
    parseChallenges(text);
    const lines = accepted(() => decodeMappings(text), isRefusal);
    if (lines === undefined) return;
    const written = encodeMappings(lines);
    property(encodeMappings(decodeMappings(written)) === written, "mappings change in a round trip");
  },
};

/** A program with an interpreter and one library. */
function elfProgram(): Buffer {
  const bytes = Buffer.alloc(512);
  Buffer.from("7f454c4602010100", "hex").copy(bytes);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(3, 56);
  const segment = (at: number, [type, offset, size]: readonly [number, number, number]): void => {
    bytes.writeUInt32LE(type, at);
    bytes.writeBigUInt64LE(BigInt(offset), at + 8);
    bytes.writeBigUInt64LE(BigInt(offset), at + 16);
    bytes.writeBigUInt64LE(BigInt(size), at + 32);
  };
  segment(64, [1, 0, 512]);
  segment(120, [3, 240, 16]);
  segment(176, [2, 256, 64]);
  bytes.write("/lib/ld.so", 240);
  for (const [index, [tag, value]] of (
    [
      [1, 1],
      [5, 384],
      [10, 64],
      [29, 9],
    ] as const
  ).entries()) {
    bytes.writeBigUInt64LE(BigInt(tag), 256 + index * 16);
    bytes.writeBigUInt64LE(BigInt(value), 264 + index * 16);
  }
  bytes.write("\0libc.so\0$ORIGIN/x:/y", 384);
  return bytes;
}

export const elf: Target = {
  covers: ["function-process/src/elf"],
  dictionary: ["\x7fELF", "/lib/ld.so", "$ORIGIN", "\0"],
  seeds: [elfProgram()],
  run(input) {
    const parsed = parseElf((offset, length) => input.subarray(offset, Math.min(input.length, offset + length)));
    property(parsed === undefined || parsed.needed.every((name) => typeof name === "string"), "a library has no name");
  },
};

/** One header block of a tar file, and the content after it. */
function tarEntry(name: string, type: string, content: string, link = ""): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${Buffer.byteLength(content).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write(type, 156);
  header.write(link, 157);
  header.write("ustar\x0000", 257);
  const padded = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512);
  padded.write(content);
  return withChecksum(Buffer.concat([header, padded]), 0);
}

/** Writes the checksum of the header at an offset, so that mutations of it are read. */
function withChecksum(bytes: Buffer, at: number): Buffer {
  bytes.fill(" ", at + 148, at + 156);
  const sum = bytes.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, at + 148, "latin1");
  return bytes;
}

function repairTar(input: Buffer): Buffer {
  const bytes = Buffer.concat([input, Buffer.alloc((512 - (input.length % 512)) % 512)]);
  for (let at = 0; at + 512 <= bytes.length; ) {
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8) || 0;
    if (bytes.subarray(at, at + 512).some((byte) => byte !== 0)) withChecksum(bytes, at);
    at += 512 + Math.ceil(Math.max(0, Math.min(size, bytes.length)) / 512) * 512;
  }
  return Buffer.concat([bytes, Buffer.alloc(1024)]);
}

const end = Buffer.alloc(1024);
const layer = Buffer.concat([
  tarEntry("a/", "5", ""),
  tarEntry("a/b", "0", "text"),
  tarEntry("a/l", "2", "", "../../etc"),
  tarEntry("a/h", "1", "", "a/b"),
  tarEntry("a/.wh.c", "0", ""),
  end,
]);
const long = Buffer.concat([tarEntry("././@LongLink", "L", "x".repeat(300)), tarEntry("y", "0", "1"), end]);
const pax = Buffer.concat([
  tarEntry("p", "x", "20 path=../../escape\n16 size=99999999\n"),
  tarEntry("z", "0", "1"),
  end,
]);

const scratch = mkdtempSync(join(tmpdir(), "purlin-fuzz-"));
const outside = join(scratch, "outside");
const roots = join(scratch, "roots");
for (const folder of [outside, roots]) mkdirSync(folder);
writeFileSync(join(outside, "kept"), "kept");
let rootCount = 0;

const mediaTypeOf = (first: number): string =>
  [mediaTypes.ociLayer, mediaTypes.ociLayer.replace("gzip", "zstd"), mediaTypes.ociLayer.replace("+gzip", "")][
    first % 3
  ] ?? "";

/** The first byte says how the rest is compressed, and whether it is a tar file that is compressed here. */
function layerBytes(input: Buffer): { readonly bytes: Buffer; readonly mediaType: string } {
  const first = input[0] ?? 0;
  const mediaType = mediaTypeOf(first);
  const rest = input.subarray(1);
  if (first >= 0x80) return { bytes: rest, mediaType };
  const tar = repairTar(rest);
  if (mediaType.endsWith("zstd")) return { bytes: zstdCompressSync(tar), mediaType };
  return { bytes: mediaType.endsWith("gzip") ? gzipSync(tar, { level: 1 }) : tar, mediaType };
}

const seedLayer = (first: number, bytes: Uint8Array): Buffer => Buffer.concat([Buffer.of(first), bytes]);

export const imageLayer: Target = {
  covers: ["oci/src/image"],
  dictionary: [
    "../",
    "/",
    ".wh.",
    ".wh..wh..opq",
    "a/b",
    "2",
    "1",
    "5",
    "L",
    "x",
    "g",
    "3",
    "4",
    "6",
    "S",
    "path=",
    "linkpath=",
    "size=",
  ],
  maxBytes: 8192,
  seeds: [
    seedLayer(2, layer),
    seedLayer(0, long),
    seedLayer(1, pax),
    seedLayer(0x81, gzipSync(layer)),
    seedLayer(0x81, zstdCompressSync(layer)),
  ],
  async run(input) {
    rootCount += 1;
    const root = join(roots, String(rootCount));
    mkdirSync(root);
    const { bytes, mediaType } = layerBytes(input);
    const source = { mediaType, open: () => Readable.from([bytes]), name: "layer" };
    try {
      await acceptedAsync(() => unpackLayer(source, root, { bytes: 2 ** 20, entries: 100 }), isOciError);
      property(
        readdirSync(outside).join() === "kept" && readdirSync(scratch).length === 2,
        "a layer wrote outside its root",
      );
      property(readdirSync(roots).length === 1 && lstatSync(root).isDirectory(), "a layer wrote beside its root");
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
  close: async () => rmSync(scratch, { recursive: true, force: true }),
};

const archive = Buffer.concat([
  tarEntry("manifest.json", "0", '[{"Config":"config.json","RepoTags":["a:b"],"Layers":["l.tar.gz"]}]'),
  tarEntry("config.json", "0", config),
  tarEntry("l.tar.gz", "0", "not gzip"),
  end,
]);

export const packageArchive: Target = {
  covers: ["oci/src/xpkg", "oci/src/content"],
  dictionary: ["manifest.json", '"Config":', '"Layers":[', "[", "]", "{", "}", "null", "../", '"a"'],
  maxBytes: 8192,
  seeds: [archive],
  async run(input) {
    const folder = mkdtempSync(join(tmpdir(), "purlin-fuzz-"));
    try {
      const file = join(folder, "a.xpkg");
      writeFileSync(file, repairTar(input));
      const store = await openContentStore(join(folder, "store"));
      const isOwn = (error: unknown): boolean => isPackageError(error) || isOciError(error);
      await acceptedAsync(() => readArchive(store, file, "a.xpkg"), isOwn);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
