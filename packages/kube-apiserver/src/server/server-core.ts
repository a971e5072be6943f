// SPDX-License-Identifier: Apache-2.0
import { type KeyObject, randomUUID } from "node:crypto";
import { inOnePart } from "@purlin/base";
import type { KeyPair } from "@purlin/certificates";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type AdmissionPlugin, defaultPlugins, PluginChain, pluginNames } from "../admission/admission.ts";
import type { StoredAdmission } from "../admission/configured-admission.ts";
import { ownerAccessPlugin, paramAccessCheck, signerPlugins } from "../admission/write-rights.ts";
import { Backends } from "../aggregator/backends.ts";
import type { BeginAudit } from "../audit/audit.ts";
import {
  type Authorization,
  type Authorizer,
  type Authorizing,
  adminAuthorizer,
  adminRules,
  atOnce,
  type RuleResolver,
} from "../auth/authorizer.ts";
import { type EscalationCheck, escalationCheck } from "../auth/rbac/escalation.ts";
import { RbacAccess } from "../auth/rbac/rbac-access.ts";
import {
  type AccountIdentity,
  type BoundObject,
  mastersGroup,
  ServiceAccountTokens,
  systemUser,
  type TokenAuthenticator,
} from "../auth/user.ts";
import { CrdController } from "../crd/crd-controller.ts";
import { serverKinds, withRoles } from "../kinds/server-kinds.ts";
import { RequestMetrics } from "../metrics/request-metrics.ts";
import { metaOf } from "../objects/object-members.ts";
import { podResources } from "../pods/pod-resources.ts";
import { type Catalog, hasSubresource, keyPrefix, Registry, type ResourceType } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { RequestTarget } from "../request/request-target.ts";
import { type DeleteGuard, followGuarded } from "../rest/delete-guard.ts";
import { createResources, type SpecialResource } from "../rest/resources.ts";
import type { RestServices, WriteGuard } from "../rest/rest-context.ts";
import { OpenWatches } from "../rest/watch.ts";
import { accessReviews, authenticationReviews, reviewResource } from "../reviews/access-reviews.ts";
import { tokenResource } from "../reviews/token-resource.ts";
import { customScalePaths } from "../scale/scale-object.ts";
import { scaleResource } from "../scale/scale-resource.ts";
import type { Store } from "../store/store.ts";
import type { KindDefinition, KindRules, KindSource, ScalePaths } from "../strategy/kind-rules.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import { typedStrategy } from "../strategy/typed-strategy.ts";
import { serviceResolver } from "../webhooks/resolve-service.ts";
import { type ServiceAddress, WebhookClient } from "../webhooks/webhook-client.ts";
import { Aggregator } from "./aggregator.ts";
import { InternalClient, resourcePath } from "./controller-kit.ts";
import { createHandler, type Handler, type OnDenied } from "./handler.ts";
import { type DocumentSource, pathEndpoints } from "./path-endpoints.ts";
import { storedAdmission } from "./stored-admission.ts";

interface ServerCoreOptions {
  readonly store: Store<JsonObject>;
  readonly kinds?: KindSource;
  readonly build?: string;
  readonly tokens?: readonly TokenAuthenticator[];
  /** The certificate by which the servers of APIServices recognize this one. */
  readonly frontProxyClient: () => KeyPair;
  /** Signs the tokens of ServiceAccounts. */
  readonly tokenKey: KeyObject;
  readonly authorizer?: Authorizer;
  readonly guard?: WriteGuard | undefined;
  readonly guardDelete?: DeleteGuard | undefined;
  readonly authorization?: Authorization;
  readonly roles?: readonly JsonObject[];
  readonly eventTtlSeconds?: number;
  readonly beginAudit?: BeginAudit | undefined;
  /** Where webhooks of Services are, by `NAMESPACE/NAME:PORT`. Default: at the endpoints of the Service. */
  readonly webhookTargets?: ReadonlyMap<string, ServiceAddress>;
  /** Names of the admission plugins to run. Default: `defaultPlugins`. */
  readonly admissionPlugins?: readonly string[];
  readonly onUnexpected?: (error: unknown, request: ApiRequest) => void;
  readonly onDenied?: OnDenied | undefined;
  readonly onControllerError?: (error: unknown) => void;
  /** Host and port the server is reached at; empty while it is not. */
  readonly address: () => string;
  readonly otherMetrics?: (() => Promise<string>) | undefined;
  readonly documents?: DocumentSource | undefined;
  /** Makes a snapshot of the store in the data directory. */
  readonly snapshot: () => Promise<void>;
}

