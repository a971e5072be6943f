// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { type HttpHandler, serveHttp } from "../../test/http-script.ts";
import { type ImageReference, parseReference } from "../content/image-reference.ts";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { isOciError, type OciErrorCode } from "../content/oci-error.ts";
import { createRegistryHttp, type RegistryResponse } from "./registry-http.ts";
import { type Ask, listTags, openBlob, uploadBlob } from "./registry-transfer.ts";

const send = createRegistryHttp();
const ask: Ask = (reference, path, { actions: _, ...request }) =>
  send({
    ...request,
    url: new URL(path.startsWith("http") ? path : `http://${reference.registry}/v2/${reference.repository}/${path}`),
  });
const bytes = Buffer.from("hello world");
const descriptor = { mediaType: mediaTypes.ociLayer, digest: digestOf(bytes), size: bytes.length };

async function referenceTo(
  t: TestContext,
  handle: HttpHandler,
): Promise<{ reference: ImageReference; asked: string[] }> {
  const { host, asked } = await serveHttp(t, handle);
  return { reference: parseReference(`${host}/acme/f:v1`), asked };
}

const fails =
  (code: OciErrorCode, says: RegExp) =>
  (error: Error): boolean =>
    isOciError(error, code) && says.test(error.message);

const offsets: { why: string; offset: number; range: string | undefined; status: number; from: number }[] = [
  { why: "from the beginning", offset: 0, range: undefined, status: 200, from: 0 },
  { why: "from the middle", offset: 6, range: "bytes=6-", status: 206, from: 6 },
  { why: "a registry that cannot do that starts again", offset: 6, range: "bytes=6-", status: 200, from: 0 },
  { why: "what is whole already is not continued", offset: 11, range: undefined, status: 200, from: 0 },
];
for (const { why, offset, range, status, from } of offsets) {
  test(`a blob ${why}`, async (t) => {
    let wanted: string | undefined;
    const { reference } = await referenceTo(t, (request, response) => {
      wanted = request.headers.range;
      response.writeHead(status).end(bytes.subarray(from));
    });
    const opened = await openBlob(ask, reference, { descriptor, offset, signal: undefined });
    assert.deepEqual([wanted, opened.offset, await text(opened.bytes)], [range, from, bytes.subarray(from).toString()]);
  });
}

const refusals: { status: number; body: string; code: OciErrorCode; says: RegExp }[] = [
  {
    status: 401,
    body: "",
    code: "UNAUTHORIZED",
    says: /cannot read .*: blob sha256:\w+: 127\.0\.0\.1:\d+ answers 401; check the pull secret$/,
  },
  {
    status: 403,
    body: '{"errors": [{"code": "DENIED", "message": "not\\nfor you"}]}',
    code: "UNAUTHORIZED",
    says: /answers 403 \(DENIED: not for you\); check what the pull secret's user may do$/,
  },
  { status: 404, body: '{"errors": []}', code: "NOT_FOUND", says: /answers 404; check registry, repository and tag$/ },
  { status: 418, body: "<html>", code: "REFUSED", says: /answers 418$/ },
  { status: 400, body: `{"errors": [{"message": "${"x".repeat(1000)}"}]}`, code: "REFUSED", says: /\(x{300}\)$/ },
  { status: 400, body: "x".repeat(200_000), code: "REFUSED", says: /answers 400$/ },
];
for (const { status, body, code, says } of refusals) {
  test(`a ${status} response is reported: ${says.source.slice(0, 40)}`, async (t) => {
    const { reference } = await referenceTo(t, (_, response) => void response.writeHead(status).end(body));
    await assert.rejects(openBlob(ask, reference, { descriptor, offset: 0, signal: undefined }), fails(code, says));
  });
}

test("tags are listed page by page; entries that are not tags are ignored", async (t) => {
  const { reference, asked } = await referenceTo(t, (request, response) => {
    const isSecond = request.url?.includes("last=");
    if (!isSecond) response.setHeader("link", '</v2/acme/f/tags/list?last=b>; rel="next"');
    response.end(JSON.stringify({ tags: isSecond ? ["c"] : ["a", 7, null, "b"] }));
  });
  assert.deepEqual(await listTags(ask, reference, undefined), ["a", "b", "c"]);
  assert.deepEqual(
    asked.map((line) => line.split(" ")[1]),
    ["/v2/acme/f/tags/list", "/v2/acme/f/tags/list?last=b"],
  );
});

