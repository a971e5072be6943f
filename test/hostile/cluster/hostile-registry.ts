// SPDX-License-Identifier: Apache-2.0
// A registry whose packages are hostile. The name of a repository says which attack it serves.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

/** One package, and what its conditions say about it. */
export interface PackageAttack {
  /** The layer with package.yaml, compressed; undefined where the attack is another. */
  readonly layer?: () => Promise<Buffer>;
  /** Instead of the manifest. */
  readonly manifest?: (response: ServerResponse) => void;
  /** Instead of the layer. */
  readonly blob?: (response: ServerResponse) => void;
  readonly refused: RegExp;
}

const mebibyte = 2 ** 20;
const manifestType = "application/vnd.oci.image.manifest.v1+json";

/** A layer with one file. */
async function layerOf(text: string | Buffer): Promise<Buffer> {
  const tar = pack();
  tar.entry({ name: "package.yaml" }, text);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return gzipSync(Buffer.concat(chunks));
}

const meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\n";

/** Nine levels of nine aliases: a few hundred bytes that would be billions of values. */
const aliasBomb = `${meta}spec:\n  a0: &a0 [x]\n${Array.from(
  { length: 9 },
  (_, i) => `  a${i + 1}: &a${i + 1} [${Array.from({ length: 9 }, () => `*a${i}`).join(", ")}]\n`,
).join("")}`;

/** Sends bytes until the other side closes the connection. */
function endless(response: ServerResponse): void {
  // A response without a body takes any amount of it.
  if (response.req.method === "HEAD") return void response.end();
  const chunk = Buffer.alloc(mebibyte, " ");
  Readable.from(
    (function* () {
      for (;;) yield chunk;
    })(),
  ).pipe(response);
}

export const packageAttacks: Readonly<Record<string, PackageAttack>> = {
  "alias-bomb": { layer: () => layerOf(aliasBomb), refused: /alias|too (many|large)|more than/i },
  "gzip-bomb": { layer: () => layerOf(Buffer.alloc(400 * mebibyte, "#")), refused: /larger|more than|limit/i },
  "many-documents": {
    layer: () => layerOf(meta + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\n".repeat(30_000)),
    refused: /Secret|kind|more than|allowed/i,
  },
  "deep-yaml": { layer: () => layerOf(`${meta}spec: ${"[".repeat(50_000)}`), refused: /deep|nest|cannot|unexpected/i },
  "no-yaml": { layer: () => layerOf(Buffer.alloc(100_000, 0xff)), refused: /cannot|not|invalid/i },
  "endless-manifest": { manifest: endless, refused: /larger|more than|limit|too large/i },
  "manifest-of-layers": {
    manifest: (response) => {
      const layer = { mediaType: `${manifestType}.layer`, digest: `sha256:${"0".repeat(64)}`, size: 1 };
      response.end(
        JSON.stringify({ schemaVersion: 2, mediaType: manifestType, config: layer, layers: Array(30_000).fill(layer) }),
      );
    },
    refused: /larger|more than|layers|too|cannot/i,
  },
  "other-bytes": {
    layer: () => layerOf(meta),
    blob: (response) => void response.end(Buffer.alloc(1_000)),
    refused: /digest mismatch|size|bytes/i,
  },
  "endless-layer": { layer: () => layerOf(meta), blob: endless, refused: /larger|more than|size|bytes|mismatch/i },
  "redirect-loop": {
    manifest: (response) => void response.writeHead(307, { location: "/v2/redirect-loop/manifests/v1" }).end(),
    refused: /redirect/i,
  },
  "error-with-escapes": {
    manifest: (response) =>
      void response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ errors: [{ code: "X", message: "no\nerror: forged\u001b[2J" }] })),
    refused: /400|forged/,
  },
};

/** A registry that runs. */
export interface HostileRegistry extends AsyncDisposable {
  /** Host and port. */
  readonly address: string;
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Starts a registry on a free port. */
export async function startHostileRegistry(): Promise<HostileRegistry> {
  const layers = new Map<string, Buffer>();
  const config = Buffer.from("{}");
  const layerFor = async (name: string, { layer }: PackageAttack): Promise<Buffer> => {
    const made = layers.get(name) ?? (await layer?.()) ?? Buffer.alloc(0);
    layers.set(name, made);
    return made;
  };
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    const [, name = "", what, reference = ""] = /^\/v2\/(?:[^/]+\/)?([^/]+)\/(manifests|blobs)\/(.+)$/.exec(path) ?? [];
    const attack = packageAttacks[name];
    if (attack === undefined) return void response.end();
    const layer = await layerFor(name, attack);
    if (what === "blobs" && reference === digestOf(config)) return void response.end(config);
    if (what === "blobs") return attack.blob === undefined ? void response.end(layer) : attack.blob(response);
    response.setHeader("content-type", manifestType);
    if (attack.manifest !== undefined) return attack.manifest(response);
    const descriptor = (mediaType: string, bytes: Buffer) => ({
      mediaType,
      digest: digestOf(bytes),
      size: bytes.length,
    });
    const marked = {
      ...descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer),
      annotations: { "io.crossplane.xpkg": "base" },
    };
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: manifestType,
        config: descriptor("application/vnd.oci.image.config.v1+json", config),
        layers: [marked],
      }),
    );
    response.setHeader("docker-content-digest", digestOf(manifest)).end(manifest);
  };
  const server = createServer((request, response) => {
    response.on("error", () => {});
    void answer(request.url ?? "", response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