/** Everything that answers requests, without a wire. */
export interface ServerCore {
  readonly handle: Handler;
  readonly client: InternalClient;
  /** The kinds that are served without a definition. */
  readonly kinds: readonly KindDefinition[];
  readonly catalog: () => Catalog;
  readonly watches: OpenWatches;
  readonly crds: CrdController;
  readonly services: RestServices;
  /** Admission by what is configured. */
  readonly configured: StoredAdmission;
  /** Requests for the APIs of other servers. */
  readonly aggregator: Aggregator;
  /** The authenticators of bearer tokens. */
  readonly tokens: readonly TokenAuthenticator[];
  readonly now: () => Date;
  /** Called after what is served has changed. */
  onPublished: () => void;
  /** The state of the server, set by its start and stop. */
  readonly lifecycle: Lifecycle;
}

interface Lifecycle {
  areKindsServed: boolean;
  isBootstrapped: boolean;
  /** Resolves when the roles of a new cluster are stored; undefined once they are. Never rejects. */
  bootstrapping: Promise<void> | undefined;
  isStopping: boolean;
}

/** Puts together what answers requests. */
export function createServerCore(options: ServerCoreOptions): ServerCore {
  const { store } = options;
  const now = (): Date => new Date();
  const catalog = (): Catalog => registry.catalog;
  const requests = requestMetrics(catalog);
  const kinds = [
    ...withRoles(serverKinds({ store, now, ruleMetrics: requests.rules }), options.roles ?? []),
    ...(options.kinds?.({ store, now }) ?? []),
  ];
  const types = kinds.map(({ type }) => type);
  const registry = new Registry(withEventTtl(types, options.eventTtlSeconds));
  const watches = new OpenWatches();
  const handle: Handler = (request) => whenRolesAre(lifecycle, request, () => answer(request));
  const client = new InternalClient(handle);
  const lifecycle = newLifecycle();
  const core = { handle, client, catalog, watches, now, lifecycle, onPublished: () => {} };
  const webhooks = new WebhookClient(serviceResolver(store, options.webhookTargets ?? new Map()));
  const crds = new CrdController({
    conversion: { client: webhooks, newUid: randomUUID },
    ruleMetrics: requests.rules,
    store,
    registry,
    now,
    endWatches: (group, resource) => watches.end(({ type }) => type.group === group && type.resource === resource),
    deleteObjects: (type) => deleteObjects(client, store, type),
    onError: options.onControllerError ?? (() => {}),
    onPublished: () => core.onPublished(),
  });
  if (options.guardDelete !== undefined) followGuarded(options.guardDelete, store);
  const rulesOf = rulesFinder(kinds);
  const strategyOf = strategies(rulesOf, crds, now);
  const access = accessControl(options, catalog);
  const authorizer = atOnce(access.authorizing);
  const configured = storedAdmission({
    ...{ store, catalog, strategyOf, authorizer },
    plugins: options.admissionPlugins ?? defaultPlugins,
    isStarted: () => lifecycle.isBootstrapped,
    client: webhooks,
    metrics: requests.admission,
  });
  const owners = { authorizer, catalog, remotes: () => aggregator.versions };
  const services: RestServices = {
    ...access,
    authorizer,
    store,
    catalog,
    now,
    newUid: randomUUID,
    guard: options.guard,
    guardDelete: options.guardDelete,
    strategyOf,
    admission: new PluginChain(pluginsOf(options, kinds, owners), configured, requests.admission),
  };
  const aggregator = createAggregator(options, client, now);
  const accounts = new ServiceAccountTokens(options.tokenKey, (...subject) => isPresent(store, ...subject), now);
  const tokens = [...(options.tokens ?? []), accounts.authenticate];
  const answer = createHandler({
    authorizing: access.authorizing,
    paths: pathEndpoints({
      ...options,
      store,
      build: options.build ?? "purlin",
      catalog,
      crds: () => crds.crds,
      state: serverState(store, lifecycle),
      remotes: aggregator,
      requests,
      address: options.address,
    }),
    onBegin: (request, target) => requests.begin(request, target),
    audit: options.beginAudit,
    aggregated: (request, target) => aggregator.answer(request, target),
    resources: createResources({
      services,
      watches,
      special: [
        ...reviewResources(access, tokens),
        tokenResource(accounts),
        ...podResources(client),
        scaleResource((type) => (type.custom ? customScale(type, crds) : rulesOf(type).scale)),
      ],
    }),
    isBuiltinPath: (path) => isBuiltinPath(catalog(), path),
    onUnexpected: options.onUnexpected ?? (() => {}),
    onDenied: options.onDenied,
  });
  return Object.assign(core, { kinds, crds, services, configured, tokens, aggregator });
}

