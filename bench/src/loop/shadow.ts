// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startControlPlane } from "@purlin/control-plane";
import { nopLogger, type RunningFunction, request, response, start } from "@purlin/function-sdk";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Figure, figure, ratiosOfSums } from "../measure/figure.ts";

/** How much of everything. */
export interface ShadowEffort {
  readonly rounds: number;
  /** Composite resources of each Composition. */
  readonly count: number;
}

const app = { apiVersion: "example.org/v1", kind: "App" };
const pkg = "pkg.crossplane.io";
const namespace = "default";
const controller = "composite/apps.example.org";

type Enqueue = (controller: string, key: { readonly namespace: string; readonly name: string }) => void;

/**
 * The cost of shadow runs: API servers, control planes and functions in one process, whose composite resources are reconciled without a change. In
 * the first world those of Composition `a` take part in a rollout that shadows, in 5 % of their reconciles, and those of `b` do not. The second and the
 * third world have no rollout, with the feature on and off. Each round measures the CPU time of all of them one after the other, so that a
 * ratio compares neighbors in time. A ratio is one of the sums of several rounds: one slice is too short for a busy machine. The world without
 * the feature is measured twice in a round: the ratio of the two says how much of a difference is noise.
 */
export async function shadowFigures({ rounds, count }: ShadowEffort): Promise<Figure[]> {
  await using closing = new AsyncDisposableStack();
  const shadowing = closing.use(await startWorld({ functionRollouts: true, count }));
  const on = closing.use(await startWorld({ functionRollouts: true, count }));
  const off = closing.use(await startWorld({ functionRollouts: false, count }));
  await shadowing.shadow();
  const before = shadowing.candidateCalls();
  const found = await inTurns(rounds, {
    shadowed: () => shadowing.measure("a"),
    plain: () => shadowing.measure("b"),
    on: () => on.measure("b"),
    off: () => off.measure("b"),
    again: () => off.measure("a"),
  });
  const runs = shadowing.candidateCalls() - before;
  const reconciles = (rounds + warmUps) * count;
  return [
    figure(
      "shadow: CPU of a reconcile that no rollout concerns",
      "ms",
      found.plain.map((ms) => ms / count),
    ),
    figure(
      "shadow: CPU, shadowed in 5 % of reconciles ÷ not",
      "×",
      ratiosOfSums(found.shadowed, found.plain),
      atMost(1.1),
    ),
    figure("shadow: CPU, rollouts on and none ÷ off", "×", ratiosOfSums(found.on, found.off), atMost(1.05)),
    figure("shadow: CPU, rollouts off ÷ off, the noise", "×", ratiosOfSums(found.again, found.off)),
    figure("shadow: shadow runs of reconciles", "%", [(100 * runs) / reconciles]),
  ];
}

interface World extends AsyncDisposable {
  /** Starts the rollout, and resolves when each composite resource was compared once. */
  shadow(): Promise<void>;
  /** The CPU time, in milliseconds, of one reconcile of each composite resource of a Composition. */
  measure(name: string): Promise<number>;
  candidateCalls(): number;
}

/** An API server with a control plane, both functions and ready composite resources. */
async function startWorld({
  functionRollouts,
  count,
}: {
  readonly functionRollouts: boolean;
  readonly count: number;
}): Promise<World> {
  await using starting = new AsyncDisposableStack();
  const server = await startTestServer();
  starting.defer(() => server.stop());
  const users = createKubeClient(server.connect());
  starting.defer(() => users.close());
  const [stable, candidate] = [await countingFunction(), await countingFunction()];
  starting.use(stable.fn);
  starting.use(candidate.fn);
  const { enqueue, stop } = await startPlane(server.connect("crossplane"), functionRollouts);
  starting.defer(stop);
  await applyPlatform(users, { stable: stable.fn.address, candidate: candidate.fn.address });
  await makeReady(users, count);
  const closing = starting.move();
  return {
    async shadow() {
      await users.create(rollout);
      while (candidate.calls() < count) await delay(50);
    },
    async measure(name) {
      const before = stable.calls();
      // What others left behind is not collected at the expense of this one.
      collect();
      const cpu = process.cpuUsage();
      for (let n = 0; n < count; n++) enqueue(controller, { namespace, name: `${name}-${n}` });
      while (stable.calls() < before + count) await delay(5);
      // The last reconciles and shadow runs end after the last call.
      await delay(100);
      const { user, system } = process.cpuUsage(cpu);
      return (user + system) / 1000;
    },
    candidateCalls: candidate.calls,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function atMost(value: number): { readonly relation: "at most"; readonly value: number } {
  return { relation: "at most", value };
}

const warmUps = 3;

/** Measures all of them in each round, forwards and backwards, after rounds that warm up. */
async function inTurns<Name extends string>(
  rounds: number,
  measures: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Readonly<Record<Name, readonly number[]>>> {
  const names = Object.keys(measures) as Name[];
  const found = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round < warmUps; round++) for (const name of names) await measures[name]();
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) found[name].push(await measures[name]());
  }
  return found;
}

