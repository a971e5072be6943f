// SPDX-License-Identifier: Apache-2.0
import { type Entry, metaOf, type ResourceType, type Store } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";
import { FollowedObjects } from "./followed-objects.ts";
import { type Usage, usageOf } from "./object-usage.ts";
import { isInScope } from "./quota-scopes.ts";

type CountedType = Pick<ResourceType, "group" | "resource">;

/** What the objects of one resource in one namespace count for in one quota. */
class ResourceUsage {
  readonly totals = new Map<string, bigint>();
  readonly keys = new Set<string>();
  readonly #followed: FollowedObjects;

  constructor(store: Store<JsonObject>, quota: JsonObject, { type, prefix }: Counted) {
    const count = ({ key, value }: Entry<JsonObject>, sign: 1n | -1n): void => {
      if (sign === 1n) this.keys.add(key);
      else this.keys.delete(key);
      if (!isInScope(quota, type.resource, value)) return;
      for (const [name, amount] of usageOf(type, value)) {
        this.totals.set(name, (this.totals.get(name) ?? 0n) + sign * amount);
      }
    };
    this.#followed = new FollowedObjects(store, prefix, {
      clear: () => {
        this.totals.clear();
        this.keys.clear();
      },
      add: (entry) => count(entry, 1n),
      remove: (entry) => count(entry, -1n),
    });
  }

  catchUp(): this {
    this.#followed.catchUp();
    return this;
  }

  close(): void {
    this.#followed.close();
  }
}

interface Counted {
  readonly type: CountedType;
  readonly prefix: string;
}

const mostQuotas = 1000;

function versionOf(quota: JsonObject): string {
  const { uid = "", resourceVersion = "" } = metaOf(quota);
  return `${uid}/${resourceVersion}`;
}

/** Counts objects for quotas. Objects are listed once for each quota and resource; after that only changes are read. */
export class QuotaUsage {
  readonly #store: Store<JsonObject>;
  /** The usage by the identity and version of a quota, and by the prefix of the counted objects. A changed quota is counted anew. */
  readonly #known = new Map<string, Map<string, ResourceUsage>>();

  constructor(store: Store<JsonObject>) {
    this.#store = store;
  }

  /** The usage of a quota by objects of a type, and the keys of the counted objects. */
  of(
    quota: JsonObject,
    type: CountedType,
    namespace: string,
  ): { readonly totals: Usage; readonly keys: ReadonlySet<string> } {
    const prefix = `/${type.group}/${type.resource}/${namespace}/`;
    const known = this.#known.get(versionOf(quota)) ?? new Map<string, ResourceUsage>();
    const usage = known.get(prefix) ?? new ResourceUsage(this.#store, quota, { type, prefix });
    this.#known.set(versionOf(quota), known.set(prefix, usage));
    if (this.#known.size > mostQuotas) this.#forgetOldest();
    return usage.catchUp();
  }

  /** Frees what is kept for a quota that was changed or deleted. */
  forget(quota: JsonObject): void {
    this.#forget(versionOf(quota));
  }

  #forget(version: string): void {
    for (const usage of this.#known.get(version)?.values() ?? []) usage.close();
    this.#known.delete(version);
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#forget(oldest);
  }
}
