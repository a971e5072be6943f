// SPDX-License-Identifier: Apache-2.0
import { inTurns, isPartDone, memoize, type Work } from "@purlin/base";
import { compareUtf8, isJsonObject, type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { memberAt, type OwnerReference, parseApiVersion } from "@purlin/kube-objects/object";
import {
  type LabelSelector,
  type LabelSelectorObject,
  matchesLabels,
  readingLabelSelector,
} from "@purlin/kube-objects/selector";
import { type OwnedObject, ownedObject } from "../gc/decide.ts";
import { type GarbageActions, GarbageCollector, type GarbageCollectorOptions } from "../gc/garbage-collector.ts";
import { metaOf } from "../objects/object-members.ts";
import { type ApiGroup, type Catalog, objectKey, type ResourceType } from "../registry/registry.ts";
import { collecting } from "../store/collecting.ts";
import type { Store } from "../store/store.ts";
import { type InternalClient, resourcePath, StoreFollower } from "./controller-kit.ts";
import { NamespaceController } from "./namespace-controller.ts";
import { ApiServices } from "./own-objects.ts";
import { createPolicyStatus, policyStatusController } from "./policy-status.ts";
import type { ServerCore } from "./server-core.ts";

/** A ClusterRole that is made of others, and the rules it should have. */
export interface CollectedRules {
  readonly name: string;
  readonly rules: readonly JsonObject[];
}

/** A ClusterRole that is made of others. */
interface MadeRole {
  readonly name: string;
  readonly selectors: readonly LabelSelector[];
  /** The rules that it has. */
  readonly rules: readonly JsonObject[];
  /** What it is made of: the names of other roles, each with its place among the selectors. */
  readonly parts: { readonly name: string; readonly selector: number }[];
}

/** ClusterRoles as they are stored: each is decoded when its value is asked for. */
type StoredRoles = readonly { readonly value: JsonObject }[];

/**
 * The ClusterRoles that are made of others and do not have the rules of those: of all that match one of their selectors, by name, each rule
 * once. A role may be made of one that is itself made of others; all of them are settled at once. Selectors and rules may be very many, so
 * they are read in parts, and only what counts is kept of a role: all together may be larger than the memory.
 */
export function* collectingRules(stored: StoredRoles): Work<CollectedRules[]> {
  const made = yield* findingMade(stored);
  const rules = yield* findingParts(made, stored);
  const textOf = memoize((rule: JsonObject) => printJson(rule));
  // What a role is made of may run in a circle, and then need never come to rest.
  for (let pass = 0; pass <= made.length; pass += 1) {
    let isSettled = true;
    for (const { name, parts } of made) {
      const wanted = yield* uniting(parts, rules, textOf);
      if (!jsonEqual(wanted, rules.get(name) ?? [])) {
        rules.set(name, wanted);
        isSettled = false;
      }
    }
    if (isSettled) break;
  }
  return yield* collecting(made, ({ name, rules: before }) => {
    const wanted = rules.get(name) ?? [];
    return jsonEqual(wanted, before) ? undefined : { name, rules: wanted };
  });
}

function* findingMade(stored: StoredRoles): Work<MadeRole[]> {
  const made: MadeRole[] = [];
  for (const { value: role } of stored) {
    const selectors: LabelSelector[] = [];
    for (const object of selectorsOf(role)) selectors.push(yield* readingLabelSelector(object));
    if (selectors.length > 0) made.push({ name: nameOf(role), selectors, rules: rulesOf(role), parts: [] });
    yield;
  }
  return made;
}

/** Finds what the roles are made of. Returns the rules of all of these by name. */
function* findingParts(made: readonly MadeRole[], stored: StoredRoles): Work<Map<string, readonly JsonObject[]>> {
  const found = new Map(made.map(({ name, rules }) => [name, rules]));
  for (const { value: role } of stored) {
    const name = nameOf(role);
    for (const { parts, selectors } of made.filter((one) => one.name !== name)) {
      const selector = yield* findingMatch(selectors, role);
      if (selector === undefined) continue;
      parts.push({ name, selector });
      found.set(name, rulesOf(role));
    }
    yield;
  }
  for (const { parts } of made) parts.sort((a, b) => a.selector - b.selector || compareUtf8(a.name, b.name));
  return found;
}

/** A selector with more requirements takes so long to match that it is a part of its own. */
const longSelector = 100;

/** The first selector that matches a role, by its index. */
function* findingMatch(selectors: readonly LabelSelector[], role: JsonObject): Work<number | undefined> {
  const { labels } = metaOf(role);
  for (const [index, selector] of selectors.entries()) {
    if (selector.length > longSelector || isPartDone()) yield;
    if (matchesLabels(selector, labels)) return index;
  }
  return undefined;
}

/** The rules of several roles, each rule once. */
function* uniting(
  parts: MadeRole["parts"],
  rules: ReadonlyMap<string, readonly JsonObject[]>,
  textOf: (rule: JsonObject) => string,
): Work<JsonObject[]> {
  const known = new Map<string, JsonObject>();
  for (const { name } of parts) {
    // One rule may have as many names as a request.
    yield;
    for (const rule of rules.get(name) ?? []) {
      if (isPartDone()) yield;
      const text = textOf(rule);
      known.set(text, known.get(text) ?? rule);
    }
  }
  return [...known.values()];
}

function nameOf(role: JsonObject): string {
  return metaOf(role).name ?? "";
}

function rulesOf(role: JsonObject): readonly JsonObject[] {
  const { rules } = role;
  return Array.isArray(rules) ? (rules as readonly JsonObject[]) : [];
}

function selectorsOf(role: JsonObject): LabelSelectorObject[] {
  const selectors = memberAt(role, ["aggregationRule", "clusterRoleSelectors"]);
  return Array.isArray(selectors) ? (selectors.filter(isJsonObject) as LabelSelectorObject[]) : [];
}

const mergePatch = "application/merge-patch+json";

const rolesPrefix = "/rbac.authorization.k8s.io/clusterroles/";

const rolesPath = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** What looks after objects by itself, as clients of a cluster expect. */
export interface Controllers {
  start(): void;
  stop(): void;
}

export function createControllers(
  core: ServerCore,
  store: Store<JsonObject>,
  onError: (error: unknown) => void,
): Controllers {
  const { client, catalog, now } = core;
  const actions = garbageActions(client.asController("generic-garbage-collector"), catalog);
  const collector = new GarbageCollector({ store, actions, ownerOf: ownerFinder(store, catalog), onError });
  const roles = createRoleAggregation(store, client.asController("clusterrole-aggregation-controller"), onError);
  const namespaces = new NamespaceController({ store, client, catalog, now, onError });
  const policies = createPolicyStatus({
    store,
    client: client.asController(policyStatusController),
    catalog,
    crds: () => core.crds.crds,
    onError,
  });
  const apiServices = new ApiServices(core.services, onError);
  const clientOf = (account: string): InternalClient => client.asController(account);
  const ofKinds = core.kinds.flatMap((kind) => kind.controllers?.({ clientOf, onError }) ?? []);
  let isStarted = false;
  core.onPublished = () => {
    // The start looks at everything.
    if (!isStarted) return;
    collector.revisit();
    apiServices.revisit();
  };
  core.services.guardDelete?.onRelease((object) => {
    collector.released(object);
    namespaces.released(object.namespace);
  });
  return {
    start: () => {
      isStarted = true;
      apiServices.revisit();
      collector.start();
      namespaces.start();
      roles.start();
      policies.start();
      for (const controller of ofKinds) controller.start();
      core.aggregator.start();
    },
    stop: () => {
      apiServices.stop();
      collector.stop();
      namespaces.stop();
      roles.stop();
      policies.stop();
      for (const controller of ofKinds) controller.stop();
      core.aggregator.stop();
    },
  };
}

/** Gives ClusterRoles that are made of others the rules of those. */
function createRoleAggregation(
  store: Store<JsonObject>,
  client: InternalClient,
  onError: (error: unknown) => void,
): StoreFollower {
  return new StoreFollower({
    store,
    prefix: rolesPrefix,
    onError,
    // Any role may be a part of any other: a change of one is a reason to look at all, once.
    subjectOf: () => rolesPrefix,
    reconcile: async () => {
      const { entries } = store.list({ prefix: rolesPrefix });
      const collected = await inTurns(collectingRules(entries));
      await Promise.all(collected.map((one) => apply(client, one)));
    },
  });
}

async function apply(client: InternalClient, { name, rules }: CollectedRules): Promise<void> {
  await client.send("PATCH", `${rolesPath}/${encodeURIComponent(name)}`, {
    contentType: "application/apply-patch+yaml",
    query: { fieldManager: "clusterrole-aggregation-controller", force: "true" },
    body: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name },
      // As in the reference: a role that nothing matches keeps the rules that others wrote.
      ...(rules.length === 0 ? {} : { rules }),
    },
  });
}

