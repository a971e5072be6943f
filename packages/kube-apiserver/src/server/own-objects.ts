// SPDX-License-Identifier: Apache-2.0
// Objects that the server itself creates: those that it starts with, and an APIService for each group version that it serves.
import { forEachLimited } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { inMetaOrder, metaOf, withMeta } from "../objects/object-members.ts";
import { type ApiGroup, type Catalog, keyPrefix, objectKey, type ResourceType } from "../registry/registry.ts";
import { inStoredOrder } from "../rest/object-codec.ts";
import type { RestServices } from "../rest/rest-context.ts";
import type { Store } from "../store/store.ts";
import type { KindDefinition } from "../strategy/kind-rules.ts";
import { type InternalClient, resourcePath } from "./controller-kit.ts";

interface BootstrapOptions {
  readonly client: InternalClient;
  readonly kinds: readonly KindDefinition[];
  readonly store: Store<JsonObject>;
}

/**
 * Creates missing namespaces that every cluster has, and completes those that exist. When all is there, a start writes nothing. Other
 * objects are created in these namespaces.
 */
export async function bootstrapNamespaces(options: BootstrapOptions): Promise<void> {
  await ensureAll(options, initialObjects(options.kinds.filter(isNamespace)));
}

/** Does the same for all other objects but roles and their bindings. */
export async function bootstrapObjects(options: BootstrapOptions): Promise<void> {
  await ensureAll(options, initialObjects(options.kinds.filter((kind) => !isNamespace(kind) && !isRole(kind))));
}

/** Stored together. The server listens and answers in between: the roles are more than a hundred. */
const rolesAtOnce = 4;

/** Does the same for roles and their bindings. */
export async function bootstrapRoles(options: BootstrapOptions): Promise<void> {
  const roles = initialObjects(options.kinds.filter(isRole));
  for (let done = 0; done < roles.length; done += rolesAtOnce) {
    await ensureAll(options, roles.slice(done, done + rolesAtOnce));
  }
}

const isNamespace = ({ type }: KindDefinition): boolean => type.resource === "namespaces" && type.group === "";
const isRole = ({ type }: KindDefinition): boolean => type.group === "rbac.authorization.k8s.io";

type InitialObject = readonly [KindDefinition, JsonObject];

function initialObjects(kinds: readonly KindDefinition[]): InitialObject[] {
  return kinds.flatMap((kind) => (kind.initialObjects ?? []).map((object) => [kind, object] as const));
}

async function ensureAll(options: BootstrapOptions, objects: readonly InitialObject[]): Promise<void> {
  await Promise.all(objects.map(([kind, object]) => ensure(options, kind, object)));
}

async function ensure(
  { client, store }: BootstrapOptions,
  { type, reconcileInitial }: KindDefinition,
  wanted: JsonObject,
): Promise<void> {
  const { namespace = "", name = "" } = metaOf(wanted);
  const existing = store.get(objectKey(type, namespace, name))?.value;
  const collection = resourcePath(type, namespace);
  if (existing === undefined) return createMissing(client, collection, wanted);
  if (reconcileInitial === undefined) return;
  const object = `${collection}/${encodeURIComponent(name)}`;
  const reconciled = reconcileInitial(existing, wanted);
  if (reconciled === existing) return;
  if (reconciled !== undefined) {
    await client.send("PUT", object, { body: reconciled });
    return;
  }
  await client.delete(object);
  await createMissing(client, collection, wanted);
}

