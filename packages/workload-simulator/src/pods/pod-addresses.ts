// SPDX-License-Identifier: Apache-2.0
import type { InformerPool } from "@purlin/kube-client";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";

const addressIndex = "podIP";
const [first, last] = [10, 65_534];

/** Gives Pods addresses of 10.244.0.0/16 that no other Pod has. */
export class PodAddresses {
  readonly #informers: InformerPool;
  // Given to Pods whose status the informer may not have seen yet.
  readonly #given = new Map<string, string>();
  #next = first;

  constructor(informers: InformerPool) {
    this.#informers = informers;
  }

  /** The address of a Pod: the one that it has, or a free one. */
  of(pod: KubeObject): string {
    const { uid = "" } = pod.metadata;
    const known = textAt(pod, ["status", "podIP"]);
    if (known !== undefined) {
      this.#given.delete(uid);
      return known;
    }
    const given = this.#given.get(uid) ?? this.#free();
    this.#given.set(uid, given);
    return given;
  }

  /** Forgets a Pod that was given an address and is gone. */
  release(uid: string): void {
    this.#given.delete(uid);
  }

  #free(): string {
    const informer = this.#informers.peek(kinds.pod);
    informer?.addIndex(addressIndex, (pod) => [textAt(pod, ["status", "podIP"]) ?? []].flat());
    for (let tries = last - first; tries > 0; tries--) {
      const address = this.#advance();
      if ((informer?.byIndex(addressIndex, address).length ?? 0) === 0) return address;
    }
    throw new Error("all addresses of 10.244.0.0/16 are in use by simulated Pods");
  }

  #advance(): string {
    const at = this.#next;
    this.#next = at >= last ? first : at + 1;
    return `10.244.${at >> 8}.${at & 255}`;
  }
}
