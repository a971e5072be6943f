// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { startTestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import fc from "fast-check";
import { definitionsPath, widgetCrd } from "../../test/test-server.ts";
import { objectCodec, preparedStoredForm, prepareStoredForm } from "./object-codec.ts";
import type { RestRequest } from "./rest-context.ts";

const widgets = "/apis/example.org/v1/namespaces/default/widgets";

test("an object that is too large is not stored, also when it comes without a body", async () => {
  await using server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  await server.until(widgets, ({ code }) => code === 200);
  const widget = (name: string, megabytes: number) => ({
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { name },
    spec: { replicas: 1, color: "x".repeat(megabytes * 2 ** 20) },
  });
  const { code } = await server.send(widgets, { method: "POST", body: widget("large", 5) });
  assert.equal(code, 413);
  assert.equal((await server.send(`${widgets}/large`)).code, 404);
  await server.post(widgets, widget("small", 1));
});

test("an object that is printed in parts is stored as one that is printed at once", () => {
  const rest = { strategy: { storage: { toStored: (object: JsonObject) => object } } };
  const key = fc.string({ unit: "binary" });
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: "binary" }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.constantFrom(null, true, 0.5, "<&>", "\u2028"),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(tree, tree, (spec, labels) => {
      for (const custom of [true, false]) {
        const object: JsonObject = {
          kind: "ConfigMap",
          apiVersion: "v1",
          metadata: { name: "a", resourceVersion: "1", labels },
          spec,
          absent: undefined as unknown as JsonValue,
        };
        finish(prepareStoredForm({ ...rest, type: { custom } } as unknown as RestRequest, object));
        const form = preparedStoredForm(object, 7);
        assert.ok(form);
        const prepared = objectCodec.encode(form);
        // The text is used once: the second time the object is printed at once.
        assert.equal(Buffer.from(prepared).toString(), Buffer.from(objectCodec.encode(form)).toString());
        assert.match(Buffer.from(prepared).toString(), /"resourceVersion":"7"/);
      }
    }),
  );
});
