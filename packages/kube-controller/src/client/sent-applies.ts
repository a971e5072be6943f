// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { ApplyOptions } from "@purlin/kube-client";
import { goJson } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";

/** How many applies are remembered; the oldest go first, and are at worst sent again. */
const mostApplies = 10_000;

/** An object as the server serves it, and how often its type had been listed by then. */
export interface ServedObject {
  readonly object: KubeObject;
  readonly lists: number;
}

interface SentApply {
  readonly hash: string;
  readonly resourceVersion: string;
  readonly lists: number;
}

/**
 * Applies after which the object still differs from the applied one: the server normalized a value, or pruned a field.
 * Sending the same again changes nothing while the object is unchanged and its type is not listed again. A list follows
 * every change of the schema, after which the server may accept what it pruned before.
 */
export class SentApplies {
  readonly #sent = new Map<string, SentApply>();

  get size(): number {
    return this.#sent.size;
  }

  remember(wanted: KubeObject, options: ApplyOptions, { object: { metadata }, lists }: ServedObject): void {
    const key = keyOfApply(wanted, options);
    this.#sent.delete(key);
    this.#sent.set(key, { hash: hashOf(wanted), resourceVersion: metadata.resourceVersion ?? "", lists });
    if (this.#sent.size <= mostApplies) return;
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined) this.#sent.delete(oldest);
  }

  forget(wanted: KubeObject, options: ApplyOptions): void {
    this.#sent.delete(keyOfApply(wanted, options));
  }

  /** Whether this is the last apply that was sent, and neither the object nor its schema has changed since. */
  isLast(wanted: KubeObject, options: ApplyOptions, { object: { metadata }, lists }: ServedObject): boolean {
    const sent = this.#sent.get(keyOfApply(wanted, options));
    if (sent === undefined || sent.lists !== lists) return false;
    return sent.resourceVersion === metadata.resourceVersion && sent.hash === hashOf(wanted);
  }
}

function keyOfApply(object: KubeObject, { fieldManager, subresource = "", force }: ApplyOptions): string {
  const { apiVersion, kind } = object;
  return [apiVersion, kind, keyText(keyOf(object)), fieldManager, subresource, force === true].join("\n");
}

function hashOf(object: KubeObject): string {
  return createHash("sha256").update(goJson(object)).digest("base64");
}
