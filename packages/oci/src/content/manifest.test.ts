// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compressionOf,
  digestOf,
  hexOf,
  type ImageIndex,
  isDigest,
  isIndexType,
  isManifestType,
  mediaTypes,
  ociLayerType,
  parseManifest,
  platformOfNode,
  platformText,
  selectPlatform,
} from "./manifest.ts";
import { isOciError } from "./oci-error.ts";

const part = { mediaType: mediaTypes.ociLayerGzip, digest: digestOf("x"), size: 1 };
const parse = (document: unknown, contentType = ""): ReturnType<typeof parseManifest> =>
  parseManifest(
    Buffer.from(typeof document === "string" ? document : JSON.stringify(document)),
    contentType,
    "acme/f:v1",
  );

test("image manifests of OCI and Docker are read", () => {
  const annotations = { a: "b", number: 7 };
  const read = parse(
    { schemaVersion: 2, config: part, layers: [{ ...part, annotations }], annotations },
    mediaTypes.dockerManifest,
  );
  assert.ok(read.kind === "image");
  assert.equal(read.image.mediaType, mediaTypes.dockerManifest, "the header is used where the document has no type");
  assert.deepEqual([read.image.annotations, read.image.layers[0]?.annotations], [{ a: "b" }, { a: "b" }]);
});

const kinds: { why: string; document: object; contentType?: string; kind: "image" | "index"; mediaType: string }[] = [
  {
    why: "by its own word",
    document: { mediaType: mediaTypes.ociIndex, manifests: [] },
    kind: "index",
    mediaType: mediaTypes.ociIndex,
  },
  {
    why: "Docker's",
    document: { mediaType: mediaTypes.dockerIndex, manifests: [] },
    kind: "index",
    mediaType: mediaTypes.dockerIndex,
  },
  {
    why: "by the header",
    document: { manifests: [] },
    contentType: `${mediaTypes.ociIndex}; charset=utf-8`,
    kind: "index",
    mediaType: mediaTypes.ociIndex,
  },
  { why: "by its shape", document: { manifests: [] }, kind: "index", mediaType: mediaTypes.ociIndex },
  {
    why: "an image without a word",
    document: { schemaVersion: 2, config: part, layers: [] },
    kind: "image",
    mediaType: mediaTypes.ociManifest,
  },
  {
    why: "its own word wins",
    document: { schemaVersion: 2, mediaType: mediaTypes.ociManifest, config: part, layers: [] },
    contentType: "text/plain",
    kind: "image",
    mediaType: mediaTypes.ociManifest,
  },
];
for (const { why, document, contentType, kind, mediaType } of kinds) {
  test(`an ${kind}: ${why}`, () => {
    const read = parse(document, contentType);
    assert.equal(read.kind, kind);
    assert.equal(read.kind === "image" ? read.image.mediaType : read.index.mediaType, mediaType);
  });
}

const refused: { why: string; document: unknown; says: RegExp }[] = [
  { why: "no JSON", document: "{", says: /^acme\/f:v1 is not JSON$/ },
  { why: "no object", document: "7", says: /is not a JSON object/ },
  { why: "nothing", document: "null", says: /is not a JSON object/ },
  { why: "version 1", document: { schemaVersion: 1 }, says: /is not an image manifest of schema version 2/ },
  { why: "no configuration", document: { schemaVersion: 2, layers: [] }, says: /config has no media type/ },
  { why: "no layers", document: { schemaVersion: 2, config: part }, says: /layers is not a list/ },
  {
    why: "another digest",
    document: { schemaVersion: 2, config: { ...part, digest: "sha512:00" }, layers: [] },
    says: /no sha256 digest/,
  },
  {
    why: "a digest that climbs",
    document: { schemaVersion: 2, config: { ...part, digest: "sha256:../../x" }, layers: [] },
    says: /no sha256 digest/,
  },
  {
    why: "half a byte",
    document: { schemaVersion: 2, config: { ...part, size: 0.5 }, layers: [] },
    says: /config has no size/,
  },
  {
    why: "more than numbers can say",
    document: { schemaVersion: 2, config: { ...part, size: 1e20 }, layers: [] },
    says: /config has no size/,
  },
  {
    why: "too many layers",
    document: { schemaVersion: 2, config: part, layers: Array(1001).fill(part) },
    says: /more than 1000 entries/,
  },
  {
    why: "a layer that is null",
    document: { schemaVersion: 2, config: part, layers: [null] },
    says: /layers\[0\] has no media type/,
  },
  { why: "an index of nothing", document: { mediaType: mediaTypes.ociIndex }, says: /manifests is not a list/ },
];
for (const { why, document, says } of refused) {
  test(`not an image: ${why}`, () => {
    assert.throws(
      () => parse(document),
      (error: Error) => isOciError(error, "NOT_AN_IMAGE") && says.test(error.message),
    );
  });
}

