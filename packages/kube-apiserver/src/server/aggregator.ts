// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util";
import { timestamp } from "@purlin/kube-objects/apply";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import {
  type Availability,
  apiServicesPrefix,
  availableCondition,
  checkAvailability,
  localAvailability,
  type RemoteApi,
  registrationGroup,
  remoteApiOf,
} from "../aggregator/api-service.ts";
import type { Backends } from "../aggregator/backends.ts";
import { forward, unavailable } from "../aggregator/forward.ts";
import {
  noDocuments,
  type RemoteDocuments,
  type RemoteVersion,
  readDocuments,
} from "../aggregator/remote-documents.ts";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import type { RequestTarget } from "../request/request-target.ts";
import type { Store } from "../store/store.ts";
import { type InternalClient, StoreFollower } from "./controller-kit.ts";

interface AggregatorOptions {
  readonly store: Store<JsonObject>;
  readonly client: InternalClient;
  readonly backends: Backends;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

interface RemoteState extends RemoteVersion {
  remote: RemoteApi;
  isAvailable: boolean;
  documents: RemoteDocuments;
  failures: number;
  /** When documents were read; undefined before. */
  readAt: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** How often a server that is available is checked, and the longest pause before one that is not is checked again. */
const checkEveryMs = 30_000;
const firstRetryMs = 1_000;
const remotePath = /^(?:\/openapi\/v3)?\/apis\/([^/]+)\/([^/]+)((?:\/[^/]+)*)\/?$/;

/** Tracks the APIs of other servers, checks whether these are available, and passes requests on to them. Without any, it costs nothing. */
export class Aggregator {
  /** Increases with every change of what clients see. */
  generation = 0;
  readonly #options: AggregatorOptions;
  readonly #states = new Map<string, RemoteState>();
  readonly #services: StoreFollower;
  readonly #related: StoreFollower[] = [];
  readonly #stopping = new AbortController();

  constructor(options: AggregatorOptions) {
    this.#options = options;
    const { store, onError } = options;
    const reconcile = (key: string): Promise<void> => this.#reconcile(key);
    this.#services = new StoreFollower({ store, prefix: apiServicesPrefix, onError, reconcile });
  }

  start(): void {
    this.#services.start();
  }

