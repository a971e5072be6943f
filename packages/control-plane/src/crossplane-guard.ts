// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";
import { isNoMatch, type KubeReader } from "@purlin/kube-client";
import { isJsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

const deployment = { apiVersion: "apps/v1", kind: "Deployment" };
const brand = createErrorBrand<LiveCrossplaneError>("purlin.dev/control-plane/live-crossplane");

/** A Crossplane runs on the same API server: two control planes would write the same fields with the same managers. */
class LiveCrossplaneError extends Error {
  constructor(namespace: string, name: string) {
    const takeOver = `kubectl --namespace ${namespace} scale deployment ${name} --replicas=0`;
    super(
      `Deployment "${name}" in namespace "${namespace}" runs Crossplane, and two control planes must not share an API ` +
        `server: to take over from it, run "${takeOver}" and start again; nothing it made is deleted`,
    );
    this.name = "LiveCrossplaneError";
    brand.mark(this);
  }
}

/** Whether a value is a {@link LiveCrossplaneError}. */
export function isLiveCrossplane(error: unknown): error is LiveCrossplaneError {
  return brand.has(error);
}

/**
 * Rejects with a {@link LiveCrossplaneError} when a Deployment of Crossplane's core has ready replicas. The leader's Lease
 * is not enough: Crossplane holds it only with leader election.
 */
export async function refuseBesideCrossplane(
  client: Pick<KubeReader, "list">,
  namespace: string,
  signal?: AbortSignal,
): Promise<void> {
  const live = (await deploymentsOf(client, namespace, signal)).find(hasReadyReplicas);
  if (live !== undefined) throw new LiveCrossplaneError(namespace, live.metadata.name ?? "");
}

async function deploymentsOf(
  client: Pick<KubeReader, "list">,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<readonly KubeObject[]> {
  try {
    const { items } = await client.list(deployment, { namespace, labelSelector: "app=crossplane", signal });
    return items;
  } catch (error) {
    // An API server without Deployments runs no Crossplane.
    if (isNoMatch(error)) return [];
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot determine whether Crossplane runs in namespace "${namespace}": ${text}`, { cause: error });
  }
}

function hasReadyReplicas(object: KubeObject): boolean {
  const status = object["status"];
  const ready = isJsonObject(status) ? status["readyReplicas"] : undefined;
  return typeof ready === "number" && ready > 0;
}