const newLifecycle = (): Lifecycle => ({
  areKindsServed: false,
  isBootstrapped: false,
  bootstrapping: undefined,
  isStopping: false,
});

/** Answers a request at once, or after the roles of a new cluster are stored if the response depends on them. */
function whenRolesAre<T>({ bootstrapping }: Lifecycle, request: ApiRequest, answer: () => Promise<T>): Promise<T> {
  return bootstrapping === undefined || !dependsOnRoles(request) ? answer() : bootstrapping.then(answer);
}

/** Paths of roles and of health checks that depend on them. Webhooks and policies decide only after the roles are stored, so they wait, too. */
const aboutRoles = /^\/(?:apis\/(?:[^/]*authorization|admissionregistration)\.k8s\.io|readyz|healthz)\b/;

/** Whether the response depends on the roles of the cluster: what masters do does not, unless it is about roles or as another user. */
function dependsOnRoles({ user, headers, path }: ApiRequest): boolean {
  if (user === systemUser) return false;
  const isImpersonating = Object.keys(headers).some((name) => name.startsWith("impersonate-"));
  return !user.groups.includes(mastersGroup) || isImpersonating || aboutRoles.test(path);
}

function createAggregator(options: ServerCoreOptions, client: InternalClient, now: () => Date): Aggregator {
  const { store, webhookTargets = new Map(), frontProxyClient, onControllerError = () => {} } = options;
  const backends = new Backends(serviceResolver(store, webhookTargets), frontProxyClient);
  return new Aggregator({ store, client, now, backends, onError: onControllerError });
}

/** The plugins of the kinds, and those beside them, that are to run. */
function pluginsOf(
  { admissionPlugins = defaultPlugins }: ServerCoreOptions,
  kinds: readonly KindDefinition[],
  access: Parameters<typeof ownerAccessPlugin>[0],
): readonly AdmissionPlugin[] {
  const ofKinds = kinds.flatMap((kind) => kind.admission ?? []);
  return [...ofKinds, ...signerPlugins(access.authorizer), ownerAccessPlugin(access)].filter(
    ({ name }) => admissionPlugins.includes(name) || !pluginNames.includes(name),
  );
}

function reviewResources(access: AccessControl, tokens: readonly TokenAuthenticator[]): SpecialResource[] {
  return [
    reviewResource("authorization.k8s.io", accessReviews(access.authorizing, access.rulesFor)),
    reviewResource(
      "authentication.k8s.io",
      authenticationReviews(() => tokens),
    ),
  ];
}

function requestMetrics(catalog: () => Catalog): RequestMetrics {
  return new RequestMetrics(
    (target) => isServed(catalog(), target),
    () => performance.now(),
  );
}

/** What the health endpoints report. */
function serverState(store: Store<JsonObject>, lifecycle: Lifecycle): Parameters<typeof pathEndpoints>[0]["state"] {
  return {
    // The path of the store and the cause are not public.
    storeProblem: () => (store.problem === undefined ? undefined : "the store refuses writes"),
    areKindsServed: () => lifecycle.areKindsServed,
    isBootstrapped: () => lifecycle.isBootstrapped,
    isStopping: () => lifecycle.isStopping,
  };
}

/** The authorizers of requests and of single writes. */
interface AccessControl {
  readonly authorizing: Authorizing;
  readonly rulesFor: RuleResolver;
  readonly requiringNoEscalation: EscalationCheck;
}

