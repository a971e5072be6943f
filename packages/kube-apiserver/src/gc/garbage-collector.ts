// SPDX-License-Identifier: Apache-2.0
import { type AwaitingWork, inTurns, type Work } from "@purlin/base";
import { isConflict, isDeletionDenied, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type OwnerReference, parseApiVersion } from "@purlin/kube-objects/object";
import type { ReleasedObject } from "../rest/delete-guard.ts";
import type { Entry, Store, Watch } from "../store/store.ts";
import { type Action, decide, type OwnedObject, ownedObject, type World } from "./decide.ts";
import { OwnershipIndex, type Stored } from "./ownership-index.ts";

/** Carries out what was decided, as any client would. Every call checks that the object is still the one meant. */
export interface GarbageActions {
  delete(object: OwnedObject, policy: "Background" | "Foreground" | "Orphan"): Promise<void>;
  dropOwners(object: OwnedObject, uids: readonly string[]): Promise<void>;
  dropFinalizer(object: OwnedObject, finalizer: string): Promise<void>;
}

/** What a collector works on. */
export interface GarbageCollectorOptions {
  readonly store: Store<JsonObject>;
  readonly actions: GarbageActions;
  /** The object a reference means; see {@link World.ownerOf}. */
  readonly ownerOf: World["ownerOf"];
  readonly onError: (error: unknown) => void;
  /** Waits before something that failed is tried again. */
  readonly retryDelayMs?: number;
}

/** The longest time between two attempts to delete an object that is protected. */
const longestDelayMs = 60_000;

function identityOf({ group, kind, namespace, name }: ReleasedObject): string {
  return [group, kind, namespace, name].join("/");
}

/** How many objects are worked on at once. */
const parallel = 16;

