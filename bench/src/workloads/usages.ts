// SPDX-License-Identifier: Apache-2.0
// What Usages cost: at rest, and for the deletion of objects that nothing uses.
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { silentLog, systemClock } from "@purlin/base";
import {
  createDeletionGuard,
  createDisabledUsageControllers,
  createUsageControllers,
  createUsageGuard,
  UsageIndex,
} from "@purlin/composition";
import { startControlPlane } from "@purlin/control-plane";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { noEvents } from "@purlin/kube-controller";
import { startTestServer } from "@purlin/kube-controller/testing";
import { conditionOf, conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { confidenceOfRatio, type Figure, figure } from "../measure/figure.ts";
import { figuresAtRest, startPlane, untilStill, type Watching } from "./at-rest.ts";

interface UsageOptions extends Watching {
  readonly usages: number;
}

interface DeletionOptions {
  readonly usages: number;
  /** Objects that are deleted in a block. */
  readonly deletions: number;
  /** How often each state is measured. */
  readonly rounds: number;
  /** Blocks of each kind in a state of a round. */
  readonly blocks: number;
}

const used = { apiVersion: "v1", kind: "ConfigMap" };
const using = { apiVersion: "v1", kind: "ServiceAccount" };
const types = { used, using, neither: { apiVersion: "v1", kind: "Secret" } };
const usageType = { apiVersion: "protection.crossplane.io/v1beta1", kind: "Usage" };
const namespace = "default";

/** Processor time and writes of `purlin up` while Usages are at rest. */
export async function usageFigures(options: UsageOptions): Promise<Figure[]> {
  await using plane = await startPlane();
  const startedAt = performance.now();
  await createUsages(plane.users, options.usages);
  await untilReady(plane.users);
  const seconds = (performance.now() - startedAt) / 1000;
  await untilStill(plane.users);
  return [
    figure(`${options.usages} Usages: until all are ready`, "s", [seconds]),
    ...(await figuresAtRest(`${options.usages} Usages at rest`, plane, options)),
  ];
}

/**
 * The processor time of deletions of objects that nothing uses, on one control plane in this process: Usages are switched on and off again and again, and the
 * guard alone, so that nothing else differs. The state without Usages is measured twice in a round: the ratio of the two says how much of a
 * difference is noise.
 */
export async function deletionFigures(options: DeletionOptions): Promise<Figure[]> {
  await using plane = await startInnerPlane(options.usages);
  const states: Readonly<Record<State, Features>> = {
    without: { guards: false, controls: false },
    again: { guards: false, controls: false },
    guarded: { guards: true, controls: false },
    whole: { guards: true, controls: true },
  };
  const found = await inTurns(plane, states, options);
  return Object.entries(types).flatMap(([what, { kind }]) => {
    const times = (state: State): number[] => found.get(`${state} ${kind}`) ?? [];
    const title = `Deletions of unused objects (${kind}, ${what === "neither" ? "in no Usage" : `a ${what} kind`})`;
    const than = (state: State): number[] => confidenceOfRatio(times(state), times("without"));
    return [
      figure(`${title}: processor time of one, --enable-usages=false`, "µs", times("without")),
      figure(`${title}: without Usages ÷ without, the noise`, "×", than("again")),
      figure(`${title}: guard without controllers ÷ without`, "×", than("guarded")),
      figure(`${title}: with Usages ÷ without`, "×", than("whole"), { relation: "at most", value: 1.05 }),
    ];
  });
}

type State = "without" | "again" | "guarded" | "whole";

interface Features {
  /** Whether the API server asks the guard of Usages. */
  readonly guards: boolean;
  /** Whether the controllers of Usages run. */
  readonly controls: boolean;
}

interface InnerPlane extends AsyncDisposable {
  readonly users: KubeClient;
  /** Resolves when everything is as the features say. */
  turn(features: Features): Promise<void>;
}

/** An API server and a control plane in this process, with Usages. */
async function startInnerPlane(usages: number): Promise<InnerPlane> {
  await using starting = new AsyncDisposableStack();
  const [on, off] = [createDeletionGuard(createUsageGuard()), createDeletionGuard(undefined)];
  let guard = on;
  const guardDelete = { ...on, refusalOf: (deletion: Parameters<typeof on.refusalOf>[0]) => guard.refusalOf(deletion) };
  const server = starting.adopt(await startTestServer({ guardDelete }), (one) => one.stop());
  const users = starting.adopt(createKubeClient(server.connect()), (client) => client.close());
  const kube = starting.adopt(createKubeClient(server.connect("crossplane")), (one) => one.close());
  const settings = { usages: false };
  const plane = startControlPlane({ client: kube, functions: { security: "plaintext" }, settings });
  starting.defer(() => plane.stop());
  const { engine, client } = await plane.ready;
  await createUsages(users, usages);
  const deps = { client, engine, events: noEvents, clock: systemClock, log: silentLog };
  const closing = starting.move();
  return {
    users,
    async turn({ guards, controls }) {
      guard = guards ? on : off;
      let passes = 0;
      const enabled = () => createUsageControllers({ ...deps, index: new UsageIndex() });
      for (const { spec, watches } of controls ? enabled() : createDisabledUsageControllers(deps)) {
        await engine.stop(spec.name);
        const reconcile = (...args: Parameters<typeof spec.reconcile>) =>
          spec.reconcile(...args).finally(() => (passes += 1));
        engine.start({ ...spec, reconcile });
        await engine.startWatches(spec.name, watches);
      }
      // Each Usage is looked at, some of them once more for their used objects.
      for (let seen = -1; seen !== passes || passes < usages; await delay(100)) seen = passes;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function createUsages(users: KubeClient, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const name = `measured-${index}`;
    await users.create({ ...used, metadata: { name, namespace } });
    await users.create({ ...using, metadata: { name, namespace } });
    const spec = { of: { ...used, resourceRef: { name } }, by: { ...using, resourceRef: { name } } };
    await users.create({ ...usageType, metadata: { name, namespace }, spec });
  }
}

async function untilReady(users: KubeClient): Promise<void> {
  const isReady = (one: KubeObject): boolean => conditionOf(conditionsOf(one), "Ready").status === "True";
  while (!(await users.list(usageType)).items.every(isReady)) await delay(200);
}

/** Blocks after a switch that are not measured. */
const warmUps = 2;

/** The processor time, in microseconds, of one deletion in each block, by state and kind. */
async function inTurns(
  plane: InnerPlane,
  states: Readonly<Record<State, Features>>,
  { deletions, rounds, blocks }: DeletionOptions,
): Promise<ReadonlyMap<string, number[]>> {
  const found = new Map<string, number[]>();
  for (let round = -1; round < rounds; round++) {
    for (const state of shuffled(Object.keys(states) as State[], round)) {
      await plane.turn(states[state]);
      for (let block = -warmUps; block < blocks; block++) {
        for (const type of Object.values(types)) {
          const key = `${state} ${type.kind}`;
          const time = await deletionTime(plane.users, type, deletions);
          if (round >= 0 && block >= 0) found.set(key, [...(found.get(key) ?? []), time]);
        }
      }
    }
  }
  return found;
}

/** The names in an order that differs from round to round. */
function shuffled<T>(names: readonly T[], round: number): T[] {
  const left = [...names];
  const order: T[] = [];
  for (let number = Math.imul(round + 1_000, 2_654_435_761) >>> 0; left.length > 0; number = Math.floor(number / 7))
    order.push(...left.splice(number % left.length, 1));
  return order;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options: { readonly type: "minor" }) => void;

const clients = 4;
/** For what a deletion wakes. */
const settleMs = 2;

async function deletionTime(
  users: KubeClient,
  type: { readonly apiVersion: string; readonly kind: string },
  count: number,
): Promise<number> {
  const name = (index: number): string => `free-${index}`;
  for (let index = 0; index < count; index++)
    await users.create({ ...type, metadata: { name: name(index), namespace } });
  await delay(settleMs);
  // What others left behind is not collected at the expense of these deletions.
  collect({ type: "minor" });
  const before = process.cpuUsage();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++)
      await users.delete({ ...type, namespace, name: name(index) });
  };
  await Promise.all(Array.from({ length: clients }, worker));
  await delay(settleMs);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}
