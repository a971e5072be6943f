// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Flow, inFlow, inTurns, type Work } from "@purlin/base";
import { testRequest } from "../../test/test-server.ts";
import { createOpenApiEndpoint } from "./endpoint.ts";
import type { PublishedDocuments } from "./published-documents.ts";

function burn(): void {
  const start = performance.now();
  while (performance.now() - start < 10);
}

test("documents that all users wait for do not wait for other requests of the user who was the first to ask", async () => {
  let [parts, isOver] = [0, false];
  function* longTask(): Work<void> {
    for (; !isOver; yield) {
      burn();
      parts += 1;
    }
  }
  const documents = {
    catalog: {},
    *all(): ReturnType<PublishedDocuments["all"]> {
      for (let i = 0; i < 3; i++) {
        burn();
        yield;
      }
      return new Map();
    },
  } as unknown as PublishedDocuments;
  const endpoint = createOpenApiEndpoint(documents, () => 0);
  const flow: Flow = { level: "users", name: "a" };
  const tasks = inFlow(flow, () => Promise.all(Array.from({ length: 30 }, () => inTurns(longTask()))));
  const before = parts;
  await inFlow(flow, () => endpoint(testRequest("/openapi/v3")));
  const waited = parts - before;
  isOver = true;
  await tasks;
  assert.ok(waited <= 15, `waited for ${waited} tasks of the user`);
});
