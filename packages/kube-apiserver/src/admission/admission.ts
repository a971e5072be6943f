// SPDX-License-Identifier: Apache-2.0
// Admission: what may change or refuse a write between its authorization and the store.
import { type AwaitingWork, finish, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { User } from "../auth/user.ts";
import type { AdmissionMetrics, ObserveStep } from "../metrics/admission-metrics.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Transaction } from "../store/store.ts";

/** The operations of admission. A patch and an apply are a CREATE or an UPDATE. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A class of writes: the same plugins, policies and webhooks can concern all of them. */
export interface AdmissionWrite {
  readonly operation: AdmissionOperation;
  /** The type in the version of the request. */
  readonly type: ResourceType;
  /** Empty for a write of the object itself. */
  readonly subresource: string;
}

/** One write. Objects are in the version of the request. */
export interface AdmissionAttributes extends AdmissionWrite {
  /** For a Namespace its own name; empty for other cluster-scoped objects. */
  readonly namespace: string;
  /** Empty while the name of a new object is not generated, and for each object of a deletecollection request. */
  readonly name: string;
  /** The new object; undefined for DELETE. */
  readonly object: JsonObject | undefined;
  /** The current object; undefined for CREATE. */
  readonly old: JsonObject | undefined;
  /** CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly user: User;
  /** Adds a warning to the response, also to that of a refused request. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit log; the first value of a key counts. */
  readonly annotate: NonNullable<ApiRequest["audit"]>["annotate"];
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
}

/**
 * A built-in admission plugin. Its functions do not wait and must be fast. They refuse a write by throwing a StatusError. They are called
 * again when the write is repeated because the object has changed meanwhile, so they must not change anything but the object they return.
 */
export interface AdmissionPlugin {
  /** The name in the reference, which also decides its place in the order of plugins. */
  readonly name: string;
  handles(write: AdmissionWrite): boolean;
  /** Changes the object before it is validated. Returns the same object when there is nothing to change. */
  admit?(attributes: AdmissionAttributes & { readonly object: JsonObject }): JsonObject;
  /** The same in parts, in place of `admit`. What a policy or webhook has changed is admitted again at once: remember what takes long. */
  admitting?(attributes: AdmissionAttributes & { readonly object: JsonObject }): Work<JsonObject>;
  /** Checks the object after it was validated. */
  validate?(attributes: AdmissionAttributes): void;
  /** The same in parts, in place of `validate`. */
  validating?(attributes: AdmissionAttributes): Work<void>;
  /** Whether an update is made in parts however small it is, because `validating` looks at many other objects. */
  isLong?(write: AdmissionWrite): boolean;
  /**
   * Checks the write in the transaction that makes it, after everything else, where no other write can come between the check and the
   * write. Not called for a dry run. For limits that a burst of writes must not exceed.
   */
  commit?(attributes: AdmissionAttributes, transaction: Transaction<JsonObject>): void;
}

/** Everything that admits one class of writes. */
export interface WriteAdmission {
  /** Whether it may wait for something, such as the response of a webhook, or takes long. */
  readonly waits: boolean;
  /** The object after all mutating steps. Not for DELETE. */
  mutating(attributes: AdmissionAttributes & { readonly object: JsonObject }): AwaitingWork<JsonObject>;
  validating(attributes: AdmissionAttributes): AwaitingWork<void>;
  /** Both steps of a DELETE, which cannot change the object. */
  deleting(attributes: AdmissionAttributes): AwaitingWork<void>;
  commit(attributes: AdmissionAttributes, transaction: Transaction<JsonObject>): void;
}

/** Finds what admits a class of writes; undefined when nothing does, which costs a write nothing. */
export interface AdmissionChain {
  find(write: AdmissionWrite): WriteAdmission | undefined;
}

/** The built-in plugins in the order of the reference. A plugin that is not in it comes last. */
const pluginOrder = [
  "NamespaceLifecycle",
  "LimitRanger",
  "ServiceAccount",
  "TaintNodesByCondition",
  "PodSecurity",
  "Priority",
  "DefaultTolerationSeconds",
  "DefaultStorageClass",
  "StorageObjectInUseProtection",
  "OwnerReferencesPermissionEnforcement",
  "PersistentVolumeClaimResize",
  "RuntimeClass",
  "CertificateApproval",
  "CertificateSigning",
  "CertificateSubjectRestriction",
  "DefaultIngressClass",
  "PodTopologyLabels",
  "NodeDeclaredFeatureValidator",
  "PodResizeValidator",
  "ResourceQuota",
];

/** The names of all plugins, those of policies and webhooks included. */
export const pluginNames: readonly string[] = [
  ...pluginOrder,
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
];

/** Plugins that a server runs only when it is asked to. */
const optionalPlugins: readonly string[] = ["OwnerReferencesPermissionEnforcement"];

/** The plugins that a server runs when it is not asked for others. */
export const defaultPlugins: readonly string[] = pluginNames.filter((name) => !optionalPlugins.includes(name));

function orderOf({ name }: AdmissionPlugin): number {
  const index = pluginOrder.indexOf(name);
  return index < 0 ? pluginOrder.length : index;
}

/** Policies and webhooks: steps that objects in the store configure, and that may wait. */
export interface ConfiguredAdmission {
  /** Grows with every change of the configuration. */
  readonly generation: number;
  find(write: AdmissionWrite): ConfiguredSteps | undefined;
}

/** The policies and webhooks that can concern one class of writes. */
export interface ConfiguredSteps {
  /** `runPlugins` runs the mutating plugins again, after a change by a policy or webhook. */
  mutating(
    attributes: AdmissionAttributes & { readonly object: JsonObject },
    runPlugins: (object: JsonObject) => JsonObject,
  ): AwaitingWork<JsonObject>;
  validating(attributes: AdmissionAttributes): AwaitingWork<void>;
  /** The mutating step of a DELETE: every change is an error. */
  deleting(attributes: AdmissionAttributes): AwaitingWork<void>;
}

/** Admission by plugins, and by what is configured. */
export class PluginChain implements AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #configured: ConfiguredAdmission;
  readonly #metrics: AdmissionMetrics;
  #known = new WeakMap<ResourceType, Map<string, WriteAdmission | undefined>>();
  #generation = 0;

  constructor(plugins: readonly AdmissionPlugin[], configured: ConfiguredAdmission, metrics: AdmissionMetrics) {
    this.#plugins = plugins.toSorted((a, b) => orderOf(a) - orderOf(b));
    this.#configured = configured;
    this.#metrics = metrics;
  }

  find(write: AdmissionWrite): WriteAdmission | undefined {
    if (this.#generation !== this.#configured.generation) {
      this.#generation = this.#configured.generation;
      this.#known = new WeakMap();
    }
    const key = `${write.operation}/${write.subresource}`;
    const known = this.#known.get(write.type) ?? new Map<string, WriteAdmission | undefined>();
    if (!known.has(key)) {
      known.set(key, this.#create(write));
      this.#known.set(write.type, known);
    }
    return known.get(key);
  }

  #create(write: AdmissionWrite): WriteAdmission | undefined {
    const plugins = this.#plugins.filter((plugin) => plugin.handles(write));
    const configured = this.#configured.find(write);
    if (plugins.length === 0 && configured === undefined) return undefined;
    const isLong = plugins.some((plugin) => plugin.isLong?.(write));
    return new ChainOfWrite(plugins, { configured, isLong }, observersOf(this.#metrics, write.operation));
  }
}

/** What observes the steps of one class of writes, and the plugins in them. */
interface Observers {
  readonly admit: ObserveStep;
  readonly validate: ObserveStep;
  readonly plugin: (name: string, type: "admit" | "validate") => ObserveStep;
}

function observersOf(metrics: AdmissionMetrics, operation: string): Observers {
  return {
    admit: metrics.step("admit", operation),
    validate: metrics.step("validate", operation),
    plugin: (name, type) => metrics.controller(name, type, operation),
  };
}

/** A plugin and what observes it. */
interface ObservedPlugin {
  readonly plugin: AdmissionPlugin;
  readonly admit: ObserveStep;
  readonly validate: ObserveStep;
}

/** What a class of writes passes beside the plugins, and whether one of these takes long. */
interface ChainOptions {
  readonly configured: ConfiguredSteps | undefined;
  readonly isLong: boolean;
}

const notObserved: ObserveStep = () => {};

function observed<T>(observe: ObserveStep, work: () => T): T {
  const start = performance.now();
  let isRejected = true;
  try {
    const result = work();
    isRejected = false;
    return result;
  } finally {
    observe((performance.now() - start) / 1000, isRejected);
  }
}

function* observedWork<T>(observe: ObserveStep, work: AwaitingWork<T>): AwaitingWork<T> {
  const start = performance.now();
  let isRejected = true;
  try {
    const result = yield* work;
    isRejected = false;
    return result;
  } finally {
    observe((performance.now() - start) / 1000, isRejected);
  }
}

class ChainOfWrite implements WriteAdmission {
  readonly waits: boolean;
  readonly #plugins: readonly ObservedPlugin[];
  readonly #configured: ConfiguredSteps | undefined;
  readonly #observers: Observers;

  constructor(plugins: readonly AdmissionPlugin[], { configured, isLong }: ChainOptions, observers: Observers) {
    this.#plugins = plugins.map((plugin) => ({
      plugin,
      admit: observers.plugin(plugin.name, "admit"),
      validate: observers.plugin(plugin.name, "validate"),
    }));
    this.#configured = configured;
    this.#observers = observers;
    this.waits = isLong || configured !== undefined;
  }

  mutating(attributes: AdmissionAttributes & { readonly object: JsonObject }): AwaitingWork<JsonObject> {
    return observedWork(this.#observers.admit, this.#mutating(attributes));
  }

  *#mutating(attributes: AdmissionAttributes & { readonly object: JsonObject }): AwaitingWork<JsonObject> {
    const object = yield* this.#admitting(attributes, attributes.object);
    if (this.#configured === undefined) return object;
    return yield* this.#configured.mutating({ ...attributes, object }, (changed) =>
      finish(this.#admitting(attributes, changed)),
    );
  }

  validating(attributes: AdmissionAttributes): AwaitingWork<void> {
    return observedWork(this.#observers.validate, this.#validating(attributes));
  }

  *#validating(attributes: AdmissionAttributes): AwaitingWork<void> {
    for (const { plugin, validate } of this.#plugins) {
      // What is checked in the transaction is observed there.
      const observe = plugin.commit === undefined || attributes.dryRun ? validate : notObserved;
      if (plugin.validating !== undefined) yield* observedWork(observe, plugin.validating(attributes));
      if (plugin.validate !== undefined) observed(observe, () => plugin.validate?.(attributes));
    }
    if (this.#configured !== undefined) yield* this.#configured.validating(attributes);
  }

  *deleting(attributes: AdmissionAttributes): AwaitingWork<void> {
    if (this.#configured !== undefined) {
      yield* observedWork(this.#observers.admit, this.#configured.deleting(attributes));
    }
    yield* this.validating(attributes);
  }

  commit(attributes: AdmissionAttributes, transaction: Transaction<JsonObject>): void {
    for (const { plugin, validate } of this.#plugins) {
      if (plugin.commit !== undefined) observed(validate, () => plugin.commit?.(attributes, transaction));
    }
  }

  *#admitting(attributes: AdmissionAttributes, object: JsonObject): AwaitingWork<JsonObject> {
    let current = object;
    for (const { plugin, admit } of this.#plugins) {
      const given = { ...attributes, object: current };
      if (plugin.admitting !== undefined) current = yield* observedWork(admit, plugin.admitting(given));
      if (plugin.admit !== undefined) current = observed(admit, () => plugin.admit?.(given) ?? given.object);
    }
    return current;
  }
}