/** Creates an object unless it is there. */
export async function createMissing(client: InternalClient, path: string, object: JsonObject): Promise<void> {
  try {
    await client.send("POST", path, { body: object });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

const group = "apiregistration.k8s.io";
/** A definition can have thousands of versions. */
const writesAtOnce = 64;
const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

/**
 * Keeps one APIService for each served version, as the reference does. An APIService that a user creates for a version stays as it is. Versions
 * that have one already cost nothing.
 */
export class ApiServices {
  readonly #services: RestServices;
  readonly #onError: (error: unknown) => void;
  #running: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;
  #isStopped = false;

  constructor(services: RestServices, onError: (error: unknown) => void) {
    this.#services = services;
    this.#onError = onError;
  }

  /** Brings them up to date, in the background. */
  revisit(): void {
    void this.sync().catch((error: unknown) => {
      if (!this.#isStopped) this.#onError(error);
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Brings them up to date, after a run that goes on. */
  sync(): Promise<void> {
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = undefined;
      const run = this.#sync();
      this.#running = run.catch(() => {});
      return run;
    });
    return this.#waiting;
  }

  async #sync(): Promise<void> {
    const { store, catalog } = this.#services;
    const type = catalog().find(group, "v1", "apiservices");
    if (type === undefined || this.#isStopped) return;
    const wanted = new Map(expected(catalog()).map((one) => [objectKey(type, "", metaOf(one).name ?? ""), one]));
    const known = store.list({ prefix: keyPrefix(type, "") }).entries.map(({ key }) => key);
    const gone = known.filter((key) => !wanted.has(key) && isManaged(store.get(key)?.value));
    const missing = [...wanted].filter(([key, object]) => isOutdated(store.get(key)?.value, object));
    await forEachLimited(
      gone,
      writesAtOnce,
      async (key) => void (await store.write(key, () => ({ action: "delete" }))),
    );
    await forEachLimited(missing, writesAtOnce, ([key, object]) => this.#put(type, key, object));
  }

  async #put(type: ResourceType, key: string, object: JsonObject): Promise<void> {
    const { store, strategyOf, now, newUid } = this.#services;
    await store.write(key, ({ current, revision }) => {
      const before = current === undefined ? undefined : metaOf(current.value);
      const at = timestamp(now());
      const next = withMeta(
        { ...object, status: { conditions: [available(at)] } },
        { uid: before?.uid ?? newUid(), creationTimestamp: before?.creationTimestamp ?? at },
      );
      const { object: managed } = strategyOf(type)
        .storage.fieldManager("")
        .update(current?.value, next, "kube-apiserver");
      const versioned = withMeta(managed, { resourceVersion: String(revision) });
      // The order of members is known of kinds with a table of fields; of the others that of metadata is.
      const metadata = inMetaOrder(versioned["metadata"] as JsonObject);
      return { action: "put", value: inStoredOrder({ ...versioned, metadata }, type) };
    });
  }
}

function isManaged(stored: JsonObject | undefined): boolean {
  return stored !== undefined && metaOf(stored).labels?.[managedLabel] !== undefined;
}

function isOutdated(stored: JsonObject | undefined, wanted: JsonObject): boolean {
  if (stored === undefined) return true;
  return isManaged(stored) && !jsonEqual(stored["spec"] ?? {}, wanted["spec"] ?? {});
}

function available(at: string): JsonObject {
  const message = "Local APIServices are always available";
  return { type: "Available", status: "True", lastTransitionTime: at, reason: "Local", message };
}

function expected({ groups }: Catalog): JsonObject[] {
  // The group of APIServices itself has none.
  return groups.filter(({ name }) => name !== group).flatMap(ofGroup);
}

/** Groups whose only version has a priority of its own in the reference. */
const versionPriorities: Readonly<Record<string, number>> = {
  "": 1,
  "flowcontrol.apiserver.k8s.io": 21,
  "resource.k8s.io": 21,
};

function builtinPriority(name: string, isNewest: boolean): number {
  return versionPriorities[name] ?? (isNewest ? 30 : 15);
}

function ofGroup({ name, versions }: ApiGroup): JsonObject[] {
  return versions.map(({ version, resources }, index) => {
    const isCustom = resources.every((one) => one.custom);
    return {
      apiVersion: `${group}/v1`,
      kind: "APIService",
      metadata: { name: `${version}.${name}`, labels: { [managedLabel]: isCustom ? "true" : "onstart" } },
      spec: {
        ...(name === "" ? {} : { group: name }),
        version,
        groupPriorityMinimum: Math.max(...resources.map((one) => one.groupPriority)),
        versionPriority: isCustom ? 100 : builtinPriority(name, index === 0 && versions.length > 1),
      },
    };
  });
}