  stop(): void {
    this.#stopping.abort();
    for (const follower of [this.#services, ...this.#related]) follower.stop();
    for (const { timer } of this.#states.values()) clearTimeout(timer);
    this.#options.backends.close();
  }

  /** The group versions of other servers. */
  get versions(): readonly RemoteVersion[] {
    return [...this.#states.values()];
  }

  /** The response to a request for an API of another server; undefined for all other requests. */
  answer(request: ApiRequest, target: RequestTarget): ApiResponse | Promise<ApiResponse> | undefined {
    const state = this.#stateFor(request.path);
    if (state === undefined) return undefined;
    if (!state.isAvailable) return unavailable();
    const { backends } = this.#options;
    return forward(request, { remote: state.remote, backends, isWatch: target.verb === "watch" });
  }

  /** Whether requests for a path are passed on to another server. */
  serves(path: string): boolean {
    return this.#stateFor(path) !== undefined;
  }

  #stateFor(path: string): RemoteState | undefined {
    if (this.#states.size === 0) return undefined;
    const [, group = "", version = "", rest = ""] = remotePath.exec(path) ?? [];
    // A backend might resolve dots to a path that the user may not use.
    if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(rest)) return undefined;
    return [...this.#states.values()].find(({ remote }) => remote.group === group && remote.version === version);
  }

  async #reconcile(key: string): Promise<void> {
    const object = this.#options.store.get(key)?.value;
    const remote = object && remoteApiOf(object);
    if (object === undefined || remote === undefined || remote.group === "") this.#forget(key);
    if (object === undefined) return;
    if (remote === undefined) return this.#write(key, object, localAvailability);
    if (remote.group === "") return;
    const state = this.#stateOf(key, object, remote);
    this.#followServices();
    const { store, backends } = this.#options;
    const found = await checkAvailability(remote, { store, backends, signal: this.#stopping.signal });
    if (this.#stopping.signal.aborted || this.#states.get(key) !== state) return;
    if (found !== undefined) {
      this.#setAvailable(state, found.status === "True");
      await this.#write(key, object, found);
    }
    if (state.isAvailable) await this.#read(state);
    this.#checkLater(key, state);
  }

  #stateOf(key: string, object: JsonObject, remote: RemoteApi): RemoteState {
    const known = this.#states.get(key);
    if (known !== undefined && isDeepStrictEqual(known.remote, remote)) return known;
    clearTimeout(known?.timer);
    const isAvailable = stringAt(availableCondition(object) ?? {}, ["status"]) === "True";
    const state = { remote, isAvailable, documents: noDocuments, failures: 0, readAt: undefined, timer: undefined };
    this.#states.set(key, state);
    this.generation += 1;
    return state;
  }

  #forget(key: string): void {
    clearTimeout(this.#states.get(key)?.timer);
    if (this.#states.delete(key)) this.generation += 1;
  }

  #setAvailable(state: RemoteState, isAvailable: boolean): void {
    state.failures = isAvailable ? 0 : state.failures + 1;
    if (!isAvailable) state.readAt = undefined;
    if (state.isAvailable === isAvailable) return;
    state.isAvailable = isAvailable;
    this.generation += 1;
  }

  async #read(state: RemoteState): Promise<void> {
    if (state.readAt !== undefined && performance.now() - state.readAt < checkEveryMs / 2) return;
    state.readAt = performance.now();
    const documents = await readDocuments(state.remote, this.#options.backends, this.#stopping.signal);
    // What was known stays while the server does not answer.
    const next = { ...state.documents, ...definedOf(documents) };
    if (isDeepStrictEqual(next, state.documents)) return;
    state.documents = next;
    this.generation += 1;
  }

  #checkLater(key: string, state: RemoteState): void {
    clearTimeout(state.timer);
    const pauseMs = state.isAvailable
      ? checkEveryMs
      : Math.min(checkEveryMs, firstRetryMs * 2 ** Math.min(10, state.failures));
    state.timer = setTimeout(() => this.#services.enqueue(key), pauseMs).unref();
  }

  /** A Service or its endpoints that change are a reason to check again. Followed only while there is another server. */
  #followServices(): void {
    if (this.#related.length > 0) return;
    const { store, onError } = this.#options;
    const checkAll = async (): Promise<void> => {
      for (const key of this.#states.keys()) this.#services.enqueue(key);
    };
    for (const prefix of ["//services/", "/discovery.k8s.io/endpointslices/"]) {
      const subjectOf = (): string => prefix;
      const follower = new StoreFollower({ store, prefix, subjectOf, onError, reconcile: checkAll });
      this.#related.push(follower);
      follower.start();
    }
  }

  /** Writes the condition, unless it says the same already. */
  async #write(key: string, object: JsonObject, { status, reason, message }: Availability): Promise<void> {
    const before = availableCondition(object);
    if (before?.["status"] === status && before["reason"] === reason && before["message"] === message) return;
    const lastTransitionTime =
      before?.["status"] === status ? before["lastTransitionTime"] : timestamp(this.#options.now());
    const condition = { type: "Available", status, lastTransitionTime: lastTransitionTime ?? null, reason, message };
    const path = `/apis/${registrationGroup}/v1/apiservices/${key.slice(apiServicesPrefix.length)}/status`;
    try {
      await this.#options.client.send("PATCH", path, {
        contentType: "application/merge-patch+json",
        body: { status: { conditions: [condition] } },
      });
    } catch (error) {
      // What changed or went meanwhile is checked again because it did.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

function definedOf(documents: RemoteDocuments): Partial<RemoteDocuments> {
  return Object.fromEntries(Object.entries(documents).filter(([, value]) => value !== undefined));
}
