// SPDX-License-Identifier: Apache-2.0
// What clients of registries do, request by request.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { type Registry, startRegistry } from "./registry.ts";

suite("the registry, request by request", () => {
  let folder: TempFolder;
  let registry: Registry;
  const tagged: string[] = [];
  before(async () => {
    folder = tempFolder();
    const onTag = (repository: string, tag: string): void => void tagged.push(`${repository}:${tag}`);
    registry = await startRegistry({ directory: folder.path, maxBlobBytes: 1_000_000, onTag });
  });
  after(async () => {
    await registry.close();
    folder[Symbol.dispose]();
  });

  const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(`http://${registry.address}${path}`, init);
  const code = async (response: Response): Promise<string | undefined> =>
    ((await response.json()) as { errors?: { code: string }[] }).errors?.[0]?.code;

  /** Uploads a blob in one request; returns its digest. */
  async function blob(bytes: Buffer, repository = "acme/f"): Promise<string> {
    const digest = digestOf(bytes);
    const response = await ask(`/v2/${repository}/blobs/uploads/?digest=${digest}`, {
      method: "POST",
      body: new Uint8Array(bytes),
    });
    assert.equal(response.status, 201);
    assert.equal(response.headers.get("location"), `/v2/${repository}/blobs/${digest}`);
    return digest;
  }

  async function manifest(
    repository: string,
    reference: string,
    layer = randomBytes(10),
  ): Promise<{ text: string; response: Response }> {
    const part = (digest: string, size: number, mediaType: string): object => ({ mediaType, digest, size });
    const config = part(await blob(Buffer.from("{}"), repository), 2, mediaTypes.ociConfig);
    const layers = [part(await blob(layer, repository), layer.length, mediaTypes.ociLayerGzip)];
    const text = JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers });
    const headers = { "content-type": mediaTypes.ociManifest };
    const at = reference === "by digest" ? digestOf(text) : reference;
    return { text, response: await ask(`/v2/${repository}/manifests/${at}`, { method: "PUT", body: text, headers }) };
  }

  test("the API version is served, and sent with every response", async () => {
    const base = await ask("/v2/");
    assert.deepEqual([base.status, await base.json()], [200, {}]);
    const missing = await ask("/v2/acme/f/blobs/sha256:00");
    for (const response of [base, missing]) {
      assert.equal(response.headers.get("docker-distribution-api-version"), "registry/2.0");
    }
  });

  test("a blob: the three ways in, and the ways out", async () => {
    const [whole, put, pieces] = [randomBytes(100), randomBytes(100), randomBytes(100)];
    await blob(whole);
    const started = await ask("/v2/acme/f/blobs/uploads/", { method: "POST" });
    const upload = started.headers.get("location") ?? "";
    assert.equal(started.headers.get("docker-upload-uuid"), upload.split("/").at(-1));
    const finished = await ask(`${upload}?digest=${digestOf(put)}`, { method: "PUT", body: new Uint8Array(put) });
    assert.equal(finished.status, 201);
    const again = (await ask("/v2/acme/f/blobs/uploads/", { method: "POST" })).headers.get("location") ?? "";
    for (const part of [pieces.subarray(0, 60), pieces.subarray(60)])
      await ask(again, { method: "PATCH", body: new Uint8Array(part) });
    assert.equal((await ask(`${again}?digest=${digestOf(pieces)}`, { method: "PUT" })).status, 201);
    for (const bytes of [whole, put, pieces]) {
      const path = `/v2/acme/f/blobs/${digestOf(bytes)}`;
      const head = await ask(path, { method: "HEAD" });
      assert.deepEqual(
        [head.status, head.headers.get("content-length"), head.headers.get("docker-content-digest")],
        [200, "100", digestOf(bytes)],
      );
      assert.deepEqual(Buffer.from(await (await ask(path)).arrayBuffer()), bytes);
    }
    assert.deepEqual(await readdir(join(folder.path, "uploads")), []);
  });

  test("a blob of another repository is mounted, not sent; an unknown one is an upload like any other", async () => {
    const digest = await blob(randomBytes(50), "acme/one");
    const mounted = await ask(`/v2/acme/two/blobs/uploads/?mount=${digest}&from=acme/one`, { method: "POST" });
    assert.deepEqual([mounted.status, mounted.headers.get("location")], [201, `/v2/acme/two/blobs/${digest}`]);
    const unknown = await ask(`/v2/acme/two/blobs/uploads/?mount=${digestOf("x")}&from=acme/one`, { method: "POST" });
    assert.equal(unknown.status, 202);
    assert.equal((await ask(unknown.headers.get("location") ?? "", { method: "DELETE" })).status, 204);
  });

  test("the store holds an empty blob", async () => {
    const digest = await blob(Buffer.alloc(0));
    const response = await ask(`/v2/acme/f/blobs/${digest}`);
    assert.deepEqual([response.status, (await response.arrayBuffer()).byteLength], [200, 0]);
  });

  test("a manifest is read back unchanged by tag and by digest, and onTag reports the tag", async () => {
    const { text, response } = await manifest("acme/m", "v1");
    const digest = digestOf(text);
    assert.deepEqual([response.status, response.headers.get("docker-content-digest")], [201, digest]);
    assert.equal((await manifest("acme/m", "by digest")).response.status, 201);
    for (const reference of ["v1", digest]) {
      const read = await ask(`/v2/acme/m/manifests/${reference}`);
      assert.deepEqual(
        [read.headers.get("content-type"), read.headers.get("etag"), await read.text()],
        [mediaTypes.ociManifest, `"${digest}"`, text],
      );
      const head = await ask(`/v2/acme/m/manifests/${reference}`, { method: "HEAD" });
      assert.deepEqual([head.headers.get("content-length"), await head.text()], [String(text.length), ""]);
    }
    assert.deepEqual(tagged, ["acme/m:v1"]);
    assert.equal(
      (await ask(`/v2/acme/other/manifests/${digest}`)).status,
      404,
      "what is in one repository is not in another",
    );
  });

  test("tags and repositories come in pages, in order", async () => {
    for (const tag of ["b", "a", "c"]) await manifest("acme/pages", tag);
    const rows: { query: string; tags: string[]; next: string | null }[] = [
      { query: "", tags: ["a", "b", "c"], next: null },
      { query: "?n=2", tags: ["a", "b"], next: '</v2/acme/pages/tags/list?n=2&last=b>; rel="next"' },
      { query: "?n=2&last=b", tags: ["c"], next: null },
      { query: "?n=3", tags: ["a", "b", "c"], next: null },
      { query: "?last=a", tags: ["b", "c"], next: null },
      { query: "?n=0", tags: [], next: null },
      { query: "?n=many", tags: ["a", "b", "c"], next: null },
      { query: "?n=-1", tags: ["a", "b", "c"], next: null },
    ];
    for (const { query, tags, next } of rows) {
      const response = await ask(`/v2/acme/pages/tags/list${query}`);
      assert.deepEqual(
        [await response.json(), response.headers.get("link")],
        [{ name: "acme/pages", tags }, next],
        query,
      );
    }
  });

  const refused: { why: string; method: string; path: string; status: number; code: string }[] = [
    {
      why: "a blob cannot be changed",
      method: "PUT",
      path: `/v2/acme/f/blobs/${digestOf("x")}`,
      status: 405,
      code: "UNSUPPORTED",
    },
    {
      why: "nor removed",
      method: "DELETE",
      path: `/v2/acme/f/blobs/${digestOf("x")}`,
      status: 405,
      code: "UNSUPPORTED",
    },
    { why: "a list is read", method: "POST", path: "/v2/acme/f/tags/list", status: 405, code: "UNSUPPORTED" },
    { why: "the base is read", method: "DELETE", path: "/v2/", status: 405, code: "UNSUPPORTED" },
    {
      why: "a manifest is not patched",
      method: "PATCH",
      path: "/v2/acme/f/manifests/v1",
      status: 405,
      code: "UNSUPPORTED",
    },
    {
      why: "an upload is not asked for its head",
      method: "POST",
      path: "/v2/acme/f/blobs/uploads/123e4567-e89b-42d3-a456-426614174000",
      status: 405,
      code: "UNSUPPORTED",
    },
    {
      why: "an unknown upload",
      method: "PATCH",
      path: "/v2/acme/f/blobs/uploads/123e4567-e89b-42d3-a456-426614174000",
      status: 404,
      code: "BLOB_UPLOAD_UNKNOWN",
    },
    {
      why: "an unknown manifest",
      method: "DELETE",
      path: "/v2/acme/f/manifests/none",
      status: 404,
      code: "MANIFEST_UNKNOWN",
    },
    {
      why: "an upload that names no digest",
      method: "POST",
      path: "/v2/acme/f/blobs/uploads/?digest=latest",
      status: 400,
      code: "DIGEST_INVALID",
    },
  ];
  for (const { why, method, path, status, code: wanted } of refused) {
    test(`refused: ${why}`, async () => {
      const response = await ask(path, { method });
      assert.deepEqual([response.status, await code(response)], [status, wanted]);
    });
  }

  test("a manifest that is too large, of another kind, or an index of what is not there", async () => {
    const put = (body: string, type: string): Promise<Response> =>
      ask("/v2/acme/f/manifests/v9", { method: "PUT", body, headers: { "content-type": type } });
    const large = await put(" ".repeat(5 * 1024 * 1024), mediaTypes.ociManifest);
    assert.deepEqual([large.status, await code(large)], [413, "SIZE_INVALID"]);
    const part = { mediaType: "x", digest: await blob(Buffer.from("{}")), size: 2 };
    const other = await put(
      JSON.stringify({ schemaVersion: 2, mediaType: "text/plain", config: part, layers: [] }),
      "text/plain",
    );
    assert.deepEqual([other.status, await code(other)], [400, "MANIFEST_INVALID"]);
    const manifests = [{ mediaType: mediaTypes.ociManifest, digest: digestOf("gone"), size: 1 }];
    const index = await put(
      JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests }),
      mediaTypes.ociIndex,
    );
    assert.deepEqual([index.status, await code(index)], [404, "MANIFEST_BLOB_UNKNOWN"]);
    assert.equal((await ask("/v2/acme/f/manifests/v9")).status, 404);
  });

  test("a client that disconnects does not affect the server", async () => {
    const digest = await blob(randomBytes(900_000));
    const requests = [
      `GET /v2/acme/f/blobs/${digest} HTTP/1.1\r\nhost: x\r\n\r\n`,
      "POST /v2/acme/f/blobs/uploads/?digest=sha256:00 HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc",
      `POST /v2/acme/f/blobs/uploads/?digest=${digestOf("x")} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc`,
      "PUT /v2/acme/f/manifests/v1 HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{",
      "GET /v2/acme/f/tags",
      "\u0000\u0001\u0002",
    ];
    for (const text of requests) {
      const [host = "", port = ""] = registry.address.split(":");
      const socket = connect(Number(port), host);
      await new Promise<void>((resolve) => socket.write(text, "latin1", () => resolve()));
      socket.destroy();
    }
    assert.equal((await ask("/v2/")).status, 200);
  });
});
