// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { KubeClient } from "@purlin/kube-client";
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { findPod, forwardFunctions, listen } from "./forwarded-functions.ts";

const { signal } = new AbortController();
const namespace = "crossplane-system";

interface PodWish {
  readonly labels: Readonly<Record<string, string>>;
  readonly ready?: string;
  readonly isGoing?: boolean;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
}

const podOf = (name: string, { labels, ready = "True", isGoing = false, ports = [] }: PodWish): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels, ...(isGoing && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
    spec: { containers: [{ name: "sidecar" }, { name: "package-runtime", ports }] },
    status: { conditions: [{ type: "Ready", status: ready }] },
  }) as KubeObject;

/** A cluster with these Pods, and a Service with this spec. */
function clusterOf(pods: readonly KubeObject[], service?: object): { readonly client: KubeClient } {
  const list: KubeClient["list"] = async (_type, { labelSelector = "" } = {}) => {
    const wanted = labelSelector.split(",").map((one) => one.split("="));
    const items = pods.filter(({ metadata }) => wanted.every(([key = "", value]) => metadata.labels?.[key] === value));
    return { items, resourceVersion: "1" };
  };
  const get: KubeClient["get"] = async (_type, { name }) => {
    if (service === undefined) throw notFound({ group: "", resource: "services" }, name);
    return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: service } as KubeObject;
  };
  return { client: { list, get } as KubeClient };
}

const revision = { source: "fn-1", endpoint: `dns:///fn.${namespace}:9443` };
const label = { "pkg.crossplane.io/revision": "fn-1" };

test("a ready Pod of the revision is found", async () => {
  const pods = [
    podOf("other", { labels: { "pkg.crossplane.io/revision": "fn-2" } }),
    podOf("starting", { labels: label, ready: "False" }),
    podOf("going", { labels: label, isGoing: true }),
    podOf("good", { labels: label }),
  ];
  for (const endpoint of [
    revision.endpoint,
    `fn.${namespace}.svc:9443`,
    `dns:///fn.${namespace}.svc.cluster.local:9443`,
  ])
    assert.deepEqual(await findPod({ source: "fn-1", endpoint }, { cluster: clusterOf(pods), signal }), {
      namespace,
      pod: "good",
      port: 9443,
    });
});

test("without the label, the Service leads to a Pod and to its port", async () => {
  const pods = [podOf("fn-x", { labels: { app: "fn" }, ports: [{ name: "grpc", containerPort: 7000 }] })];
  const selector = { app: "fn" };
  for (const [targetPort, port] of [
    [8443, 8443],
    ["grpc", 7000],
    ["unknown", 9443],
    [undefined, 9443],
  ] as const) {
    const cluster = clusterOf(pods, {
      selector,
      ports: [
        { port: 1, targetPort: 2 },
        { port: 9443, targetPort },
      ],
    });
    assert.deepEqual(await findPod(revision, { cluster, signal }), { namespace, pod: "fn-x", port });
  }
});

test("what is missing is in the error", async () => {
  for (const [service, expected] of [
    [undefined, /services "fn" not found/],
    [{ ports: [] }, /Service crossplane-system\/fn selects no Pods/],
    [{ selector: { app: "fn" } }, /no Pod of fn\.crossplane-system is ready/],
  ] as const)
    await assert.rejects(findPod(revision, { cluster: clusterOf([], service), signal }), expected);
});

test("only Services are forwarded to, and only with a certificate", async () => {
  await using opening = new AsyncDisposableStack();
  const access = { server: "http://127.0.0.1:1", credentials: { current: async () => ({}) } };
  const cluster = { ...clusterOf([]), access };
  const options = { cluster, certificates: undefined, onForward: () => assert.fail("none is opened"), signal, opening };
  const endpoints = ["dns:///127.0.0.1:9443", "[::1]:9443", "unix:/socket", "localhost:9443", "a.b.c:1", "nonsense"];
  const others = endpoints.map((endpoint) => ({ name: endpoint, source: "x", endpoint }));
  const { forwarded, problems, names } = await forwardFunctions([...others, { name: "fn", ...revision }], options);
  assert.equal(forwarded.size, 0);
  assert.deepEqual([...problems.keys()], ["fn"]);
  assert.match(problems.get("fn") ?? "", /no certificate to call it with/);
  assert.equal(names.via?.(`fn.${namespace}`, 9443), undefined);
});

test("each connection gets one of its own, and ends with the listener", async () => {
  const remotes: Duplex[] = [];
  const end = await listen(async () => {
    const remote = new PassThrough();
    remotes.push(remote);
    return remote;
  });
  const first = connect(end.address);
  const second = connect(end.address);
  first.end("one");
  assert.equal(await text(first), "one");
  second.write("two");
  const [echo] = (await once(second, "data")) as [Buffer];
  assert.equal(String(echo), "two");
  assert.equal(remotes.length, 2);
  const closed = once(second, "close");
  await end[Symbol.asyncDispose]();
  await closed;
  assert.deepEqual([remotes.every(({ destroyed }) => destroyed), end.problem()], [true, undefined]);
});

test("more than 64 connections at a time are refused, and none is opened for them", async () => {
  let opened = 0;
  const end = await listen(async () => {
    opened += 1;
    return new PassThrough();
  });
  const echoed = async (): Promise<Socket> => {
    const socket = connect(end.address).on("error", () => {});
    socket.write("x");
    await Promise.race([once(socket, "data"), once(socket, "close")]);
    return socket;
  };
  const sockets = await Promise.all(Array.from({ length: 64 }, echoed));
  assert.equal((await echoed()).closed, true);
  assert.deepEqual([opened, sockets.some(({ closed }) => closed)], [64, false]);
  for (const socket of sockets) socket.destroy();
  await end[Symbol.asyncDispose]();
});

test("why a connection fails is kept", async () => {
  const errors: Error[] = [forbidden({ group: "", resource: "pods" }, "fn", "no"), new Error("nothing listens")];
  const [refused, broken] = errors as [Error, Error];
  const answers = [
    () => Promise.reject(refused),
    async () => {
      const remote = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
      setImmediate(() => remote.destroy(broken));
      return remote;
    },
  ];
  const end = await listen(() => (answers.shift() ?? assert.fail)() as Promise<Duplex>);
  for (const { message } of errors) {
    const socket = connect(end.address).on("error", () => {});
    socket.resume();
    await once(socket, "close");
    assert.equal(end.problem(), message);
  }
  await end[Symbol.asyncDispose]();
});

test("a connection that closes before its port-forward is open stops the opening", async () => {
  const seen = Promise.withResolvers<AbortSignal>();
  const end = await listen((until) => {
    seen.resolve(until);
    return new Promise((_resolve, reject) => until.addEventListener("abort", () => reject(until.reason)));
  });
  const socket = connect(end.address);
  const until = await seen.promise;
  const aborted = once(until, "abort");
  socket.destroy();
  await aborted;
  await end[Symbol.asyncDispose]();
  // The port is free again.
  const server = createServer().listen(end.address.port, "127.0.0.1");
  await once(server, "listening");
  server.close();
});
