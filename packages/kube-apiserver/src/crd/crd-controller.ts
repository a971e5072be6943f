// SPDX-License-Identifier: Apache-2.0
import { memoize, Turns } from "@purlin/base";
import { type FieldManager, timestamp } from "@purlin/kube-objects/apply";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { type ConversionDeps, webhookConverter } from "../custom/conversion-webhook.ts";
import { type CustomKind, customStrategy } from "../custom/custom-strategy.ts";
import type { RuleMetrics } from "../metrics/request-metrics.ts";
import { isDeleting, metaOf, withMeta } from "../objects/object-members.ts";
import type { Registry, ResourceType } from "../registry/registry.ts";
import { inStoredOrder } from "../rest/object-codec.ts";
import type { Store, Watch } from "../store/store.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import { typedStrategy } from "../strategy/typed-strategy.ts";
import {
  AcceptedNames,
  acceptedNames,
  isConditionTrue,
  withAcceptedNames,
  withCondition,
  withEstablished,
  withoutConversionNotice,
} from "./crd-conditions.ts";
import { cleanupFinalizer, crdRules } from "./crd-rules.ts";
import { customKind, customTypes, isServed } from "./custom-types.ts";

/** Types of a definition are the same objects for as long as it does not change, and so is what is made from them. */
const typesOf = memoize(customTypes);

const prefix = "/apiextensions.k8s.io/customresourcedefinitions/";

/** What a {@link CrdController} works with. */
interface CrdControllerOptions {
  readonly store: Store<JsonObject>;
  readonly registry: Registry;
  readonly now: () => Date;
  /** Ends the watches of a type whose definition changed or went away. */
  readonly endWatches: (group: string, resource: string) => void;
  /** Deletes all objects of a type, as a client would. */
  readonly deleteObjects: (type: ResourceType) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Calls conversion webhooks. */
  readonly conversion: ConversionDeps;
  /** Observes the rules of definitions. */
  readonly ruleMetrics?: RuleMetrics;
  /** How long after a failure a definition is looked at again. Default a second. */
  readonly retryDelayMs?: number;
  /** Called after the served kinds have changed. */
  readonly onPublished?: () => void;
}

/** A definition as it is served. */
interface Published {
  readonly crd: JsonObject;
  readonly kind: CustomKind;
  readonly strategies: Map<string, ObjectStrategy>;
}

/**
 * Serves CustomResourceDefinitions: names accepted, types published, then established, in this order, so that a client
 * that sees an established definition always finds its objects. Stops serving them when they are deleted.
 */
export class CrdController {
  readonly #options: CrdControllerOptions;
  /** Knows who wrote what: the status of a definition belongs to the server. */
  readonly #owners: FieldManager;
  readonly #published = new Map<string, Published>();
  readonly #names = new AcceptedNames();
  readonly #waiting = new Set<string>();
  readonly #leaving = new Map<string, Watch<JsonObject>>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #watch: Watch<JsonObject> | undefined;
  #working: Promise<void> = Promise.resolve();
  readonly #turns = new Turns();
  #stopped = false;

  constructor(options: CrdControllerOptions) {
    this.#options = options;
    const type = options.registry.catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    if (type === undefined) throw new Error("definitions of custom resources are not among the built-in resources");
    this.#owners = typedStrategy(type, crdRules(options.now), options.now).storage.fieldManager("status");
  }

