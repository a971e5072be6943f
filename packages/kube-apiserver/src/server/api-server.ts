// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey } from "node:crypto";
import { type Clock, systemClock } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type AuditOptions, type BeginAudit, createAudit } from "../audit/audit.ts";
import type { Authorization, Authorizer } from "../auth/authorizer.ts";
import { createRevocationCheck } from "../auth/revoked-users.ts";
import type { TokenAuthenticator } from "../auth/user.ts";
import { type Listener, listen } from "../http/listener.ts";
import {
  type InFlightLimits,
  largeResponses,
  RequestsInFlight,
  upgradedConnections,
} from "../http/requests-in-flight.ts";
import { type Front, type RequestLine, serveExchange } from "../http/serve-exchange.ts";
import type { DeleteGuard } from "../rest/delete-guard.ts";
import { objectCodec } from "../rest/object-codec.ts";
import type { WriteGuard } from "../rest/rest-context.ts";
import type { HistoryLimits } from "../store/history.ts";
import { openStore } from "../store/open-store.ts";
import { writeSnapshot } from "../store/snapshot.ts";
import type { Store } from "../store/store.ts";
import type { KindSource } from "../strategy/kind-rules.ts";
import type { ServiceAddress } from "../webhooks/webhook-client.ts";
import { frontProxyClients, publishAuthorities, renewInTime } from "./certificate-renewal.ts";
import { type Controllers, createControllers } from "./controllers.ts";
import type { Handler, OnDenied } from "./handler.ts";
import { bootstrapNamespaces, bootstrapObjects, bootstrapRoles } from "./own-objects.ts";
import type { DocumentSource } from "./path-endpoints.ts";
import { createServerCore, type ServerCore } from "./server-core.ts";
import { loadCertificates, type ServingCertificates } from "./serving-certificates.ts";
import { kubeconfigText } from "./user-kubeconfig.ts";

/** How to run an API server. */
export interface ApiServerOptions {
  /** Everything it keeps is in here; one server at a time. */
  readonly directory: string;
  /** Kinds to serve beside those that the server itself needs, such as `builtinKinds` of `@purlin/kube-builtin`. Default: none. */
  readonly kinds?: KindSource;
  /** Shown behind the Kubernetes release in `/version`. Default "purlin". */
  readonly build?: string;
  /** Bearers of tokens. */
  readonly tokens?: readonly TokenAuthenticator[];
  /** How requests are authorized. Default "rbac"; with "admin", masters and ServiceAccounts are allowed everything, other users nothing. */
  readonly authorization?: Authorization;
  /** Decides instead. */
  readonly authorizer?: Authorizer;
  /**
   * Roles and bindings to create at the start beside those of every cluster. Existing ones get back the rights and subjects that are missing,
   * unless the annotation `rbac.authorization.kubernetes.io/autoupdate` is "false".
   */
  readonly roles?: readonly JsonObject[];
  /** Asked about each write that is authorized, before it is stored. Default: all are allowed. */
  readonly guard?: WriteGuard | undefined;
  /** Asked about each deletion, in the turn that decides it. Default: all are allowed. */
  readonly guardDelete?: DeleteGuard | undefined;
  readonly history?: Partial<HistoryLimits>;
  /** How long events are kept. Default: an hour. */
  readonly eventTtlSeconds?: number;
  /** Where webhooks of Services are, by `NAMESPACE/NAME:PORT`. Default: at the endpoints of the Service. */
  readonly webhookTargets?: ReadonlyMap<string, ServiceAddress>;
  /** Names of the admission plugins to run, out of `pluginNames`. Default: `defaultPlugins`. NamespaceLifecycle always runs. */
  readonly admissionPlugins?: readonly string[];
  /** How many requests one user may have under way over HTTPS. */
  readonly inFlightLimits?: InFlightLimits;
  /** Called with unexpected errors. */
  readonly onUnexpected?: (error: unknown, request: RequestLine) => void;
  /** Called with each request that is denied. */
  readonly onDenied?: OnDenied | undefined;
  /** Called with errors of the server's own controllers; they retry. */
  readonly onControllerError?: (error: unknown) => void;
  /** Called when certificates were renewed while the server runs: later kubeconfigs contain the new ones. */
  readonly onRenewed?: () => void;
  /** Called within a minute after the clock of the machine was set, with the difference in milliseconds. */
  readonly onClockJump?: (byMs: number) => void;
  /** Replace certificates and keys that are damaged. Default: refuse to start, and say what is damaged. */
  readonly repairCertificates?: boolean;
  /**
   * Serve what is in a data directory that cannot be written: reads and watches continue, every write is refused. Default: refuse to start
   * on one.
   */
  readonly servesReadOnly?: boolean;
  /** Go on without writes that were acknowledged and are no longer in the data directory. Default: refuse to start. */
  readonly acceptsLoss?: boolean;
  /** Metrics of the other parts of the process, as text for Prometheus, to serve with those of the server. Default: none. */
  readonly otherMetrics?: () => Promise<string>;
  /** Documents of the other parts of the process, by path and query, for authorized users. Undefined where there is none. Default: none. */
  readonly documents?: DocumentSource | undefined;
  /** Log requests as a policy says. Default: no audit log. */
  readonly audit?: AuditOptions;
  /** Decides when certificates are due. Default: the clock of the machine. */
  readonly clock?: Clock;
  /** Called with what could not be recovered at the start. */
  readonly onWarning?: (message: string) => void;
}

