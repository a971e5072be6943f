// SPDX-License-Identifier: Apache-2.0
// For tests of handlers, without a control plane.
import { silentLog } from "@purlin/base";
import type { ControllerClient } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze, type KubeObject } from "@purlin/kube-objects/object";
import type { Managed, ManagedResource } from "../managed-resource.ts";

/** A managed resource for a test. */
interface ManagedInit {
  /** The name of the object, and of the external resource unless `externalName` is given. */
  readonly name: string;
  /** In the namespace default unless given. */
  readonly namespace?: string | undefined;
  readonly externalName?: string | undefined;
  readonly forProvider?: JsonObject | undefined;
  readonly atProvider?: JsonObject | undefined;
  /** What the handler reads other objects with; it can read none unless given. */
  readonly client?: ControllerClient | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A managed resource of a kind, as a handler gets it. */
export function newManaged({ type, scope }: Pick<ManagedResource, "type" | "scope">, init: ManagedInit): Managed {
  const { name, externalName = name, forProvider = {}, atProvider = {}, client = noClient } = init;
  const namespace = scope === "Cluster" ? {} : { namespace: init.namespace ?? "default" };
  const object: KubeObject = {
    ...type,
    metadata: { name, ...namespace, annotations: { "crossplane.io/external-name": externalName } },
    spec: { forProvider },
    status: { atProvider },
  };
  const signal = init.signal ?? new AbortController().signal;
  return { object: deepFreeze(object), externalName, forProvider, atProvider, signal, client, log: silentLog };
}

const noClient = new Proxy({} as ControllerClient, {
  get(_target, method) {
    throw new Error(`the test has no client, and the handler calls client.${String(method)}: give newManaged a client`);
  },
});
