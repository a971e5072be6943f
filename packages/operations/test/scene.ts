// SPDX-License-Identifier: Apache-2.0
import { type Clock, silentLog, systemClock } from "@purlin/base";
import { keptCrds } from "@purlin/composition";
import { clientReader } from "@purlin/composition/pipeline";
import {
  createTestFunctions,
  startTestControl,
  type TestControl,
  type TestFunction,
  type TestFunctions,
} from "@purlin/composition/testing";
import { createResourceFetcher, noSchemas } from "@purlin/function-runner";
import { eventually, type TestServer } from "@purlin/kube-controller/testing";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionOf,
  conditionsOf,
  controllerReference,
  type KubeObject,
  objectsAt,
  stringAt,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { functionCrds } from "@purlin/package-manager";
import type { OperationDeps, SchedulerDeps } from "../src/deps.ts";
import { createOperationController } from "../src/operation/operation-controller.ts";

/** The kinds that tests use beside operations. */
export const configMap: TypeRef = { apiVersion: "v1", kind: "ConfigMap" };

/** An embedded API server with the kinds of operations, and functions by name. */
export interface Scene extends AsyncDisposable {
  readonly control: TestControl;
  readonly functions: TestFunctions;
  readonly deps: OperationDeps & SchedulerDeps;
  /** Starts the controller of Operations. */
  runOperations(more?: Partial<OperationDeps>): Promise<void>;
  create(object: KubeObject): Promise<KubeObject>;
  get(type: TypeRef, name: string, namespace?: string): Promise<KubeObject | undefined>;
  list(type: TypeRef): Promise<readonly KubeObject[]>;
  /** Waits until an object meets a test. */
  until(type: TypeRef, name: string, test: (object: KubeObject) => boolean): Promise<KubeObject>;
}

/** Starts one, on a server of its own unless one is given; dispose of it in the end. */
export async function startScene(clock: Clock = systemClock, given?: TestServer): Promise<Scene> {
  const crds = [...keptCrds(), ...functionCrds({ functionRevisionSelectors: false })];
  const control = await startTestControl(crds, given);
  const fetchers = { resources: createResourceFetcher(clientReader(control.client)), schema: noSchemas };
  const functions = createTestFunctions(fetchers);
  const { client, events, engine, users } = control;
  const deps = { client, events, engine, clock, log: silentLog, runStep: functions.runStep, fetchers };
  const get: Scene["get"] = async (type, name, namespace) => {
    try {
      return await users.get(type, { name, ...(namespace && { namespace }) });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  return {
    control,
    functions,
    deps,
    get,
    runOperations: (more = {}) => control.run(createOperationController({ ...deps, backoff, ...more })),
    create: (object) => users.create(object),
    list: async (type) => (await users.list(type)).items,
    async until(type, name, test) {
      return eventually(`${type.kind} ${name}`, async () => {
        const found = await get(type, name);
        return found !== undefined && test(found) && found;
      });
    },
    [Symbol.asyncDispose]: () => control[Symbol.asyncDispose](),
  };
}

const backoff = { baseMs: 1, maxMs: 4 };

/** A pipeline of functions that have the names of their steps. */
export function pipeline(...steps: readonly (string | JsonObject)[]): JsonObject {
  return {
    mode: "Pipeline",
    pipeline: steps.map((step) => (typeof step === "string" ? { step, functionRef: { name: step } } : step)),
  };
}

/** An Operation. */
export function operation(name: string, spec: JsonObject | undefined, metadata: JsonObject = {}): KubeObject {
  return {
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind: "Operation",
    metadata: { name, ...metadata },
    ...(spec !== undefined && { spec }),
  } as KubeObject;
}

/** An Operation that a CronOperation or WatchOperation seems to have created. */
export function operationOf(
  owner: KubeObject,
  { name, label, spec = pipeline("f") }: { readonly name: string; readonly label: string; readonly spec?: JsonObject },
): KubeObject {
  const labels = { [label]: owner.metadata.name ?? "" };
  const made = operation(name, spec, { labels });
  return { ...made, metadata: { ...made.metadata, ownerReferences: [controllerReference(owner)] } };
}

/** The names in the list of running Operations of a status. */
export function listed(owner: KubeObject): readonly string[] {
  return objectsAt(owner, ["status", "runningOperationRefs"]).map((one) => stringAt(one, ["name"]));
}

/** A ConfigMap as a function desires it. */
export function map(name: string, data: Readonly<Record<string, string>> = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", ...metadata }, data };
}

/** A condition as `status reason: message`. */
export function condition(object: KubeObject, type: string): string {
  const { status, reason, message } = conditionOf(conditionsOf(object), type);
  return message ? `${status} ${reason}: ${message}` : `${status} ${reason}`;
}

/** Whether an Operation is done. */
export const isDone = (object: KubeObject): boolean =>
  ["True", "False"].includes(conditionOf(conditionsOf(object), "Succeeded").status);

/** A function that answers when it is released. */
export function gate(answer: TestFunction): {
  readonly run: TestFunction;
  readonly called: Promise<void>;
  release(): void;
} {
  const called = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  return {
    called: called.promise,
    release: () => open.resolve(),
    async run(request) {
      called.resolve();
      await open.promise;
      return answer(request);
    },
  };
}
