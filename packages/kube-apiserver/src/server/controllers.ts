// SPDX-License-Identifier: Apache-2.0
import { inTurns, isPartDone, memoize, sorting, type Work } from "@purlin/base";
import { compareUtf8, isJsonObject, type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { memberAt, type OwnerReference, parseApiVersion } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, matchesLabels, readingLabelSelector } from "@purlin/kube-objects/selector";
import { type OwnedObject, ownedObject } from "../gc/decide.ts";
import { type GarbageActions, GarbageCollector, type GarbageCollectorOptions } from "../gc/garbage-collector.ts";
import { metaOf } from "../objects/object-members.ts";
import { type ApiGroup, type Catalog, objectKey, type ResourceType } from "../registry/registry.ts";
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

/**
 * The ClusterRoles that are made of others and do not have the rules of those: of all that match one of their selectors, by name, each rule
 * once. A role may be made of one that is itself made of others; all of them are settled at once. Selectors and rules may be very many, so
 * they are read in parts.
 */
export function* collectingRules(roles: readonly JsonObject[]): Work<CollectedRules[]> {
  const byName = yield* sorting(roles, (a, b) => compareUtf8(metaOf(a).name ?? "", metaOf(b).name ?? ""));
  const made: { readonly role: JsonObject; readonly parts: readonly JsonObject[] }[] = [];
  for (const role of roles) {
    if (selectorsOf(role).length > 0) made.push({ role, parts: yield* findingParts(role, byName) });
  }
  const rules = new Map(roles.map((role) => [role, rulesOf(role)]));
  const textOf = memoize((rule: JsonObject) => printJson(rule));
  // What a role is made of may run in a circle, and then need never come to rest.
  for (let pass = 0; pass <= made.length; pass += 1) {
    let isSettled = true;
    for (const { role, parts } of made) {
      const wanted = yield* uniting(parts, rules, textOf);
      if (!jsonEqual(wanted, rules.get(role) ?? [])) {
        rules.set(role, wanted);
        isSettled = false;
      }
    }
    if (isSettled) break;
  }
  return made
    .map(({ role }) => ({ role, wanted: rules.get(role) ?? [] }))
    .filter(({ role, wanted }) => !jsonEqual(wanted, rulesOf(role)))
    .map(({ role, wanted }) => ({ name: metaOf(role).name ?? "", rules: wanted }));
}

/** A selector with more requirements takes so long to match that each role is a part of its own. */
const longSelector = 100;

/** What a role is made of: selector by selector, by name. Each role once: its rules are the same wherever it stands again. */
function* findingParts(role: JsonObject, byName: readonly JsonObject[]): Work<JsonObject[]> {
  const parts: JsonObject[] = [];
  let others = byName.filter((one) => one !== role);
  for (const object of selectorsOf(role)) {
    if (others.length === 0) break;
    const selector = yield* readingLabelSelector(object);
    const left: JsonObject[] = [];
    for (const one of others) {
      if (selector.length > longSelector || isPartDone()) yield;
      (matchesLabels(selector, metaOf(one).labels) ? parts : left).push(one);
    }
    others = left;
  }
  return parts;
}

type RulesOf = ReadonlyMap<JsonObject, readonly JsonObject[]>;

/** The rules of several roles, each rule once. */
function* uniting(
  parts: readonly JsonObject[],
  rules: RulesOf,
  textOf: (rule: JsonObject) => string,
): Work<JsonObject[]> {
  const known = new Map<string, JsonObject>();
  for (const part of parts) {
    for (const rule of rules.get(part) ?? []) {
      if (isPartDone()) yield;
      const text = textOf(rule);
      known.set(text, known.get(text) ?? rule);
    }
  }
  return [...known.values()];
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
      const roles = store.list({ prefix: rolesPrefix }).entries.map((entry) => entry.value);
      const collected = await inTurns(collectingRules(roles));
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
