// SPDX-License-Identifier: Apache-2.0
import type { Registry } from "prom-client";
import type { ControlPlane } from "./control-plane.ts";
import { serveText, type TextServer } from "./serve-text.ts";

/** Where a control plane tells how it is. An address that is left out is not served. */
export interface StatusOptions {
  /** `/metrics`, for Prometheus. */
  readonly metricsAddress?: string | undefined;
  /** `/healthz` and `/readyz`, for whoever restarts it. */
  readonly healthAddress?: string | undefined;
  readonly registry: Registry;
}

/** The endpoints of a control plane. */
export interface StatusServers extends AsyncDisposable {
  readonly metricsAddress: string | undefined;
  readonly healthAddress: string | undefined;
}

/**
 * Serves metrics and health. It is healthy until it has ended; it is ready when its controllers run, and also while it
 * waits for another one to stop leading: that is what a replica is for.
 */
export async function serveStatus(
  plane: Pick<ControlPlane, "state">,
  { metricsAddress, healthAddress, registry }: StatusOptions,
): Promise<StatusServers> {
  await using opened = new AsyncDisposableStack();
  const open = async (address: string | undefined, routes: Parameters<typeof serveText>[1]) => {
    if (address === undefined) return undefined;
    const server: TextServer = await serveText(address, routes);
    opened.defer(() => server.close());
    return server.address;
  };
  const metrics = await open(metricsAddress, {
    "/metrics": async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  });
  const health = await open(healthAddress, {
    "/healthz": () => (plane.state === "stopped" ? notOk(plane) : ok),
    "/readyz": () => (plane.state === "running" || plane.state === "waiting" ? ok : notOk(plane)),
  });
  // Kept open from here on: the caller closes them.
  const closing = opened.move();
  return {
    metricsAddress: metrics,
    healthAddress: health,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const ok = { text: "ok\n" };
const notOk = ({ state }: Pick<ControlPlane, "state">) => ({ code: 503, text: `${state}\n` });
