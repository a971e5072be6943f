// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type HttpHandler, serveHttp } from "../../test/http-script.ts";
import { openContentStore } from "../content/content-store.ts";
import { parseReference } from "../content/image-reference.ts";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { isOciError, type OciErrorCode } from "../content/oci-error.ts";
import { createRegistryClient, type RegistryClientOptions } from "./registry-client.ts";

const config = { mediaType: mediaTypes.ociConfig, digest: digestOf("{}"), size: 2 };
const manifest = Buffer.from(
  JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers: [] }),
);

const sendManifest: HttpHandler = (_, response) => {
  response.setHeader("content-type", mediaTypes.ociManifest).end(manifest);
};

const client = (options: RegistryClientOptions = {}): ReturnType<typeof createRegistryClient> =>
  createRegistryClient({ sleep: async () => {}, ...options });

test("a registry that wants a password gets it, and only after it asked", async (t) => {
  const wanted = `Basic ${Buffer.from("me:secret").toString("base64")}`;
  const { host, asked } = await serveHttp(t, (request, response) => {
    if (request.headers.authorization === wanted) return sendManifest(request, response);
    response.writeHead(401, { "www-authenticate": 'Basic realm="here"' }).end();
  });
  const reference = parseReference(`${host}/acme/f:v1`);
  const known = client({ credentials: () => ({ username: "me", password: "secret" }) });
  assert.equal((await known.manifest(reference)).descriptor.digest, digestOf(manifest));
  await known.manifest(reference);
  const manifests = asked.filter((line) => line.includes("manifests")).map((line) => line.split(" ")[2]);
  assert.deepEqual(manifests, ["anonymous", "Basic", "Basic"], "the second time it is sent at once");
  await rejects(
    client().manifest(reference),
    "UNAUTHORIZED",
    /requires a user name and password; create a pull secret/,
  );
  const wrong = client({ credentials: () => ({ username: "me", password: "wrong" }) });
  await rejects(wrong.manifest(reference), "UNAUTHORIZED", /answers 401; check the pull secret/);
});

test("a token is fetched from where the registry says, kept, and fetched again when it ran out", async (t) => {
  let issued = 0;
  const tokens = await serveHttp(t, (_, response) => {
    issued++;
    response.end(JSON.stringify({ token: `t${issued}`, expires_in: 100 }));
  });
  const { host, asked } = await serveHttp(t, (request, response) => {
    if (request.headers.authorization?.startsWith("Bearer t")) return sendManifest(request, response);
    const challenge = `Bearer realm="http://${tokens.host}/token",service="the registry"`;
    response.writeHead(401, { "www-authenticate": challenge }).end();
  });
  let now = 0;
  const reader = client({ now: () => now, credentials: () => ({ username: "me", password: "secret" }) });
  const reference = parseReference(`${host}/acme/f:v1`);
  await reader.manifest(reference);
  await reader.manifest(reference);
  assert.equal(issued, 1);
  now = 60_000;
  await reader.manifest(reference);
  assert.equal(issued, 2);
  const [first = ""] = tokens.asked;
  assert.equal(
    first,
    `GET /token?scope=repository%3Aacme%2Ff%3Apull&service=the+registry Basic ${Buffer.from("me:secret").toString("base64")}`,
  );
  assert.ok(asked.at(-1)?.endsWith("Bearer t2"));
});

