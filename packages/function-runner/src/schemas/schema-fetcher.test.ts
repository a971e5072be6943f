// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { create, type Schema, SchemaSelector } from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { gate } from "../../test/runs.ts";
import {
  createSchemaFetcher,
  indexLifeMs,
  negativeLifeMs,
  noSchemas,
  type OpenAPIReader,
  openAPIDocuments,
  type SchemaFetcher,
  settlingMs,
} from "./schema-fetcher.ts";

const select = (apiVersion: string, kind: string): SchemaSelector => create(SchemaSelector, { apiVersion, kind });
const builtin = createSchemaFetcher(openAPIDocuments()).schema;

const refs = (schema: Schema): number => JSON.stringify(schema.openapiV3?.value).split('"$ref":"#').length - 1;
const at = (schema: Schema, ...path: string[]): unknown =>
  path.reduce<unknown>((value, key) => (value as JsonObject | undefined)?.[key], schema.openapiV3?.value);

test("a Deployment is found, without any reference, its metadata described", async () => {
  const schema = await builtin(select("apps/v1", "Deployment"));
  assert.equal(refs(schema), 0);
  assert.equal(at(schema, "properties", "metadata", "properties", "labels", "type"), "object");
  assert.equal(at(schema, "properties", "spec", "properties", "replicas", "type"), "integer");
  assert.deepEqual(at(schema, "x-kubernetes-group-version-kind"), [
    { group: "apps", version: "v1", kind: "Deployment" },
  ]);
});

test("a Pod is found in the core group", async () => {
  const asked: string[] = [];
  const reader = openAPIDocuments();
  const { schema } = createSchemaFetcher({
    index: reader.index,
    document(url) {
      asked.push(url);
      return reader.document(url);
    },
  });
  assert.equal(at(await schema(select("v1", "Pod")), "properties", "spec", "type"), "object");
  assert.match(asked[0] ?? "", /^\/openapi\/v3\/api\/v1\?/);
});

const missing: Readonly<Record<string, { reason: string; apiVersion: string; kind: string }>> = {
  GroupVersion: { reason: "C85: no such group-version", apiVersion: "example.org/v1", kind: "Thing" },
  Version: { reason: "C85: no such version of the group", apiVersion: "apps/v7", kind: "Deployment" },
  Kind: { reason: "C85: no such kind", apiVersion: "apps/v1", kind: "Deploymint" },
  Case: { reason: "C85: kinds are case-sensitive", apiVersion: "apps/v1", kind: "deployment" },
  NoVersion: { reason: "C85: an empty apiVersion is the core group without a version", apiVersion: "", kind: "Pod" },
  NoKind: { reason: "an empty kind matches no kind", apiVersion: "v1", kind: "" },
  SeveralKinds: {
    reason: "C86: a component of several kinds describes none of them",
    apiVersion: "apps/v1",
    kind: "DeleteOptions",
  },
};

for (const [name, { reason, apiVersion, kind }] of Object.entries(missing)) {
  test(`schemas ${name}: ${reason}, so the answer is an empty Schema`, async () => {
    assert.equal((await builtin(select(apiVersion, kind))).openapiV3, undefined);
    assert.equal((await noSchemas(select(apiVersion, kind))).openapiV3, undefined);
  });
}

test("an apiVersion with two slashes is an error", async () => {
  await assert.rejects(builtin(select("a/b/c", "K")), { message: "unexpected GroupVersion string: a/b/c" });
});

test("a schema that contains itself ends in an object", async () => {
  const schema = await builtin(select("apiextensions.k8s.io/v1", "CustomResourceDefinition"));
  assert.equal(refs(schema), 0);
  const versions = ["properties", "spec", "properties", "versions", "items", "properties", "schema"];
  const root = [...versions, "properties", "openAPIV3Schema"];
  assert.deepEqual(at(schema, ...root, "properties", "not"), { type: "object" });
});

