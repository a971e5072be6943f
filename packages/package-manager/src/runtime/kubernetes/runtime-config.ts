// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, textAt } from "@purlin/kube-objects/object";
import { selectImageConfig } from "../../image-configs/select-image-config.ts";
import { otherKinds } from "../../package-kinds.ts";

/** The runtime config of a revision. */
interface ChosenRuntimeConfig {
  /** Its `spec`. */
  readonly config: JsonObject;
  /** The ImageConfig that chose it, where one did. */
  readonly imageConfig: string | undefined;
}

/** The default runtime config. */
export const defaultRuntimeConfig: KubeObject = {
  ...otherKinds.runtimeConfig,
  metadata: { name: "default" },
  spec: {},
};

/** Finds the runtime config of a revision: the one an ImageConfig names for its image, or else its own. */
export async function findRuntimeConfig(
  client: ControllerClient,
  revision: KubeObject,
  signal: AbortSignal,
): Promise<ChosenRuntimeConfig> {
  const image = textAt(revision, ["status", "resolvedImage"]);
  const configs = image === undefined ? [] : await client.list(otherKinds.imageConfig, { signal });
  const chosen = image === undefined ? undefined : selectImageConfig(configs, image, "ConfigureRuntime")?.config;
  const reference = chosen
    ? memberAt(chosen, ["spec", "runtime", "configRef"])
    : memberAt(revision, ["spec", "runtimeConfigRef"]);
  const name = nameIn(reference);
  const found = await client.get(otherKinds.runtimeConfig, { name }, { signal });
  if (found === undefined) throw new Error(`cannot get DeploymentRuntimeConfig "${name}": not found; create it`);
  return { config: objectAt(found, ["spec"]), imageConfig: chosen?.metadata.name };
}

function nameIn(reference: unknown): string {
  const name = isJsonObject(reference) ? textAt(reference, ["name"]) : undefined;
  if (!isJsonObject(reference) || name === undefined) {
    throw new Error("no runtime config: the revision's spec.runtimeConfigRef is not set");
  }
  const { apiVersion, kind } = otherKinds.runtimeConfig;
  const [given, givenKind] = [textAt(reference, ["apiVersion"]) ?? apiVersion, textAt(reference, ["kind"]) ?? kind];
  // As shipped: one of the two may be anything.
  if (given !== apiVersion && givenKind !== kind) {
    throw new Error(`runtime config "${name}" is a ${givenKind} (${given}); only ${kind} (${apiVersion}) is known`);
  }
  return name;
}
