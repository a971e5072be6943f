// SPDX-License-Identifier: Apache-2.0

import type { KubeClient } from "@purlin/kube-client";
import { findStatusError, isForbidden, isNotFound } from "@purlin/kube-objects/errors";
import { recorderWaits, runsPath } from "@purlin/run-store";
import { UserError } from "../user-error.ts";

/** Reads a document about recorded runs: their list at {@link runsPath}, or one of them below it. */
export type AskRuns = (path: string, query?: Readonly<Record<string, string>>) => Promise<unknown>;

/** The Service of a control plane on a cluster, unless --recorder-service names another. */
export const defaultRecorderService = "crossplane-system/purlin-runs:runs";

/** With two replicas one of a million reads meets the other one so often. */
const replicaTries = 20;

/**
 * Asks the API server itself, which serves the runs of `purlin up`. Where it does not know the path, or may not say whether it does,
 * asks `purlin start` through the API server's service proxy. Throws the 404 of the Service when there is none.
 */
export function createRunsAsker(
  client: KubeClient,
  { signal, service = defaultRecorderService }: { readonly signal: AbortSignal; readonly service?: string | undefined },
): AskRuns {
  const proxy = proxyPath(service);
  const get = (path: string, query: Readonly<Record<string, string>>): Promise<unknown> =>
    client.raw({ method: "GET", path, query, signal });
  let base: string | undefined;
  return async (path, query = {}) => {
    if (base !== undefined) return await fromReplica(() => get(`${base}${path}`, query));
    try {
      const answer = await get(path, query);
      base = "";
      return answer;
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      // The run may be unknown here: the list says whether runs are served at all.
      if (path !== runsPath && (await isServed(get))) throw error;
    }
    const answer = await fromReplica(() => get(`${proxy}${path}`, query));
    base = proxy;
    return answer;
  };
}

function isServed(get: (path: string, query: Readonly<Record<string, string>>) => Promise<unknown>): Promise<boolean> {
  return get(runsPath, { limit: "1" }).then(
    () => true,
    () => false,
  );
}

/** The API server picks any replica of the Service, and only the leader answers. */
async function fromReplica(ask: () => Promise<unknown>): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tries === replicaTries || findStatusError(error)?.status.message !== recorderWaits) throw error;
    }
  }
}

function proxyPath(service: string): string {
  const [, namespace, name, port] = /^(?:([a-z0-9-]+)\/)?([a-z0-9-]+)(?::([a-z0-9-]+))?$/.exec(service) ?? [];
  if (name === undefined) {
    throw new UserError(`--recorder-service: expected [NAMESPACE/]NAME[:PORT], not "${service}"`, { exitCode: 2 });
  }
  return `/api/v1/namespaces/${namespace ?? "crossplane-system"}/services/${name}:${port ?? "runs"}/proxy`;
}
