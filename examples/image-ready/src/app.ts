// SPDX-License-Identifier: Apache-2.0
import type { CompositeObject, JsonValue } from "@purlin/function-sdk";

/** What the claim's user asks for, as it arrives on the composite resource. */
export interface App {
  readonly name: string;
  /** Where the claim lives. What its users may use depends on it. */
  readonly namespace: string;
  readonly database: string;
  readonly image: string;
  /** As the user wrote it: the control plane's schema of the composite resource decides what is allowed. */
  readonly replicas: JsonValue;
}

/** Reads the composite resource. An XR that was made without a claim says where it belongs in its own namespace. */
export function readApp(xr: CompositeObject): App {
  return {
    name: xr.claimRef?.name ?? xr.name ?? "",
    namespace: xr.claimRef?.namespace ?? xr.namespace ?? "default",
    database: xr.getString("spec.database"),
    image: xr.getString("spec.image"),
    replicas: xr.has("spec.replicas") ? xr.getValue("spec.replicas") : 1,
  };
}
