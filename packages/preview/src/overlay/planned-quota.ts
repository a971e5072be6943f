// SPDX-License-Identifier: Apache-2.0
import { quotaRefusal } from "@purlin/kube-builtin";
import { isNoMatch } from "@purlin/kube-client";
import { forbidden, isForbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, parseApiVersion } from "@purlin/kube-objects/object";
import { identityOf, kindIdentity } from "./live-reads.ts";
import type { Overlay } from "./overlay.ts";

const quotaType = { apiVersion: "v1", kind: "ResourceQuota" } as const;

/** Counts what a preview creates against ResourceQuotas: each dry run alone may fit where all writes together do not. */
export class PlannedQuota {
  readonly #overlay: Overlay;
  /** What was admitted, by namespace and kind, then by identity. */
  readonly #admitted = new Map<string, Map<string, KubeObject>>();

  constructor(overlay: Overlay) {
    this.#overlay = overlay;
  }

  /** Rejects as the API server would when a quota has no room left. Resolves to whether the quotas could be read. */
  async admit(object: KubeObject, signal: AbortSignal | undefined): Promise<boolean> {
    const { namespace } = object.metadata;
    if (!namespace) return true;
    const quotas = await this.#quotasIn(namespace, signal);
    if (quotas === undefined || quotas.length === 0) return quotas !== undefined;
    const mapping = await this.#overlay.live.client.mapper.mapping(object, signal).catch(() => undefined);
    if (mapping === undefined) return true;
    const type = { group: parseApiVersion(object.apiVersion).group, resource: mapping.resource };
    // Nothing is awaited from here on: writes of other objects run at the same time.
    const group = `${namespace}\n${kindIdentity(object)}`;
    const admitted = this.#admitted.get(group) ?? new Map<string, KubeObject>();
    const id = identityOf(object);
    const created = [...admitted].flatMap(([other, one]) => (other === id ? [] : [one as JsonObject]));
    const deleted = this.#deletedIn(namespace, object);
    for (const quota of quotas) {
      const refusal = quotaRefusal(quota as JsonObject, { type, object: object as JsonObject, created, deleted });
      if (refusal !== undefined) throw forbidden(type, object.metadata.name ?? "", refusal);
    }
    this.#admitted.set(group, admitted.set(id, object));
    return true;
  }

  async #quotasIn(namespace: string, signal: AbortSignal | undefined): Promise<readonly KubeObject[] | undefined> {
    try {
      return await this.#overlay.list(quotaType, { namespace, signal, accepts: () => true });
    } catch (error) {
      if (isNoMatch(error)) return [];
      if (isForbidden(error)) return undefined;
      throw error;
    }
  }

  #deletedIn(namespace: string, { apiVersion, kind }: KubeObject): readonly JsonObject[] {
    const wanted = kindIdentity({ apiVersion, kind });
    return [...this.#overlay.entries.values()].flatMap(({ before, now }) => {
      if (before === undefined || now !== undefined || before.metadata.namespace !== namespace) return [];
      return kindIdentity(before) === wanted ? [before as JsonObject] : [];
    });
  }
}
