// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startControlPlane } from "@purlin/control-plane";
import { nopLogger, type RunningFunction, request, response, start } from "@purlin/function-sdk";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { startTestServer } from "@purlin/kube-controller/testing";
import { openRunStore, type RunStore } from "@purlin/run-store";
import { type Figure, figure } from "../measure/figure.ts";

/** How much of everything. */
export interface RecorderEffort {
  readonly rounds: number;
  /** Composite resources made in a round. */
  readonly count: number;
}

const app = { apiVersion: "example.org/v1", kind: "App" };
const namespace = "default";

/**
 * The cost of recording runs: the CPU time that the recorder itself takes, as a share of what API server, control plane and function
 * take in the same process and at the same time without it.
 */
export async function recorderFigures({ rounds, count }: RecorderEffort): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-bench-runs-"));
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const runs = closing.use(openRunStore({ directory }));
  const fn = closing.use(await serveFunction());
  const [users, control] = [createKubeClient(server.connect()), createKubeClient(server.connect("crossplane"))];
  closing.defer(async () => void (await Promise.all([users.close(), control.close()])));
  const settings = { developmentFunctions: true };
  const plane = closing.use(
    startControlPlane({ client: control, functions: { security: "plaintext" }, settings, runs }),
  );
  const { engine } = await plane.ready;
  await applyPlatform(users, fn.address);
  await makeReady(users, "warm", count);
  const composing: Costs[] = [];
  for (let round = 0; round < rounds; round++) {
    composing.push(await cost(runs, () => makeReady(users, `round-${round}`, count)));
  }
  const steady: Costs[] = [];
  const heap: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const again = async (): Promise<void> => {
      const done = (): number => runs.stats.recorded + runs.stats.dropped;
      const before = done();
      for (let n = 0; n < count; n++) engine.enqueue("composite/apps.example.org", { namespace, name: `warm-${n}` });
      while (done() < before + count) await delay(20);
    };
    steady.push(await cost(runs, again));
    globalThis.gc?.();
    heap.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
  const most = { relation: "at most", value: 5 } as const;
  return [
    figure(
      "recorder: CPU of new XRs until Ready",
      "%",
      composing.map(({ share }) => share),
      most,
    ),
    figure(
      "recorder: CPU of a run while XRs are made",
      "µs",
      composing.map(({ microseconds }) => microseconds),
    ),
    figure(
      "recorder: CPU of reconciles without a change",
      "%",
      steady.map(({ share }) => share),
      most,
    ),
    figure(
      "recorder: CPU of a run without a change",
      "µs",
      steady.map(({ microseconds }) => microseconds),
    ),
    figure("recorder: heap after the rounds ÷ after the first", "×", [(heap.at(-1) ?? 0) / (heap[0] ?? 1)]),
    figure("recorder: dropped runs", "", [runs.stats.dropped]),
  ];
}

interface Costs {
  /** CPU time of the recorder, in percent of all other CPU time. */
  readonly share: number;
  readonly microseconds: number;
}

async function cost(runs: RunStore, work: () => Promise<void>): Promise<Costs> {
  runs.flush();
  const [cpu, before] = [process.cpuUsage(), runs.stats];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  const own = (runs.stats.cpuMs - before.cpuMs) * 1000;
  // What still waits is stored when there is nothing else to do.
  runs.flush();
  const { cpuMs, recorded } = runs.stats;
  const all = (cpuMs - before.cpuMs) * 1000;
  return { share: (100 * own) / (user + system - own), microseconds: all / (recorded - before.recorded) };
}

/** Composes a ConfigMap, a Secret and a Deployment for each App. */
function serveFunction(): Promise<RunningFunction> {
  const compose = (req: Parameters<typeof response.to>[0]) => {
    const rsp = response.to(req);
    const text = request.getObservedCompositeResource(req).resource.getString("spec.text");
    const add = (name: string, object: object): void =>
      response.setDesiredComposedResource(rsp, name, object, { ready: true });
    add("settings", { apiVersion: "v1", kind: "ConfigMap", data: { text, url: `https://${text}.example.org` } });
    add("login", { apiVersion: "v1", kind: "Secret", stringData: { password: `password-of-${text}` } });
    const labels = { app: text };
    const containers = [{ name: "app", image: `example.org/${text}:v1`, env: [{ name: "TEXT", value: text }] }];
    const template = { metadata: { labels }, spec: { containers } };
    add("web", { apiVersion: "apps/v1", kind: "Deployment", spec: { selector: { matchLabels: labels }, template } });
    return rsp;
  };
  return start(compose, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
}

async function makeReady(users: KubeClient, prefix: string, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
  await Promise.all(names.map((name) => users.create({ ...app, metadata: { name, namespace }, spec: { text: name } })));
  for (;;) {
    const { items } = await users.list(app, { namespace });
    const ready = items.filter(({ metadata, status }) => metadata.name?.startsWith(`${prefix}-`) && isReady(status));
    if (ready.length === count) return;
    await delay(250);
  }
}

function isReady(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly { type: string; status: string }[] };
  return conditions.some((one) => one.type === "Ready" && one.status === "True");
}

async function applyPlatform(users: KubeClient, address: string): Promise<void> {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { text: { type: "string" } } } },
    },
  };
  const objects = [
    {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: {
        name: "fn",
        annotations: {
          "render.crossplane.io/runtime": "Development",
          "render.crossplane.io/runtime-development-target": address,
        },
      },
      spec: { package: "example.org/fn:v1" },
    },
    {
      apiVersion: "apiextensions.crossplane.io/v2",
      kind: "CompositeResourceDefinition",
      metadata: { name: "apps.example.org" },
      spec: {
        group: "example.org",
        scope: "Namespaced",
        names: { kind: "App", plural: "apps" },
        versions: [{ name: "v1", served: true, referenceable: true, schema }],
      },
    },
    {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "apps" },
      spec: { compositeTypeRef: app, mode: "Pipeline", pipeline: [{ step: "compose", functionRef: { name: "fn" } }] },
    },
  ];
  for (const object of objects) await users.create(object);
  for (;;) {
    try {
      await users.list(app, { namespace });
      return;
    } catch {
      await delay(50);
    }
  }
}
