// SPDX-License-Identifier: Apache-2.0
// A user who defines as many kinds as possible, one as large as possible, or the same one again and again: the server continues to serve.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, definitions, objectNamed, objectsOf, sendJson } from "./attacked-kind.ts";

const kinds = 1_000;
const atOnce = 16;

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const nameOf = (index: number): string => `Many${index}x`;
const field = { type: "string", maxLength: 40, pattern: "^[a-z]+$" };
const properties = { a: field, b: { type: "integer", minimum: 1 }, c: { type: "array", items: field } };

/** Does something for each number, this many at a time. */
async function forEach(count: number, task: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** The documents that grow with the number of kinds. */
const documents: Readonly<Record<string, { readonly path: string; readonly accept?: string }>> = {
  "OpenAPI v2": { path: "/openapi/v2" },
  "OpenAPI v2, protobuf": { path: "/openapi/v2", accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" },
  "the index of OpenAPI v3": { path: "/openapi/v3" },
  "OpenAPI v3 of the group": { path: "/openapi/v3/apis/hostile.example.org/v1" },
  "discovery of the group": { path: "/apis/hostile.example.org/v1" },
  "aggregated discovery": {
    path: "/apis",
    accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  },
  "the list of definitions": { path: definitions },
};

async function expectDocuments(when: string): Promise<void> {
  for (const [what, { path, accept = "application/json" }] of Object.entries(documents)) {
    const { code } = await server.during(`${what} ${when}`, () =>
      send(server.target, { method: "GET", path, headers: { accept, "accept-encoding": "gzip" } }),
    );
    assert.equal(code, 200, what);
  }
}

test(`${kinds} definitions are served, and the documents about them`, async () => {
  await server.during("definitions", () =>
    forEach(kinds, async (index) => {
      const { code, text } = await sendJson(
        server.target,
        ["POST", definitions],
        definition(nameOf(index), properties),
      );
      assert.equal(code, 201, text.slice(0, 500));
    }),
  );
  await expectDocuments("with many kinds");
  for (const index of [0, kinds / 2, kinds - 1]) {
    const kind = nameOf(index);
    while ((await sendJson(server.target, ["GET", objectsOf(kind)])).code !== 200);
    const { code } = await sendJson(server.target, ["POST", objectsOf(kind)], objectNamed(kind, "one", { a: "x" }));
    assert.equal(code, 201);
  }
});

/** About as large as a request may be. */
function hugeSchema(): JsonObject {
  const description = "x".repeat(100);
  return Object.fromEntries(
    Array.from({ length: 12_000 }, (_, i) => [`property${i}`, { type: "string", description }]),
  );
}

test("one definition with 12,000 properties", async () => {
  await server.during("a huge schema", () => define(server.target, "Huge", definition("Huge", hugeSchema())));
  await expectDocuments("with a huge schema");
  const spec = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`property${i}`, "y"]));
  const { code } = await server.during("an object of it", () =>
    sendJson(server.target, ["POST", objectsOf("Huge")], objectNamed("Huge", "one", spec)),
  );
  assert.equal(code, 201);
});

test("definitions that are created and deleted in a loop, while the documents are requested", async () => {
  await server.during("a loop of definitions", async () => {
    for (let round = 0; round < 12; round++) {
      const crd = definition(`Loop${round % 3}x`, { ...properties, [`p${round}`]: field });
      const { name } = crd["metadata"] as { readonly name: string };
      const [created] = await Promise.all([
        sendJson(server.target, ["POST", definitions], crd),
        send(server.target, { method: "GET", path: "/openapi/v2", headers: { "accept-encoding": "gzip" } }),
        send(server.target, { method: "GET", path: "/apis", headers: {} }),
      ]);
      // 409: it is still being deleted.
      assert.ok([201, 409].includes(created.code), created.text.slice(0, 300));
      await sendJson(server.target, ["DELETE", `${definitions}/${name}`]);
    }
  });
});

test("all of them are deleted again", async () => {
  await server.during("deletion", () =>
    forEach(kinds, async (index) => {
      const { code } = await sendJson(server.target, [
        "DELETE",
        `${definitions}/${nameOf(index).toLowerCase()}s.hostile.example.org`,
      ]);
      assert.equal(code, 200);
    }),
  );
  await expectDocuments("afterwards");
});

test("memory stays bounded", () => {
  server.requireBoundedMemory();
});
