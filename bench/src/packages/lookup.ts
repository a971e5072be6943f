// SPDX-License-Identifier: Apache-2.0

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRevisionResolver, type FunctionReference, type FunctionResolver } from "@purlin/function-runner";
import { mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createInformerPool, createKubeClient } from "@purlin/kube-client";
import { type ControllerClient, createControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { packageCrds } from "@purlin/package-manager";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import type { Effort } from "../measure/timing.ts";

const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const sizes = { few: 10, many: 1_000 } as const;
const perFunction = 2;

function digestOf(at: number): string {
  return `sha256:${String(at).padStart(64, "0")}`;
}

/** Two active revisions a function, one of each channel. */
function revision(at: number): KubeObject {
  const number = (at % perFunction) + 1;
  const name = `fn-${Math.floor(at / perFunction)}`;
  const labels = { "pkg.crossplane.io/package": name, channel: number === 1 ? "stable" : "alpha" };
  const image = `registry.example.org/acme/${name}:v${number}`;
  return {
    ...revisionType,
    metadata: { name: `${name}-${number}`, labels },
    spec: { image, digest: digestOf(at), desiredState: "Active", revision: number },
  };
}

/** What finding the revision of a step costs beside few and beside many others. */
export async function lookupFigures(effort: Effort): Promise<Figure[]> {
  await using few = await resolverBeside(sizes.few);
  await using many = await resolverBeside(sizes.many);
  const selector = { matchLabels: { channel: "stable" } };
  const references: Record<string, Partial<FunctionReference>> = {
    "of a function": {},
    "by label": { functionRevisionSelector: selector },
    "by name": { functionRevisionRef: { name: "fn-0-1" } },
    "by digest": { function: `registry.example.org/acme/fn-0@${digestOf(0)}` },
  };
  const figures: Figure[] = [];
  for (const [what, choice] of Object.entries(references)) {
    const reference = { step: "compose", functionName: "fn-0", ...choice } as FunctionReference;
    const times = await timeBoth([few.resolver, many.resolver], reference, effort);
    const [beside = [], others = []] = times;
    const target = { relation: "at most", value: 1.5 } as const;
    figures.push(
      figure(`lookup: ${what}, of ${sizes.few} revisions`, "µs", beside),
      figure(`lookup: ${what}, of ${sizes.many} revisions`, "µs", others),
      figure(`lookup: ${what}, ${sizes.many} ÷ ${sizes.few} revisions`, "×", ratios(others, beside), target),
    );
  }
  return figures;
}

async function timeBoth(
  resolvers: readonly FunctionResolver[],
  reference: FunctionReference,
  { rounds, sliceMs, warmUpMs }: Effort,
): Promise<number[][]> {
  for (const resolver of resolvers) await timeOne(resolver, reference, warmUpMs);
  const times: number[][] = resolvers.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, resolver] of resolvers.entries()) times[at]?.push(await timeOne(resolver, reference, sliceMs));
  }
  return times;
}

/** Microseconds of processor time of this thread. */
async function timeOne(resolver: FunctionResolver, reference: FunctionReference, forMs: number): Promise<number> {
  const started = performance.now();
  const before = process.threadCpuUsage();
  let count = 0;
  do {
    for (let at = 0; at < 50; at++) await resolver.resolve(reference);
    count += 50;
  } while (performance.now() - started < forMs);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / count;
}

async function resolverBeside(count: number): Promise<AsyncDisposable & { readonly resolver: FunctionResolver }> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-lookup-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startApiServer({ kinds: builtinKinds, directory });
  starting.defer(() => server.close());
  const user = { name: "bench", groups: [mastersGroup] };
  const client = starting.adopt(createKubeClient(createDirectTransport(server.handle, user)), (one) => one.close());
  for (const crd of packageCrds({ functionRevisionSelectors: true })) await client.create(crd as unknown as KubeObject);
  await untilServed(() => client.list(revisionType));
  for (let at = 0; at < count; at++) {
    const { metadata } = await client.create(revision(at));
    const status = { endpoint: "127.0.0.1:1" };
    await client.update({ ...revision(at), metadata, status }, { subresource: "status" });
  }
  const informers = starting.adopt(createInformerPool(client), (pool) => pool.stop());
  const cached = starting.adopt(createControllerClient({ client, informers }), (one) => one.close());
  const owned = starting.move();
  return { resolver: resolverOf(cached), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function resolverOf(client: ControllerClient): FunctionResolver {
  const asJson = (object: unknown): never => object as never;
  return createRevisionResolver(
    {
      get: async (name) => asJson(await client.get(revisionType, { name })),
      list: async (labels) => asJson(await client.list(revisionType, { labels: Object.fromEntries(labels) })),
      withDigest: async (digest) =>
        asJson(await client.list(revisionType, { field: { path: ["spec", "digest"], value: digest } })),
    },
    { revisionSelectors: true },
  );
}

async function untilServed(ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
