// SPDX-License-Identifier: Apache-2.0
// On a cluster, the API server asks this webhook about deletions of objects that carry the label of used objects, and of managed resource
// definitions.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, isIP } from "node:net";
import { type Clock, inTurns, type Log } from "@purlin/base";
import {
  collectors,
  countObjects,
  dataLossText,
  dataLossWebhookName,
  deletesItsKind,
  managedDefinitionResource,
  UsageIndex,
  usageRefusal,
  usageTypes,
  usageWebhookName,
} from "@purlin/composition";
import { createInformerPool, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { crdType, createControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound, textOf } from "@purlin/kube-objects/errors";
import {
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parsingJsonStrict,
  printJson,
} from "@purlin/kube-objects/json";
import {
  annotationOf,
  formatApiVersion,
  type KubeObject,
  keyOf,
  memberAt,
  objectAt,
  stringAt,
} from "@purlin/kube-objects/object";
import { ensureLeaf } from "@purlin/package-manager";
import { inNamespace } from "./packages/cluster-packages.ts";

/** How the webhook is served, and how the API server calls it. */
interface UsageWebhookOptions {
  readonly client: KubeClient;
  /** The namespace of the control plane. */
  readonly namespace: string;
  /** Where it listens: a port, and all interfaces unless a host is given. */
  readonly listen: { readonly port: number; readonly host?: string | undefined };
  /** Where the API server reaches it; the Service `crossplane-webhooks` unless given. */
  readonly url?: string | undefined;
  /** What the API server does with deletions while the webhook cannot be reached. */
  readonly failurePolicy: "Fail" | "Ignore";
  /** Whether Usages protect objects. Definitions whose kinds have objects are protected either way. */
  readonly usages: boolean;
  /** The Secret with its certificate. */
  readonly secretName: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A webhook that answers. */
export interface UsageWebhook extends AsyncDisposable {
  readonly port: number;
  /** Lets the API server call it. */
  configure(signal: AbortSignal): Promise<void>;
}

const paths = { usages: "/validate-no-usages", dataLoss: "/validate-no-data-loss" } as const;
const serviceName = "crossplane-webhooks";
const servicePort = 9443;
const configuration = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
} as const;
const configurationName = "crossplane-no-usages";
const fieldManager = "crossplane";
const longestWaitMs = 3_600_000;
const retryMs = 60_000;
/** Each pod of a cluster may send requests. A review has one stored object, which is at most half as large and has fewer values. */
const limits = { bytes: 7 * 1024 ** 2, values: 1_000_000, bytesAtOnce: 64 * 1024 ** 2 } as const;
const policies: ReadonlySet<string> = new Set(["Background", "Foreground", "Orphan"]);
const requestMs = 10_000;

/** Serves the webhook, with a certificate that it keeps. */
export async function startUsageWebhook(options: UsageWebhookOptions, signal: AbortSignal): Promise<UsageWebhook> {
  const { client, log } = options;
  await using starting = new AsyncDisposableStack();
  const informers = createInformerPool(client, {
    onError: (error, { kind }) => log.debug("list/watch failed, retrying", { type: kind, error: textOf(error) }),
  });
  starting.defer(() => informers.stop());
  const usages = options.usages ? followUsages(informers, client) : undefined;
  const certificate = await keepCertificate(options, signal);
  starting.use(certificate);
  const readBody = bodyReader();
  const server = createServer({ ...certificate.current(), minVersion: "TLSv1.3" }, (request, response) => {
    void answer(
      { request, response, readBody },
      {
        ...(usages !== undefined && { [paths.usages]: (review) => reviewDeletion(review, { client, usages }) }),
        [paths.dataLoss]: (review) => reviewDefinition(review, client),
      },
    );
  });
  server.requestTimeout = requestMs;
  server.headersTimeout = requestMs;
  const port = await listen(server, options.listen);
  starting.defer(() => close(server));
  const closing = starting.move();
  let configured: { readonly ca: string; readonly stopping: AbortSignal } | undefined;
  const configure = async (stopping: AbortSignal): Promise<void> => {
    const { ca } = certificate.current();
    await applyConfiguration(options, ca, stopping);
    configured = { ca, stopping };
  };
  certificate.onRenewed(async (renewed) => {
    server.setSecureContext(renewed);
    // The API server trusts the authority in the configuration, which may have been replaced.
    if (configured !== undefined && configured.ca !== renewed.ca) await configure(configured.stopping);
  });
  return {
    port,
    configure,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Removes the configuration: the API server calls the webhook no longer. */
export async function removeUsageWebhook(client: KubeClient, signal: AbortSignal): Promise<void> {
  await ignoreNotFound(client.delete({ ...configuration, name: configurationName }, { signal }));
}

/** All Usages, from the cache of this process. */
interface FollowedUsages {
  readonly index: UsageIndex;
  /** Throws when a kind is not known yet: then nothing can be decided. */
  requireAll(): void;
  /** All Usages that exist when it is called, read from the API server. */
  readLive(): Promise<UsageIndex>;
}

function followUsages(informers: InformerPool, client: Pick<KubeClient, "list">): FollowedUsages {
  const index = new UsageIndex();
  const followed = usageTypes.map((type) => {
    const { informer } = informers.acquire(type);
    informer.subscribe(({ type: change, object }) => {
      const { namespace = "", name } = keyOf(object);
      const key = `${type.apiVersion}/${type.kind}/${namespace}/${name}`;
      index.written(key, change === "deleted" ? undefined : object);
    });
    return { type, informer };
  });
  return {
    index,
    readLive: sharedReads(() => readUsages(client)),
    requireAll() {
      const missing = followed.find(({ informer }) => !informer.isReady);
      if (missing === undefined) return;
      const { apiVersion, kind } = missing.type;
      throw new Error(`cannot list ${apiVersion}, Kind=${kind}: the cache is not filled yet`);
    },
  };
}

const pageSize = 500;

async function readUsages(client: Pick<KubeClient, "list">): Promise<UsageIndex> {
  const index = new UsageIndex();
  for (const type of usageTypes) {
    let next: string | undefined;
    do {
      const page = await client.list(type, { limit: pageSize, continue: next });
      for (const usage of page.items) index.written(usage.metadata.uid ?? "", usage);
      next = page.continue;
    } while (next !== undefined);
  }
  return index;
}

/** Callers share a read that begins after they asked: at most one runs, and one waits. */
function sharedReads<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let waiting: Promise<T> | undefined;
  const start = (): Promise<T> => {
    const started = read().finally(() => {
      if (running === started) running = undefined;
    });
    running = started;
    return started;
  };
  return () => {
    if (running === undefined) return start();
    const begin = (): Promise<T> => {
      waiting = undefined;
      return start();
    };
    waiting ??= running.then(begin, begin);
    return waiting;
  };
}

interface ReviewDeps {
  readonly client: Pick<KubeClient, "patch">;
  readonly usages: FollowedUsages;
}

/** The response to a request of an AdmissionReview. */
export async function reviewDeletion(request: JsonObject, { client, usages }: ReviewDeps): Promise<JsonObject> {
  const uid = stringAt(request, ["uid"]);
  const denied = (status: JsonObject): JsonObject => ({ uid, allowed: false, status });
  const operation = stringAt(request, ["operation"]);
  if (operation !== "DELETE") {
    return denied({ code: 400, message: `unexpected operation "${operation}", expected "DELETE"` });
  }
  const object = request["oldObject"];
  if (!isJsonObject(object)) return denied({ code: 400, message: "there is no content to decode" });
  const policy = policyOf(request);
  if (!policies.has(policy))
    return denied({ code: 400, message: `unexpected propagation policy ${goQuote(policy.slice(0, 100))}` });
  try {
    usages.requireAll();
    const { group, version, kind } = namesOf(objectAt(request, ["kind"]));
    const user = { name: stringAt(request, ["userInfo", "username"]) };
    const deletion = { group, kind, object, user, policy };
    // The label says that there is a Usage: a cache that has none may be behind.
    const refusal = usageRefusal(usages.index, deletion) ?? usageRefusal(await usages.readLive(), deletion);
    if (refusal === undefined) return { uid, allowed: true, status: { code: 200 } };
    const used = { ...object, apiVersion: formatApiVersion({ group, version }), kind } as KubeObject;
    if (request["dryRun"] !== true) await record(client, used, refusal.annotations);
    return denied({ code: 409, reason: refusal.text });
  } catch (error) {
    return denied({ code: 500, message: textOf(error) });
  }
}

/** The response to a request about the deletion of a managed resource definition: one whose kind has objects is not deleted. */
async function reviewDefinition(request: JsonObject, client: Pick<KubeClient, "get" | "list">): Promise<JsonObject> {
  const uid = stringAt(request, ["uid"]);
  const object = request["oldObject"];
  if (!isJsonObject(object))
    return { uid, allowed: false, status: { code: 400, message: "there is no content to decode" } };
  try {
    const name = stringAt(object, ["metadata", "name"]);
    const crd = await ignoreNotFound(client.get(crdType, { name }));
    const policy = policyOf(request);
    const user = { name: stringAt(request, ["userInfo", "username"]) };
    const isLost = crd !== undefined && deletesItsKind({ object, user, policy }, crd);
    const text = isLost ? dataLossText(object, await countObjects({ live: client }, crd, undefined)) : undefined;
    if (text === undefined) return { uid, allowed: true, status: { code: 200 } };
    return { uid, allowed: false, status: { code: 409, reason: text } };
  } catch (error) {
    return { uid, allowed: false, status: { code: 500, message: textOf(error) } };
  }
}

/** The deletion propagation. Clients of old versions request orphans by another field. */
function policyOf(request: JsonObject): string {
  const isOrphaned = memberAt(request, ["options", "orphanDependents"]) === true;
  return stringAt(request, ["options", "propagationPolicy"]) || (isOrphaned ? "Orphan" : "Background");
}

function namesOf(kind: JsonObject): { readonly group: string; readonly version: string; readonly kind: string } {
  return { group: stringAt(kind, ["group"]), version: stringAt(kind, ["version"]), kind: stringAt(kind, ["kind"]) };
}

async function record(
  client: Pick<KubeClient, "patch">,
  object: KubeObject,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  const isRecorded = Object.entries(annotations).every(([name, value]) => annotationOf(object, name) === value);
  if (isRecorded) return;
  const { apiVersion, kind } = object;
  const target = { apiVersion, kind, ...keyOf(object) };
  // An object of the same name that was created since is not marked. Other programs than the API server may call, and a marked object may
  // be deleted with its Usage: they would have to know its UID.
  const uid = stringAt(object, ["metadata", "uid"]);
  if (uid === "") throw new Error("the object has no uid");
  const patch = { metadata: { uid, annotations } };
  await client.patch(target, patch, { type: "merge", fieldManager });
}

async function applyConfiguration(
  { client, namespace, url, failurePolicy, usages }: UsageWebhookOptions,
  ca: string,
  signal: AbortSignal,
): Promise<void> {
  const called = (path: string): JsonObject => ({
    caBundle: Buffer.from(ca).toString("base64"),
    ...(url === undefined
      ? { service: { namespace, name: serviceName, port: servicePort, path } }
      : { url: `${url.replace(/\/$/, "")}${path}` }),
  });
  const ofUsages: JsonObject = {
    name: usageWebhookName,
    clientConfig: called(paths.usages),
    rules: [{ apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["DELETE"], scope: "*" }],
    objectSelector: { matchLabels: { "crossplane.io/in-use": "true" } },
    // The control plane must be able to replace its own objects while the webhook does not run. Requests for cluster-scoped objects
    // have no namespace.
    matchConditions: [
      {
        name: "not-the-control-plane",
        expression: `!has(request.namespace) || request.namespace != '${namespace}'`,
      },
    ],
    failurePolicy,
    sideEffects: "NoneOnDryRun",
    admissionReviewVersions: ["v1"],
  };
  const ofDefinitions: JsonObject = {
    name: dataLossWebhookName,
    clientConfig: called(paths.dataLoss),
    rules: [
      {
        apiGroups: [managedDefinitionResource.group],
        apiVersions: ["*"],
        resources: [managedDefinitionResource.resource],
        operations: ["DELETE"],
        scope: "Cluster",
      },
    ],
    // Packages that are gone must not keep their definitions while the webhook does not run.
    matchConditions: [
      { name: "not-the-garbage-collector", expression: `!(request.userInfo.username in ${celList(collectors)})` },
    ],
    failurePolicy,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const wanted: KubeObject = {
    ...configuration,
    metadata: { name: configurationName },
    webhooks: usages ? [ofUsages, ofDefinitions] : [ofDefinitions],
  };
  await client.apply(wanted, { fieldManager, force: true, signal });
}

function celList(texts: Iterable<string>): string {
  return `[${[...texts].map((text) => `'${text}'`).join(", ")}]`;
}

/** A certificate for the webhook, renewed in time. */
interface KeptCertificate extends AsyncDisposable {
  current(): { readonly ca: string; readonly cert: string; readonly key: string };
  /** Calls the listener with each new certificate. One that it cannot take is offered again later. */
  onRenewed(listener: (renewed: ReturnType<KeptCertificate["current"]>) => Promise<void>): void;
}

async function keepCertificate(options: UsageWebhookOptions, signal: AbortSignal): Promise<KeptCertificate> {
  const { client, namespace, clock, log, secretName, url } = options;
  const scoped = inNamespace(client, namespace);
  const pool = createInformerPool(scoped);
  const objects = createControllerClient({ client: scoped, informers: pool, clock });
  const service = `${serviceName}.${namespace}`;
  const host = url === undefined ? [] : [new URL(url).hostname.replace(/^\[(.*)\]$/, "$1")];
  const request = {
    secretName,
    commonName: service,
    dnsNames: [service, `${service}.svc`, `${service}.svc.cluster.local`, ...host.filter((name) => isIP(name) === 0)],
    ipAddresses: host.filter((name) => isIP(name) !== 0),
    usage: "server" as const,
  };
  const read = async (): Promise<{
    readonly renewInMs: number;
    readonly pems: ReturnType<KeptCertificate["current"]>;
  }> => {
    const { secret, renewInMs = longestWaitMs } = await ensureLeaf(
      { client: objects, namespace, clock },
      request,
      signal,
    );
    const data = objectAt(secret, ["data"]);
    const pem = (name: string): string => Buffer.from(stringAt(data, [name]), "base64").toString();
    return { renewInMs, pems: { ca: pem("ca.crt"), cert: pem("tls.crt"), key: pem("tls.key") } };
  };
  let { pems, renewInMs } = await read();
  let listener: Parameters<KeptCertificate["onRenewed"]>[0] = async () => {};
  let cancel = (): void => {};
  let reading: Promise<void> = Promise.resolve();
  const later = (delayMs: number): void => {
    cancel = clock.schedule(Math.min(Math.max(delayMs, retryMs), longestWaitMs), () => {
      const renew = async (): Promise<void> => {
        const next = await read();
        const last = pems;
        ({ pems, renewInMs } = next);
        try {
          if (next.pems.cert !== last.cert) await listener(next.pems);
        } catch (error) {
          pems = last;
          throw error;
        }
        later(renewInMs);
      };
      reading = renew().catch((error: unknown) => {
        if (!signal.aborted) log.info("failed to renew the certificate of the webhook", { error: textOf(error) });
        later(retryMs);
      });
    });
  };
  later(renewInMs);
  return {
    current: () => pems,
    onRenewed: (one) => {
      listener = one;
    },
    async [Symbol.asyncDispose]() {
      cancel();
      await reading;
      cancel();
      await objects.close();
      await pool.stop();
    },
  };
}

async function listen(server: Server, { port, host }: UsageWebhookOptions["listen"]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", (error) =>
    reject(new Error(`cannot listen at port ${port} for webhooks: ${error.message}`, { cause: error })),
  );
  server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  return promise;
}

async function answer(
  {
    request,
    response,
    readBody,
  }: { readonly request: IncomingMessage; readonly response: ServerResponse; readonly readBody: BodyReader },
  reviews: Readonly<Record<string, (request: JsonObject) => Promise<JsonObject>>>,
): Promise<void> {
  const send = (code: number, body: JsonObject): void => {
    const text = printJson(body);
    response.writeHead(code, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    response.end(text);
  };
  try {
    const review = new Map(Object.entries(reviews)).get(request.url?.split("?")[0] ?? "");
    if (request.method !== "POST" || review === undefined) {
      send(404, { message: `not found: ${request.method} ${JSON.stringify(request.url)}` });
      return;
    }
    const body = await readBody(request);
    const asked = isJsonObject(body) ? body["request"] : undefined;
    if (!isJsonObject(asked)) throw new Error("the body is not an AdmissionReview with a request");
    const reviewed = await review(asked);
    send(200, { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: reviewed });
  } catch (error) {
    send(400, { message: textOf(error) });
  }
}

type BodyReader = (request: IncomingMessage) => Promise<JsonValue>;

/** Reads the bodies of requests, within limits for each and for all that are read at a time. */
function bodyReader(): BodyReader {
  let held = 0;
  return async (request) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        held += chunk.length;
        if (bytes > limits.bytes) throw new Error(`the body is larger than ${limits.bytes} bytes`);
        if (held > limits.bytesAtOnce) throw new Error("too many requests at a time; try again");
        chunks.push(chunk);
      }
      const { value } = await inTurns(parsingJsonStrict(Buffer.concat(chunks).toString(), requireFewValues));
      return value;
    } finally {
      held -= bytes;
    }
  };
}

function requireFewValues(values: number): void {
  if (values > limits.values) throw new Error(`the body has more than ${limits.values} values`);
}
