// SPDX-License-Identifier: Apache-2.0
import { timestamp } from "@purlin/kube-objects/apply";
import { isConflict, isDeletionDenied, isNotFound, textOf } from "@purlin/kube-objects/errors";
import { compareUtf8, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import { isDeleting, metaOf } from "../objects/object-members.ts";
import { type Catalog, keyPrefix, type ResourceType } from "../registry/registry.ts";
import type { Store, Watch } from "../store/store.ts";
import { type InternalClient, resourcePath, StoreFollower } from "./controller-kit.ts";
import { createMissing } from "./own-objects.ts";

/** What is left of one kind in a namespace that is being deleted. */
export interface Remaining {
  readonly type: ResourceType;
  readonly count: number;
  /** Of all of them, repeated as often as they have it. */
  readonly finalizers: readonly string[];
}

interface BlockedOptions {
  readonly before: readonly JsonObject[];
  readonly time: string;
  /** Why kinds of objects could not be deleted. */
  readonly denials?: readonly string[];
}

/** The conditions of a namespace that cannot go yet. */
export function blockedConditions(
  remaining: readonly Remaining[],
  { before, time, denials = [] }: BlockedOptions,
): JsonObject[] {
  const finalizers = remaining.flatMap((one) => one.finalizers);
  return [
    {
      type: "NamespaceDeletionDiscoveryFailure",
      status: "False",
      reason: "ResourcesDiscovered",
      message: "All resources successfully discovered",
    },
    {
      type: "NamespaceDeletionGroupVersionParsingFailure",
      status: "False",
      reason: "ParsedGroupVersions",
      message: "All legacy kube types successfully parsed",
    },
    denials.length === 0
      ? {
          type: "NamespaceDeletionContentFailure",
          status: "False",
          reason: "ContentDeleted",
          message: "All content successfully deleted, may be waiting on finalization",
        }
      : {
          type: "NamespaceDeletionContentFailure",
          status: "True",
          reason: "ContentDeletionFailed",
          message: `Failed to delete all resource types, ${denials.length} remaining: ${[...denials].sort(compareUtf8).join(", ")}`,
        },
    {
      type: "NamespaceContentRemaining",
      status: "True",
      reason: "SomeResourcesRemain",
      message: remainingText(remaining),
    },
    finalizers.length === 0
      ? {
          type: "NamespaceFinalizersRemaining",
          status: "False",
          reason: "ContentHasNoFinalizers",
          message: "All content-preserving finalizers finished",
        }
      : {
          type: "NamespaceFinalizersRemaining",
          status: "True",
          reason: "SomeFinalizersRemain",
          message: finalizersText(finalizers),
        },
  ].map((one) => ({ ...one, lastTransitionTime: transitionTime(one, before, time) }));
}

/** The time of a condition changes only with its status. */
function transitionTime(now: JsonObject, before: readonly JsonObject[], time: string): string {
  const known = before.find((one) => one["type"] === now["type"] && one["status"] === now["status"]);
  return typeof known?.["lastTransitionTime"] === "string" ? known["lastTransitionTime"] : time;
}

function remainingText(remaining: readonly Remaining[]): string {
  const parts = remaining.map(({ type, count }) => `${type.resource}.${type.group} has ${count} resource instances`);
  return `Some resources are remaining: ${parts.sort(compareUtf8).join(", ")}`;
}

function finalizersText(finalizers: readonly string[]): string {
  const counts = [...Map.groupBy(finalizers, (finalizer) => finalizer)].map(
    ([finalizer, all]) => `${finalizer} in ${all.length} resource instances`,
  );
  return `Some content in the namespace has finalizers remaining: ${counts.sort(compareUtf8).join(", ")}`;
}

interface NamespaceControllerOptions {
  readonly store: Store<JsonObject>;
  readonly client: InternalClient;
  readonly catalog: () => Catalog;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

const prefix = "//namespaces/";

/** How long a namespace waits before it tries again to delete what is protected. */
const deniedRetryMs = 15_000;

/** Gives every namespace its default ServiceAccount, and empties the ones that are being deleted before they go. */
export class NamespaceController {
  readonly #options: NamespaceControllerOptions;
  readonly #client: InternalClient;
  readonly #accountClient: InternalClient;
  readonly #namespaces: StoreFollower;
  readonly #accounts: StoreFollower;
  /** One for each namespace that contains something protected. */
  readonly #retries = new Map<string, NodeJS.Timeout>();
  /** Namespaces that wait for what is left in them, and what they watch. */
  readonly #waiting = new Map<string, Watch<JsonObject>[]>();

  constructor(options: NamespaceControllerOptions) {
    const { store, onError } = options;
    this.#options = options;
    this.#client = options.client.asController("namespace-controller");
    this.#accountClient = options.client.asController("service-account-controller");
    this.#namespaces = new StoreFollower({ store, prefix: prefix, onError, reconcile: (key) => this.#reconcile(key) });
    // A deleted account is created again.
    this.#accounts = new StoreFollower({
      store,
      prefix: "//serviceaccounts/",
      onError,
      reconcile: async (key) => this.#namespaces.enqueue(`${prefix}${key.split("/")[3] ?? ""}`),
    });
  }

  /** An object of the namespace is no longer protected. */
  released(name: string): void {
    if (this.#waiting.has(name)) this.#namespaces.enqueue(`${prefix}${name}`);
  }

  start(): void {
    this.#namespaces.start();
    this.#accounts.start();
  }

  stop(): void {
    this.#namespaces.stop();
    this.#accounts.stop();
    for (const timer of this.#retries.values()) clearTimeout(timer);
    for (const name of this.#waiting.keys()) this.#stopWaiting(name);
  }

  async #reconcile(key: string): Promise<void> {
    const namespace = this.#options.store.get(key)?.value;
    const name = key.slice(prefix.length);
    if (namespace === undefined) {
      this.#stopWaiting(name);
      return;
    }
    if (isDeleting(namespace)) {
      await this.#ignoreRaces(() => this.#empty(name, namespace));
    } else {
      await this.#ignoreRaces(() => this.#ensureAccount(name));
    }
  }

  /** What changed or went meanwhile is looked at again because it did. */
  async #ignoreRaces(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  async #ensureAccount(namespace: string): Promise<void> {
    if (this.#options.store.get(`//serviceaccounts/${namespace}/default`) === undefined) {
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
      await createMissing(this.#accountClient, `/api/v1/namespaces/${namespace}/serviceaccounts`, account);
    }
  }

  async #empty(name: string, namespace: JsonObject): Promise<void> {
    const types = this.#contentTypes();
    this.#startWaiting(name, types);
    const denials = (await Promise.all(types.map((type) => this.#deleteAll(type, name)))).flat();
    const remaining = types.flatMap((type) => this.#remaining(type, name));
    if (remaining.length > 0) {
      await this.#report(namespace, { remaining, denials });
      if (denials.length > 0) this.#retryLater(name);
    } else {
      await this.#finish(name);
    }
  }

  /** One type for each kind of object there can be in a namespace. */
  #contentTypes(): ResourceType[] {
    const types = this.#options
      .catalog()
      .groups.flatMap(({ versions }) => versions.flatMap(({ resources }) => resources));
    const byStorage = new Map(
      types
        .filter((type) => type.namespaced && type.verbs.includes("deletecollection"))
        .map((type) => [keyPrefix(type, ""), type]),
    );
    return [...byStorage.values()];
  }

  /** Resolves to the text of a denial, if an object is protected; all others are deleted. */
  async #deleteAll(type: ResourceType, namespace: string): Promise<string[]> {
    const isEmpty = this.#options.store.list({ prefix: keyPrefix(type, namespace), limit: 1 }).entries.length === 0;
    if (isEmpty) return [];
    try {
      await this.#client.delete(resourcePath(type, namespace), { body: { propagationPolicy: "Background" } });
      return [];
    } catch (error) {
      if (!isDeletionDenied(error)) throw error;
      return [textOf(error)];
    }
  }

  /** A protection that ends changes something in the namespace, or is reported. A webhook that changes its mind does neither. */
  #retryLater(name: string): void {
    if (this.#retries.has(name)) return;
    const timer = setTimeout(() => {
      this.#retries.delete(name);
      this.#namespaces.enqueue(`${prefix}${name}`);
    }, deniedRetryMs);
    this.#retries.set(name, timer.unref());
  }

  #remaining(type: ResourceType, namespace: string): Remaining[] {
    const { entries } = this.#options.store.list({ prefix: keyPrefix(type, namespace) });
    const finalizers = entries.flatMap((entry) => metaOf(entry.value).finalizers ?? []);
    return entries.length === 0 ? [] : [{ type, count: entries.length, finalizers }];
  }

  async #report(
    namespace: JsonObject,
    { remaining, denials }: { readonly remaining: readonly Remaining[]; readonly denials: readonly string[] },
  ): Promise<void> {
    const { name = "" } = metaOf(namespace);
    const before = memberAt(namespace, ["status", "conditions"]);
    const conditions = blockedConditions(remaining, {
      before: Array.isArray(before) ? (before as JsonObject[]) : [],
      time: timestamp(this.#options.now()),
      denials,
    });
    const status = { ...objectAt(namespace, ["status"]), conditions };
    await this.#client.send("PUT", `/api/v1/namespaces/${name}/status`, { body: { ...namespace, status } });
  }

  async #finish(name: string): Promise<void> {
    const current = this.#options.store.get(`${prefix}${name}`)?.value;
    if (current === undefined) return;
    const { finalizers, ...spec } = objectAt(current, ["spec"]);
    const kept = Array.isArray(finalizers) ? finalizers.filter((finalizer) => finalizer !== "kubernetes") : [];
    const body = { ...current, spec: kept.length === 0 ? spec : { ...spec, finalizers: kept } };
    await this.#client.send("PUT", `/api/v1/namespaces/${name}/finalize`, { body: body as JsonObject });
  }

  /** Whenever something in the namespace changes, the namespace is looked at again. */
  #startWaiting(name: string, types: readonly ResourceType[]): void {
    if (this.#waiting.has(name)) return;
    const { store } = this.#options;
    const watches = types.map((type) => {
      const watch = store.watch({
        scope: keyPrefix(type, name),
        after: store.revision,
        onReady: () => {
          drain(watch);
          this.#namespaces.enqueue(`${prefix}${name}`);
        },
      });
      drain(watch);
      return watch;
    });
    this.#waiting.set(name, watches);
  }

  #stopWaiting(name: string): void {
    for (const watch of this.#waiting.get(name) ?? []) watch.close();
    this.#waiting.delete(name);
  }
}

/** A watch calls again only after everything there was has been taken. */
function drain(watch: Watch<JsonObject>): void {
  try {
    while (watch.take().length > 0);
  } catch {
    // The watch has ended; the next reconcile lists again.
  }
}
