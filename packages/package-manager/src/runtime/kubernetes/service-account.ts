// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import { runtimeKinds } from "./runtime-names.ts";
import { type ObjectPlace, templatedMetadata } from "./templated-metadata.ts";

/** The inputs of a ServiceAccount. */
interface ServiceAccountInput {
  /** `spec` of the runtime config. */
  readonly config: JsonObject;
  readonly place: ObjectPlace;
  /** The stored account: pull secrets that others added are kept. */
  readonly existing: KubeObject | undefined;
  readonly pullSecrets: readonly string[];
}

/** The ServiceAccount the Pods of a revision run as. */
export function serviceAccountOf({ config, place, existing, pullSecrets }: ServiceAccountInput): KubeObject {
  const names = new Set([...(existing === undefined ? [] : pullSecretsOf(existing)), ...pullSecrets]);
  return {
    ...runtimeKinds.serviceAccount,
    metadata: templatedMetadata(config, "serviceAccountTemplate", place),
    ...(names.size > 0 && { imagePullSecrets: [...names].map((name) => ({ name })) }),
  };
}

/** The names of the Secrets that an account, or a Pod, pulls images with. */
export function pullSecretsOf(object: object, path: readonly string[] = ["imagePullSecrets"]): readonly string[] {
  const secrets = memberAt(object, path);
  if (!Array.isArray(secrets)) return [];
  return secrets.flatMap((one) => (isJsonObject(one) ? (textAt(one, ["name"]) ?? []) : []));
}
