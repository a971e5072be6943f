// SPDX-License-Identifier: Apache-2.0

import { timestamp } from "@purlin/kube-objects/apply";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import type { ApiGroup, Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { inMetaOrder } from "../rest/member-order.ts";
import { inStoredOrder } from "../rest/object-codec.ts";
import { metaOf, withMeta } from "../rest/object-meta.ts";
import type { RestServices } from "../rest/rest-context.ts";
import { keyPrefix, objectKey } from "../rest/storage-key.ts";

const GROUP = "apiregistration.k8s.io";
const MANAGED = "kube-aggregator.kubernetes.io/automanaged";

/** Which of the built-in groups comes first where it matters. Others follow, those of custom kinds last. */
const PRIORITIES: Readonly<Record<string, number>> = {
  "": 18_000,
  apps: 17_800,
  "events.k8s.io": 17_750,
  "authentication.k8s.io": 17_700,
  "authorization.k8s.io": 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  "rbac.authorization.k8s.io": 17_000,
  "admissionregistration.k8s.io": 16_700,
  "apiextensions.k8s.io": 16_700,
  "coordination.k8s.io": 16_500,
  "discovery.k8s.io": 16_200,
};

/**
 * Keeps one APIService for each version that is served, as the reference does. They only tell what is there: nobody can add one,
 * since no other server is asked on this one's behalf. Versions that are told of already cost nothing.
 */
export class ApiServices {
  readonly #services: RestServices;
  readonly #onError: (error: unknown) => void;
  #isStopped = false;

  constructor(services: RestServices, onError: (error: unknown) => void) {
    this.#services = services;
    this.#onError = onError;
  }

  /** Brings them up to date, in the background. */
  revisit(): void {
    void this.sync().catch((error: unknown) => {
      if (!this.#isStopped) {
        this.#onError(error);
      }
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Brings them up to date. */
  async sync(): Promise<void> {
    const { store, catalog } = this.#services;
    const type = catalog().find(GROUP, "v1", "apiservices");
    if (type === undefined || this.#isStopped) {
      return;
    }
    const wanted = new Map(expected(catalog()).map((one) => [objectKey(type, "", metaOf(one).name ?? ""), one]));
    const known = store.list({ prefix: keyPrefix(type, "") }).entries.map(({ key }) => key);
    const gone = known.filter((key) => !wanted.has(key));
    const missing = [...wanted].filter(([key, object]) => !isTold(store.get(key)?.value, object));
    await Promise.all([
      ...gone.map((key) => store.write(key, () => ({ action: "delete" }))),
      ...missing.map(([key, object]) => this.#put(type, key, object)),
    ]);
  }

  async #put(type: ResourceType, key: string, object: JsonObject): Promise<void> {
    const { store, strategyOf, now, newUid } = this.#services;
    await store.write(key, ({ current, revision }) => {
      const before = current === undefined ? undefined : metaOf(current.value);
      const at = timestamp(now());
      const told = withMeta(
        { ...object, status: { conditions: [available(at)] } },
        { uid: before?.uid ?? newUid(), creationTimestamp: before?.creationTimestamp ?? at },
      );
      const { object: managed } = strategyOf(type).fieldManager("").update(current?.value, told, "kube-apiserver");
      const versioned = withMeta(managed, { resourceVersion: String(revision) });
      // The order of members is known of kinds with a table of fields; of the others that of metadata is.
      const metadata = inMetaOrder(versioned["metadata"] as JsonObject);
      return { action: "put", value: inStoredOrder({ ...versioned, metadata }, type) };
    });
  }
}

function isTold(stored: JsonObject | undefined, wanted: JsonObject): boolean {
  return stored !== undefined && jsonEqual(stored["spec"] ?? {}, wanted["spec"] ?? {});
}

function available(at: string): JsonObject {
  const message = "Local APIServices are always available";
  return { type: "Available", status: "True", lastTransitionTime: at, reason: "Local", message };
}

function expected({ groups }: Catalog): JsonObject[] {
  // The group of APIServices itself has none.
  return groups.filter(({ name }) => name !== GROUP).flatMap(ofGroup);
}

function ofGroup({ name, versions }: ApiGroup): JsonObject[] {
  return versions.map(({ version, resources }, index) => {
    const isCustom = resources.every((one) => one.custom);
    return {
      apiVersion: `${GROUP}/v1`,
      kind: "APIService",
      metadata: { name: `${version}.${name}`, labels: { [MANAGED]: isCustom ? "true" : "onstart" } },
      spec: {
        ...(name === "" ? {} : { group: name }),
        version,
        groupPriorityMinimum: isCustom ? 1000 : (PRIORITIES[name] ?? 16_000),
        versionPriority: isCustom ? 100 : name === "" ? 1 : index === 0 && versions.length > 1 ? 30 : 15,
      },
    };
  });
}
