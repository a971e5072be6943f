// SPDX-License-Identifier: Apache-2.0

import { withheldAnnotation } from "@purlin/function-runner";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, memberAt, textAt, textMapAt } from "@purlin/kube-objects/object";
import { type PackageType, packageLabels, policyMark, reservedPrefix } from "../package-kinds.ts";

/** The inputs of a revision. */
export interface RevisionInput {
  readonly type: PackageType;
  readonly package: KubeObject;
  readonly name: string;
  readonly number: number;
  readonly desiredState: string;
  /** Set where revisions are known by their content. */
  readonly digest: string | undefined;
  /** Whether runtime objects are named after the revision instead of the package. */
  readonly isNamedByRevision: boolean;
  /** Whether this control plane, or one beside it, runs packages of this kind in Deployments or processes. */
  readonly hasRuntime: boolean;
  /** Whether labels of the package go to its revision. */
  readonly copiesLabels: boolean;
  /** Whether the revision waits for a rollout instead of taking over. */
  readonly isWithheld?: boolean | undefined;
}

const copied = [
  "packagePullSecrets",
  "packagePullPolicy",
  "ignoreCrossplaneConstraints",
  "skipDependencyResolution",
  "commonLabels",
  "commonAnnotations",
] as const;
const maxSecretName = 253;

/** The revision with exactly the fields that the manager applies. */
export function desiredRevision(input: RevisionInput): KubeObject {
  const { type, package: owner, name, number, desiredState, digest } = input;
  const spec: Record<string, JsonValue> = {
    desiredState,
    image: textAt(owner, ["spec", "package"]) ?? "",
    revision: number,
  };
  for (const field of copied) copyField(owner, field, spec);
  if (digest !== undefined) spec["digest"] = digest;
  if (input.hasRuntime) {
    copyField(owner, "runtimeConfigRef", spec);
    Object.assign(spec, secretNames(input));
  }
  return {
    ...type.revision,
    metadata: {
      name,
      labels: { ...labelsOf(input), [packageLabels.package]: owner.metadata.name ?? "" },
      ...(input.isWithheld && { annotations: { [withheldAnnotation]: policyMark } }),
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}

function copyField(owner: KubeObject, field: string, spec: Record<string, JsonValue>): void {
  const value = memberAt(owner, ["spec", field]);
  if (value !== undefined) spec[field] = value;
}

/** The package's own labels, without those that mean something to us. */
function labelsOf({ copiesLabels, package: owner }: RevisionInput): JsonObject {
  if (!copiesLabels) return {};
  const labels = textMapAt(owner, ["metadata", "labels"]) ?? {};
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(reservedPrefix)));
}

function secretNames({ type, package: owner, name, isNamedByRevision }: RevisionInput): JsonObject {
  const base = isNamedByRevision ? name : (owner.metadata.name ?? "");
  const server = { tlsServerSecretName: secretName(base, "-tls-server") };
  return type.kind === "Provider" ? { ...server, tlsClientSecretName: secretName(base, "-tls-client") } : server;
}

/** The name of a Secret made of another name, cut where it would be too long. */
export function secretName(base: string, ending: "-tls-server" | "-tls-client"): string {
  return base.slice(0, maxSecretName - ending.length) + ending;
}
