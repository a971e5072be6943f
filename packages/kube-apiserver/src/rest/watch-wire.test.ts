// SPDX-License-Identifier: Apache-2.0
// Watches recorded from kube-apiserver 1.36.3, held against ours line by line.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { definitionsPath, textOf, widgetCrd } from "../../test/test-server.ts";
import type { StreamResponse } from "../request/api-request.ts";

interface Recorded {
  readonly path: string;
  readonly accept: string;
  readonly code: number;
  readonly type: string;
  readonly text: string;
}

const { objects, answers } = JSON.parse(readFileSync(new URL("testdata/watch-wire.json", import.meta.url), "utf8")) as {
  readonly objects: readonly { readonly path: string; readonly object: JsonObject }[];
  readonly answers: readonly Recorded[];
};

function masked(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>")
    .replaceAll(/(resourceVersion\\?"?: ?\\?"?)\d+/g, "$1<version>")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replaceAll(/"\d+s"/g, '"<age>"')
    .replaceAll(/"description":"[^"]*"/g, '"description":""');
}

let server: TestServer;
before(async () => {
  server = await startTestServer();
  await server.post("/api/v1/namespaces", { metadata: { name: "wire-watch" } });
  const group = "wire-watch.example.org";
  await server.post(
    definitionsPath,
    JSON.parse(JSON.stringify(widgetCrd).replaceAll("example.org", group)) as JsonObject,
  );
  await server.until(`/apis/${group}/v1/widgets`, ({ code }) => code === 200);
  for (const { path, object } of objects) {
    await server.body(path, { method: "POST", headers: { "user-agent": "wire/1.0" }, body: object });
  }
});
after(() => server[Symbol.asyncDispose]());

/** As many lines as were recorded, or all until the stream ends where nothing was. */
async function linesOf(response: StreamResponse, count: number): Promise<string> {
  let wake = (): void => {};
  const stream = response.open(() => wake());
  const lines: string[] = [];
  while (lines.length < count || count === 0) {
    const ready = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const events = stream.take();
    if (events === undefined) break;
    if (events.length === 0) await ready;
    lines.push(...events.map((event) => Buffer.concat(event.parts()).toString()));
  }
  stream.close();
  return lines.slice(0, Math.max(count, 1)).join("");
}

for (const { path, accept, code, type, text } of answers) {
  test(`GET ${path} ${accept}`, async () => {
    const response = await server.send(path, { headers: { accept, "user-agent": "wire/1.0" } });
    assert.equal(response.code, code, response.kind === "complete" ? textOf(response) : "");
    if (response.kind === "complete") {
      assert.equal(response.payload?.contentType, type);
      const offered = /,\s+application\/vnd\.kubernetes\.protobuf(;stream=watch)?/g;
      assert.equal(masked(textOf(response)), masked(text).replaceAll(offered, ""));
      return;
    }
    assert.equal(response.contentType, type);
    assert.equal(masked(await linesOf(response, text.split("\n").length - 1)), masked(text));
  });
}
