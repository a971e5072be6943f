// SPDX-License-Identifier: Apache-2.0
import { type ForestSource, type ObjectRef, referencesOf } from "@purlin/explain";
import type { InformerLease, InformerPool } from "@purlin/kube-client";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { definitionType, isOffered, kindsOf } from "./defined-kinds.ts";

/** All claims and composite resources of an API server, kept up to date with what they compose. */
export interface CompositeWatch extends ForestSource, AsyncDisposable {
  /** Whether a type is one of claims or composite resources. */
  has(type: TypeRef): boolean;
  /** Definitions that do not offer their kinds (yet). */
  readonly pending: readonly KubeObject[];
  /** Resolves when everything that is defined now has been read. */
  ready(signal: AbortSignal): Promise<void>;
}

/**
 * Watches an API server through informers that others may share. `onChange` is called whenever anything that could be shown
 * has changed.
 */
export function watchComposites(informers: InformerPool, onChange: () => void): CompositeWatch {
  return new Watching(informers, onChange);
}

class Watching implements CompositeWatch {
  readonly #pool: InformerPool;
  readonly #onChange: () => void;
  readonly #definitions: InformerLease;
  readonly #leases = new Map<string, InformerLease>();
  readonly #subscriptions: (() => void)[] = [];

  constructor(informers: InformerPool, onChange: () => void) {
    this.#pool = informers;
    this.#onChange = onChange;
    this.#definitions = this.#pool.acquire(definitionType);
    const stop = this.#definitions.informer.subscribe(({ object }) => {
      for (const type of typesOf(object)) this.#watch(type);
      onChange();
    });
    this.#subscriptions.push(stop);
  }

  get composites(): readonly KubeObject[] {
    const types = this.#definitions.informer.list().flatMap(typesOf);
    return types.flatMap((type) => this.#leases.get(textOf(type))?.informer.list() ?? []);
  }

  get pending(): readonly KubeObject[] {
    return this.#definitions.informer.list().filter((definition) => !isOffered(definition));
  }

  has(type: TypeRef): boolean {
    return this.#definitions.informer
      .list()
      .flatMap(typesOf)
      .some((one) => textOf(one) === textOf(type));
  }

  find(reference: ObjectRef): KubeObject | undefined {
    return this.#watch(reference).informer.get(reference);
  }

  async ready(signal: AbortSignal): Promise<void> {
    await this.#definitions.informer.ready(signal);
    const types = this.#definitions.informer.list().filter(isOffered).flatMap(typesOf);
    await Promise.all(types.map((type) => this.#watch(type).informer.ready(signal)));
    // What they refer to, so that nothing that exists is called missing.
    const below = this.composites.flatMap(referencesOf).map((reference) => this.#watch(reference).informer);
    await Promise.all([...new Set(below)].map((informer) => informer.ready(signal).catch(() => {})));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#subscriptions) stop();
    await Promise.all([this.#definitions, ...this.#leases.values()].map((lease) => lease.release()));
  }

  #watch(type: TypeRef): InformerLease {
    const text = textOf(type);
    const known = this.#leases.get(text);
    if (known !== undefined) return known;
    const lease = this.#pool.acquire({ apiVersion: type.apiVersion, kind: type.kind });
    this.#leases.set(text, lease);
    this.#subscriptions.push(lease.informer.subscribe(() => this.#onChange()));
    return lease;
  }
}

function typesOf(definition: KubeObject): TypeRef[] {
  const kinds = kindsOf(definition);
  if (kinds === undefined) return [];
  return kinds.claim === undefined ? [kinds.composite] : [kinds.claim, kinds.composite];
}

function textOf({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
