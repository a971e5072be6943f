// SPDX-License-Identifier: Apache-2.0

import { type Status, StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { authenticated, serviceAccountUser, systemUser, type User } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Store, Watch } from "../store/store.ts";
import type { Handler } from "./handler.ts";

export interface StoreFollowerOptions {
  readonly store: Store<JsonObject>;
  /** A key prefix. */
  readonly prefix: string;
  /** What a key is looked at for: all keys that give the same are looked at together. Default: each by itself. */
  readonly subjectOf?: (key: string) => string;
  /** Brings about what one subject asks for. Called again when a key of it has changed meanwhile. */
  readonly reconcile: (subject: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly retryDelayMs?: number;
}

/** Looks at every subject among the keys of a kind, and at each again when it has changed or when looking at it failed. */
export class StoreFollower {
  readonly #options: StoreFollowerOptions;
  readonly #waiting = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #watch: Watch<JsonObject> | undefined;
  #isStopped = false;

  constructor(options: StoreFollowerOptions) {
    this.#options = options;
  }

  start(): void {
    const { store, prefix } = this.#options;
    const { entries, revision } = store.list({ prefix });
    this.#watch = store.watch({ scope: prefix, after: revision, onReady: () => this.#follow() });
    for (const { key } of entries) this.enqueue(key);
    this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.close();
    for (const timer of this.#retries) clearTimeout(timer);
  }

  /** Looks at a key (again). */
  enqueue(key: string): void {
    this.#wake(this.#options.subjectOf?.(key) ?? key);
  }

  #wake(subject: string): void {
    if (!this.#isStopped && !this.#waiting.has(subject)) {
      this.#waiting.add(subject);
      queueMicrotask(() => this.#work(subject));
    }
  }

  #follow(): void {
    if (this.#isStopped || this.#watch === undefined) return;
    try {
      for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
        for (const { key } of changes) this.enqueue(key);
      }
    } catch (error) {
      // History moved on without us: look at everything again.
      this.#options.onError(error);
      this.#watch.close();
      this.start();
    }
  }

  #work(subject: string): void {
    if (this.#busy.has(subject) || !this.#waiting.delete(subject)) return;
    this.#busy.add(subject);
    void this.#visit(subject).finally(() => {
      this.#busy.delete(subject);
      this.#work(subject);
    });
  }

  async #visit(subject: string): Promise<void> {
    try {
      await this.#options.reconcile(subject);
    } catch (error) {
      if (this.#isStopped) return;
      this.#options.onError(error);
      this.#retryLater(subject);
    }
  }

  #retryLater(subject: string): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#wake(subject);
    }, this.#options.retryDelayMs ?? 1000);
    this.#retries.add(timer.unref());
  }
}

interface InternalRequest {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly contentType?: string;
}

/** Lets the server's own controllers do what any client could, and nothing else. */
export class InternalClient {
  readonly #handle: Handler;
  readonly #user: User;
  readonly #signal = new AbortController().signal;

  constructor(handle: Handler, user: User = systemUser) {
    this.#handle = handle;
    this.#user = user;
  }

  /** The same server for one of its controllers, with the rights of the ServiceAccount that the controller has in Kubernetes. */
  asController(account: string): InternalClient {
    return new InternalClient(this.#handle, authenticated(serviceAccountUser("kube-system", account, "")));
  }

  /** The body of a successful answer; a failure throws its Status. */
  async send(method: string, path: string, request: InternalRequest = {}): Promise<JsonValue> {
    return (await this.#succeed(method, path, request)).payload?.value() ?? null;
  }

  /** Deletes an object or a collection; a failure throws its Status. What was deleted is not looked at: it may be large. */
  async delete(path: string, request: InternalRequest = {}): Promise<void> {
    await this.#succeed("DELETE", path, request);
  }

  async #succeed(method: string, path: string, request: InternalRequest): Promise<CompleteResponse> {
    const { body, contentType = "application/json", query = {} } = request;
    const response = await this.#handle({
      method,
      path,
      query: new URLSearchParams(query),
      headers: { "user-agent": "kube-apiserver", "content-type": contentType },
      body: body === undefined ? { kind: "none" } : { kind: "value", value: body },
      user: this.#user,
      signal: this.#signal,
    });
    if (response.kind === "stream") throw new Error(`${method} ${path} answered with a stream`);
    if (response.code < 400) return response;
    const value = response.payload?.value() ?? null;
    const status = value as Status;
    if (status?.kind !== "Status") throw new Error(`${method} ${path} answered ${response.code}: ${String(value)}`);
    throw new StatusError(status);
  }
}

/** The path of a type's objects, or of one of them. */
export function resourcePath(
  { group, version, resource, namespaced }: ResourceType,
  namespace: string,
  name: string = "",
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${resource}${name === "" ? "" : `/${encodeURIComponent(name)}`}`;
}
