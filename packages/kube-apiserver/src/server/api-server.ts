// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects";
import type { TokenAuthenticator } from "../auth/authenticate.ts";
import { type Authorizer, adminAuthorizer } from "../auth/authorizer.ts";
import { builtinRules } from "../builtin/builtin-rules.ts";
import { builtinStrategy } from "../builtin/builtin-strategy.ts";
import { textAt } from "../builtin/read-field.ts";
import { createDiscovery } from "../discovery/discovery.ts";
import { health } from "../endpoints/health.ts";
import { documentEndpoint, rootPaths } from "../endpoints/paths.ts";
import { serverVersion } from "../endpoints/version.ts";
import { type Listener, listen } from "../http/listener.ts";
import { serveExchange } from "../http/serve-exchange.ts";
import { createOpenApiEndpoint } from "../openapi/endpoint.ts";
import { PublishedDocuments } from "../openapi/published-documents.ts";
import { BUILTIN_RESOURCES } from "../registry/builtin-resources.ts";
import { Registry } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import type { ApiRequest } from "../request/api-request.ts";
import { objectCodec } from "../rest/object-codec.ts";
import type { ObjectStrategy } from "../rest/object-strategy.ts";
import { createResources } from "../rest/resources.ts";
import type { RestServices } from "../rest/rest-context.ts";
import { OpenWatches } from "../rest/watch.ts";
import { accessReviews } from "../reviews/access-reviews.ts";
import { authenticationReviews } from "../reviews/authentication-reviews.ts";
import { reviewResource } from "../reviews/review-resource.ts";
import type { HistoryLimits } from "../store/history.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { bootstrap } from "./bootstrap.ts";
import { createHandler, type Handler } from "./handler.ts";
import { adminKubeconfig } from "./kubeconfig.ts";
import { loadCertificates, type ServingCertificates } from "./serving-certificates.ts";

/** How to run an API server. */
export interface ApiServerOptions {
  /** Everything it keeps is in here; one server at a time. */
  readonly directory: string;
  /** Shown behind the Kubernetes release in `/version`. Default "purlin". */
  readonly build?: string;
  /** Bearers of tokens. */
  readonly tokens?: readonly TokenAuthenticator[];
  /** Default: masters and ServiceAccounts may do everything, nobody else anything. */
  readonly authorizer?: Authorizer;
  readonly history?: Partial<HistoryLimits>;
  /** Told about failures nobody foresaw. */
  readonly onUnexpected?: (error: unknown, request: ApiRequest) => void;
  /** Told about what could not be recovered at the start. */
  readonly onWarning?: (message: string) => void;
}

/** A running API server. Requests reach it through {@link ApiServer.handle} without a wire, and over HTTPS once it listens. */
export interface ApiServer extends AsyncDisposable {
  readonly handle: Handler;
  readonly certificates: ServingCertificates;
  /** Serves HTTPS. */
  listen(options?: { readonly host?: string; readonly port?: number }): Promise<ApiListener>;
  /** Forgets all history up to now. */
  compact(): void;
  close(): Promise<void>;
}

/** Where the server can be reached. */
export interface ApiListener {
  readonly url: string;
  readonly port: number;
  /** A kubeconfig for the operator, everything in it. */
  readonly kubeconfig: string;
}

const CLOSE_GRACE_MS = 5000;

/** Starts an API server on its data directory. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { directory, onWarning, history } = options;
  const store = openStore<JsonObject>({
    directory,
    codec: objectCodec,
    ...(history === undefined ? {} : { history }),
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  try {
    const server = new RunningServer(store, options);
    await bootstrap(server.handle);
    return server;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class RunningServer implements ApiServer {
  readonly handle: Handler;
  readonly certificates: ServingCertificates;
  readonly #store: Store<JsonObject>;
  readonly #watches = new OpenWatches();
  readonly #registry = new Registry(BUILTIN_RESOURCES);
  readonly #tokens: readonly TokenAuthenticator[];
  readonly #listeners: Listener[] = [];

  constructor(store: Store<JsonObject>, options: ApiServerOptions) {
    this.#store = store;
    this.#tokens = options.tokens ?? [];
    this.certificates = loadCertificates(options.directory);
    this.handle = this.#createHandler(options);
  }

  async listen({ host, port }: { readonly host?: string; readonly port?: number } = {}): Promise<ApiListener> {
    const { authority, server } = this.certificates;
    const front = { tokens: this.#tokens, handle: this.handle };
    const listener = await listen({
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      ...server,
      clientAuthorityPem: authority.certPem,
      onExchange: (exchange) => void serveExchange(exchange, front),
    });
    this.#listeners.push(listener);
    const url = `https://${listener.host.includes(":") ? `[${listener.host}]` : listener.host}:${listener.port}`;
    return { url, port: listener.port, kubeconfig: adminKubeconfig(url, this.certificates) };
  }

  compact(): void {
    this.#store.compact(this.#store.revision);
  }

  async close(): Promise<void> {
    this.#watches.end(() => true);
    await Promise.all(this.#listeners.map((listener) => listener.close(CLOSE_GRACE_MS)));
    await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #createHandler(options: ApiServerOptions): Handler {
    const authorizer = options.authorizer ?? adminAuthorizer;
    const catalog = (): Registry["catalog"] => this.#registry.catalog;
    const address = (): string =>
      this.#listeners[0] === undefined ? "" : `${this.#listeners[0].host}:${this.#listeners[0].port}`;
    const documents = new PublishedDocuments(() => ({ catalog: catalog(), crds: [] }));
    const checks = [{ name: "ping", check: () => {} }];
    return createHandler({
      authorizer,
      paths: [
        ({ path, query }) => health(path, query, { healthz: checks, livez: checks, readyz: checks }),
        documentEndpoint("/version", () => serverVersion(options.build ?? "purlin")),
        createDiscovery(catalog, address),
        createOpenApiEndpoint(documents, Date.now),
        documentEndpoint("", () => rootPaths(catalog())),
      ],
      resources: createResources({
        services: this.#services(catalog),
        watches: this.#watches,
        special: [
          reviewResource("authorization.k8s.io", accessReviews(authorizer)),
          reviewResource(
            "authentication.k8s.io",
            authenticationReviews(() => this.#tokens),
          ),
        ],
      }),
      onUnexpected: options.onUnexpected ?? (() => {}),
    });
  }

  #services(catalog: () => Registry["catalog"]): RestServices {
    const now = (): Date => new Date();
    const rulesOf = builtinRules((address) => this.#hasServiceAt(address));
    const strategies = new WeakMap<ResourceType, ObjectStrategy>();
    const strategyOf = (type: ResourceType): ObjectStrategy => {
      const known = strategies.get(type) ?? builtinStrategy(type, rulesOf(type), now);
      strategies.set(type, known);
      return known;
    };
    return { store: this.#store, catalog, strategyOf, now, newUid: randomUUID };
  }

  #hasServiceAt(address: string): boolean {
    const { entries } = this.#store.list({ prefix: "//services/" });
    return entries.some((entry) => textAt(entry.value, "spec", "clusterIP") === address);
  }
}
