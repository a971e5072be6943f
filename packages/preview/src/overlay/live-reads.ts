// SPDX-License-Identifier: Apache-2.0
import { isNoMatch, type KubeClient } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  parseApiVersion,
  type TypeRef,
} from "@purlin/kube-objects/object";

const pageSize = 500;

/** Which objects to list. */
interface LiveListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads of the live control plane, each sent once: all passes of one preview see the same state. A 404 is an absent object; every other
 * failure rejects.
 */
export class LiveReads {
  readonly client: KubeClient;
  readonly #objects = new Map<string, Promise<KubeObject | undefined>>();
  readonly #lists = new Map<string, Promise<readonly KubeObject[]>>();

  constructor(client: KubeClient) {
    this.client = client;
  }

  /** An object; undefined when it does not exist. */
  get(type: TypeRef, key: ObjectKey, signal?: AbortSignal): Promise<KubeObject | undefined> {
    const id = `${type.apiVersion}/${type.kind} ${keyText(key)}`;
    const known = this.#objects.get(id);
    if (known !== undefined) return known;
    const read = ignoreNotFound(this.client.get(type, key, { signal }));
    this.#objects.set(id, read);
    read.catch(() => this.#objects.delete(id));
    return read;
  }

  /** The objects of a type. */
  list(
    type: TypeRef,
    { namespace = "", labelSelector = "", signal }: LiveListOptions = {},
  ): Promise<readonly KubeObject[]> {
    const id = `${type.apiVersion}/${type.kind} ${namespace} ${labelSelector}`;
    const known = this.#lists.get(id);
    if (known !== undefined) return known;
    const read = this.#listAll(type, { namespace, labelSelector, signal });
    this.#lists.set(id, read);
    read.catch(() => this.#lists.delete(id));
    return read;
  }

  /** Whether the live API server serves the kind. */
  async serves(type: TypeRef, signal?: AbortSignal): Promise<boolean> {
    try {
      await this.client.mapper.mapping(type, signal);
      return true;
    } catch (error) {
      if (isNoMatch(error)) return false;
      throw error;
    }
  }

  /** The objects that were read and have changed since, as `Kind namespace/name`. */
  async changedSince(signal?: AbortSignal): Promise<readonly string[]> {
    const seen = new Map<string, KubeObject>();
    const results = await Promise.allSettled([...this.#objects.values(), ...this.#lists.values()]);
    for (const result of results) {
      if (result.status !== "fulfilled" || result.value === undefined) continue;
      const found = "metadata" in result.value ? [result.value] : result.value;
      // The status of a quota changes with every object of its namespace.
      for (const object of found) if (object.kind !== "ResourceQuota") seen.set(identityOf(object), object);
    }
    const types = new Map(
      [...seen.values()].map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }]),
    );
    const changed: string[] = [];
    for (const type of types.values()) {
      const now = new Map((await this.#listAll(type, { signal })).map((object) => [identityOf(object), object]));
      for (const [id, before] of seen) {
        if (before.kind !== type.kind || before.apiVersion !== type.apiVersion) continue;
        if (now.get(id)?.metadata.resourceVersion !== before.metadata.resourceVersion)
          changed.push(`${before.kind} ${keyText(keyOf(before))}`);
      }
    }
    return changed.sort();
  }

  async #listAll(type: TypeRef, options: LiveListOptions): Promise<readonly KubeObject[]> {
    const { namespace, labelSelector, signal } = options;
    const selected = { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }) };
    const objects: KubeObject[] = [];
    let next: string | undefined;
    do {
      const page = await this.client.list(type, { ...selected, limit: pageSize, continue: next, signal });
      objects.push(...page.items);
      next = page.continue;
    } while (next !== undefined);
    return objects;
  }
}

/** What distinguishes objects, whichever version they are read in. */
export function identityOf({ apiVersion, kind, metadata }: KubeObject): string {
  return identityAt({ apiVersion, kind }, { namespace: metadata.namespace, name: metadata.name ?? "" });
}

/** The same from a type and a key. */
export function identityAt({ apiVersion, kind }: TypeRef, { namespace, name }: ObjectKey): string {
  return [kindIdentity({ apiVersion, kind }), namespace ?? "", name].join("\n");
}

/** A kind without its version. */
export function kindIdentity({ apiVersion, kind }: TypeRef): string {
  return `${parseApiVersion(apiVersion).group}/${kind}`;
}
