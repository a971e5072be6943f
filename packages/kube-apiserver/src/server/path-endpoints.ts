// SPDX-License-Identifier: Apache-2.0

import { internalError, textOf, tooManyRequests } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { createDiscovery } from "../discovery/discovery.ts";
import { type HealthCheck, type HealthChecks, health, healthPaths, serverVersion } from "../endpoints/health.ts";
import type { RequestMetrics } from "../metrics/request-metrics.ts";
import { metricsEndpoint } from "../metrics/server-metrics.ts";
import { createOpenApiEndpoint } from "../openapi/endpoint.ts";
import { PublishedDocuments } from "../openapi/published-documents.ts";
import type { Catalog } from "../registry/registry.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type CompleteResponse,
  documentPayload,
  textPayload,
} from "../request/api-request.ts";
import { methodNotAllowed } from "../request/negotiate.ts";
import { snapshotFile, snapshotPath } from "../store/snapshot.ts";
import type { Store } from "../store/store.ts";
import type { Aggregator } from "./aggregator.ts";
import type { PathEndpoint } from "./handler.ts";

const otherPaths: readonly string[] = [
  "/api",
  "/apis",
  "/apis/",
  "/metrics",
  "/metrics/slis",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/",
  "/version",
];

const bareWatch = /^\/+(?:api|apis\/+[^/]+)\/+[^/]+\/+watch\/*$/;

/** The health checks of the server. */
interface ServerState {
  /** Why the store does not take writes; undefined when it does. */
  readonly storeProblem: () => string | undefined;
  /** The definitions of custom kinds are loaded and their kinds served. */
  readonly areKindsServed: () => boolean;
  /** What every cluster has is there. */
  readonly isBootstrapped: () => boolean;
  readonly isStopping: () => boolean;
}

interface PathEndpointsOptions {
  readonly store: Store<JsonObject>;
  readonly build: string;
  readonly catalog: () => Catalog;
  /** The definitions behind the custom part of the catalog. */
  readonly crds: () => readonly JsonObject[];
  readonly state: ServerState;
  /** The APIs of other servers. */
  readonly remotes: Aggregator;
  readonly requests: RequestMetrics;
  /** Host and port the server is reached at; empty while it is not. */
  readonly address: () => string;
  /** Metrics of the other parts of the process, as text for Prometheus. */
  readonly otherMetrics?: (() => Promise<string>) | undefined;
  /** Documents of the other parts of the process. */
  readonly documents?: DocumentSource | undefined;
  /** Makes a snapshot of the store in the data directory. */
  readonly snapshot: () => Promise<void>;
}

/** Finds a document by path and query. There may be none at a path that it knows. */
export type DocumentSource = (
  path: string,
  query: URLSearchParams,
) => JsonValue | Promise<JsonValue | undefined> | undefined;

/** All endpoints outside the resources. */
export function pathEndpoints(options: PathEndpointsOptions): PathEndpoint[] {
  const { store, catalog, crds, requests } = options;
  const documents = new PublishedDocuments(() => ({ catalog: catalog(), crds: crds() }));
  const checks = serverChecks(options.state);
  const version = serverVersion(options.build);
  return [
    ({ path, query }) => health(path, query, checks),
    documentEndpoint("/version", () => version),
    metricsEndpoint({
      store,
      catalog,
      health: checks,
      registry: requests.registry,
      version,
      others: async () => requests.admission.text() + ((await options.otherMetrics?.()) ?? ""),
    }),
    bareWatchEndpoint,
    ...(options.documents === undefined ? [] : [documentsEndpoint(options.documents)]),
    snapshotEndpoint(options.snapshot),
    createDiscovery(catalog, options.address, options.remotes),
    createOpenApiEndpoint(documents, Date.now, () => options.remotes.versions),
    documentEndpoint("", () => rootPaths(catalog(), healthPaths(checks))),
  ];
}

