// SPDX-License-Identifier: Apache-2.0
// Requests that are short and whose responses are long, and more requests than one user may have under way.
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect } from "node:http2";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@purlin/kube-objects/json";
import { send, type Target } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { define, definition, objectNamed, objectsOf, sendJson, sendText } from "./attacked-kind.ts";

const objects = 5_000;

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());
const columns = { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.items[*].name" }] };
const items = { type: "array", items: { type: "object", properties: { name: { type: "string" } } } };
await define(server.target, "Listed", definition("Listed", { items, text: { type: "string" } }, columns));
const listed = objectsOf("Listed");
const spec = {
  items: Array.from({ length: 5 }, (_, i) => ({ name: `n${i}` })),
  text: "some text with several words in it",
};
for (let at = 0; at < objects; at += 100) {
  const batch = Array.from({ length: 100 }, (_, i) =>
    sendJson(server.target, ["POST", listed], objectNamed("Listed", `o${at + i}`, spec)),
  );
  await Promise.all(batch);
}

const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
const partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const forms: Record<string, { readonly accept: string; readonly query?: string }> = {
  JSON: { accept: "application/json" },
  "indented JSON": { accept: "application/json", query: "?pretty=true" },
  YAML: { accept: "application/yaml" },
  "a Table": { accept: table },
  "a Table with objects": { accept: table, query: "?includeObject=Object" },
  "a Table in YAML": { accept: table.replace("json", "yaml") },
  "partial metadata": { accept: partial },
  "a selection by label": { accept: "application/json", query: "?labelSelector=a!%3Db" },
  "a selection by name": { accept: "application/json", query: "?fieldSelector=metadata.name%3Do1" },
};

for (const [name, { accept, query = "" }] of Object.entries(forms)) {
  for (const encoding of ["identity", "gzip"]) {
    test(`a list of ${objects} objects as ${name}, ${encoding}`, async () => {
      const { code } = await server.during(`${name} ${encoding}`, () =>
        send(server.target, {
          method: "GET",
          path: `${listed}${query}`,
          headers: { accept, "accept-encoding": encoding },
        }),
      );
      assert.equal(code, 200);
    });
  }
}

const named = { items: Array.from({ length: 45_000 }, (_, i) => ({ name: `n${i}` })) };
const free = { free: Object.fromEntries(Array.from({ length: 45_000 }, (_, i) => [`k${i}`, {}])) };
/** Columns of custom kinds, and an object for them. */
const manyColumns: Record<string, { readonly count: number; readonly path: string; readonly spec: JsonObject }> = {
  Items: { count: 400, path: ".spec.items[*].name", spec: named },
  Indexed: { count: 60, path: ".spec.items[*].name[0]", spec: named },
  Descending: { count: 60, path: ".spec..a", spec: free },
  Filtered: { count: 60, path: '.spec.items[?(@.name=="x")].name', spec: named },
  Repeated: { count: 20, path: ".spec.items[?($.spec..name=='x')].name", spec: named },
  Whole: { count: 60, path: ".spec", spec: named },
  Text: { count: 400, path: ".spec.text", spec: { text: "a".repeat(2_500_000) } },
};
for (const [kind, { count, path, spec }] of Object.entries(manyColumns)) {
  test(`${count} columns of ${path}`, async () => {
    const fields = { items, text: { type: "string" }, free: { "x-kubernetes-preserve-unknown-fields": true } };
    const declared = Array.from({ length: count }, (_, i) => ({ name: `c${i}`, type: "string", jsonPath: path }));
    await define(server.target, kind, definition(kind, fields, { additionalPrinterColumns: declared }));
    const created = await sendJson(server.target, ["POST", objectsOf(kind)], objectNamed(kind, "one", spec));
    assert.equal(created.code, 201, created.text.slice(0, 300));
    for (const query of ["/one", "", "?includeObject=Object", "?watch=true&timeoutSeconds=3"]) {
      const request = { method: "GET", path: `${objectsOf(kind)}${query}`, headers: { accept: table } };
      const { code, text } = await server.during(`${kind} ${query}`, () => send(server.target, request));
      assert.equal(code, 200);
      assert.ok(text.length < 10_000_000, `${text.length} characters`);
    }
  });
}

test("lists of 30 large objects", async () => {
  const whole = { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec" }] };
  await define(server.target, "Large", definition("Large", { items }, whole));
  for (let i = 0; i < 30; i++) {
    await sendJson(server.target, ["POST", objectsOf("Large")], objectNamed("Large", `o${i}`, named));
  }
  for (const name of ["indented JSON", "a Table", "a Table with objects"]) {
    const { accept = "", query = "" } = forms[name] ?? {};
    const request = { method: "GET", path: `${objectsOf("Large")}${query}`, headers: { accept } };
    assert.equal((await server.during(`large ${name}`, () => send(server.target, request))).code, 200);
  }
});

/** Objects whose indented text is mostly spaces: at a depth of 900, 180 kB become 167 MB. */
const depths = [20, 300, 900];
test("indented JSON of deep objects, several at once", async () => {
  await define(server.target, "Deep", definition("Deep", { x: { "x-kubernetes-preserve-unknown-fields": true } }));
  const ones = `[${Array.from({ length: 90_000 }, () => 1).join()}]`;
  for (const depth of depths) {
    const object = JSON.stringify(objectNamed("Deep", `d${depth}`, { x: "deep" }));
    const body = object.replace('"deep"', `${'{"a":'.repeat(depth)}${ones}${"}".repeat(depth)}`);
    const created = await sendText(server.target, ["POST", objectsOf("Deep")], body, "application/json");
    assert.equal(created.code, 201, created.text.slice(0, 300));
  }
  for (const path of [...depths.map((depth) => `/d${depth}`), ""]) {
    const responses = await server.during(`indented JSON of deep objects: ${path}`, () =>
      Promise.all(
        Array.from({ length: 8 }, () => sendJson(server.target, ["GET", `${objectsOf("Deep")}${path}?pretty=true`])),
      ),
    );
    for (const { code, text } of responses) {
      assert.equal(code, 200);
      assert.ok(text.length < 1_000_000, `${text.length} characters`);
    }
  }
});

const heavy = { text: "some words ".repeat(180_000) };
test("lists of large objects, twenty at once", async () => {
  await define(server.target, "Heavy", definition("Heavy", { text: { type: "string" } }));
  for (let i = 0; i < 8; i++) {
    const created = await sendJson(server.target, ["POST", objectsOf("Heavy")], objectNamed("Heavy", `o${i}`, heavy));
    assert.equal(created.code, 201, created.text.slice(0, 300));
  }
  for (const name of ["JSON", "indented JSON", "YAML"]) {
    const { accept = "", query = "" } = forms[name] ?? {};
    const request = { method: "GET", path: `${objectsOf("Heavy")}${query}`, headers: { accept } };
    const lengths = await server.during(`twenty lists as ${name}`, () =>
      Promise.all(Array.from({ length: 20 }, async () => (await send(server.target, request)).text.length)),
    );
    assert.ok(Math.min(...lengths) > 15_000_000, `${Math.min(...lengths)} characters`);
  }
});

test("lists of large objects that a client does not read do not delay its short requests", async () => {
  const session = await openSession(server.target);
  // 400 requests of one user are answered at once, and these are not answered yet.
  const streams = Array.from({ length: 390 }, () => {
    const stream = session.request({ ":path": objectsOf("Heavy"), accept: "application/yaml" });
    stream.on("error", () => {});
    return stream;
  });
  await server.during("390 lists that are not read", async () => {
    const one = await sendJson(server.target, ["GET", "/api/v1/namespaces/default"]);
    assert.equal(one.code, 200, one.text);
    await delay(3000);
    for (const stream of streams) stream.close();
  });
  session.destroy();
  const { code } = await sendJson(server.target, ["GET", objectsOf("Heavy")]);
  assert.equal(code, 200);
});

/** Near the 3 MiB that a body may have. */
const longTexts: Record<string, string> = {
  "line breaks": "\n".repeat(1_000_000),
  "short lines": "a\n".repeat(700_000),
  words: "word ".repeat(500_000),
  "characters that are escaped": '\u{1f600}"'.repeat(400_000),
  "one word": "a".repeat(2_500_000),
};
for (const [name, text] of Object.entries(longTexts)) {
  test(`an object with a text of many ${name} as YAML`, async () => {
    const created = await sendJson(server.target, ["POST", listed], objectNamed("Listed", "long", { text }));
    assert.equal(created.code, 201, created.text.slice(0, 300));
    const headers = { accept: "application/yaml" };
    const { code } = await server.during(`YAML of ${name}`, () =>
      send(server.target, { method: "GET", path: `${listed}/long`, headers }),
    );
    assert.equal(code, 200);
    assert.equal((await sendJson(server.target, ["DELETE", `${listed}/long`])).code, 200);
  });
}

for (const path of ["/openapi/v2", "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1", "/apis", "/metrics"]) {
  test(`1,000 compressed responses of ${path}`, async () => {
    const request = { method: "GET", path, headers: { "accept-encoding": "gzip" } };
    assert.equal((await send(server.target, request)).code, 200, "made once before");
    const codes = await server.during(path, async () => {
      const responses = Array.from({ length: 1_000 }, () => send(server.target, request));
      return (await Promise.all(responses)).map(({ code }) => code);
    });
    assert.deepEqual([...new Set(codes)], [200]);
  });
}

test("one user with more requests than may wait is refused with 429, and probes are not", async () => {
  await using limited = await startAttackedServer({ args: ["--max-requests-inflight", "100"] });
  const { promise: refused, resolve } = Promise.withResolvers<Record<string, unknown>>();
  const sessions = await Promise.all([openSession(limited.target), openSession(limited.target)]);
  const path = "/api/v1/namespaces/default/configmaps";
  await limited.during("600 requests that do not end", async () => {
    for (const session of sessions) {
      // None of them sends its body, so none is answered before others are refused.
      for (let i = 0; i < 300; i++) {
        const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
        stream.on("error", () => {});
        stream.on("response", (headers) => {
          if (headers[":status"] === 429) resolve(headers);
          stream.resume();
        });
      }
    }
    const headers = await refused;
    assert.equal(headers["retry-after"], "1");
    assert.equal((await sendJson(limited.target, ["GET", "/livez"])).code, 200);
    const { code, text } = await sendJson(limited.target, ["GET", path]);
    assert.equal(code, 429);
    assert.match(text, /at most 100 are answered at once and 400 wait: .*--max-requests-inflight/);
  });
  for (const session of sessions) session.destroy();
  // What waited for clients that have gone leaves at once.
  while ((await sendJson(limited.target, ["GET", path])).code !== 200);
});

async function openSession({ server: url, caPem, certPem, keyPem }: Target): Promise<ClientHttp2Session> {
  const session = connect(url, { ca: caPem, cert: certPem, key: keyPem });
  await new Promise((resolve, reject) => session.once("remoteSettings", resolve).once("error", reject));
  return session;
}

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