const lists: {
  why: string;
  headers?: Record<string, string>;
  body: string;
  status?: number;
  outcome: string[] | RegExp;
}[] = [
  { why: "none", body: '{"tags": null}', outcome: [] },
  { why: "something else", body: "[]", outcome: [] },
  { why: "no JSON", body: "<html>", outcome: /the tag list of 127\.0\.0\.1:\d+\/acme\/f is not valid JSON/ },
  { why: "a refusal", status: 404, body: "", outcome: /cannot read 127\.0\.0\.1:\d+\/acme\/f: .* answers 404/ },
  {
    why: "pages elsewhere",
    headers: { link: '<http://evil.example/x>; rel="next"' },
    body: '{"tags": []}',
    outcome: /continues its list of tags at another host, evil\.example/,
  },
  {
    why: "pages without end",
    headers: { link: '</v2/acme/f/tags/list>; rel="next"' },
    body: '{"tags": []}',
    outcome: /has more than 1000 pages of tags/,
  },
  { why: "a link to something else", headers: { link: '</x>; rel="prev"' }, body: '{"tags": ["a"]}', outcome: ["a"] },
];
for (const { why, headers = {}, body, status = 200, outcome } of lists) {
  test(`a list of tags: ${why}`, async (t) => {
    const { reference } = await referenceTo(t, (_, response) => void response.writeHead(status, headers).end(body));
    const listed = listTags(ask, reference, undefined);
    if (Array.isArray(outcome)) return assert.deepEqual(await listed, outcome);
    await assert.rejects(listed, (error: Error) => isOciError(error) && outcome.test(error.message));
  });
}

test("a very long tag list is complete", async (t) => {
  const tags = Array.from({ length: 300_000 }, (_, at) => `v${at}`);
  const { reference } = await referenceTo(t, (_, response) => void response.end(JSON.stringify({ tags })));
  assert.equal((await listTags(ask, reference, undefined)).length, tags.length);
});

test("lists of tags are not read without end, however few pages they have", async (t) => {
  const page = JSON.stringify({ tags: ["x".repeat(20 * 1024 * 1024)] });
  const { reference, asked } = await referenceTo(t, (_, response) => {
    response.setHeader("link", '</v2/acme/f/tags/list>; rel="next"');
    response.end(page);
  });
  await assert.rejects(
    listTags(ask, reference, undefined),
    fails("TOO_LARGE", /the response is larger than \d+ bytes/),
  );
  assert.equal(asked.length, 4);
});

/** A registry with scripted responses to HEAD, POST and PUT; records the requests. */
async function uploading(
  t: TestContext,
  answers: { head?: number; post?: number; put?: number; location?: string | undefined },
): Promise<{ reference: ImageReference; asked: string[]; sent: string[] }> {
  const sent: string[] = [];
  const { reference, asked } = await referenceTo(t, (request, response) => {
    const { head = 404, post = 202, put = 201, location = "/v2/acme/f/blobs/uploads/1?state=x" } = answers;
    if (request.method === "HEAD") return void response.writeHead(head).end();
    if (request.method === "POST") return void response.writeHead(post, location === "" ? {} : { location }).end();
    void text(request).then((body) => {
      sent.push(body);
      response.writeHead(put).end();
    });
  });
  return { reference, asked, sent };
}
const upload = { descriptor, open: () => Readable.from([bytes]), signal: undefined };

test("a blob is uploaded in one request to the location that the registry returns, with its query", async (t) => {
  const { reference, asked, sent } = await uploading(t, {});
  await uploadBlob(ask, reference, upload);
  assert.deepEqual(sent, ["hello world"]);
  assert.equal(
    asked.at(-1)?.split(" ")[1],
    `/v2/acme/f/blobs/uploads/1?state=x&digest=${encodeURIComponent(descriptor.digest)}`,
  );
});

test("a blob that the registry has is not uploaded", async (t) => {
  const { reference, asked } = await uploading(t, { head: 200 });
  await uploadBlob(ask, reference, upload);
  assert.equal(asked.length, 1);
});

const uploads: { why: string; answers: Parameters<typeof uploading>[1]; code: OciErrorCode; says: RegExp }[] = [
  {
    why: "that may not be started",
    answers: { post: 401 },
    code: "UNAUTHORIZED",
    says: /cannot write .*: blob sha256:.* answers 401/,
  },
  { why: "that begins nowhere", answers: { location: "" }, code: "REFUSED", says: /answers 202/ },
  { why: "that is refused at its end", answers: { put: 400 }, code: "REFUSED", says: /answers 400/ },
  { why: "that may be tried again", answers: { put: 503 }, code: "UNREACHABLE", says: /answers 503/ },
];
for (const { why, answers, code, says } of uploads) {
  test(`an upload ${why}`, async (t) => {
    const { reference } = await uploading(t, answers);
    await assert.rejects(uploadBlob(ask, reference, upload), fails(code, says));
  });
}

test("an upload that begins with TLS does not continue without", async () => {
  const sent: string[] = [];
  const secure: Ask = async (_, path, { method }) => {
    sent.push(`${method} ${path}`);
    const headers = { location: "http://r.example.org/v2/acme/f/blobs/uploads/1" };
    const status = method === "POST" ? 202 : 404;
    const body = Readable.from([]) as RegistryResponse["body"];
    return { status, headers, body, url: new URL("https://r.example.org/v2/acme/f/blobs/uploads/") };
  };
  const reference = parseReference("r.example.org/acme/f:v1");
  const says = /^r\.example\.org takes uploads at http:\/\/r\.example\.org, not by HTTPS$/;
  await assert.rejects(uploadBlob(secure, reference, upload), fails("REFUSED", says));
  assert.deepEqual(sent, [`HEAD blobs/${descriptor.digest}`, "POST blobs/uploads/"]);
});
