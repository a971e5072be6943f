// SPDX-License-Identifier: Apache-2.0
// Functions whose addresses only the cluster knows, called through its API server.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { type NameResolver, systemNames } from "@purlin/function-runner";
import { type KubeClient, openPortForward, type PortForwardTarget } from "@purlin/kube-client";
import { isForbidden } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import { type ClientCertificates, parseTarget, probeTarget } from "../function-call/probe-target.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";

/** A revision of a function, with the address at which the control plane calls it. */
interface CalledRevision {
  /** The name of the Function. */
  readonly name: string;
  /** The name of the revision. */
  readonly source: string;
  readonly endpoint: string;
}

interface ForwardOptions {
  readonly cluster: Pick<Cluster, "client" | "access">;
  readonly certificates: ClientCertificates | undefined;
  /** Called with each port-forward before it is opened. */
  readonly onForward: (target: PortForwardTarget) => void;
  readonly signal: AbortSignal;
  /** Disposes of the port-forwards. */
  readonly opening: AsyncDisposableStack;
}

/** The port-forwards of a preview. */
export interface Forwards {
  /** The Functions that are called through one. */
  readonly forwarded: ReadonlySet<string>;
  /** Why the others are not, by Function. */
  readonly problems: ReadonlyMap<string, string>;
  /** Leads connections to the functions through the port-forwards. */
  readonly names: NameResolver;
}

/** Longer than for an address: the API server, the kubelet and the Pod each answer in turn. */
const probeMs = 10_000;

/**
 * Opens a port-forward to a Pod of each revision whose endpoint is a Service, and connects to the function through it once to see that it
 * works.
 */
export async function forwardFunctions(
  revisions: readonly CalledRevision[],
  options: ForwardOptions,
): Promise<Forwards> {
  const local = new Map<string, LocalEnd>();
  const problems = new Map<string, string>();
  const forward = async (revision: CalledRevision): Promise<void> => {
    try {
      local.set(revision.endpoint, await forwardOne(revision, options));
    } catch (error) {
      options.signal.throwIfAborted();
      problems.set(revision.name, textOf(error));
    }
  };
  await Promise.all(revisions.filter(({ endpoint }) => serviceOf(endpoint) !== undefined).map(forward));
  const ends = new Map([...local].map(([endpoint, { address }]) => [parseTarget(endpoint).text, address]));
  return {
    forwarded: new Set(revisions.filter(({ endpoint }) => local.has(endpoint)).map(({ name }) => name)),
    problems,
    names: { ...systemNames, via: (host, port) => ends.get(`${host}:${port}`) },
  };
}

async function forwardOne(revision: CalledRevision, options: ForwardOptions): Promise<LocalEnd> {
  const { certificates, opening, signal } = options;
  const { access } = options.cluster;
  if (access === undefined) throw new UserError("the API server forwards no ports");
  if (certificates === undefined)
    throw new UserError(
      "no certificate to call it with: read the Secret crossplane-tls-client, or use --tls-client-certs-dir",
    );
  const target = parseTarget(revision.endpoint);
  // Found for each connection: the Pod may be replaced while the preview runs.
  const open = async (until: AbortSignal): Promise<Duplex> => {
    const pod = { ...(await findPod(revision, options)), signal: until };
    options.onForward(pod);
    return openPortForward(access, pod).catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      // API servers leave the reason out for the second of the two.
      const refusal = textOf(error).replace(/:\s*$/, "");
      throw new UserError(`${refusal}: grant get and create of pods/portforward`, { cause: error });
    });
  };
  const end = await listen(open);
  try {
    const names: NameResolver = { ...systemNames, via: () => end.address };
    const tls = { identity: certificates.security.current(), directory: certificates.directory };
    await probeTarget(target, { tls, timeoutMs: probeMs, signal, names });
  } catch (error) {
    await end[Symbol.asyncDispose]();
    // What went wrong on the way says more than that the connection was closed.
    const cause = end.problem();
    throw isUserError(error) && cause !== undefined ? new UserError(cause, { cause: error }) : error;
  }
  opening.use(end);
  return end;
}

/** The end of a port-forward on this machine. */
interface LocalEnd extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
  /** Why the last connection failed. */
  problem(): string | undefined;
}

/** Most connections at a time: other users of the machine can connect too, and each connection is a request to the API server. */
const maxConnections = 64;