async function startPlane(transport: Parameters<typeof createKubeClient>[0], functionRollouts: boolean) {
  const client = createKubeClient(transport);
  const settings = { functionRevisionSelectors: true, functionRollouts };
  const plane = startControlPlane({ client, functions: { security: "plaintext" }, settings });
  const { engine } = await plane.ready;
  const stop = async (): Promise<void> => {
    await plane.stop();
    await client.close();
  };
  return { enqueue: ((name, key) => engine.enqueue(name, key)) as Enqueue, stop };
}

/** Composes two ConfigMaps, and counts its calls. */
async function countingFunction(): Promise<{ readonly fn: RunningFunction; calls(): number }> {
  let calls = 0;
  const fn = await start(
    (req) => {
      calls += 1;
      const rsp = response.to(req, { ttl: undefined });
      const text = request.getObservedCompositeResource(req).resource.name;
      for (const name of ["one", "two"]) {
        const map = { apiVersion: "v1", kind: "ConfigMap", data: { text, name } };
        response.setDesiredComposedResource(rsp, name, map, { ready: true });
      }
      return rsp;
    },
    { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger },
  );
  return { fn, calls: () => calls };
}

const rollout: KubeObject = {
  apiVersion: `${pkg}/v1alpha1`,
  kind: "FunctionRollout",
  metadata: { name: "r" },
  spec: {
    functionRef: { name: "fn" },
    stable: { functionRevisionRef: { name: "fn-1" } },
    candidate: { functionRevisionRef: { name: "fn-2" } },
    compositionSelector: { matchLabels: { team: "a" } },
    steps: [{ shadow: true, minDuration: "1h" }, { percent: 100 }],
  },
};

/** Without a rollout the stable revision serves both. */
function composition(name: string): KubeObject {
  const functionRevisionSelector = { matchLabels: { channel: "stable" } };
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name, labels: { team: name } },
    spec: {
      compositeTypeRef: app,
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: "fn" }, functionRevisionSelector }],
    },
  };
}

async function applyPlatform(
  users: KubeClient,
  addresses: { readonly stable: string; readonly candidate: string },
): Promise<void> {
  await users.create({
    apiVersion: `${pkg}/v1`,
    kind: "Function",
    metadata: { name: "fn" },
    spec: { package: "x.example.org/fn:v1" },
  });
  for (const [at, endpoint] of [addresses.stable, addresses.candidate].entries()) {
    const revision = at + 1;
    const made = await users.create({
      apiVersion: `${pkg}/v1`,
      kind: "FunctionRevision",
      metadata: { name: `fn-${revision}`, labels: { [`${pkg}/package`]: "fn", channel: at === 0 ? "stable" : "next" } },
      spec: { desiredState: "Active", image: `x.example.org/fn:v${revision}`, revision },
    });
    await users.update({ ...made, status: { endpoint, capabilities: ["composition"] } }, { subresource: "status" });
  }
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  await users.create({
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: "apps.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { kind: "App", plural: "apps" },
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
    },
  });
  for (const name of ["a", "b"]) await users.create(composition(name));
  while (
    !(await users.list(app, { namespace }).then(
      () => true,
      () => false,
    ))
  )
    await delay(50);
}

async function makeReady(users: KubeClient, count: number): Promise<void> {
  for (const name of ["a", "b"]) {
    for (let n = 0; n < count; n++) {
      const spec = { crossplane: { compositionRef: { name } } };
      // Without a TTL nothing is reconciled again by itself.
      await users.create({ ...app, metadata: { name: `${name}-${n}`, namespace }, spec });
    }
  }
  for (;;) {
    const { items } = await users.list(app, { namespace });
    if (items.filter(isReady).length === 2 * count) return;
    await delay(100);
  }
}

function isReady(object: KubeObject): boolean {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: readonly { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