/** A document of one kind whose spec refers to another component, with whatever else a test adds. */
function widgets(version: string, spec: JsonObject, more: JsonObject = {}): JsonObject {
  const kinds = [{ group: "example.org", version, kind: "Widget" }];
  const widget = { type: "object", properties: { spec }, "x-kubernetes-group-version-kind": kinds };
  return { openapi: "3.0.0", components: { schemas: { "org.example.Widget": widget, ...more } } };
}

const size = { type: "integer", description: "the target's own" };

test("an allOf with a reference is replaced by what it refers to", async () => {
  const spec = { description: "lost", allOf: [{ $ref: "#/components/schemas/Size" }], default: 3 };
  const documents = [widgets("v1", spec, { Size: size })];
  const { schema } = createSchemaFetcher(openAPIDocuments({ documents }));
  assert.deepEqual(at(await schema(select("example.org/v1", "Widget")), "properties", "spec"), size);
});

test("limits beyond 2^53 become the nearest double, as every number that functions get", async () => {
  const documents = [widgets("v1", { type: "integer", maximum: 9223372036854775807n })];
  const { schema } = createSchemaFetcher(openAPIDocuments({ documents }));
  assert.equal(at(await schema(select("example.org/v1", "Widget")), "properties", "spec", "maximum"), 2 ** 63);
});

test("a reference that leads nowhere is an error that names the document", async () => {
  const documents = [widgets("v1", { $ref: "#/components/schemas/Gone" })];
  const { schema } = createSchemaFetcher(openAPIDocuments({ documents }));
  await assert.rejects(schema(select("example.org/v1", "Widget")), {
    message: /^cannot use the OpenAPI v3 document "apis\/example\.org\/v1": .*Gone/,
  });
});

/** A server whose documents a test can change, and which counts what it is asked for. */
class FakeServer implements OpenAPIReader {
  readonly asked: string[] = [];
  documents: Record<string, JsonObject> = {};
  fails: Error | undefined;
  slow: Promise<void> | undefined;
  hashed = true;

