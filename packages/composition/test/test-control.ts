// SPDX-License-Identifier: Apache-2.0
// The embedded API server with all our kinds, and what controllers get, for tests of one controller or several.
import assert from "node:assert/strict";
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
  type EventRecorder,
  type EventText,
  installCrds,
  type WatchingController,
} from "@purlin/kube-controller";
import { recordRequests, startTestServer, type TestServer } from "@purlin/kube-controller/testing";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { compositionCrds } from "../src/crds/composition-crds.ts";
import { deriveCompositeCrd } from "../src/definition/derive-crd.ts";

// For tests of packages that build on this one as well.
export {
  createTestFunctions,
  fatal,
  mortalClient,
  respond,
  type TestFunction,
  type TestFunctions,
} from "./test-doubles.ts";

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

/** An event, and whom it is about. */
interface RecordedEvent {
  /** `Kind/name`. */
  readonly object: string;
  readonly source: string;
  /** The controller that reports, when it is another than the source. */
  readonly controller: string | undefined;
  readonly event: EventText;
}

/** Events kept in the order in which they came. */
export class RecordedEvents implements EventRecorder {
  readonly #recorded: RecordedEvent[];
  readonly #source: string;
  readonly #controller: string | undefined;

  constructor(source = "", controller?: string, recorded: RecordedEvent[] = []) {
    this.#source = source;
    this.#controller = controller;
    this.#recorded = recorded;
  }

  get all(): readonly RecordedEvent[] {
    return this.#recorded;
  }

  event(object: KubeObject, event: EventText): void {
    const about = `${object.kind}/${object.metadata.name}`;
    this.#recorded.push({ object: about, source: this.#source, controller: this.#controller, event });
  }

  with(source: string, controller?: string): EventRecorder {
    return new RecordedEvents(source, controller, this.#recorded);
  }

  /** Each as `Type Reason: message`; forgets them. */
  take(): string[] {
    return this.#recorded.splice(0).map(({ event }) => `${event.type} ${event.reason}: ${event.message}`);
  }

  /** The same without forgetting. */
  texts(): string[] {
    return this.#recorded.map(({ event }) => `${event.type} ${event.reason}: ${event.message}`);
  }
}

/** A real API server in this process that knows the kinds of composition, and a client that counts what it writes. */
export interface TestCluster extends AsyncDisposable {
  readonly kube: KubeClient;
  readonly informers: InformerPool;
  readonly client: ClosableControllerClient;
  /** What was written since the last call, as `METHOD path`. */
  takeWrites(): string[];
  /** Makes a definition and serves its composite resources, without a controller for it. */
  define(xrd: KubeObject): Promise<KubeObject>;
}

/** Starts one; dispose of it in the end. */
export async function startTestCluster(options?: Parameters<typeof startTestServer>[0]): Promise<TestCluster> {
  const server = await startTestServer({ ...options, crds: compositionCrds() });
  const { transport, takeWrites } = recordRequests(server.connect());
  const kube = createKubeClient(transport);
  const informers = createInformerPool(kube);
  const client = createControllerClient({ client: kube, informers });
  return {
    kube,
    informers,
    client,
    takeWrites,
    async define(xrd) {
      const stored = await kube.create(xrd);
      await installCrds(kube, [deriveCompositeCrd(stored, { functionRevisions: true })]);
      return stored;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await informers.stop();
      await kube.close();
      await server.stop();
    },
  };
}

/** Asserts that everything in `part` is in `whole`, which the server may have completed. */
export function contains(whole: JsonValue | undefined, part: JsonValue, path: string): void {
  if (isJsonObject(part)) {
    assert.ok(isJsonObject(whole), path);
    for (const [key, value] of Object.entries(part)) contains(whole[key], value, `${path}.${key}`);
    return;
  }
  if (!Array.isArray(part)) {
    assert.deepEqual(whole, part, path);
    return;
  }
  assert.ok(Array.isArray(whole) && whole.length === part.length, path);
  for (const [index, item] of part.entries()) contains(whole[index], item, `${path}[${index}]`);
}