/** The type of a kind; of another version of it when its own is not served. */
function typeOfKind(catalog: Catalog, apiVersion: string, kind: string): ResourceType | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  const served = catalog.group(group);
  if (served === undefined) return undefined;
  const types = deletableTypes(served);
  return types.get(`${version}/${kind}`) ?? types.get(kind);
}

/** The types of a group by version and kind, and by kind alone: an object may have thousands of owners, and a group a thousand kinds. */
const deletableTypes = memoize(({ versions }: ApiGroup): ReadonlyMap<string, ResourceType> => {
  const types = versions.flatMap(({ resources }) => resources).filter(({ verbs }) => verbs.includes("delete"));
  // The first of several counts.
  const last = types.toReversed();
  return new Map([
    ...last.map((type) => [type.kind, type] as const),
    ...last.map((type) => [`${type.version}/${type.kind}`, type] as const),
  ]);
});

/** Garbage collection as a client of the server: each change says which object it means. */
function garbageActions(client: InternalClient, catalog: () => Catalog): GarbageActions {
  const pathOf = (object: OwnedObject): string | undefined => {
    const type = typeOfKind(catalog(), object.apiVersion, object.kind);
    return type && resourcePath(type, object.namespace, object.name);
  };
  const patch = async (object: OwnedObject, metadata: JsonObject): Promise<void> => {
    const path = pathOf(object);
    if (path !== undefined) {
      const { uid, resourceVersion } = object;
      await client.send("PATCH", path, {
        contentType: mergePatch,
        body: { metadata: { uid, resourceVersion, ...metadata } },
      });
    }
  };
  return {
    delete: async (object, propagationPolicy) => {
      const path = pathOf(object);
      if (path !== undefined) {
        const { uid, resourceVersion } = object;
        await client.delete(path, { body: { propagationPolicy, preconditions: { uid, resourceVersion } } });
      }
    },
    dropOwners: (object, uids) => {
      const dropped = new Set(uids);
      const kept = object.owners.filter(({ uid }) => !dropped.has(uid));
      return patch(object, { ownerReferences: kept.length === 0 ? null : kept });
    },
    dropFinalizer: (object, finalizer) => {
      const kept = object.finalizers.filter((name) => name !== finalizer);
      return patch(object, { finalizers: kept.length === 0 ? null : kept });
    },
  };
}

/**
 * Finds the owner a reference means. Owners of namespaced kinds are in the dependent's own namespace; a cluster-scoped dependent can
 * have none.
 */
function ownerFinder(store: Store<JsonObject>, catalog: () => Catalog): GarbageCollectorOptions["ownerOf"] {
  return (reference: OwnerReference, dependent: OwnedObject) => {
    const type = typeOfKind(catalog(), reference.apiVersion, reference.kind);
    if (type === undefined || (type.namespaced && dependent.namespace === "")) return "unknown";
    const entry = store.get(objectKey(type, type.namespaced ? dependent.namespace : "", reference.name));
    const owner = entry && ownedObject(entry.value);
    return owner?.uid === reference.uid ? owner : "absent";
  };
}