test("tokens of the last thousand repositories are kept", async (t) => {
  const issued: string[] = [];
  const tokens = await serveHttp(t, (request, response) => {
    issued.push(new URL(request.url ?? "", "http://tokens").searchParams.get("scope") ?? "");
    response.end(JSON.stringify({ token: "t" }));
  });
  const { host } = await serveHttp(t, (request, response) => {
    if (request.headers.authorization === "Bearer t") return sendManifest(request, response);
    response.writeHead(401, { "www-authenticate": `Bearer realm="http://${tokens.host}/token"` }).end();
  });
  const reader = client();
  const read = (at: number) => reader.manifest(parseReference(`${host}/acme/f${at}:v1`));
  for (let at = 0; at < 1000; at++) await read(at);
  assert.equal(issued.length, 1000);
  await read(0);
  assert.equal(issued.length, 1000, "the first of a thousand is still known");
  await read(1000);
  await read(1000);
  await read(1);
  assert.deepEqual(issued.slice(1000), ["repository:acme/f1000:pull"], "the others are known");
  await read(0);
  assert.equal(issued.at(-1), "repository:acme/f0:pull", "the oldest made room");
  assert.equal(issued.length, 1002);
});

test("a refresh token is exchanged by POST", async (t) => {
  const bodies: string[] = [];
  const tokens = await serveHttp(t, (request, response) => {
    request.on("data", (chunk: Buffer) => bodies.push(chunk.toString()));
    request.on("end", () => response.end(JSON.stringify({ access_token: "x" })));
  });
  const { host } = await serveHttp(t, (request, response) => {
    if (request.headers.authorization === "Bearer x") return sendManifest(request, response);
    response.writeHead(401, { "www-authenticate": `Bearer realm="http://${tokens.host}/token"` }).end();
  });
  const reader = client({ credentials: () => ({ identityToken: "refresh" }) });
  await reader.manifest(parseReference(`${host}/acme/f:v1`));
  assert.match(bodies.join(""), /grant_type=refresh_token&refresh_token=refresh/);
});

test("credentials do not follow a redirect to another host", async (t) => {
  const elsewhere = await serveHttp(t, sendManifest);
  const { host } = await serveHttp(t, (request, response) => {
    if (request.headers.authorization === undefined && request.url !== "/v2/") {
      response.writeHead(401, { "www-authenticate": "Basic" }).end();
      return;
    }
    response.writeHead(307, { location: `http://${elsewhere.host}/blob` }).end();
  });
  const reader = client({ credentials: () => ({ username: "me", password: "secret" }) });
  await reader.manifest(parseReference(`${host}/acme/f:v1`));
  assert.deepEqual(elsewhere.asked, ["GET /blob anonymous"]);
});

test("too many redirects fail", async (t) => {
  const { host } = await serveHttp(t, (request, response) => {
    response.writeHead(302, { location: request.url ?? "/" }).end();
  });
  await rejects(client().manifest(parseReference(`${host}/f:v1`)), "REFUSED", /redirects more than 5 times/);
});

test("transient errors are retried a limited number of times", async (t) => {
  let failures = 2;
  const pauses: number[] = [];
  const { host } = await serveHttp(t, (request, response) => {
    if (failures-- > 0) {
      response.writeHead(failures === 1 ? 503 : 429, failures === 1 ? {} : { "retry-after": "7" }).end();
      return;
    }
    sendManifest(request, response);
  });
  const patient = client({ sleep: async (ms) => void pauses.push(ms) });
  await patient.manifest(parseReference(`${host}/f:v1`));
  assert.equal(pauses[1], 7000);
  failures = 1000;
  await rejects(patient.manifest(parseReference(`${host}/f:v1`)), "REFUSED", /answers 429/);
  assert.equal(pauses.length, 2 + 3);
});

test("an unreachable registry", async () => {
  await rejects(client().manifest(parseReference("127.0.0.1:1/f:v1")), "UNREACHABLE", /cannot reach 127\.0\.0\.1:1/);
});

