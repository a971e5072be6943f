// SPDX-License-Identifier: Apache-2.0

import { readRollout } from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import { defineController, type WatchingController, type WatchSpec } from "@purlin/kube-controller";
import { type KubeObject, labelOf, type ObjectKey, textAt } from "@purlin/kube-objects/object";
import { createEstablished } from "./establish/establish.ts";
import { isActiveDefinition, managedDefinitionType, revisionOf } from "./establish/package-objects.ts";
import { concernsFetching, longestPrefix } from "./fetch/package-request.ts";
import { lockName } from "./lock/lock-store.ts";
import { lockReconciler, type ResolverOptions } from "./lock/reconciler.ts";
import { packageReconciler } from "./manager/reconciler.ts";
import { otherKinds, type PackageType, packageLabels, packageTypes, rolloutType } from "./package-kinds.ts";
import { revisionReconciler } from "./revision/reconciler.ts";
import type { RevisionDeps } from "./revision/revision-context.ts";
import type { PackageRuntime } from "./runtime/package-runtime.ts";
import { runtimeReconciler } from "./runtime/reconciler.ts";

/** The dependencies of the package manager. */
export interface PackageControllerOptions extends RevisionDeps {
  readonly resolver: ResolverOptions;
  /** The runtimes of Functions and Providers; without one another controller runs them. */
  readonly runtimes?: {
    readonly Function?: PackageRuntime | undefined;
    readonly Provider?: PackageRuntime | undefined;
  };
  /** The cached objects of a kind, to map changes of other kinds to them. */
  readonly cached: (type: PackageType["package"]) => readonly KubeObject[];
}

/** All controllers of packages. */
export function createPackageControllers(options: PackageControllerOptions): readonly WatchingController[] {
  const types = Object.values(packageTypes);
  const { runtimes = {} } = options;
  return [
    ...types.map((type) => managerOf(options, type)),
    ...types.map((type) => revisionControllerOf(options, type)),
    resolverOf(options),
    ...(["Function", "Provider"] as const).flatMap((kind) => {
      const runtime = runtimes[kind];
      return runtime === undefined ? [] : [runtimeControllerOf(options, { runtime, type: packageTypes[kind] })];
    }),
  ];
}

/** The name of the controller of a kind of package. */
export function packageControllerName({ kind }: Pick<PackageType, "kind">): string {
  return `packages/${kind.toLowerCase()}.pkg.crossplane.io`;
}

function managerOf(options: PackageControllerOptions, type: PackageType): WatchingController {
  return defineController({
    ...packageReconciler(options, type),
    name: packageControllerName(type),
    watches: [
      { type: "Package", object: type.package, keys: itself },
      { type: "PackageRevision", object: type.revision, keys: packageOfRevision },
      ...(options.features.functionRollouts && type.kind === "Function"
        ? [{ type: "FunctionRollout", object: rolloutType, keys: functionsOfRollout }]
        : []),
      imageConfigWatch(
        () => options.cached(type.package),
        [
          ["spec", "package"],
          ["status", "resolvedPackage"],
        ],
      ),
    ],
  });
}

/** The name of the controller of the revisions of a kind of package. */
export function revisionControllerName({ kind }: Pick<PackageType, "kind">): string {
  return `packages/${kind.toLowerCase()}revision.pkg.crossplane.io`;
}

function revisionControllerOf(options: PackageControllerOptions, type: PackageType): WatchingController {
  const all = (): readonly KubeObject[] => options.cached(type.revision);
  return defineController({
    ...revisionReconciler({ established: createEstablished(), ...options }, type),
    name: revisionControllerName(type),
    watches: [
      { type: "PackageRevision", object: type.revision, keys: itself },
      { type: "Lock", object: otherKinds.lock, keys: () => all().map(keyOfObject) },
      imageConfigWatch(all, [
        ["spec", "image"],
        ["status", "resolvedImage"],
      ]),
    ],
  });
}

function resolverOf(options: PackageControllerOptions): WatchingController {
  const lock = (): readonly ObjectKey[] => [{ name: lockName }];
  return defineController({
    ...lockReconciler(options, options.resolver),
    name: "packages/lock.pkg.crossplane.io",
    watches: [
      { type: "Lock", object: otherKinds.lock, keys: lock },
      { type: "ImageConfig", object: otherKinds.imageConfig, keys: lock },
    ],
  });
}

/** The name of the controller that runs the programs of a kind of package. */
export function runtimeControllerName({ kind }: Pick<PackageType, "kind">): string {
  return `runtime/${kind.toLowerCase()}revision.pkg.crossplane.io`;
}

function runtimeControllerOf(
  options: PackageControllerOptions,
  { runtime, type }: { readonly runtime: PackageRuntime; readonly type: PackageType },
): WatchingController {
  return defineController({
    ...runtimeReconciler(options, { runtime, type }),
    name: runtimeControllerName(type),
    watches: [
      { type: "PackageRevision", object: type.revision, keys: itself },
      ...(type.kind === "Provider" && options.features.managedResourceConversion === true ? [activationWatch] : []),
      ...(runtime.watches?.(type, () => options.cached(type.revision)) ?? []),
    ],
  });
}

/** A provider that starts safely runs once the first of its definitions is activated. */
const activationWatch: WatchSpec = {
  type: "ManagedResourceDefinition",
  object: managedDefinitionType,
  keys(change) {
    const wasActive = change.type === "updated" && isActiveDefinition(change.previous);
    return wasActive || !isActiveDefinition(change.object) ? [] : revisionOf(change.object);
  },
};

function itself({ object }: CacheChange): readonly ObjectKey[] {
  return [keyOfObject(object)];
}

function keyOfObject({ metadata }: KubeObject): ObjectKey {
  return { name: metadata.name ?? "" };
}

function packageOfRevision({ object }: CacheChange): readonly ObjectKey[] {
  const name = labelOf(object, packageLabels.package);
  return name === undefined ? [] : [{ name }];
}

/** A rollout keeps revisions of its Functions active until it ends. */
function functionsOfRollout({ object }: CacheChange): readonly ObjectKey[] {
  return readRollout(object).targets.functions.map((name) => ({ name }));
}

/** Packages whose reference, as written or as rewritten, an ImageConfig matches now or did before. */
function imageConfigWatch(all: () => readonly KubeObject[], paths: readonly (readonly string[])[]): WatchSpec {
  const keys = (change: CacheChange): readonly ObjectKey[] => {
    const configs = change.type === "updated" ? [change.previous, change.object] : [change.object];
    const relevant = configs.filter(concernsFetching);
    if (relevant.length === 0) return [];
    return all()
      .filter((one) => {
        const references = paths.map((path) => textAt(one, path));
        return relevant.some((config) =>
          references.some((reference) => reference !== undefined && longestPrefix(config, reference) !== undefined),
        );
      })
      .map(keyOfObject);
  };
  return { type: "ImageConfig", object: otherKinds.imageConfig, keys };
}
