// SPDX-License-Identifier: Apache-2.0
import type { CacheChange } from "@purlin/kube-client";
import type { WatchSpec } from "@purlin/kube-controller";
import { isJsonObject, printJson } from "@purlin/kube-objects/json";
import { type KubeObject, labelOf, memberAt, type ObjectKey, textAt } from "@purlin/kube-objects/object";
import { concernsPulling, longestPrefix } from "../../image-configs/select-image-config.ts";
import { otherKinds, type PackageType, packageLabels } from "../../package-kinds.ts";

type All = () => readonly KubeObject[];

/** The watches of the runtime of a revision, beside the revision and its objects. */
export function kubernetesWatches(type: PackageType, all: All): readonly WatchSpec[] {
  return [
    { type: "Sibling", object: type.revision, keys: (change) => siblingsOf(change, all) },
    { type: "ImageConfig", object: otherKinds.imageConfig, keys: (change) => matchedBy(change, all) },
    {
      type: "DeploymentRuntimeConfig",
      object: otherKinds.runtimeConfig,
      keys: ({ object }) => configuredBy(object, all),
    },
  ];
}

/** Revisions of a package depend on each other: number, state and readiness decide which is in charge. */
function siblingsOf(change: CacheChange, all: All): ObjectKey[] {
  const { object } = change;
  if (change.type === "updated" && standing(change.previous) === standing(object)) return [];
  const owner = labelOf(object, packageLabels.package);
  const siblings = all().filter((one) => labelOf(one, packageLabels.package) === owner);
  return keysOf(siblings.filter(({ metadata }) => metadata.name !== object.metadata.name));
}

function standing(revision: KubeObject): string {
  const paths = [
    ["spec", "desiredState"],
    ["spec", "revision"],
    ["status", "endpoint"],
    ["spec", "tlsServerSecretName"],
  ];
  return printJson(paths.map((path) => memberAt(revision, path) ?? null));
}

/** Revisions whose image the ImageConfig matches now, or did before, if it configures how they are pulled or run. */
function matchedBy(change: CacheChange, all: All): ObjectKey[] {
  const configs = change.type === "updated" ? [change.previous, change.object] : [change.object];
  const relevant = configs.filter((config) => concernsPulling(config) || configuresRuntime(config));
  if (relevant.length === 0) return [];
  const matched = all().filter((revision) => {
    const images = [textAt(revision, ["status", "resolvedImage"]), textAt(revision, ["spec", "image"])];
    return relevant.some((config) =>
      images.some((image) => image !== undefined && longestPrefix(config, image) !== undefined),
    );
  });
  return keysOf(matched);
}

function configuresRuntime(config: KubeObject): boolean {
  return memberAt(config, ["spec", "runtime", "configRef"]) !== undefined;
}

/** Revisions that name the config, and those for which an ImageConfig does. */
function configuredBy({ metadata }: KubeObject, all: All): ObjectKey[] {
  return keysOf(
    all().filter(
      (revision) =>
        textAt(revision, ["spec", "runtimeConfigRef", "name"]) === metadata.name || isConfiguredByImage(revision),
    ),
  );
}

function isConfiguredByImage(revision: KubeObject): boolean {
  const applied = memberAt(revision, ["status", "appliedImageConfigRefs"]);
  return Array.isArray(applied) && applied.some((one) => isJsonObject(one) && one["reason"] === "ConfigureRuntime");
}

function keysOf(objects: readonly KubeObject[]): ObjectKey[] {
  return objects.map(({ metadata }) => ({ name: metadata.name ?? "" }));
}