  /** Publishes what was established before, at once, and follows changes. */
  start(): void {
    const { store } = this.#options;
    const { entries, revision } = store.list({ prefix });
    for (const { key, value } of entries) {
      this.#names.set(key, value);
      if (isServed(value)) this.#remember(value);
    }
    this.#publish();
    for (const { key } of entries) this.#enqueue(key);
    this.#watch = store.watch({ scope: prefix, after: revision, onReady: () => this.#follow() });
    this.#follow();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch?.close();
    for (const watch of this.#leaving.values()) watch.close();
    for (const timer of this.#retries) clearTimeout(timer);
    await this.#working;
  }

  /** Resolves when every definition that is stored has been looked at. */
  async settled(): Promise<void> {
    this.#follow();
    for (;;) {
      const { revision } = this.#options.store;
      await this.#working;
      this.#follow();
      if (this.#waiting.size === 0 && this.#options.store.revision === revision) return;
    }
  }

  /** The definitions that are served now. */
  get crds(): JsonObject[] {
    return [...this.#published.values()].map(({ crd }) => crd);
  }

  /** The strategy of a custom type. */
  strategyOf(type: ResourceType): ObjectStrategy {
    const published = this.#published.get(`${prefix}${type.resource}.${type.group}`);
    if (published === undefined) throw new Error(`${type.resource}.${type.group} is not served`);
    const known = published.strategies.get(type.version);
    if (known !== undefined) return known;
    const strategy = customStrategy(published.kind, type.version, this.#options.now);
    published.strategies.set(type.version, strategy);
    return strategy;
  }

  #follow(): void {
    if (this.#stopped || this.#watch === undefined) return;
    let isChanged = false;
    for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
      for (const { key, entry } of changes) {
        this.#enqueue(key);
        if (this.#published.has(key) && this.#isServedChange(entry?.value)) isChanged = true;
        // Names that a definition had may be what another one waits for.
        if (this.#names.set(key, entry?.value)) for (const other of this.#names.waiting()) this.#enqueue(other);
      }
    }
    if (isChanged) this.#publish();
  }

  /**
   * Serves a change of a definition that is served already, at once: the writer of a new schema may send an object next,
   * whose new fields the old schema would prune.
   */
  #isServedChange(crd: JsonObject | undefined): boolean {
    return crd !== undefined && isServed(crd) && !isDeleting(crd) && this.#remember(crd);
  }

  #enqueue(key: string): void {
    if (this.#stopped) return;
    this.#waiting.add(key);
    this.#working = this.#working.then(() => this.#next());
  }

  async #next(): Promise<void> {
    const [key] = this.#waiting;
    if (key === undefined || this.#stopped) return;
    this.#waiting.delete(key);
    if (this.#turns.isOver) await this.#turns.next();
    try {
      await this.#reconcile(key);
    } catch (error) {
      if (this.#stopped) return;
      this.#options.onError(error);
      this.#retryLater(key);
    }
  }

  /** A full disk may have room again, and no other event triggers a reconcile of the definition. */
  #retryLater(key: string): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#enqueue(key);
    }, this.#options.retryDelayMs ?? 1000);
    this.#retries.add(timer.unref());
  }

  async #reconcile(key: string): Promise<void> {
    // So that the names are those of the newest definitions.
    this.#follow();
    const { store } = this.#options;
    const { value: crd, revision } = store.get(key) ?? {};
    if (crd === undefined) return this.#withdraw(key);
    if (isDeleting(crd)) return this.#terminate(key, crd);
    const taken = this.#names.othersOf(key, stringAt(crd, ["spec", "group"]));
    const time = timestamp(this.#options.now());
    if (await this.#change(key, (current) => withAcceptedNames(withoutConversionNotice(current), taken, time))) return;
    // A definition that changed meanwhile is enqueued again; its newest form may be served already.
    if (store.get(key)?.revision !== revision) return;
    if (!isServed(crd)) return this.#withdraw(key);
    if (this.#remember(crd)) this.#publish();
    if (!isConditionTrue(crd, "NamesAccepted") || isConditionTrue(crd, "Established")) return;
    await this.#change(key, (current) => withEstablished(current, time));
  }

  /** Writes a change of the status; says whether there was one. */
  async #change(key: string, edit: (crd: JsonObject) => JsonObject): Promise<boolean> {
    const { revision } = await this.#options.store.write(key, (transaction) => {
      const current = transaction.current?.value;
      if (current === undefined) return { action: "keep" };
      const edited = edit(current);
      if (jsonEqual(edited, current)) return { action: "keep" };
      if (isDeleting(edited) && (metaOf(edited).finalizers ?? []).length === 0) return { action: "delete" };
      const next = this.#owners.update(current, edited, "kube-apiserver").object;
      const value = inStoredOrder(withMeta(next, { resourceVersion: String(transaction.revision) }));
      return { action: "put", value, frees: isDeleting(next) };
    });
    return revision !== undefined;
  }

  /** Returns whether what is served changes with it. */
  #remember(crd: JsonObject): boolean {
    const key = `${prefix}${metaOf(crd).name ?? ""}`;
    const known = this.#published.get(key);
    if (known !== undefined && isSameDefinition(known.crd, crd)) return false;
    this.#published.set(key, {
      crd,
      kind: customKind(crd, {
        converter: webhookConverter(crd, this.#options.conversion),
        metrics: this.#options.ruleMetrics,
      }),
      strategies: new Map(),
    });
    // While it goes away its objects can still be watched going.
    if (known !== undefined && !isDeleting(crd)) this.#endWatches(crd);
    return true;
  }

  #withdraw(key: string): void {
    this.#leaving.get(key)?.close();
    this.#leaving.delete(key);
    const known = this.#published.get(key);
    if (known === undefined) return;
    this.#published.delete(key);
    this.#publish();
    this.#endWatches(known.crd);
  }

  #endWatches(crd: JsonObject): void {
    const spec = objectAt(crd, ["spec"]);
    this.#options.endWatches(stringAt(spec, ["group"]), stringAt(spec, ["names", "plural"]));
  }

