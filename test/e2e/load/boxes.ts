// SPDX-License-Identifier: Apache-2.0
// Boxes, composite resources of one function, on a `purlin up` whose processes are killed and started again.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type FunctionRegistry, startFunctionRegistry } from "../harness/packages/function-registry.ts";
import { conditionOf, eventually } from "../harness/plane.ts";
import { isRunning, type SeenProcess } from "../harness/process-tree.ts";
import { compositionOf, definitionOf, namespaceOf } from "../harness/sample-kinds.ts";
import { startUpMachine, type UpMachine } from "../harness/up-machine.ts";
import {
  compositeText,
  configMapType,
  functionRevisionType,
  functionType,
  isServing,
  revisionText,
} from "../rollout/kinds.ts";

export const boxType = { apiVersion: "example.org/v1", kind: "Box" };
export const functionName = "function-box";
const namespace = "team-a";

/** A version of the function to install. */
export interface BoxVersion {
  readonly version: string;
  /** The build ends as soon as it is started. */
  readonly isBroken?: boolean;
  /** The build keeps more memory after each call. */
  readonly isLeaking?: boolean;
  readonly channel?: string;
  readonly limit?: number;
}

/** A box and, if it chooses one, the channel of the function that makes it. */
export interface Box {
  readonly name: string;
  readonly channel?: string;
}

/** A machine with boxes. */
export interface BoxScene extends AsyncDisposable {
  readonly machine: UpMachine;
  /** Publishes a version and points the Function at it. */
  install(version: BoxVersion): Promise<void>;
  /** Adds boxes, with the Compositions that make them. */
  add(...boxes: readonly Box[]): Promise<void>;
  /** The state of every revision as `VERSION STATE`, lowest number first. */
  states(): Promise<readonly string[]>;
  /** Waits until the revisions have these states. */
  becomes(...states: readonly string[]): Promise<void>;
  /** Waits until a revision of a channel takes calls. */
  serves(channel: string, version: string): Promise<void>;
  /** Waits until the runtime of a version says something about its health. */
  runtimeSays(version: string, text: string): Promise<void>;
  /** Asks for a reconcile of every box. Resolves when each one was had, with boxes synced and ready. */
  allAreWell(): Promise<void>;
  /** Asks for reconciles all the time, whether or not the server answers. */
  whileAsking(task: () => Promise<void>): Promise<void>;
  /** Asks for reconciles of a box until a version has made it. */
  madeBy(name: string, version: string): Promise<void>;
  /** Every reconcile of a box that failed so far, as its Warning events say. */
  warnings(): Promise<readonly string[]>;
}

