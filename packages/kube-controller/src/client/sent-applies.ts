// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { type ApplyOptions, type KubeObject, keyOf, keyText } from "@purlin/kube-client";
import { goJson, type JsonValue } from "@purlin/kube-objects";

/** How many applies are remembered; the oldest go first, and are at worst sent again. */
const mostApplies = 10_000;

/**
 * Applies after which the object still does not look as wanted: the server wrote a value in its own way, or dropped a
 * field. While the object is the one we got back, sending the same again changes nothing.
 */
export class SentApplies {
  readonly #sent = new Map<string, { readonly hash: string; readonly resourceVersion: string }>();

  get size(): number {
    return this.#sent.size;
  }

  remember(wanted: KubeObject, options: ApplyOptions, { metadata }: KubeObject): void {
    const key = keyOfApply(wanted, options);
    this.#sent.delete(key);
    this.#sent.set(key, { hash: hashOf(wanted), resourceVersion: metadata.resourceVersion ?? "" });
    if (this.#sent.size <= mostApplies) return;
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined) this.#sent.delete(oldest);
  }

  forget(wanted: KubeObject, options: ApplyOptions): void {
    this.#sent.delete(keyOfApply(wanted, options));
  }

  /** Whether this is the last that was sent, and nobody has changed the object since. */
  isLast(wanted: KubeObject, options: ApplyOptions, current: KubeObject): boolean {
    const sent = this.#sent.get(keyOfApply(wanted, options));
    return (
      sent !== undefined && sent.resourceVersion === current.metadata.resourceVersion && sent.hash === hashOf(wanted)
    );
  }
}

function keyOfApply(object: KubeObject, { fieldManager, subresource = "", force }: ApplyOptions): string {
  const { apiVersion, kind } = object;
  return [apiVersion, kind, keyText(keyOf(object)), fieldManager, subresource, force === true].join("\n");
}

function hashOf(object: KubeObject): string {
  return createHash("sha256")
    .update(goJson(object as unknown as JsonValue))
    .digest("base64");
}