/** A running API server. Requests reach it through {@link ApiServer.handle} without a wire, and over HTTPS once it listens. */
export interface ApiServer extends AsyncDisposable {
  readonly handle: Handler;
  readonly certificates: ServingCertificates;
  /** Nothing can be written, for as long as it runs: the data directory was read-only when it started. */
  readonly isReadOnly: boolean;
  /**
   * Resolves when the roles that every cluster has are stored and the controllers of the server run. On a new data directory the server
   * answers before that; requests that depend on roles wait. Rejects when the roles cannot be stored: close the server.
   */
  readonly bootstrapped: Promise<void>;
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
  /** A kubeconfig for the operator, everything in it; another one after certificates were renewed. */
  readonly kubeconfig: string;
}

const closeGraceMs = 5000;
/** As of etcd: the first write is the second revision. */
const revisionOfNewStore = 1;

/** Starts an API server on its data directory. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { directory, onWarning, history, servesReadOnly = false, acceptsLoss = false } = options;
  const store = openStore<JsonObject>({
    directory,
    codec: objectCodec,
    servesReadOnly,
    acceptsLoss,
    ...(history === undefined ? {} : { history }),
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  try {
    const server = new RunningServer(store, options);
    await server.start();
    return server;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class RunningServer implements ApiServer {
  readonly handle: Handler;
  readonly isReadOnly: boolean;
  bootstrapped: Promise<void> = Promise.resolve();
  certificates: ServingCertificates;
  readonly #options: ApiServerOptions;
  readonly #store: Store<JsonObject>;
  readonly #core: ServerCore;
  readonly #controllers: Controllers;
  readonly #audit: BeginAudit | undefined;
  readonly #inFlight: RequestsInFlight;
  readonly #upgraded: RequestsInFlight;
  readonly #largeResponses: RequestsInFlight;
  readonly #listeners: Listener[] = [];
  #stopRenewing = (): void => {};

  constructor(store: Store<JsonObject>, options: ApiServerOptions) {
    this.#store = store;
    this.#options = options;
    this.isReadOnly = store.problem !== undefined;
    this.#audit = options.audit && createAudit(options.audit);
    this.certificates = loadCertificates(options.directory, {
      now: new Date((options.clock ?? systemClock).now()),
      isReadOnly: this.isReadOnly,
      repair: options.repairCertificates ?? false,
      ...(options.onWarning && { onWarning: options.onWarning }),
    });
    const tokenKey = createPrivateKey(this.certificates.tokens.keyPem);
    this.#core = createServerCore({
      ...options,
      store,
      tokenKey,
      frontProxyClient: frontProxyClients(() => this.certificates.frontProxy),
      beginAudit: this.#audit,
      address: () => this.#address(),
      snapshot: () => writeSnapshot(store, options.directory),
    });
    this.handle = this.#core.handle;
    this.#inFlight = new RequestsInFlight(options.inFlightLimits);
    this.#largeResponses = largeResponses(options.inFlightLimits);
    this.#upgraded = upgradedConnections(options.inFlightLimits);
    this.#controllers = createControllers(this.#core, store, options.onControllerError ?? (() => {}));
  }

  /** Serves what was there before, makes what every cluster has, and begins to look after it all. */
  async start(): Promise<void> {
    const { lifecycle, crds } = this.#core;
    const isNew = this.#store.revision <= revisionOfNewStore;
    crds.start();
    lifecycle.areKindsServed = true;
    if (this.isReadOnly) {
      // What there is to make and to look after would have to be written.
      lifecycle.isBootstrapped = true;
      return;
    }
    const cluster = { ...this.#core, store: this.#store };
    await bootstrapNamespaces(cluster);
    // One write to the disk for both.
    await Promise.all([bootstrapObjects(cluster), publishAuthorities(this.#core, this.#store, this.certificates)]);
    this.#stopRenewing = this.#renewInTime();
    this.bootstrapped = this.#complete();
    // Stored policies and webhooks decide about requests only after the roles are there. A new store has none.
    if (!isNew) return await this.bootstrapped;
    const settled = this.bootstrapped.catch(() => {});
    lifecycle.bootstrapping = settled.then(() => {
      lifecycle.bootstrapping = undefined;
    });
  }

  async #complete(): Promise<void> {
    await bootstrapRoles({ ...this.#core, store: this.#store });
    this.#core.lifecycle.isBootstrapped = true;
    this.#controllers.start();
  }

  async listen({ host, port }: { readonly host?: string; readonly port?: number } = {}): Promise<ApiListener> {
    const { authority, server } = this.certificates;
    const { onUnexpected } = this.#options;
    const front: Front = {
      tokens: this.#core.tokens,
      isRevoked: createRevocationCheck(this.#options.directory),
      handle: this.handle,
      inFlight: this.#inFlight,
      upgraded: this.#upgraded,
      largeResponses: this.#largeResponses,
      audit: this.#audit,
      ...(onUnexpected && { onUnexpected }),
    };
    const listener = await listen({
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      ...server,
      clientAuthorityPem: authority.certPem,
      onExchange: (exchange) => void serveExchange(exchange, front),
      isUpgradable: (url) => this.#core.aggregator.serves(url.split("?", 1)[0] ?? ""),
    });
    this.#listeners.push(listener);
    const url = `https://${addressOf(listener)}`;
    const kubeconfig = (): string => adminKubeconfig(url, this.certificates);
    return {
      url,
      port: listener.port,
      get kubeconfig(): string {
        return kubeconfig();
      },
    };
  }

  compact(): void {
    this.#store.compact(this.#store.revision);
  }

  async close(): Promise<void> {
    this.#core.lifecycle.isStopping = true;
    await this.bootstrapped.catch(() => {});
    this.#stopRenewing();
    this.#controllers.stop();
    await this.#core.crds.stop();
    this.#core.configured.close();
    this.#core.watches.end(() => true);
    await Promise.all(this.#listeners.map((listener) => listener.close(closeGraceMs)));
    await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #renewInTime(): () => void {
    const { directory, clock, onRenewed, onClockJump, onControllerError } = this.#options;
    return renewInTime({
      directory,
      current: this.certificates,
      clock: clock ?? systemClock,
      // A clock that a caller passes is never set behind its back.
      ...(clock === undefined && { monotonicMs: () => performance.now() }),
      onClockJump,
      onRenewed: (certificates) => {
        this.certificates = certificates;
        for (const listener of this.#listeners) {
          listener.renew({ ...certificates.server, clientAuthorityPem: certificates.authority.certPem });
        }
        onRenewed?.();
      },
      onError: (cause) =>
        onControllerError?.(new Error(`cannot renew the certificates in ${directory}: ${String(cause)}`, { cause })),
    });
  }

  #address(): string {
    const [first] = this.#listeners;
    return first === undefined ? "" : addressOf(first);
  }
}

function addressOf({ host, port }: Listener): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A kubeconfig with which the operator reaches the server, everything in it. */
export function adminKubeconfig(server: string, { authority, admin }: ServingCertificates): string {
  return kubeconfigText({ server, authority, client: admin, user: "admin" });
}
