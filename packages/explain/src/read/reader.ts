// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, type KubeReader } from "@purlin/kube-client";
import { isForbidden, isNotFound, textOf } from "@purlin/kube-objects/errors";
import { type KubeObject, keyText, stringAt, type TypeRef } from "@purlin/kube-objects/object";
import type { ObjectRef } from "../model/explanation.ts";

/** The result of a read: `missing` means that the object or its kind does not exist, `unread` that this is not known. */
type Read =
  | { readonly state: "found"; readonly object: KubeObject }
  | { readonly state: "missing"; readonly isKindServed: boolean }
  | { readonly state: "unread" };

/** Limits of all reads of one explanation. */
export interface ReadBudget {
  readonly requests: number;
  readonly totalMs: number;
  readonly requestMs: number;
}

/** The default limits. */
const defaultBudget: ReadBudget = { requests: 200, totalMs: 10_000, requestMs: 5000 };

/** How objects are read. */
interface ReaderOptions {
  readonly client: Pick<KubeReader, "get" | "list">;
  readonly signal?: AbortSignal | undefined;
  readonly budget?: Partial<ReadBudget> | undefined;
  /** Whether to list a kind instead of getting its objects one by one: for explanations of many objects. */
  readonly byList?: boolean;
}

interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

const eventType = { apiVersion: "v1", kind: "Event" } as const;

/** Reads objects within a budget, each at most once, and keeps a list of what could not be read. */
export class Reader {
  readonly #options: ReaderOptions;
  readonly #budget: ReadBudget;
  readonly #deadline: AbortSignal;
  readonly #gets = new Map<string, Promise<Read>>();
  readonly #lists = new Map<string, Promise<readonly KubeObject[] | undefined>>();
  readonly #notRead = new Set<string>();
  readonly #indexes = new Map<string, Promise<ReadonlyMap<string, KubeObject> | undefined>>();
  #events: Promise<ReadonlyMap<string, readonly KubeObject[]>> | undefined;
  #requests = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#budget = { ...defaultBudget, ...options.budget };
    this.#deadline = AbortSignal.timeout(this.#budget.totalMs);
  }

  /** What could not be read, one line each. */
  get notRead(): readonly string[] {
    return [...this.#notRead].sort();
  }

  /** The number of requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Adds objects that are known already. */
  add(object: KubeObject): void {
    const { apiVersion, kind, metadata } = object;
    const { name = "", namespace } = metadata;
    this.#gets.set(textOfRef({ apiVersion, kind, name, namespace }), Promise.resolve({ state: "found", object }));
  }

  /** An object. */
  read(ref: ObjectRef): Promise<Read> {
    const key = textOfRef(ref);
    let reading = this.#gets.get(key);
    if (reading === undefined) {
      reading = this.#options.byList ? this.#readFromList(ref) : this.#get(ref);
      this.#gets.set(key, reading);
    }
    return reading;
  }

  /** An object; undefined when it does not exist or cannot be read. */
  async find(ref: ObjectRef): Promise<KubeObject | undefined> {
    const read = await this.read(ref);
    return read.state === "found" ? read.object : undefined;
  }

  /** The objects of a kind; undefined when they cannot be read, and none when the kind does not exist. */
  list(type: TypeRef, selection: Selection = {}): Promise<readonly KubeObject[] | undefined> {
    const key = JSON.stringify([type.apiVersion, type.kind, selection]);
    let listing = this.#lists.get(key);
    if (listing === undefined) {
      listing = this.#list(type, selection);
      this.#lists.set(key, listing);
    }
    return listing;
  }

  /** The events of an object. */
  async eventsOf({ metadata }: KubeObject): Promise<readonly KubeObject[]> {
    const { uid = "", namespace = "default" } = metadata;
    if (!this.#options.byList) {
      return (await this.list(eventType, { namespace, fieldSelector: `involvedObject.uid=${uid}` })) ?? [];
    }
    this.#events ??= this.list(eventType).then((all) => Map.groupBy(all ?? [], involvedUid));
    return (await this.#events).get(uid) ?? [];
  }

  async #get(ref: ObjectRef): Promise<Read> {
    const { name, namespace } = ref;
    const result = await this.#attempt(ref, (signal) => this.#options.client.get(ref, { name, namespace }, { signal }));
    if (result.state === "done") return { state: "found", object: result.value };
    return result;
  }

  async #readFromList(ref: ObjectRef): Promise<Read> {
    const type = JSON.stringify([ref.apiVersion, ref.kind]);
    let index = this.#indexes.get(type);
    if (index === undefined) {
      const { apiVersion, kind } = ref;
      index = this.list({ apiVersion, kind }).then((items) => items && new Map(items.map(toEntry)));
      this.#indexes.set(type, index);
    }
    const known = await index;
    if (known === undefined) return { state: "unread" };
    const object = known.get(keyText(ref));
    // An empty list is that of a kind without objects, or of a kind that is not served: one read decides.
    if (object === undefined && known.size === 0) return this.#get(ref);
    return object === undefined ? { state: "missing", isKindServed: true } : { state: "found", object };
  }

  async #list(type: TypeRef, selection: Selection): Promise<readonly KubeObject[] | undefined> {
    const result = await this.#attempt(type, (signal) => this.#options.client.list(type, { ...selection, signal }));
    if (result.state === "done") return result.value.items;
    return result.state === "missing" ? [] : undefined;
  }

  async #attempt<T>(
    { kind }: TypeRef,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ readonly state: "done"; readonly value: T } | Exclude<Read, { readonly state: "found" }>> {
    if (this.#requests >= this.#budget.requests) {
      return this.#skip(`${kind} objects: the limit of ${this.#budget.requests} requests is reached`);
    }
    this.#requests += 1;
    const timeout = AbortSignal.timeout(this.#budget.requestMs);
    const stop = this.#options.signal;
    const signals = [timeout, this.#deadline, ...(stop === undefined ? [] : [stop])];
    try {
      return { state: "done", value: await request(AbortSignal.any(signals)) };
    } catch (error) {
      stop?.throwIfAborted();
      if (isNoMatch(error)) return { state: "missing", isKindServed: false };
      if (isNotFound(error)) return { state: "missing", isKindServed: true };
      if (isForbidden(error)) return this.#skip(`${kind} objects: forbidden`);
      if (timeout.aborted || this.#deadline.aborted) return this.#skip(`${kind} objects: timeout`);
      return this.#skip(`${kind} objects: ${textOf(error)}`);
    }
  }

  #skip(text: string): { readonly state: "unread" } {
    this.#notRead.add(text);
    return { state: "unread" };
  }
}

function involvedUid(event: KubeObject): string {
  return stringAt(event, ["involvedObject", "uid"]);
}

function toEntry(object: KubeObject): [string, KubeObject] {
  const { name = "", namespace } = object.metadata;
  return [keyText({ name, namespace }), object];
}

/** An object as one text that no other object has. */
export function textOfRef({ apiVersion, kind, name, namespace }: ObjectRef): string {
  return `${apiVersion}/${kind} ${keyText({ name, namespace })}`;
}