/** Listens on this machine and opens a connection for each one that is made here. */
export async function listen(open: (signal: AbortSignal) => Promise<Duplex>): Promise<LocalEnd> {
  const closing = new AbortController();
  const sockets = new Set<Socket>();
  let problem: string | undefined;
  const server = createServer((socket) => {
    sockets.add(socket);
    const gone = new AbortController();
    const fail = (error: unknown): void => {
      problem = textOf(error);
      socket.destroy();
    };
    socket
      .on("error", () => {})
      .once("close", () => {
        sockets.delete(socket);
        gone.abort();
      });
    open(AbortSignal.any([closing.signal, gone.signal])).then((remote) => {
      if (remote.errored || socket.destroyed) return fail(remote.errored ?? new Error("the connection was closed"));
      pipeline(socket, remote, socket, () => {
        if (remote.errored && !gone.signal.aborted) problem = textOf(remote.errored);
      });
    }, fail);
  });
  server.maxConnections = maxConnections;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    address: { host: "127.0.0.1", port: (server.address() as AddressInfo).port },
    problem: () => problem,
    async [Symbol.asyncDispose]() {
      closing.abort();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      await closed.promise;
    },
  };
}

const podType = { apiVersion: "v1", kind: "Pod" } as const;
const serviceType = { apiVersion: "v1", kind: "Service" } as const;
const revisionLabel = "pkg.crossplane.io/revision";

/** A Pod that serves a revision: one with its label, or else one that the Service of its endpoint selects. */
export async function findPod(
  { source, endpoint }: Pick<CalledRevision, "source" | "endpoint">,
  { cluster: { client }, signal }: { readonly cluster: Pick<Cluster, "client">; readonly signal: AbortSignal },
): Promise<PortForwardTarget> {
  const called = serviceOf(endpoint);
  if (called === undefined) throw new UserError(`${endpoint} is not the address of a Service`);
  const { host, port, service, namespace } = called;
  const [pod] = await readyPods(client, { namespace, labelSelector: `${revisionLabel}=${source}`, signal });
  if (pod !== undefined) return { namespace, pod: pod.metadata.name ?? "", port };
  const found = await client.get(serviceType, { namespace, name: service }, { signal });
  const spec = isJsonObject(found["spec"]) ? found["spec"] : {};
  const selector = Object.entries(isJsonObject(spec["selector"]) ? spec["selector"] : {});
  if (selector.length === 0) throw new UserError(`Service ${namespace}/${service} selects no Pods`);
  const labelSelector = selector.map(([key, value]) => `${key}=${String(value)}`).join(",");
  const [selected] = await readyPods(client, { namespace, labelSelector, signal });
  if (selected === undefined) throw new UserError(`no Pod of ${host} is ready`);
  return { namespace, pod: selected.metadata.name ?? "", port: targetPort(spec["ports"], selected, port) };
}

const serviceAddress =
  /^(?:dns:\/\/\/)?(?<host>(?<service>[a-z][-a-z0-9]*)\.(?<namespace>[a-z0-9][-a-z0-9]*)(?:\.svc(?:\.[-.a-z0-9]+)?)?):(?<port>\d{1,5})$/;

/** The Service in an endpoint: `SERVICE.NAMESPACE:PORT`, perhaps with `.svc` and the domain of the cluster behind. */
function serviceOf(endpoint: string) {
  const { host, service, namespace, port } = serviceAddress.exec(endpoint)?.groups ?? {};
  if (host === undefined || service === undefined || namespace === undefined) return undefined;
  return { host, service, namespace, port: Number(port) };
}

async function readyPods(
  client: KubeClient,
  options: { readonly namespace: string; readonly labelSelector: string; readonly signal: AbortSignal },
): Promise<readonly KubeObject[]> {
  const { items } = await client.list(podType, options);
  return items.filter((pod) => {
    const status = isJsonObject(pod["status"]) ? pod["status"] : {};
    const conditions = listOf(status["conditions"]);
    const isReady = conditions.some((one) => textAt(one, ["type"]) === "Ready" && textAt(one, ["status"]) === "True");
    return isReady && pod.metadata.deletionTimestamp === undefined;
  });
}

/** The port of a Pod behind a port of its Service: a number, or the name of a port of a container. */
function targetPort(ports: JsonValue | undefined, pod: KubeObject, port: number): number {
  const target = listOf(ports).find((one) => one["port"] === port)?.["targetPort"] ?? port;
  if (typeof target === "number") return target;
  const spec = isJsonObject(pod["spec"]) ? pod["spec"] : {};
  const named = listOf(spec["containers"])
    .flatMap((container) => listOf(container["ports"]))
    .find((one) => one["name"] === target)?.["containerPort"];
  return typeof named === "number" ? named : port;
}

function listOf(value: JsonValue | undefined) {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