  #publish(): void {
    this.#options.registry.setCustom(this.crds.flatMap(typesOf));
    this.#options.onPublished?.();
  }

  /** Objects first, then the definition. Waits for objects with finalizers. */
  async #terminate(key: string, crd: JsonObject): Promise<void> {
    if (!(metaOf(crd).finalizers ?? []).includes(cleanupFinalizer)) return;
    const served = isServed(crd);
    if (served) {
      if (this.#remember(crd)) this.#publish();
      const began = { reason: "InstanceDeletionInProgress", message: "CustomResource deletion is in progress" };
      await this.#change(key, (current) => this.#terminating(current, "True", began));
      const types = typesOf(crd);
      // In the stored version no webhook has to convert the objects.
      const type = types.find(({ version, storage }) => version === storage.version) ?? types[0];
      if (type !== undefined) await this.#options.deleteObjects(type);
      if (this.#waitsForObjects(key, crd)) return;
    }
    const done = served
      ? { reason: "InstanceDeletionCompleted", message: "removed all instances" }
      : { reason: "NeverEstablished", message: "resource was never established" };
    await this.#change(key, (current) => {
      const finalizers = (metaOf(current).finalizers ?? []).filter((name) => name !== cleanupFinalizer);
      return withMeta(this.#terminating(current, "False", done), { finalizers });
    });
  }

  #terminating(
    crd: JsonObject,
    status: "True" | "False",
    { reason, message }: { reason: string; message: string },
  ): JsonObject {
    return withCondition(crd, { type: "Terminating", status, reason, message }, timestamp(this.#options.now()));
  }

  /** Whether objects are left; if so, the definition is looked at again when one of them changes. */
  #waitsForObjects(key: string, crd: JsonObject): boolean {
    const spec = objectAt(crd, ["spec"]);
    const scope = `/${stringAt(spec, ["group"])}/${stringAt(spec, ["names", "plural"])}/`;
    const { entries, revision } = this.#options.store.list({ prefix: scope, limit: 1 });
    if (entries.length === 0) return false;
    if (this.#leaving.has(key)) return true;
    const watch = this.#options.store.watch({
      scope,
      after: revision,
      onReady: () => {
        drain(watch);
        this.#enqueue(key);
      },
    });
    drain(watch);
    this.#leaving.set(key, watch);
    return true;
  }
}

/** Whether nothing that matters to a definition's objects has changed. */
function isSameDefinition(a: JsonObject, b: JsonObject): boolean {
  return (
    metaOf(a).uid === metaOf(b).uid &&
    metaOf(a).generation === metaOf(b).generation &&
    isDeleting(a) === isDeleting(b) &&
    jsonEqual(acceptedNames(a), acceptedNames(b))
  );
}

/** A watch calls again only after everything there was has been taken. */
function drain(watch: Watch<JsonObject>): void {
  while (watch.take().length > 0);
}
