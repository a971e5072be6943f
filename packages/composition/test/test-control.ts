// SPDX-License-Identifier: Apache-2.0
// The embedded API server with all our kinds, and what controllers get, for tests of one controller or several.
import {
  createInformerPool,
  createKubeClient,
  type InformerPool,
  type KubeClient,
  type KubeRequest,
  type KubeTransport,
} from "@purlin/kube-client";
import {
  type ClosableControllerClient,
  type ControllerEngine,
  createControllerClient,
  createControllerEngine,
  installCrds,
  type WatchingController,
} from "@purlin/kube-controller";
import { startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { compositionCrds } from "../src/crds/composition-crds.ts";
import { RecordedEvents } from "./recorded-events.ts";

/** A control plane without controllers. */
export interface TestControl extends AsyncDisposable {
  /** Straight to the server, as a user would. */
  readonly users: KubeClient;
  /** As controllers see it: what it wrote itself it sees at once. */
  readonly client: ClosableControllerClient;
  readonly informers: InformerPool;
  readonly engine: ControllerEngine;
  readonly events: RecordedEvents;
  /** Every write of controllers since the last time this was asked, as `METHOD path`. */
  takeWrites(): string[];
  /** Lets matching requests of controllers fail before they are sent; returns how to stop. */
  failWhen(matches: (request: KubeRequest) => Error | undefined): () => void;
  /** Lets the answers to matching requests of controllers get lost; returns how to stop. */
  loseWhen(matches: (request: KubeRequest) => Error | undefined): () => void;
  run(controller: WatchingController): Promise<void>;
}

/** Starts one, on a server of its own unless one is given. `more` are CRDs beside our own. */
export async function startTestControl(more: readonly KubeObject[] = [], given?: TestServer): Promise<TestControl> {
  const crds = [...compositionCrds(), ...more];
  const server = given ?? (await startTestServer({ crds }));
  const users = createKubeClient(server.connect("users"));
  const seen = watched(server.connect("crossplane"));
  const inner = createKubeClient(seen.transport);
  if (given !== undefined) await installCrds(users, crds);
  const informers = createInformerPool(inner);
  const client = createControllerClient({ client: inner, informers });
  const engine = createControllerEngine({ informers });
  return {
    users,
    client,
    informers,
    engine,
    events: new RecordedEvents(),
    takeWrites: seen.takeWrites,
    failWhen: seen.failWhen,
    loseWhen: seen.loseWhen,
    async run({ spec, watches }) {
      engine.start(spec);
      await engine.startWatches(spec.name, watches);
    },
    async [Symbol.asyncDispose]() {
      await engine.close();
      await client.close();
      await informers.stop();
      await inner.close();
      await users.close();
      await server.stop();
    },
  };
}

interface WatchedTransport {
  readonly transport: KubeTransport;
  takeWrites(): string[];
  failWhen: TestControl["failWhen"];
  loseWhen: TestControl["loseWhen"];
}

function watched(inner: KubeTransport): WatchedTransport {
  const writes: string[] = [];
  const before = faultsOf();
  const after = faultsOf();
  return {
    takeWrites: () => writes.splice(0),
    failWhen: before.add,
    loseWhen: after.add,
    transport: {
      async request(request) {
        before.check(request);
        if (request.method !== "GET") writes.push(`${request.method} ${request.path}`);
        const answer = await inner.request(request);
        after.check(request);
        return answer;
      },
      async stream(request) {
        before.check(request);
        return inner.stream(request);
      },
      close: () => inner.close(),
    },
  };
}

interface Faults {
  readonly add: TestControl["failWhen"];
  check(request: KubeRequest): void;
}

function faultsOf(): Faults {
  const faults = new Set<(request: KubeRequest) => Error | undefined>();
  return {
    add(fault) {
      faults.add(fault);
      return () => faults.delete(fault);
    },
    check(request) {
      for (const fault of faults) {
        const error = fault(request);
        if (error !== undefined) throw error;
      }
    },
  };
}

/** An object, or undefined when it does not exist. */
export async function find(
  client: KubeClient,
  type: TypeRef,
  name: string,
  namespace?: string,
): Promise<KubeObject | undefined> {
  const { items } = await client.list(type, { fieldSelector: `metadata.name=${name}`, namespace });
  return items[0];
}
