// SPDX-License-Identifier: Apache-2.0
// One long conversation with kube-apiserver 1.36.3, recorded request by request, held against ours to the last byte.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { definitionsPath, textOf, widgetCrd } from "../../test/test-server.ts";
import { warningHeaders } from "../http/write-complete.ts";
import type { ApiResponse } from "../request/api-request.ts";

interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly code: number;
  readonly type?: string;
  readonly warning?: string;
  readonly text: string;
}

const conversation = JSON.parse(
  readFileSync(new URL("testdata/wire.json", import.meta.url), "utf8"),
) as readonly Recorded[];

/** Texts without what no two servers have in common, and without protobuf, which is not given. */
function masked(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>")
    .replaceAll(/(resourceVersion\\?"?: ?\\?"?)\d+/g, "$1<version>")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replaceAll(/("?continue"?: ?"?)[\w-]{10,}/g, "$1<token>")
    .replaceAll(/"\d+s"/g, '"<age>"')
    .replaceAll(/"description":"[^"]*"/g, '"description":""');
}

const withoutProtobuf = (text: string): string =>
  text.replaceAll(
    /(?<=(?:representations|accepted): .*), application\/vnd\.kubernetes\.protobuf(?:;stream=watch)?/g,
    "",
  );

let server: TestServer;
before(async () => {
  server = await startTestServer();
  await server.post("/api/v1/namespaces", { metadata: { name: "wire" } });
  const crd = JSON.parse(JSON.stringify(widgetCrd).replaceAll("example.org", "wire.example.org")) as JsonObject;
  await server.post(definitionsPath, crd);
  await server.until("/apis/wire.example.org/v1/widgets", ({ code }) => code === 200);
});
after(() => server[Symbol.asyncDispose]());

async function replay({ method, path, headers, body }: Recorded): Promise<ApiResponse> {
  const options = { method, headers: { "user-agent": "wire/1.0", ...headers } };
  return server.send(path, body === undefined ? options : { ...options, text: body });
}

const titleOf = ({ method, path, headers, body = "" }: Recorded): string =>
  `${method} ${path} ${headers["accept"] ?? headers["user-agent"] ?? ""} ${body.slice(0, 80)}`.trim();

for (const [index, exchange] of conversation.entries()) {
  test(`${index + 1}. ${titleOf(exchange)}`, async () => {
    const response = await replay(exchange);
    assert.equal(response.kind, "complete");
    assert.equal(response.code, exchange.code, response.kind === "complete" ? textOf(response) : "");
    // What is not sent along with a HEAD is taken away on the wire.
    if (exchange.method === "HEAD") return;
    assert.equal(response.payload?.contentType, exchange.type);
    assert.equal(masked(textOf(response)), masked(withoutProtobuf(exchange.text)));
    assert.equal(warningHeaders(response.warnings ?? []).join(", "), exchange.warning ?? "");
  });
}