/** The checks of the server, by the names of the reference. */
export function serverChecks(state: ServerState): HealthChecks {
  const ping = { name: "ping", check: () => undefined };
  const store = (name: string): HealthCheck => ({ name, check: state.storeProblem });
  const kinds = (name: string): HealthCheck => unless(name, state.areKindsServed, "custom kinds are not served yet");
  const bootstrap = (name: string): HealthCheck =>
    unless(name, state.isBootstrapped, "bootstrap objects are not created yet");
  const hooks = [
    kinds("poststarthook/start-apiextensions-controllers"),
    kinds("poststarthook/crd-informer-synced"),
    bootstrap("poststarthook/start-system-namespaces-controller"),
    bootstrap("poststarthook/rbac/bootstrap-roles"),
  ];
  const live = [ping, store("etcd"), ...hooks];
  const shutdown = unless("shutdown", () => !state.isStopping(), "process is shutting down");
  const ready = [ping, store("etcd"), store("etcd-readiness"), kinds("informer-sync"), ...hooks, shutdown];
  return { healthz: live, livez: live, readyz: ready };
}

function unless(name: string, isWell: () => boolean, problem: string): HealthCheck {
  return { name, check: () => (isWell() ? undefined : problem) };
}

/** A document at a fixed path: indented JSON for every client. */
export function documentEndpoint(
  path: string,
  value: () => JsonValue,
): (request: ApiRequest) => CompleteResponse | undefined {
  return (request) => {
    if (request.path !== path && request.path !== `${path}/`) return undefined;
    const document = value();
    const payload = textPayload(printJson(document, { indent: 2, htmlSafe: true }), "application/json");
    return { kind: "complete", code: 200, payload: { ...payload, value: () => document } };
  };
}

/** Read-only documents, as compact JSON. */
function documentsEndpoint(find: DocumentSource): PathEndpoint {
  return ({ method, path, query }) => {
    const found = find(path, query);
    return found instanceof Promise ? found.then((document) => respond(method, document)) : respond(method, found);
  };
}

function respond(method: string, document: JsonValue | undefined): CompleteResponse | undefined {
  if (document === undefined) return undefined;
  if (method !== "GET") throw methodNotAllowed();
  return { kind: "complete", code: 200, payload: documentPayload(document, { mediaType: "application/json" }) };
}

/** The deprecated path of watches with nothing to watch, which the reference answers as a failure of its own. */
function bareWatchEndpoint({ path }: ApiRequest): CompleteResponse | undefined {
  if (!bareWatch.test(path)) return undefined;
  const why = `failed to create RequestInfo: unable to determine kind and namespace from url, ${path}`;
  const payload = textPayload(`Internal Server Error: ${goQuote(path)}: ${why}\n`);
  return { kind: "complete", code: 500, headers: { "x-content-type-options": "nosniff" }, payload };
}

/** What `/` lists: every path from which more can be found, and those that say whether the server is well. */
export function rootPaths({ groups }: Catalog, healthPaths: readonly string[]): JsonValue {
  const served = groups.flatMap(({ name, versions }) => {
    const root = name === "" ? "/api" : `/apis/${name}`;
    return [...(name === "" ? [] : [root]), ...versions.map(({ version }) => `${root}/${version}`)];
  });
  return { paths: [...otherPaths, ...healthPaths, ...served].sort() };
}

/** Makes a snapshot of the store on a POST: a file in the data directory, for `purlin backup` on the same machine. One at a time. */
function snapshotEndpoint(snapshot: () => Promise<void>): PathEndpoint {
  let isBusy = false;
  const make = async (): Promise<ApiResponse> => {
    if (isBusy) throw tooManyRequests("another backup is in progress: try again when it is complete", 1);
    isBusy = true;
    try {
      await snapshot();
      return {
        kind: "complete",
        code: 200,
        payload: textPayload(printJson({ file: snapshotFile }), "application/json"),
      };
    } catch (error) {
      throw internalError(new Error(`cannot write the snapshot: ${textOf(error)}`, { cause: error }));
    } finally {
      isBusy = false;
    }
  };
  return ({ method, path }) => {
    if (path !== snapshotPath) return undefined;
    if (method !== "POST") throw methodNotAllowed();
    return make();
  };
}