/**
 * Deletes objects whose owners are gone. It follows the store's changes, tracks dependents, and visits an object again
 * whenever it, an owner or a dependent of it has changed.
 */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #index = new OwnershipIndex();
  /** Objects that are being deleted, and may have dependents or hold back their own deletion; the rest need not be known. */
  readonly #deleting = new Map<string, Stored>();
  readonly #waiting = new Set<string>();
  /** Objects being worked on: two visits at once would do the same twice. */
  readonly #busy = new Set<string>();
  /** One timer for each object: an object that changes often would otherwise gain one more with each change. */
  readonly #retries = new Map<string, NodeJS.Timeout>();
  /** Objects whose deletion was denied, by what they are, and how often. */
  readonly #denied = new Map<string, { readonly uid: string; readonly attempts: number }>();
  #watch: Watch<JsonObject> | undefined;
  /** Whether all objects have been seen. Before, it is not known which of them have dependents. */
  #isLoaded = false;
  #isFollowing = false;
  #isWorking = false;
  #stopped = false;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
  }

  /** Looks at everything there is, then follows changes. */
  start(): void {
    const { store } = this.#options;
    this.#isLoaded = false;
    const { entries, revision } = store.list({ prefix: "/" });
    const watch = store.watch({ scope: "/", after: revision, onReady: () => this.#follow(watch) });
    this.#watch = watch;
    this.#follow(watch, entries);
  }

  stop(): void {
    this.#stopped = true;
    this.#watch?.close();
    for (const timer of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
  }

  /** Looks at every dependent again: a kind that was not served may be there now. */
  revisit(): void {
    for (const uid of this.#index.uids()) this.#enqueue(uid);
  }

  /** Visits an object again whose deletion was denied: nothing protects it any longer. */
  released(object: ReleasedObject): void {
    const name = identityOf(object);
    const denied = this.#denied.get(name);
    this.#denied.delete(name);
    if (denied !== undefined) this.#enqueue(denied.uid);
  }

  /** Takes objects, and then changes until there are none. Nothing else takes any meanwhile. */
  #follow(watch: Watch<JsonObject>, objects: readonly Entry<JsonObject>[] = []): void {
    if (this.#stopped || this.#watch !== watch || this.#isFollowing) return;
    this.#isFollowing = true;
    void inTurns(this.#following(watch, objects)).catch((error: unknown) => this.#restart(error));
  }

  *#following(watch: Watch<JsonObject>, objects: readonly Entry<JsonObject>[]): Work<void> {
    for (const entry of objects) {
      if (this.#stopped) return;
      yield* this.#taking(entry, undefined);
      yield;
    }
    this.#isLoaded = true;
    this.#work();
    for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
      for (const { entry, previous } of changes) {
        if (this.#stopped) return;
        yield* this.#taking(entry, previous);
        yield;
      }
    }
    // In the same part as the last look at the watch, which calls when there is more.
    this.#isFollowing = false;
  }

  /** History moved on without us: looks at everything again. */
  #restart(error: unknown): void {
    this.#isFollowing = false;
    if (this.#stopped) return;
    this.#options.onError(error);
    this.#watch?.close();
    this.start();
  }

  *#taking(entry: Stored | undefined, previous: Stored | undefined): Work<void> {
    const now = entry && ownedObject(entry.value);
    const before = previous && ownedObject(previous.value);
    if (entry === undefined || now === undefined) {
      if (before !== undefined) yield* this.#losing(before);
      return;
    }
    yield* this.#index.putting(entry);
    if (now.isDeleting) this.#deleting.set(now.uid, entry);
    if (now.owners.length > 0 || now.isDeleting) this.#enqueue(now.uid);
    // Owners that were given up may be waiting for just that.
    for (const { uid } of before?.owners ?? []) this.#enqueue(uid);
  }

  *#losing(object: OwnedObject): Work<void> {
    yield* this.#index.removing(object.uid);
    this.#deleting.delete(object.uid);
    clearTimeout(this.#retries.get(object.uid));
    this.#retries.delete(object.uid);
    this.#denied.delete(identityOf({ ...object, group: parseApiVersion(object.apiVersion).group }));
    for (const { uid } of this.#index.dependentsOf(object.uid)) this.#enqueue(uid);
    for (const { uid } of object.owners) this.#enqueue(uid);
  }

  #enqueue(uid: string): void {
    if (this.#stopped || !this.#isKnown(uid)) return;
    this.#waiting.add(uid);
    if (this.#isWorking) return;
    this.#isWorking = true;
    queueMicrotask(() => {
      this.#isWorking = false;
      this.#work();
    });
  }

  /** Whether there is something to decide about an object: owners that others name may be anything. */
  #isKnown(uid: string): boolean {
    return this.#index.has(uid) || this.#deleting.has(uid);
  }

  #read(uid: string): OwnedObject | undefined {
    const deleting = this.#deleting.get(uid);
    return this.#index.get(uid) ?? (deleting && ownedObject(deleting.value));
  }

  #work(): void {
    if (!this.#isLoaded) return;
    for (const uid of this.#waiting) {
      if (this.#busy.size >= parallel || this.#stopped) return;
      if (this.#busy.has(uid)) continue;
      this.#waiting.delete(uid);
      this.#busy.add(uid);
      void this.#visit(uid).finally(() => {
        this.#busy.delete(uid);
        this.#work();
      });
    }
  }

  /** A visit is not awaited, so its errors are reported here. */
  async #visit(uid: string): Promise<void> {
    try {
      await inTurns(this.#visiting(uid));
    } catch (error) {
      this.#failed(uid, error);
    }
  }

  *#visiting(uid: string): AwaitingWork<void> {
    const object = this.#read(uid);
    if (object === undefined) return;
    const world: World = {
      ownerOf: (reference: OwnerReference, dependent) => this.#options.ownerOf(reference, dependent),
      dependentsOf: (owner) => this.#index.dependentsOf(owner),
    };
    for (const action of decide(object, world)) {
      if (this.#stopped) return;
      yield action && this.#act(action)?.catch((error: unknown) => this.#failed(uid, error));
    }
  }

  #act(action: Action): Promise<void> | undefined {
    const { actions } = this.#options;
    switch (action.action) {
      case "delete":
        return actions.delete(action.object, action.policy);
      case "dropOwners":
        return actions.dropOwners(action.object, action.uids);
      case "dropFinalizer":
        return actions.dropFinalizer(action.object, action.finalizer);
      case "visit":
        this.#enqueue(action.uid);
        return undefined;
    }
  }

  /** What is gone is done; what changed meanwhile comes again with its change; anything else is tried again later. */
  #failed(uid: string, error: unknown): void {
    if (this.#stopped || isNotFound(error) || isConflict(error)) return;
    const attempts = isDeletionDenied(error) ? this.#deniedAgain(uid) : 1;
    // A denial stays as long as the protection does: it is reported once.
    if (attempts === 1) this.#options.onError(error);
    clearTimeout(this.#retries.get(uid));
    const timer = setTimeout(
      () => {
        this.#retries.delete(uid);
        this.#enqueue(uid);
      },
      Math.min((this.#options.retryDelayMs ?? 1000) * 2 ** (attempts - 1), longestDelayMs),
    );
    timer.unref();
    this.#retries.set(uid, timer);
  }

  #deniedAgain(uid: string): number {
    const object = this.#read(uid);
    if (object === undefined) return 1;
    const name = identityOf({ ...object, group: parseApiVersion(object.apiVersion).group });
    const attempts = (this.#denied.get(name)?.attempts ?? 0) + 1;
    this.#denied.set(name, { uid, attempts });
    return attempts;
  }
}
