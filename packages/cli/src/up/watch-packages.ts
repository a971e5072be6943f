// SPDX-License-Identifier: Apache-2.0
import { packageTypes } from "@purlin/explain";
import type { InformerLease, InformerPool } from "@purlin/kube-client";
import { type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";

const extensions = "apiextensions.crossplane.io/v1";
const compositionType: TypeRef = { apiVersion: extensions, kind: "Composition" };
const revisionType: TypeRef = { apiVersion: extensions, kind: "CompositionRevision" };

/** What composing needs beside definitions: packages and Compositions, as they are now. */
export interface PackageSource {
  readonly packages: readonly KubeObject[];
  readonly compositions: readonly KubeObject[];
  readonly compositionRevisions: readonly KubeObject[];
}

/** A {@link PackageSource} that follows an API server. */
export interface PackageWatch extends PackageSource, AsyncDisposable {
  /** Whether objects of a type are followed here. */
  has(type: TypeRef): boolean;
  find(object: KubeObject): KubeObject | undefined;
  ready(signal: AbortSignal): Promise<void>;
}

/** Follows packages and Compositions through informers that controllers share. */
export function watchPackages(informers: InformerPool, onChange: () => void): PackageWatch {
  const types = [...packageTypes, compositionType, revisionType];
  const leases = new Map<string, InformerLease>(types.map((type) => [textOf(type), informers.acquire(type)]));
  const stops = [...leases.values()].map(({ informer }) => informer.subscribe(onChange));
  const list = (...wanted: readonly TypeRef[]): readonly KubeObject[] =>
    wanted.flatMap((type) => leases.get(textOf(type))?.informer.list() ?? []);
  return {
    get packages() {
      return list(...packageTypes);
    },
    get compositions() {
      return list(compositionType);
    },
    get compositionRevisions() {
      return list(revisionType);
    },
    has: (type) => leases.has(textOf(type)),
    find: (object) => leases.get(textOf(object))?.informer.get(keyOf(object)),
    async ready(signal) {
      await Promise.all([...leases.values()].map(({ informer }) => informer.ready(signal)));
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
      await Promise.all([...leases.values()].map((lease) => lease.release()));
    },
  };
}

function textOf({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
