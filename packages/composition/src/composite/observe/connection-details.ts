// SPDX-License-Identifier: Apache-2.0
import { secretData } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds } from "../../composite-resource/constants.ts";
import { connectionSecretRefOf } from "../../composite-resource/crossplane-fields.ts";

/** Secret values by key. */
export type ConnectionDetails = ReadonlyMap<string, Uint8Array>;

/** No details. */
export const noDetails: ConnectionDetails = new Map();

/** The contents of the Secret that an object names; no details when it names none, or the Secret does not exist yet. */
export async function readConnectionDetails(
  object: KubeObject,
  client: ControllerClient,
  signal: AbortSignal,
): Promise<ConnectionDetails> {
  const ref = connectionSecretRefOf(object, "legacy");
  if (ref === undefined) return noDetails;
  const namespace = object.metadata.namespace || ref.namespace;
  const secret = await client.get(kinds.secret, { namespace, name: ref.name }, { signal });
  return secret === undefined ? noDetails : secretData(secret);
}