function accessControl(
  { store, authorizer, authorization = "rbac" }: ServerCoreOptions,
  catalog: () => Catalog,
): AccessControl {
  if (authorizer === undefined && authorization === "rbac") {
    const access = new RbacAccess(store);
    const { authorizing, rulesFor } = access;
    const checks = [escalationCheck(access), paramAccessCheck({ store, catalog, authorizer: atOnce(authorizing) })];
    const requiringNoEscalation: EscalationCheck = function* (write) {
      for (const check of checks) yield* check(write);
    };
    return { authorizing, rulesFor, requiringNoEscalation };
  }
  const authorizing = inOnePart(authorizer ?? adminAuthorizer);
  const requiringNoEscalation: EscalationCheck = function* () {};
  return { authorizing, rulesFor: adminRules, requiringNoEscalation };
}

/** Paths are few, but clients may ask for any resource. */
function isServed(catalog: Catalog, target: RequestTarget): boolean {
  if (target.kind === "path") {
    return /^\/(api|apis|healthz|livez|readyz|metrics|openapi\/v[23]|version)?$/.test(target.path);
  }
  const type = catalog.find(target.group, target.version, target.resource);
  return type !== undefined && (target.subresource === "" || hasSubresource(type, target.subresource));
}

function isBuiltinPath(catalog: Catalog, path: string): boolean {
  const [root, first = "", second] = path.split("/").filter((part) => part !== "");
  if (root === "api") return first !== "";
  const group = root === "apis" && second !== undefined ? catalog.group(first) : undefined;
  return group?.versions.some(({ resources }) => resources.some((type) => !type.custom)) ?? false;
}

type RulesOf = (type: ResourceType) => KindRules;

const noRules: KindRules = {};

function rulesFinder(kinds: readonly KindDefinition[]): RulesOf {
  const keyOf = ({ group, version, kind }: ResourceType): string => `${group}/${version}/${kind}`;
  const rules = new Map(kinds.map((kind) => [keyOf(kind.type), kind.rules ?? noRules]));
  return (type) => rules.get(keyOf(type)) ?? noRules;
}

function strategies(rulesOf: RulesOf, crds: CrdController, now: () => Date): (type: ResourceType) => ObjectStrategy {
  const known = new WeakMap<ResourceType, ObjectStrategy>();
  return (type) => {
    if (type.custom) return crds.strategyOf(type);
    const strategy = known.get(type) ?? typedStrategy(type, rulesOf(type), now);
    known.set(type, strategy);
    return strategy;
  };
}

function customScale(type: ResourceType, crds: CrdController): ScalePaths | undefined {
  const crd = crds.crds.find((one) => metaOf(one).name === `${type.resource}.${type.group}`);
  return crd && customScalePaths(crd, type.version);
}

function isPresent(store: Store<JsonObject>, account: AccountIdentity, bound: BoundObject | undefined): boolean {
  const isThere = (resource: string, { name, uid }: { readonly name: string; readonly uid: string }): boolean => {
    const scope = resource === "nodes" ? "" : `${account.namespace}/`;
    const object = store.get(`//${resource}/${scope}${name}`)?.value;
    return object !== undefined && metaOf(object).uid === uid;
  };
  return isThere("serviceaccounts", account) && (bound === undefined || isThere(`${bound.kind}s`, bound));
}

/** Deletes all objects of a type, in every namespace that has some. Their keys name the namespaces: objects may be large. */
async function deleteObjects(client: InternalClient, store: Store<JsonObject>, type: ResourceType): Promise<void> {
  if (!type.namespaced) {
    await client.delete(resourcePath(type, ""));
    return;
  }
  const prefix = keyPrefix(type, "");
  const { entries } = store.list({ prefix });
  const namespaces = new Set(entries.map(({ key }) => key.slice(prefix.length).split("/", 1)[0] ?? ""));
  await Promise.all([...namespaces].map((namespace) => client.delete(resourcePath(type, namespace))));
}

function withEventTtl(types: readonly ResourceType[], ttlSeconds: number | undefined): readonly ResourceType[] {
  if (ttlSeconds === undefined) return types;
  return types.map((type) =>
    type.rules.ttlSeconds === undefined ? type : { ...type, rules: { ...type.rules, ttlSeconds } },
  );
}