test("bytes that are not UTF-8 are not a manifest", () => {
  assert.throws(() => parseManifest(Buffer.from([0xff, 0xfe, 0x00]), "", "x"), /x is not JSON/);
});

const linux = (architecture: string, variant?: string): object => ({
  os: "linux",
  architecture,
  ...(variant && { variant }),
});
const index = (...platforms: (object | undefined)[]): ImageIndex => ({
  mediaType: mediaTypes.ociIndex,
  manifests: platforms.map((platform, at) => ({ ...part, size: at, platform: platform as never })),
});
const amd = { os: "linux", architecture: "amd64" };
const chosen: { why: string; of: ImageIndex; wanted?: typeof amd; at: number }[] = [
  { why: "the one that runs here", of: index(linux("arm64"), linux("amd64")), at: 1 },
  { why: "a single one, whatever it says", of: index(linux("s390x")), at: 0 },
  { why: "a single one without a platform", of: index(undefined), at: 0 },
  { why: "attestations do not count", of: index({ os: "unknown", architecture: "unknown" }, linux("arm64")), at: 1 },
  {
    why: "the first of several variants",
    of: index(linux("arm64"), linux("arm", "v7"), linux("arm", "v6")),
    wanted: { os: "linux", architecture: "arm" },
    at: 1,
  },
];
for (const { why, of, wanted = amd, at } of chosen) {
  test(`of an index: ${why}`, () => assert.equal(selectPlatform(of, wanted, "f").size, at));
}

test("an index without the platform names those it has", () => {
  const of = index(linux("arm64"), linux("arm", "v7"), undefined);
  assert.throws(() => selectPlatform(of, amd, "acme/f:v1"), {
    code: "WRONG_PLATFORM",
    message:
      "acme/f:v1 has no image for linux/amd64, only for linux/arm64, linux/arm/v7, none; push one for that platform",
  });
  assert.throws(() => selectPlatform(index(), amd, "f"), /only for nothing/);
});

test("platform names of Node and of images", () => {
  const rows: [string, string, string][] = [
    ["linux", "x64", "linux/amd64"],
    ["linux", "arm64", "linux/arm64"],
    ["linux", "ia32", "linux/386"],
    ["darwin", "riscv64", "darwin/riscv64"],
  ];
  for (const [platform, arch, text] of rows) assert.equal(platformText(platformOfNode({ platform, arch })), text);
});

test("the compression of a layer follows from its media type", () => {
  const rows: [string, "none" | "gzip" | "zstd", string][] = [
    [mediaTypes.ociLayer, "none", mediaTypes.ociLayer],
    [mediaTypes.ociLayerGzip, "gzip", mediaTypes.ociLayerGzip],
    [mediaTypes.ociLayerZstd, "zstd", mediaTypes.ociLayerZstd],
    ["application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip", mediaTypes.ociLayerGzip],
    ["application/vnd.docker.image.rootfs.diff.tar", "none", mediaTypes.ociLayer],
    ["application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "gzip", mediaTypes.ociLayerGzip],
  ];
  for (const [type, compression, oci] of rows)
    assert.deepEqual([compressionOf(type), ociLayerType(type)], [compression, oci], type);
  assert.deepEqual([isIndexType(mediaTypes.ociIndex), isIndexType(mediaTypes.ociManifest)], [true, false]);
  assert.deepEqual([isManifestType(mediaTypes.dockerManifest), isManifestType("text/plain")], [true, false]);
});

test("digests", () => {
  const digest = digestOf("hello");
  assert.equal(digest, "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  assert.equal(hexOf(digest).length, 64);
  const none = ["", "sha256:", digest.toUpperCase(), `${digest}0`, `${digest}\n`, digest.slice(0, -1), "sha256:../x"];
  assert.deepEqual([isDigest(digest), ...none.map(isDigest)], [true, ...none.map(() => false)]);
});
