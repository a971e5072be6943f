// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "@purlin/base";
import { startControlPlane } from "@purlin/control-plane";
import { nopLogger, type RunningFunction, request, response, start } from "@purlin/function-sdk";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
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
 * The cost of recording runs: the same work in turns with and without the recorder, on one API server, control plane and function in one
 * process, so that a machine that is busy at times slows both down.
 */
export async function recorderFigures({ rounds, count }: RecorderEffort): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-bench-runs-"));
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const runs = closing.use(openRunStore({ directory }));
  const gate = new Gate(runs);
  const fn = closing.use(await serveFunction());
  const [users, control] = [createKubeClient(server.connect()), createKubeClient(server.connect("crossplane"))];
  closing.defer(async () => void (await Promise.all([users.close(), control.close()])));
  const settings = { developmentFunctions: true };
  const plane = closing.use(
    startControlPlane({ client: control, functions: { security: "plaintext" }, settings, runs: gate, clock: precise }),
  );
  const { engine } = await plane.ready;
  await applyPlatform(users, fn.address);
  await makeReady(users, "warm", count);
  let made = 0;
  const composing = await inTurns(rounds, gate, () => makeReady(users, `round-${made++}`, count));
  const heap: number[] = [];
  const steady = await inTurns(rounds, gate, async () => {
    const before = gate.ended;
    for (let n = 0; n < count; n++) engine.enqueue("composite/apps.example.org", { namespace, name: `warm-${n}` });
    while (gate.ended < before + count) await delay(20);
    globalThis.gc?.();
    heap.push(process.memoryUsage().heapUsed / 2 ** 20);
  });
  return [
    ...turnFigures("new XRs until Ready", composing),
    ...turnFigures("reconciles without a change", steady),
    figure("recorder: heap after the rounds ÷ after the first", "×", [(heap.at(-1) ?? 0) / (heap[0] ?? 1)]),
    figure("recorder: dropped runs", "", [runs.stats.dropped]),
  ];
}

/** Milliseconds with their fractions. */
const precise: Clock = { ...systemClock, now: () => performance.timeOrigin + performance.now() };

/** Passes runs on to a store, or not, and keeps how long they took. */
class Gate implements RunStore {
  readonly #runs: RunStore;
  isOpen = true;
  ended = 0;
  durations: number[] = [];

  constructor(runs: RunStore) {
    this.#runs = runs;
  }

  get directory(): string {
    return this.#runs.directory;
  }

  get reader(): RunStore["reader"] {
    return this.#runs.reader;
  }

  get sensitive(): RunStore["sensitive"] {
    return this.#runs.sensitive;
  }

  get stats(): RunStore["stats"] {
    return this.#runs.stats;
  }

  record(run: Parameters<RunStore["record"]>[0]): boolean {
    this.ended++;
    this.durations.push(run.endedMs - run.beganMs);
    return this.isOpen && this.#runs.record(run);
  }

  flushInTurns(): Promise<void> {
    return this.#runs.flushInTurns();
  }

  flush(): void {
    this.#runs.flush();
  }

  [Symbol.dispose](): void {
    this.flush();
  }
}

/** What a round took. */
interface Cost {
  /** CPU time of everything but the recorder, in microseconds for each run. */
  readonly cpu: number;
  /** CPU time of the recorder, as it measures it, in microseconds for each run. */
  readonly own: number;
  readonly p95Ms: number;
}

/** A round with the recorder and one without. */
interface Turn {
  readonly on: Cost;
  readonly off: Cost;
}

/** Each turn begins with the other of the two: what a round leaves behind does not burden one of them alone. */
async function inTurns(rounds: number, gate: Gate, work: () => Promise<void>): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let round = 0; round <= rounds; round++) {
    const costs = new Map<boolean, Cost>();
    for (const isOpen of round % 2 === 0 ? [true, false] : [false, true])
      costs.set(isOpen, await cost(gate, isOpen, work));
    const [on, off] = [costs.get(true), costs.get(false)];
    // The first turn warms up.
    if (round > 0 && on !== undefined && off !== undefined) turns.push({ on, off });
  }
  return turns;
}

/** Runs that still wait when the work is done are stored within the round. */
async function cost(gate: Gate, isOpen: boolean, work: () => Promise<void>): Promise<Cost> {
  gate.isOpen = isOpen;
  gate.durations = [];
  const [cpu, before] = [process.cpuUsage(), gate.stats.cpuMs];
  await work();
  gate.flush();
  const { user, system } = process.cpuUsage(cpu);
  const own = (gate.stats.cpuMs - before) * 1000;
  const sorted = gate.durations.toSorted((a, b) => a - b);
  const runs = sorted.length;
  return { cpu: (user + system - own) / runs, own: own / runs, p95Ms: sorted[Math.floor(runs * 0.95)] ?? 0 };
}

function turnFigures(what: string, turns: readonly Turn[]): Figure[] {
  const ratios = turns.map(({ on, off }) => on.p95Ms / off.p95Ms);
  const shares = turns.map(({ on, off }) => (100 * on.own) / off.cpu);
  const own = turns.map(({ on }) => on.own);
  return [
    figure(`recorder: p95 of ${what}, with ÷ without`, "×", ratios, { relation: "at most", value: 1.05 }),
    figure(`recorder: CPU of the recorder, ${what}`, "%", shares, { relation: "at most", value: 5 }),
    figure(`recorder: CPU of a run, ${what}`, "µs", own),
  ];
}

/** Composes a ConfigMap, a Secret and a Deployment for each App. */
export function serveFunction(): Promise<RunningFunction> {
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

/** Makes composite resources and waits until all are ready. */
export async function makeReady(users: KubeClient, prefix: string, count: number): Promise<void> {
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

/** The Composition of the platform, with a name for its step. */
export function compositionOf(step: string): KubeObject {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "apps" },
    spec: { compositeTypeRef: app, mode: "Pipeline", pipeline: [{ step, functionRef: { name: "fn" } }] },
  } as KubeObject;
}

/** Defines Apps, and the function that composes them. */
export async function applyPlatform(users: KubeClient, address: string): Promise<void> {
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
    compositionOf("compose"),
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