test("the error of a registry that hangs names the host, the request and advice", async (t) => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
    // A server without TLS closes the connection or responds in plain text.
    socket.once("data", (bytes) => speaksPlain && bytes[0] === 22 && socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const advice = "check the registry's name, that it is running, and the network";
  let speaksPlain = false;
  const hanging = client({ connectTimeoutMs: 3_000, idleTimeoutMs: 200 });
  await rejects(
    hanging.resolve(parseReference(`${host}/acme/f:v1`)),
    "UNREACHABLE",
    new RegExp(`^cannot reach ${host}: TLS handshake timed out after 3s \\(GET /v2/\\); ${advice}$`),
  );
  assert.equal(sockets.length, 1, "it is asked once: it would not do better in plain text");
  speaksPlain = true;
  await rejects(
    hanging.resolve(parseReference(`${host}/acme/f:v1`)),
    "UNREACHABLE",
    new RegExp(`^cannot reach ${host}: no response for 0.2s \\(HEAD /v2/acme/f/manifests/v1\\); ${advice}$`),
  );
});

test("a blob whose transfer breaks is continued where it broke", async (t) => {
  const bytes = Buffer.alloc(100_000, "x");
  const ranges: unknown[] = [];
  const { host } = await serveHttp(t, (request, response) => {
    if (!request.url?.includes("blobs")) return void response.end("{}");
    ranges.push(request.headers.range);
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, { "content-length": String(bytes.length - from) });
    if (ranges.length > 1) response.end(bytes.subarray(from));
    else response.write(bytes.subarray(0, 50_000), () => response.socket?.end());
  });
  const directory = await mkdtemp(join(tmpdir(), "purlin-client-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const store = await openContentStore(directory);
  const descriptor = { mediaType: mediaTypes.ociLayerGzip, digest: digestOf(bytes), size: bytes.length };
  await client().pullBlob(parseReference(`${host}/f:v1`), { descriptor, into: store });
  // How much of the first half arrived is the network's affair.
  const [first, second] = ranges;
  assert.equal(first, undefined);
  assert.match(String(second), /^(?:undefined|bytes=\d+-)$/);
  assert.equal(ranges.length, 2);
  assert.deepEqual(await store.read(descriptor), bytes);
});

test("a manifest that is not what was asked for is refused", async (t) => {
  const { host } = await serveHttp(t, sendManifest);
  const reference = parseReference(`${host}/f@${digestOf("another")}`);
  await rejects(client().manifest(reference), "DIGEST_MISMATCH", /digest mismatch: got sha256:/);
});

test("manifests that cannot be used say so", async (t) => {
  const part = { mediaType: "x", digest: digestOf("x"), size: 1 };
  const rows: { body: string; problem: RegExp; code: OciErrorCode }[] = [
    { body: "<html>", problem: /is not JSON/, code: "NOT_AN_IMAGE" },
    { body: "[]", problem: /is not an image manifest of schema version 2/, code: "NOT_AN_IMAGE" },
    {
      body: JSON.stringify({ schemaVersion: 1 }),
      problem: /is not an image manifest of schema version 2/,
      code: "NOT_AN_IMAGE",
    },
    { body: JSON.stringify({ schemaVersion: 2, config: part }), problem: /layers is not a list/, code: "NOT_AN_IMAGE" },
    {
      body: JSON.stringify({ schemaVersion: 2, config: part, layers: [{ ...part, digest: "md5:1" }] }),
      problem: /layers\[0\] has no media type or no sha256 digest/,
      code: "NOT_AN_IMAGE",
    },
    {
      body: JSON.stringify({ schemaVersion: 2, config: { ...part, size: -1 }, layers: [] }),
      problem: /config has no size/,
      code: "NOT_AN_IMAGE",
    },
    { body: `"${"x".repeat(5_000_000)}"`, problem: /larger than/, code: "TOO_LARGE" },
  ];
  let body = "";
  const { host } = await serveHttp(t, (_, response) => void response.end(body));
  for (const row of rows) {
    body = row.body;
    await rejects(client().manifest(parseReference(`${host}/f:v1`)), row.code, row.problem);
  }
});

async function rejects(promise: Promise<unknown>, code: OciErrorCode, message: RegExp): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(isOciError(error, code), `${error}`);
    assert.match(error.message, message);
    return true;
  });
}
