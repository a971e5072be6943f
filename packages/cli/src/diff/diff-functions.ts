// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock } from "@purlin/base";
import { functionRevisionType, packageLabel } from "@purlin/composition";
import {
  type ControlPlaneSettings,
  createFunctionPlane,
  defaultControlPlaneSettings,
  defaultNamespace,
  functionClientIdentity,
  functionClientSecret,
} from "@purlin/control-plane";
import type {
  FunctionProcesses,
  FunctionProcessesOptions,
  FunctionSpec,
  SourceOptions,
} from "@purlin/function-process";
import {
  type DevelopmentTrust,
  developmentAnnotations,
  honoredDevelopmentOf,
  type NameResolver,
  type SourceRuntime,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import type { KubeClient, PortForwardTarget } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { isForbidden, isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { type ApplyStage, functionManager, type PassFunctions, type Plan } from "@purlin/preview";
import type { Cluster } from "../cluster/cluster-client.ts";
import { type ClientCertificates, developmentAdvice, parseTarget, probeTarget } from "../function-call/probe-target.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { manifestManager } from "../manifests/apply-manifests.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { prepareImages } from "./diff-images.ts";
import type { FunctionOverride } from "./diff-input.ts";
import { type Forwards, forwardFunctions } from "./forwarded-functions.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;
/** The functions of previews of one control plane. */
interface DiffFunctions extends AsyncDisposable {
  readonly settings: Partial<ControlPlaneSettings>;
  readonly open: (client: ControllerClient) => PassFunctions;
  /** Sets the sources of functions that run here instead of on the cluster, in the preview alone. */
  readonly sharedStages: readonly ApplyStage[];
  /** Sets the sources of functions that the command line gives, in the preview alone. */
  readonly stages: readonly ApplyStage[];
  /** The Functions that run from another source than now. */
  readonly overridden: readonly string[];
  /** Functions that only run elsewhere: they are not part of the plan. */
  readonly moved: readonly KubeObject[];
  /** A function as a report shows it. */
  readonly shown: (used: UsedFunction) => UsedFunction;
}

interface DiffFunctionOptions {
  readonly input: CommandInput;
  readonly cluster: Cluster;
  readonly certificates: ClientCertificates | undefined;
  readonly overrides: readonly FunctionOverride[];
  /** Whether functions run where they run now, or on this machine. */
  readonly functionsFrom: "auto" | "live" | "local";
  /** Functions among the files. */
  readonly files: readonly KubeObject[];
  /** Called with each port-forward to a function before it is opened. */
  readonly onForward: (target: PortForwardTarget) => void;
  readonly io: Io;
}

/** The source of a Function that runs from an image on this machine. */
const imageSource = "purlin-diff-image";

/** Whose development annotations count in a preview: on a cluster, only those that the command line sets. */
export function previewTrust(isOwn: boolean): DevelopmentTrust {
  if (isOwn) return { managers: [manifestManager, functionManager] };
  return { managers: [functionManager], advice: "name it with --function NAME=HOST:PORT to call it there" };
}

/** Functions run where they run now; those of source files and packages run here, in processes that end with the preview. */
export async function openDiffFunctions(options: DiffFunctionOptions): Promise<DiffFunctions> {
  const { cluster, io, functionsFrom } = options;
  await using opening = new AsyncDisposableStack();
  const isOwn = cluster.dataDirectory !== undefined;
  const trust = previewTrust(isOwn);
  const settings = { developmentFunctions: true, developmentTrust: trust };
  const certificates = options.certificates ?? (await clusterCertificates(options));
  const active = isOwn && functionsFrom !== "local" ? [] : await activeRevisions(options);
  const moved = functionsFrom === "local" ? active : [];
  const distant = functionsFrom === "local" ? [] : await unreachableOf(active, certificates, io);
  const { signal } = io;
  const forwards = await forwardFunctions(distant, { ...options, certificates, signal, opening });
  const unreachable = functionsFrom === "live" ? [] : distant.filter(({ name }) => !forwards.forwarded.has(name));
  const overrides = [...options.overrides, ...moved];
  for (const { name, kind, source } of overrides) if (kind === "target") await requireServing(name, source, io);
  const images = await prepareImages(overrides, { ...options, opening });
  const runsHere =
    images.size > 0 || unreachable.length > 0 || (functionsFrom !== "live" && (await usesSources(options, trust)));
  const sources = runsHere ? await startSources(io, opening) : undefined;
  const security = certificates?.security ?? ownCertificates(cluster) ?? "plaintext";
  const opened = opening.move();
  const later = imagesWhenUsed(unreachable, { ...options, problems: forwards.problems, opening: opened });
  const elsewhere = [...moved, ...unreachable];
  return {
    settings,
    sharedStages: overrideStage(elsewhere),
    stages: overrideStage(options.overrides),
    overridden: options.overrides.map(({ name }) => name),
    moved: elsewhere.map(({ name }) => ({ ...functionType, metadata: { name } })),
    shown: (used) => shownFunction(used, { overrides: options.overrides, elsewhere, forwarded: forwards.forwarded }),
    open: (client) =>
      openPlanes(client, {
        client: cluster.client,
        settings,
        running: { security, names: forwards.names },
        local: sources && {
          security: sources.security,
          sources: withImages(sources, (name) => images.get(name) ?? later(name)),
        },
        isLocal: (object) => honoredDevelopmentOf(object, trust)?.kind === "source",
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type UsedFunction = Plan["functions"][number];

/** Where functions run, if not where the control plane calls them. */
interface OtherRoutes {
  readonly overrides: readonly FunctionOverride[];
  readonly elsewhere: readonly FunctionOverride[];
  /** The Functions that are called through port-forwards. */
  readonly forwarded?: ReadonlySet<string>;
}

/**
 * A function with its route: from the source of the command line, where the control plane calls it, there through the API server, or on this
 * machine. A process of this command has another address each time, which no report needs.
 */
export function shownFunction(
  { endpoint, ...used }: UsedFunction,
  { overrides, elsewhere, forwarded }: OtherRoutes,
): UsedFunction {
  const override = overrides.find(({ name }) => name === used.name);
  const moved = elsewhere.find(({ name }) => name === used.name);
  const runsHere = used.revision.includes("#");
  const called = forwarded?.has(used.name) ? "port-forward" : "endpoint";
  const route = override === undefined ? (moved === undefined && !runsHere ? called : "local") : "override";
  if (!runsHere) return { ...used, endpoint, route };
  const revision = [override, moved].find((one) => one?.kind === "revision")?.source ?? used.name;
  return { ...used, revision, ...(override && { source: override.source }), route };
}

/** Reports an address where nothing serves at once: the runner waits for a function to come up, as a control plane should. */
async function requireServing(name: string, source: string, { signal }: Io): Promise<void> {
  const options = { tls: undefined, timeoutMs: 5000, signal, advice: developmentAdvice };
  await probeTarget(parseTarget(source), options).catch((error: unknown) => {
    throw isUserError(error) ? new UserError(`--function ${name}: ${error.message}`, { cause: error }) : error;
  });
}

/** An active revision, with the address at which the control plane calls it. */
interface ActiveRevision extends FunctionOverride {
  readonly endpoint: string;
}

const probeMs = 3000;

/** Those of revisions that cannot be called from this machine: the addresses of a cluster are often known only inside of it. */
async function unreachableOf(
  revisions: readonly ActiveRevision[],
  certificates: ClientCertificates | undefined,
  { signal }: Io,
): Promise<readonly ActiveRevision[]> {
  const tls = certificates && { identity: certificates.security.current(), directory: certificates.directory };
  const isReachable = async ({ endpoint }: ActiveRevision): Promise<boolean> => {
    // The control plane cannot call it either.
    if (endpoint === "") return true;
    try {
      await probeTarget(parseTarget(endpoint), { tls, timeoutMs: probeMs, signal });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (isUserError(error)) return false;
      throw error;
    }
  };
  const reached = await Promise.all(revisions.map(isReachable));
  return revisions.filter((_, at) => reached[at] === false);
}

/** Fetches the packages of revisions that cannot be called when the first composite resource needs them. */
function imagesWhenUsed(
  revisions: readonly ActiveRevision[],
  deps: DiffFunctionOptions & Pick<Forwards, "problems"> & { readonly opening: AsyncDisposableStack },
): (name: string) => Promise<FunctionSpec> | undefined {
  const specs = new Map<string, Promise<FunctionSpec>>();
  const prepare = async (revision: ActiveRevision): Promise<FunctionSpec> => {
    try {
      const spec = (await prepareImages([revision], deps)).get(revision.name);
      if (spec !== undefined) return spec;
      throw new UserError("it has no package");
    } catch (error) {
      const forward = deps.problems.get(revision.name) ?? "";
      const way = forward && ` or through a port-forward (${forward})`;
      const why = `${revision.endpoint} cannot be called from this machine${way}, and its package cannot run here: ${textOf(error)}`;
      throw new UserError(`${why}: name a source with --function ${revision.name}=SOURCE`, { cause: error });
    }
  };
  return (name) => {
    const revision = revisions.find((one) => one.name === name);
    if (revision === undefined) return undefined;
    const spec = specs.get(name) ?? prepare(revision);
    specs.set(name, spec);
    return spec;
  };
}

/** Runs source files, and images that are unpacked. */
function withImages(
  { runtime, processes }: Sources,
  imageOf: (name: string) => FunctionSpec | Promise<FunctionSpec> | undefined,
): SourceRuntime {
  return {
    current: (name) => runtime.current(name),
    async serve(name, path, signal) {
      const image = path === imageSource ? await imageOf(name) : undefined;
      return image === undefined ? runtime.serve(name, path, signal) : processes.run(image).served(signal);
    },
  };
}

/** The active revisions of Functions that nothing overrides. */
async function activeRevisions({ cluster, overrides, io }: DiffFunctionOptions): Promise<readonly ActiveRevision[]> {
  const { items } = await cluster.client.list(functionRevisionType, { signal: io.signal });
  return items.flatMap(({ metadata, ...revision }) => {
    const name = metadata.labels?.[packageLabel];
    const isActive = textAt(revision, ["spec", "desiredState"]) === "Active";
    if (name === undefined || !isActive || overrides.some((one) => one.name === name)) return [];
    const endpoint = textAt(revision, ["status", "endpoint"]) ?? "";
    return [{ name, kind: "revision" as const, source: metadata.name ?? "", endpoint }];
  });
}

/** Source files of functions that run in processes of this command. */
export interface Sources {
  readonly runtime: SourceRuntime;
  readonly security: TlsSource;
  readonly processes: FunctionProcesses;
}

/** How the functions of a preview are called. */
interface PlaneOptions {
  readonly client: KubeClient;
  readonly settings: Partial<ControlPlaneSettings>;
  /** Functions where they run now. */
  readonly running: FunctionConnections;
  /** Functions that run only for the preview. */
  readonly local: FunctionConnections | undefined;
  /** Whether a Function, as the preview sees it, runs only for the preview. */
  readonly isLocal: (object: KubeObject) => boolean;
}

interface FunctionConnections {
  readonly security: TlsSource | "plaintext";
  readonly sources?: SourceRuntime | undefined;
  readonly names?: NameResolver | undefined;
}

/** What runs here and what the control plane runs have authorities of their own, hence connections of their own. */
export function openPlanes(client: ControllerClient, options: PlaneOptions): PassFunctions {
  const { isLocal } = options;
  const shared = {
    client: options.client,
    settings: { ...defaultControlPlaneSettings, ...options.settings },
    clock: systemClock,
    log: silentLog,
  };
  const running = createFunctionPlane({ ...shared, functions: options.running }, client);
  const local = options.local && createFunctionPlane({ ...shared, functions: options.local }, client);
  return {
    fetchers: running.fetchers,
    async runStep(reference, request, call) {
      const object = await client.get(functionType, { name: reference.functionName }, { signal: call.signal });
      const plane = object !== undefined && isLocal(object) ? (local ?? running) : running;
      return plane.runStep(reference, request, call);
    },
    close() {
      running.close();
      local?.close();
    },
  };
}

async function usesSources(
  { cluster, overrides, files, io }: DiffFunctionOptions,
  trust: DevelopmentTrust,
): Promise<boolean> {
  const isSource = (object: KubeObject): boolean =>
    Boolean(object.metadata.annotations?.[developmentAnnotations.source]);
  if (overrides.some(({ kind }) => kind === "source") || files.some(isSource)) return true;
  const { items } = await cluster.client.list(functionType, { signal: io.signal });
  return items.some((object) => honoredDevelopmentOf(object, trust)?.kind === "source");
}

/** Loaded only when a source file is to be run. */
export async function startSources(
  io: Io,
  opening: AsyncDisposableStack,
  more: Pick<SourceOptions, "within"> & Pick<FunctionProcessesOptions, "onSave" | "limits"> = {},
): Promise<Sources> {
  const { createFunctionProcesses, createSourceRuntime } = await import("@purlin/function-process");
  const directory = await mkdtemp(join(tmpdir(), "purlin-diff-"));
  opening.defer(() => rm(directory, { recursive: true, force: true }));
  const processes = createFunctionProcesses({ directory, env: io.env, onSave: more.onSave, limits: more.limits });
  opening.defer(() => processes.close());
  return {
    runtime: createSourceRuntime(processes, { cwd: io.cwd, within: more.within }),
    security: processes.security,
    processes,
  };
}

/** The certificate with which the control plane of a cluster calls functions, for users who may read its Secret. */
export async function clusterCertificates({
  cluster: { client, dataDirectory },
  functionsFrom,
  io: { signal, stderr },
}: Pick<DiffFunctionOptions, "functionsFrom"> & {
  readonly cluster: Pick<Cluster, "client" | "dataDirectory">;
  readonly io: Pick<Io, "signal"> & { readonly stderr: Pick<Io["stderr"], "write"> };
}): Promise<ClientCertificates | undefined> {
  if (dataDirectory !== undefined || functionsFrom === "local") return undefined;
  const key = { namespace: defaultNamespace, name: functionClientSecret };
  try {
    const identity = functionClientIdentity(await client.get({ apiVersion: "v1", kind: "Secret" }, key, { signal }));
    return { directory: `Secret ${key.namespace}/${key.name}`, security: { current: () => identity } };
  } catch (error) {
    signal.throwIfAborted();
    if (!isForbidden(error) && !isNotFound(error)) stderr.write(`warning: ${harmlessLine(textOf(error))}\n`);
    return undefined;
  }
}

/** The certificates that `purlin up` leaves for commands on this machine. */
function ownCertificates({ dataDirectory }: Cluster): TlsSource | undefined {
  const directory = dataDirectory === undefined ? undefined : join(dataDirectory, "function-client");
  return directory !== undefined && existsSync(directory) ? tlsFromDirectory(directory) : undefined;
}

/** Sets the sources of functions, in the preview alone. */
function overrideStage(overrides: readonly FunctionOverride[]): readonly ApplyStage[] {
  if (overrides.length === 0) return [];
  const { source, runtime, target } = developmentAnnotations;
  const stage: ApplyStage = async (client) => {
    for (const override of overrides) {
      const { name } = override;
      const current = await client.get(functionType, { name });
      if (current === undefined && override.kind === "revision" && "endpoint" in override) continue;
      if (current === undefined)
        throw new UserError(`--function ${name}: Function "${name}" not found: name a Function of the control plane`, {
          exitCode: 2,
        });
      const annotations =
        override.kind !== "target"
          ? { [source]: override.kind === "source" ? override.source : imageSource }
          : { [source]: "", [runtime]: "Development", [target]: override.source };
      // An annotation that its present owner set to the same value would have two owners, of which one does not count.
      const none = { [source]: null, [runtime]: null, [target]: null };
      const removal = { metadata: { annotations: none } };
      await client.patch({ ...functionType, name }, removal, { type: "merge", fieldManager: functionManager });
      await client.apply({ ...functionType, metadata: { name, annotations } } as KubeObject, {
        fieldManager: functionManager,
        force: true,
      });
    }
  };
  return [stage];
}