  async index(): Promise<Map<string, string>> {
    this.asked.push("index");
    const answer = new Map(Object.keys(this.documents).map((key) => [key, this.#urlOf(key)]));
    await this.slow;
    if (this.fails) throw this.fails;
    return answer;
  }

  async document(url: string): Promise<JsonObject> {
    this.asked.push(url.replace(/^\/openapi\/v3\//, "").replace(/\?.*$/, ""));
    const key = Object.keys(this.documents).find((each) => this.#urlOf(each) === url);
    if (this.fails) throw this.fails;
    assert.ok(key, `no document at ${url}`);
    return this.documents[key] as JsonObject;
  }

  #urlOf(key: string): string {
    const content = JSON.stringify(this.documents[key]);
    return this.hashed ? `/openapi/v3/${key}?hash=${content.length}-${content}` : `/openapi/v3/${key}`;
  }

  /** What was asked for since the last time. */
  take(): string[] {
    return this.asked.splice(0);
  }
}

function fakeServer(): {
  server: FakeServer;
  clock: ManualClock;
  fetcher: SchemaFetcher;
  widget: () => Promise<unknown>;
} {
  const server = new FakeServer();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const fetcher = createSchemaFetcher(server, clock);
  const widget = async (): Promise<unknown> =>
    at(await fetcher.schema(select("example.org/v1", "Widget")), "properties", "spec", "type");
  return { server, clock, fetcher, widget };
}

const key = "apis/example.org/v1";

test("a CRD made after a negative answer is found once it is published, without a restart", async () => {
  const { server, clock, widget } = fakeServer();
  assert.equal(await widget(), undefined);
  server.documents[key] = widgets("v1", { type: "string" });
  assert.equal(await widget(), undefined, "a negative answer is believed for a moment");
  assert.deepEqual(server.take(), ["index"]);

  clock.advance(negativeLifeMs);
  assert.equal(await widget(), "string");
  assert.deepEqual(server.take(), ["index", key]);
});

test("a kind added to a known group-version is found as well", async () => {
  const { server, clock, fetcher } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  const gadget = select("example.org/v1", "Gadget");
  assert.equal((await fetcher.schema(gadget)).openapiV3, undefined);
  const kinds = [{ group: "example.org", version: "v1", kind: "Gadget" }];
  server.documents[key] = widgets(
    "v1",
    { type: "string" },
    { Gadget: { type: "object", "x-kubernetes-group-version-kind": kinds } },
  );
  clock.advance(negativeLifeMs);
  assert.notEqual((await fetcher.schema(gadget)).openapiV3, undefined);
});

test("a failure is not kept: the next request tries again", async () => {
  const { server, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  server.fails = new Error("boom");
  await assert.rejects(widget(), { message: "cannot read the OpenAPI v3 index: boom" });
  server.fails = undefined;
  assert.equal(await widget(), "string");
});

test("nor is the failure to read a document", async () => {
  const { server, clock, widget, fetcher } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  await fetcher.schema(select("v1", "Pod"));
  server.fails = new Error("boom");
  await assert.rejects(widget(), {
    message: `cannot read the OpenAPI v3 document "${key}": boom`,
    cause: server.fails,
  });
  server.fails = undefined;
  assert.equal(await widget(), "string");
  assert.deepEqual(server.take(), ["index", key, key]);
  clock.advance(1);
});

test("after a CRD event the next request has the new schema, and unchanged documents are not fetched again", async () => {
  const { server, fetcher, widget } = fakeServer();
  server.documents = {
    [key]: widgets("v1", { type: "string" }),
    "apis/example.org/v2": widgets("v2", { type: "number" }),
  };
  await widget();
  await fetcher.schema(select("example.org/v2", "Widget"));
  server.take();

  server.documents[key] = widgets("v1", { type: "boolean" });
  fetcher.invalidate();
  assert.equal(await widget(), "boolean");
  const other = await fetcher.schema(select("example.org/v2", "Widget"));
  assert.equal(at(other, "properties", "spec", "type"), "number");
  assert.deepEqual(server.take(), ["index", key]);
});

test("a schema published some time after its CRD event is seen within seconds", async () => {
  const { server, clock, fetcher, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  await widget();
  fetcher.invalidate();
  assert.equal(await widget(), "string", "the event came before the publication");
  server.documents[key] = widgets("v1", { type: "boolean" });
  clock.advance(negativeLifeMs);
  assert.equal(await widget(), "boolean");

  server.take();
  clock.advance(settlingMs);
  await widget();
  clock.advance(negativeLifeMs);
  await widget();
  assert.deepEqual(server.take(), ["index"], "once things have settled, an index is trusted again");
});

test("a burst of CRD events costs one index", async () => {
  const { server, fetcher, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  await widget();
  server.take();
  for (let i = 0; i < 100; i++) fetcher.invalidate();
  await Promise.all([widget(), widget(), widget()]);
  assert.deepEqual(server.take(), ["index"]);
});

test("an index read before a CRD event does not answer requests made after it", async () => {
  const { server, fetcher, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  const slow = gate();
  server.slow = slow.opened;
  const early = widget();
  server.documents[key] = widgets("v1", { type: "boolean" });
  fetcher.invalidate();
  const late = widget();
  assert.deepEqual(server.take(), ["index", "index"]);
  slow.open();
  assert.equal(await late, "boolean");
  // The early reader's index names a document that is gone; it fails and the next caller retries.
  await early.catch(() => {});
  assert.equal(await widget(), "boolean");
});

test("the index is read again every five minutes", async () => {
  const { server, clock, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  await widget();
  clock.advance(indexLifeMs - 1);
  await widget();
  assert.deepEqual(server.take(), ["index", key]);
  clock.advance(1);
  await widget();
  assert.deepEqual(server.take(), ["index"]);
});

test("concurrent requests share one index and one document", async () => {
  const { server, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  await Promise.all(Array.from({ length: 20 }, () => widget()));
  assert.deepEqual(server.take(), ["index", key]);
});

test("a schema is inlined and encoded once a document", async () => {
  const { server, clock, fetcher } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  const ask = (): Promise<Schema> => fetcher.schema(select("example.org/v1", "Widget"));
  const first = await ask();
  fetcher.invalidate();
  clock.advance(indexLifeMs);
  assert.equal((await ask()).openapiV3, first.openapiV3);
});

test("a document whose URL has no hash is read again with every index", async () => {
  const { server, fetcher, widget } = fakeServer();
  server.hashed = false;
  server.documents[key] = widgets("v1", { type: "string" });
  await widget();
  server.documents[key] = widgets("v1", { type: "boolean" });
  fetcher.invalidate();
  assert.equal(await widget(), "boolean");
});

test("documents the index no longer names are forgotten", async () => {
  const { server, fetcher, widget } = fakeServer();
  server.documents[key] = widgets("v1", { type: "string" });
  await widget();
  const { [key]: document } = server.documents;
  server.documents = {};
  fetcher.invalidate();
  assert.equal(await widget(), undefined);
  server.documents = { [key]: document as JsonObject };
  fetcher.invalidate();
  server.take();
  await widget();
  assert.deepEqual(server.take(), ["index", key]);
});

test("a document that is not an object is an error that names it", async () => {
  const { schema } = createSchemaFetcher({
    index: async () => new Map([["api/v1", "/openapi/v3/api/v1?hash=1"]]),
    document: async () => [] as never,
  });
  await assert.rejects(schema(select("v1", "Pod")), {
    message: 'cannot read the OpenAPI v3 document "api/v1": it is not a JSON object',
  });
});

test("a document without components describes nothing", async () => {
  const { schema } = createSchemaFetcher({
    index: async () => new Map([["api/v1", "/openapi/v3/api/v1?hash=1"]]),
    document: async () => ({}),
  });
  assert.equal((await schema(select("v1", "Pod"))).openapiV3, undefined);
});

const crd: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "buckets.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { kind: "Bucket", plural: "buckets", singular: "bucket", listKind: "BucketList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { region: { type: "string" } } } },
          },
        },
      },
    ],
  },
};

test("CRDs answer like the documents a server makes of them, beside documents of the same group-version", async () => {
  const documents = [widgets("v1", { type: "string" })];
  const { schema } = createSchemaFetcher(openAPIDocuments({ documents, crds: [crd] }));
  const bucket = await schema(select("example.org/v1", "Bucket"));
  assert.equal(at(bucket, "properties", "spec", "properties", "region", "type"), "string");
  assert.equal(at(bucket, "properties", "metadata", "properties", "name", "type"), "string");
  assert.equal(refs(bucket), 0);
  const widget = await schema(select("example.org/v1", "Widget"));
  assert.equal(at(widget, "properties", "spec", "type"), "string");
});

test("a given document wins over the built-in schemas, which answer for the rest", async () => {
  const kinds = [{ group: "apps", version: "v1", kind: "Deployment" }];
  const own = { type: "object", "x-kubernetes-group-version-kind": kinds, properties: { mine: { type: "string" } } };
  // Built-in components are named so, and a real server's document has the same names.
  const documents = [{ components: { schemas: { "io.k8s.api.apps.v1.Deployment": own } } }];
  const { schema } = createSchemaFetcher(openAPIDocuments({ documents }));
  assert.deepEqual(at(await schema(select("apps/v1", "Deployment")), "properties", "mine"), { type: "string" });
  assert.notEqual((await schema(select("apps/v1", "StatefulSet"))).openapiV3, undefined);
});

test("without the built-in schemas only what was given answers", async () => {
  const { schema } = createSchemaFetcher(openAPIDocuments({ withoutBuiltin: true }));
  assert.equal((await schema(select("v1", "Pod"))).openapiV3, undefined);
});

test("what is not an OpenAPI document of a kind is refused with its number", () => {
  for (const bad of [{}, "text", null, { components: { schemas: { A: { type: "object" } } } }]) {
    assert.throws(() => openAPIDocuments({ documents: [widgets("v1", {}), bad] }), {
      message:
        "OpenAPI document 2 describes no kind: expected one as a server answers at /openapi/v3/apis/<group>/<version>",
    });
  }
  assert.throws(() => openAPIDocuments({ crds: [{ kind: "Nonsense" }] }), /CustomResourceDefinition/);
});
