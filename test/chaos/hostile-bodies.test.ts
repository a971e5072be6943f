// SPDX-License-Identifier: Apache-2.0
// Bodies that are malformed, enormous or merely mad, from a seed: each is answered with what an API server answers, the process
// lives, does not grow, and what was stored before is as it was.
import assert from "node:assert/strict";
import { request } from "node:https";
import { test } from "node:test";
import { send, type Target } from "../conformance/harness/wire.ts";
import { createChance } from "./harness/chance.ts";
import { seed, share } from "./harness/chaos-options.ts";
import { ask, configMap, configMaps } from "./harness/config-maps.ts";
import { hostileRequest } from "./harness/hostile-body.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

const limit = 3 * 1024 * 1024;
const fuzzy = {
  metadata: { name: "fuzzies.fuzz.example.org" },
  spec: {
    group: "fuzz.example.org",
    scope: "Namespaced",
    names: { plural: "fuzzies", singular: "fuzzy", kind: "Fuzzy", listKind: "FuzzyList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  a: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
                  name: { type: "string", pattern: "^[a-z]*$" },
                  ports: { type: "array", items: { "x-kubernetes-int-or-string": true } },
                },
              },
            },
          },
        },
      },
    ],
  },
};

const mayAnswer = new Set([200, 201, 202, 400, 403, 404, 405, 406, 409, 413, 415, 422]);

test(`bodies from the seed ${seed}`, async (t) => {
  // A leak, or a body that unfolds, ends the process instead of the machine.
  await using server = startServer({ directory: chaosDirectory(), nodeOptions: ["--max-old-space-size=512"] });
  const target = await server.ready;
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  assert.equal((await ask(target, "POST", definitions, fuzzy)).code, 201);
  assert.equal((await ask(target, "POST", configMaps, configMap("kept", "as it was"))).code, 201);

  await t.test("each is answered as an API server answers", async () => {
    const chance = createChance(seed);
    for (let round = 0; round < share(20); round += 1) {
      const { method, path, contentType, body } = hostileRequest(chance);
      const what = `round ${round}: ${method} ${path} ${contentType} ${body.subarray(0, 120).toString("latin1")}`;
      const answer = await send(target, { method, path, headers: { "content-type": contentType }, body });
      assert.ok(mayAnswer.has(answer.code), `${what}\n${answer.code} ${answer.text.slice(0, 300)}`);
      const { kind, message } = answer.body as { readonly kind?: string; readonly message?: string };
      if (answer.code >= 400) assert.equal(kind, "Status", what);
      assert.doesNotMatch(message ?? "", /unexpected error/, what);
    }
    assert.equal(server.complaints(), "", "nothing was unforeseen");
  });

  await t.test("too much is refused, declared or not", async () => {
    for (const declared of [true, false]) {
      assert.equal(await sendBytes(target, limit + 1, declared), 413, `declared: ${declared}`);
      assert.equal(await sendBytes(target, 40 * limit, declared), 413, `declared: ${declared}, without end`);
    }
  });

  await t.test("the server is well afterwards", async () => {
    assert.ok(server.memory() < 700, `it holds ${Math.round(server.memory())} MiB`);
    const { body } = await ask(target, "GET", `${configMaps}/kept`);
    assert.deepEqual(body.data, { text: "as it was" });
    const { code } = await ask(target, "GET", "/readyz");
    assert.equal(code, 200);
  });
});

/** Sends this many bytes and gives the code of the answer; what comes after the answer is of no interest. */
function sendBytes(target: Target, length: number, declared: boolean): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { caPem: ca, certPem: cert, keyPem: key } = target;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (declared) headers["content-length"] = String(length);
  const outgoing = request(`${target.server}${configMaps}`, { method: "POST", agent: false, ca, cert, key, headers });
  let answered = false;
  outgoing.on("response", (incoming) => {
    answered = true;
    resolve(incoming.statusCode ?? 0);
    incoming.resume();
    outgoing.destroy();
  });
  outgoing.on("error", (error) => (answered ? undefined : reject(error)));
  const chunk = Buffer.alloc(65_536, " ");
  let left = length;
  const write = (): void => {
    while (left > 0 && !outgoing.destroyed) {
      const part = chunk.subarray(0, Math.min(left, chunk.length));
      left -= part.length;
      if (!outgoing.write(part)) return void outgoing.once("drain", write);
    }
    if (!outgoing.destroyed) outgoing.end();
  };
  write();
  return promise;
}
