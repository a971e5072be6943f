// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeClient, NoMatchError } from "@purlin/kube-client";
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { identityAt, identityOf, kindIdentity, LiveReads } from "./live-reads.ts";

const type = { apiVersion: "v1", kind: "ConfigMap" };
const map = (name: string, resourceVersion = "1"): KubeObject => ({
  ...type,
  metadata: { name, namespace: "default", resourceVersion },
});

interface Server {
  readonly client: KubeClient;
  readonly requests: string[];
  objects: KubeObject[];
  /** Thrown by the next request. */
  error: unknown;
}

function serverOf(...objects: readonly KubeObject[]): Server {
  const server: Server = { requests: [], objects: [...objects], error: undefined, client: undefined as never };
  const fail = (): void => {
    const { error } = server;
    server.error = undefined;
    if (error !== undefined) throw error;
  };
  const client = {
    get: async (_: unknown, { name }: { readonly name: string }) => {
      server.requests.push(`get ${name}`);
      fail();
      const found = server.objects.find(({ metadata }) => metadata.name === name);
      if (found === undefined) throw notFound({ group: "", resource: "configmaps" }, name);
      return found;
    },
    list: async (
      { kind }: { readonly kind: string },
      options: {
        readonly limit?: number;
        readonly continue?: string;
        readonly namespace?: string;
        readonly labelSelector?: string;
      },
    ) => {
      const from = Number(options.continue ?? 0);
      server.requests.push(
        ["list", kind, options.namespace, options.labelSelector, from || ""].filter(Boolean).join(" "),
      );
      fail();
      const all = server.objects.filter((one) => one.kind === kind);
      const next = from + (options.limit ?? 0);
      return {
        items: all.slice(from, next),
        resourceVersion: "1",
        ...(next < all.length && { continue: String(next) }),
      };
    },
    mapper: {
      mapping: async (one: typeof type) => {
        fail();
        if (one.kind === "Lost") throw new NoMatchError(one);
        return {};
      },
    },
  };
  return Object.assign(server, { client: client as unknown as KubeClient });
}

describe("reads", () => {
  test("an object is read once; one that does not exist is absent", async () => {
    const server = serverOf(map("a"));
    const live = new LiveReads(server.client);
    const [one, other] = await Promise.all([live.get(type, { name: "a" }), live.get(type, { name: "a" })]);
    assert.deepEqual([one, other], [map("a"), map("a")]);
    assert.equal(await live.get(type, { name: "b" }), undefined);
    assert.equal(await live.get(type, { name: "b" }), undefined);
    assert.deepEqual(server.requests, ["get a", "get b"]);
  });

  test("a read that failed is sent again", async () => {
    const server = serverOf(map("a"));
    const live = new LiveReads(server.client);
    server.error = forbidden({ group: "", resource: "configmaps" }, "a", "no");
    await assert.rejects(live.get(type, { name: "a" }), /forbidden/);
    assert.deepEqual(await live.get(type, { name: "a" }), map("a"));
    server.error = new Error("reset");
    await assert.rejects(live.list(type), /reset/);
    assert.equal((await live.list(type)).length, 1);
  });

  test("lists are read once for each selection", async () => {
    const server = serverOf(map("a"));
    const live = new LiveReads(server.client);
    await live.list(type);
    await live.list(type);
    await live.list(type, { namespace: "team", labelSelector: "a=b" });
    assert.deepEqual(server.requests, ["list ConfigMap", "list ConfigMap team a=b"]);
  });

  test("lists are read in pages of 500", async () => {
    const server = serverOf(...Array.from({ length: 1001 }, (_, index) => map(`m${index}`)));
    assert.equal((await new LiveReads(server.client).list(type)).length, 1001);
    assert.deepEqual(server.requests, ["list ConfigMap", "list ConfigMap 500", "list ConfigMap 1000"]);
  });

  test("a kind is served or not; other errors decide nothing", async () => {
    const server = serverOf();
    const live = new LiveReads(server.client);
    assert.equal(await live.serves(type), true);
    assert.equal(await live.serves({ ...type, kind: "Lost" }), false);
    server.error = new Error("reset");
    await assert.rejects(live.serves(type), /reset/);
  });
});

describe("changes since the first read", () => {
  test("objects that were read, with another version or gone", async () => {
    const server = serverOf(map("changed"), map("gone"), map("same"), map("unread"));
    const live = new LiveReads(server.client);
    for (const name of ["changed", "gone", "same", "absent"]) await live.get(type, { name });
    server.objects = [map("unread", "9"), map("same"), map("changed", "2")];
    assert.deepEqual(await live.changedSince(), ["ConfigMap default/changed", "ConfigMap default/gone"]);
  });

  test("objects of lists count too, and failed reads do not", async () => {
    const server = serverOf(map("a"));
    const live = new LiveReads(server.client);
    server.error = new Error("reset");
    await assert.rejects(live.get(type, { name: "a" }));
    await live.list(type);
    server.objects = [map("a", "2")];
    assert.deepEqual(await live.changedSince(), ["ConfigMap default/a"]);
  });

  test("the status of a quota changes all the time", async () => {
    const quota = (resourceVersion: string): KubeObject => ({ ...map("q", resourceVersion), kind: "ResourceQuota" });
    const server = serverOf(quota("1"));
    const live = new LiveReads(server.client);
    await live.list({ apiVersion: "v1", kind: "ResourceQuota" });
    server.objects = [quota("2")];
    assert.deepEqual(await live.changedSince(), []);
  });

  test("nothing is read again if nothing was read", async () => {
    const server = serverOf();
    assert.deepEqual(await new LiveReads(server.client).changedSince(), []);
    assert.deepEqual(server.requests, []);
  });
});

describe("identities", () => {
  test("do not depend on the version", () => {
    const object = (apiVersion: string): KubeObject => ({
      apiVersion,
      kind: "App",
      metadata: { name: "a", namespace: "n" },
    });
    assert.equal(identityOf(object("example.org/v1")), identityOf(object("example.org/v2")));
    assert.notEqual(identityOf(object("example.org/v1")), identityOf(object("example.com/v1")));
    assert.equal(kindIdentity({ apiVersion: "v1", kind: "Pod" }), "/Pod");
  });

  test("an absent namespace is the empty one", () => {
    assert.equal(identityAt(type, { name: "a" }), identityAt(type, { name: "a", namespace: "" }));
    assert.notEqual(identityAt(type, { name: "a" }), identityAt(type, { name: "a", namespace: "b" }));
    assert.notEqual(identityAt(type, { name: "b", namespace: "a" }), identityAt(type, { name: "a", namespace: "b" }));
  });
});