/** Starts `purlin up` with boxes that the first version has made. */
export async function startBoxScene(
  { env, flags }: { readonly env: NodeJS.ProcessEnv; readonly flags: readonly string[] },
  first: BoxVersion,
  boxes: readonly Box[],
): Promise<BoxScene> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "e2e-boxes-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const registry = starting.use(await startFunctionRegistry(directory, true));
  const machine = starting.use(await startUpMachine(env, flags));
  const scene = sceneOn(machine, registry);
  await scene.install(first);
  await machine.view.apply(
    namespaceOf(namespace),
    definitionOf({ group: "example.org", kind: "Box", scope: "Namespaced" }),
  );
  await machine.view.until("the function is healthy", functionType, { name: functionName }, (one) =>
    ["Healthy", "Installed"].every((type) => conditionOf(one, type)?.status === "True"),
  );
  await scene.add(...boxes);
  await scene.allAreWell();
  const closing = starting.move();
  return { ...scene, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** Resolves when none of some processes runs. */
export async function gone(processes: readonly SeenProcess[]): Promise<void> {
  const left = (): SeenProcess[] => processes.filter(isRunning);
  const text = (): string =>
    left()
      .map(({ pid, command }) => `${pid} ${command[0]}`)
      .join(", ");
  await eventually("all processes are gone", async () => left().length === 0, text);
}

/** Between two requests to reconcile the same box: more often, its circuit breaker would open. */
const pauseMs = 500;

const isHandled = (box: KubeObject, token: string): boolean =>
  compositeText(box).status?.lastHandledReconcileAt === token;

const compositionName = (channel: string | undefined): string => `boxes-${channel ?? "any"}`;

function compositionFor(channel: string | undefined): KubeObject {
  const composition = compositionOf(compositionName(channel), boxType, functionName);
  if (channel === undefined) return composition;
  const step = {
    step: functionName,
    functionRef: { name: functionName },
    functionRevisionSelector: { matchLabels: { channel } },
  };
  return { ...composition, spec: { ...(composition["spec"] as object), pipeline: [step] } } as KubeObject;
}

function boxOf({ name, channel }: Box): KubeObject {
  const spec = { crossplane: { compositionRef: { name: compositionName(channel) } } };
  return { ...boxType, metadata: { namespace, name }, spec } as KubeObject;
}

function sceneOn(machine: UpMachine, registry: FunctionRegistry): Omit<BoxScene, keyof AsyncDisposable> {
  const names: string[] = [];
  let looks = 0;
  const ask = (name: string, token: string): Promise<KubeObject> => {
    const annotations = { "crossplane.io/reconcile-requested-at": token };
    return machine.users.patch({ ...boxType, namespace, name }, { metadata: { annotations } }, { type: "merge" });
  };
  const revisions = async (): Promise<readonly KubeObject[]> => {
    const { items } = await machine.users.list(functionRevisionType);
    return items.toSorted((a, b) => revisionText(a).spec.revision - revisionText(b).spec.revision);
  };
  const versionOf = (one: KubeObject): string => revisionText(one).spec.image.split(":").at(-1) ?? "";
  const states = async (): Promise<readonly string[]> =>
    (await revisions()).map((one) => `${versionOf(one)} ${revisionText(one).spec.desiredState}`);
  return {
    machine,
    states,
    async install({ version, channel, limit = 1, ...build }) {
      const name = `acme/${functionName}:${version}`;
      await registry.publish({ name, version, ...build });
      const labels = channel === undefined ? {} : { channel };
      const spec = { package: `${registry.address}/${name}`, revisionHistoryLimit: 9, activeRevisionLimit: limit };
      await machine.view.apply({ ...functionType, metadata: { name: functionName, labels }, spec });
    },
    async add(...boxes) {
      for (const channel of new Set(boxes.map(({ channel }) => channel))) {
        await machine.view.apply(compositionFor(channel));
      }
      for (const box of boxes) {
        await machine.view.apply(boxOf(box));
        names.push(box.name);
      }
    },
    async becomes(...wanted) {
      let seen: readonly string[] = [];
      const isSo = async (): Promise<boolean> => {
        seen = await states();
        return seen.join() === wanted.join();
      };
      await eventually(`revisions become ${wanted.join(", ")}`, isSo, () => seen.join(", "));
    },
    async serves(channel, version) {
      await eventually(`${version} serves ${channel}`, async () =>
        (await revisions()).some(
          (one) => isServing(one) && one.metadata.labels?.["channel"] === channel && versionOf(one) === version,
        ),
      );
    },
    async runtimeSays(version, text) {
      let said: string | undefined;
      const isSo = async (): Promise<boolean> => {
        const found = (await revisions()).findLast((one) => versionOf(one) === version);
        said = found && conditionOf(found, "RuntimeHealthy")?.message;
        return said?.includes(text) === true;
      };
      await eventually(`the runtime of ${version} says ${text}`, isSo, () => said);
    },
    async allAreWell() {
      const token = `look ${++looks}`;
      for (const name of names) await eventually(`${name} can be asked`, () => ask(name, token));
      for (const name of names) {
        await machine.view.until(`${name} is well`, boxType, { namespace, name }, (one) => {
          const isWell = ["Synced", "Ready"].every((type) => conditionOf(one, type)?.status === "True");
          return isWell && isHandled(one, token);
        });
      }
    },
    async whileAsking(task) {
      let isOver = false;
      const asking = (async () => {
        for (let asked = 0; !isOver; asked++) {
          await ask(names[asked % names.length] ?? "", `ask ${asked}`).catch(() => {});
          await delay(pauseMs / names.length);
        }
      })();
      await task().finally(() => {
        isOver = true;
      });
      await asking;
    },
    async madeBy(name, version) {
      const labelSelector = `crossplane.io/composite=${name}`;
      let seen: unknown;
      const isSo = async (): Promise<boolean> => {
        const token = `look ${++looks}`;
        await ask(name, token);
        await machine.view.until(`${name} is reconciled`, boxType, { namespace, name }, (one) => isHandled(one, token));
        const { items } = await machine.users.list(configMapType, { namespace, labelSelector });
        seen = (items[0]?.["data"] as { version?: string } | undefined)?.version;
        if (seen !== version) await delay(pauseMs);
        return seen === version;
      };
      await eventually(`${name} is made by ${version}`, isSo, () => String(seen));
    },
    async warnings() {
      const all: string[] = [];
      for (const name of names) {
        const events = await machine.view.events(await machine.view.get(boxType, { namespace, name }));
        all.push(...events.filter((text) => text.startsWith("Warning")).map((text) => `${name}: ${text}`));
      }
      return all;
    },
  };
}

/** Kills one process as `kill -9` does. */
export function killed(one: SeenProcess | undefined): SeenProcess {
  assert.ok(one !== undefined, "the process runs");
  process.kill(one.pid, "SIGKILL");
  return one;
}
