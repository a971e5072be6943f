// SPDX-License-Identifier: Apache-2.0
// A control plane with functions on an API server, and a user's view of it.
import { setTimeout as delay } from "node:timers/promises";
import { type ControlPlaneOptions, type ControlPlaneSettings, startControlPlane } from "@purlin/control-plane";
import { type FunctionHandler, nopLogger, start } from "@purlin/function-sdk";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, keyOf, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { inTime } from "./in-time.ts";
import { startServer } from "./server.ts";

/** What the control plane under test shall be. */
export interface PlaneWish {
  /** Functions by name. */
  readonly functions: Readonly<Record<string, FunctionHandler>>;
  /** How functions that are not under development are reached; in plaintext unless given. */
  readonly security?: ControlPlaneOptions["functions"]["security"];
  readonly settings?: Partial<ControlPlaneSettings>;
  /** Keeps the runs. */
  readonly runs?: ControlPlaneOptions["runs"];
  /** The user that the control plane is, with the rights that `prepare` grants; otherwise the one it usually is. */
  readonly user?: string;
  /** What happens on the server before the control plane comes. */
  readonly prepare?: (users: KubeClient) => Promise<void>;
}

/** One condition, as people compare it. */
export interface ConditionText {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
}

/** A running control plane. */
export interface Plane extends AsyncDisposable {
  readonly users: KubeClient;
  /** Applies objects one after the other, as soon as their kinds are there. */
  apply(...objects: readonly KubeObject[]): Promise<void>;
  get(type: TypeRef, key: ObjectKey): Promise<KubeObject>;
  find(type: TypeRef, key: ObjectKey): Promise<KubeObject | undefined>;
  /** An object once it is as wanted. What it was last is in the failure. */
  until(what: string, type: TypeRef, key: ObjectKey, isWanted: (object: KubeObject) => boolean): Promise<KubeObject>;
  gone(type: TypeRef, key: ObjectKey): Promise<void>;
  /** The events of an object so far, each as `Type Reason: message`, sorted. */
  events(object: KubeObject): Promise<readonly string[]>;
  /** Every write of the control plane since the last time this was asked, events and leases apart. */
  takeWrites(): string[];
  /** The path of a kubeconfig of its server, for programs that are not ours. */
  kubeconfig(): Promise<string>;
}

/** `--patience=SECONDS` shortens the timeout while you work on a suite. */
const patienceMs = Number(process.env["E2E_PATIENCE"] ?? 120) * 1000;

/** Starts server, functions and control plane, and registers the functions with the control plane. */
export async function startPlane(wish: PlaneWish): Promise<Plane> {
  const { functions, settings, security = "plaintext", prepare, runs, user } = wish;
  await using starting = new AsyncDisposableStack();
  const server = await startServer();
  starting.defer(() => inTime("the API server", server.stop()));
  const users = createKubeClient(await server.connect("users"));
  starting.defer(() => users.close());
  await prepare?.(users);
  const transport = await server.connect("crossplane", user);
  const writes: string[] = [];
  const client = createKubeClient({
    ...transport,
    request(request) {
      const isEventOrLease = /\/(events|leases)(\/|$)/.test(request.path);
      if (request.method !== "GET" && !isEventOrLease) writes.push(`${request.method} ${request.path}`);
      return transport.request(request);
    },
  });
  starting.defer(() => client.close());
  const running = await Promise.all(
    Object.entries(functions).map(async ([name, handler]) => {
      const options = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger };
      const served = await start(handler, options);
      starting.defer(() => inTime(name, served[Symbol.asyncDispose]()));
      return { name, served };
    }),
  );
  const plane = startControlPlane({
    client,
    functions: { security },
    settings: { developmentFunctions: true, ...settings },
    runs,
  });
  starting.defer(() => inTime("the control plane", plane[Symbol.asyncDispose]()));
  await plane.ready;
  const view = userView(users);
  await view.apply(...running.map(({ name, served }) => functionAt(name, served.address)));
  const closing = starting.move();
  return {
    ...view,
    takeWrites: () => writes.splice(0),
    kubeconfig: () => server.kubeconfig(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A function under development, served at an address. */
export function functionAt(name: string, address: string): KubeObject {
  const annotations = {
    "render.crossplane.io/runtime": "Development",
    "render.crossplane.io/runtime-development-target": address,
  };
  const spec = { package: `registry.example.org/${name}:v1` };
  return { apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name, annotations }, spec };
}

/** What a user of an API server can do and see. */
export type UserView = Pick<Plane, "users" | "apply" | "get" | "find" | "until" | "gone" | "events">;

/** The view of the user of this client. */
export function userView(users: KubeClient): UserView {
  const get: Plane["get"] = (type, key) => users.get(type, key);
  const find: Plane["find"] = async (type, key) => {
    try {
      return await users.get(type, key);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  return {
    users,
    get,
    find,
    async apply(...objects) {
      for (const object of objects) {
        await eventually(`${object.kind} ${keyOf(object).name} is taken`, async () => {
          await users.apply(object, { fieldManager: "kubectl", force: true });
          return true;
        });
      }
    },
    async until(what, type, key, isWanted) {
      let last: KubeObject | undefined;
      return eventually(
        what,
        async () => {
          last = await find(type, key);
          return last !== undefined && isWanted(last) && last;
        },
        () => JSON.stringify(last, undefined, 1),
      );
    },
    async gone(type, key) {
      await eventually(`${type.kind} ${key.name} is gone`, async () => (await find(type, key)) === undefined);
    },
    events: (object) => eventsOf(users, object),
  };
}

/** Looks until there is something, whatever goes wrong meanwhile. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  last: () => string | undefined = () => "",
): Promise<T> {
  const deadline = Date.now() + patienceMs;
  let failure: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}; ${last() ?? ""}`, { cause: failure });
    await delay(20);
  }
}

async function eventsOf(users: KubeClient, { metadata }: KubeObject): Promise<readonly string[]> {
  const { items } = await users.list(
    { apiVersion: "v1", kind: "Event" },
    { fieldSelector: `involvedObject.uid=${metadata.uid ?? ""}` },
  );
  const texts = items.map((event) => {
    const { type, reason, message } = event as unknown as Record<string, string>;
    return `${type} ${reason}: ${message}`;
  });
  return texts.sort();
}

/** The conditions of an object, by type, without times and generations. */
export function conditionsOf(object: KubeObject): readonly ConditionText[] {
  const { status } = object as { readonly status?: { readonly conditions?: readonly ConditionText[] } };
  const shown = (status?.conditions ?? []).map(({ type, status: state, reason, message }) => ({
    type,
    status: state,
    reason,
    ...(message ? { message } : {}),
  }));
  return shown.sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** The condition of a type. */
export function conditionOf(object: KubeObject, type: string): ConditionText | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}
