// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import { createDiscovery } from "../discovery/discovery.ts";
import { health, healthPaths } from "../endpoints/health.ts";
import { bareWatchEndpoint, documentEndpoint, rootPaths } from "../endpoints/paths.ts";
import { type ServerState, serverChecks } from "../endpoints/server-checks.ts";
import { serverVersion } from "../endpoints/version.ts";
import type { RequestMetrics } from "../metrics/request-metrics.ts";
import { metricsEndpoint } from "../metrics/server-metrics.ts";
import { createOpenApiEndpoint } from "../openapi/endpoint.ts";
import { PublishedDocuments } from "../openapi/published-documents.ts";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import type { PathEndpoint } from "./handler.ts";

export interface PathEndpointsOptions {
  readonly store: Store<JsonObject>;
  readonly build: string;
  readonly catalog: () => Catalog;
  /** The definitions behind the custom part of the catalog. */
  readonly crds: () => readonly JsonObject[];
  readonly state: ServerState;
  readonly requests: RequestMetrics;
  /** Host and port the server is reached at; empty while it is not. */
  readonly address: () => string;
}

/** Everything that answers for a path that is no resource. */
export function pathEndpoints(options: PathEndpointsOptions): PathEndpoint[] {
  const { store, catalog, crds, requests } = options;
  const documents = new PublishedDocuments(() => ({ catalog: catalog(), crds: crds() }));
  const checks = serverChecks(options.state);
  const version = serverVersion(options.build);
  return [
    ({ path, query }) => health(path, query, checks),
    documentEndpoint("/version", () => version),
    metricsEndpoint({ store, catalog, health: checks, requests: requests.families, version }),
    bareWatchEndpoint,
    createDiscovery(catalog, options.address),
    createOpenApiEndpoint(documents, Date.now),
    documentEndpoint("", () => rootPaths(catalog(), healthPaths(checks))),
  ];
}
