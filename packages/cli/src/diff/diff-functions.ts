// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock } from "@purlin/base";
import { functionRevisionType, packageLabel } from "@purlin/composition";
import { type ControlPlaneSettings, createFunctionPlane, defaultControlPlaneSettings } from "@purlin/control-plane";
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
  type SourceRuntime,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import type { ApplyStage, PassFunctions } from "@purlin/preview";
import type { Cluster } from "../cluster/cluster-client.ts";
import { type ClientCertificates, developmentAdvice, parseTarget, probeTarget } from "../function-call/probe-target.ts";
import type { Io } from "../io.ts";
import { manifestManager } from "../manifests/apply-manifests.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isUserError, UserError } from "../user-error.ts";
import { prepareImages } from "./diff-images.ts";
import type { FunctionOverride } from "./diff-input.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;
/** The manager of annotations that the command line sets, which only a preview ever sees. */
const diffManager = "purlin-diff";

/** The functions of previews of one control plane. */
interface DiffFunctions extends AsyncDisposable {
  readonly settings: Partial<ControlPlaneSettings>;
  readonly open: (client: ControllerClient) => PassFunctions;
  /** Sets the sources of functions, in the preview alone. */
  readonly stages: readonly ApplyStage[];
  /** The Functions that run from another source than now. */
  readonly overridden: readonly string[];
  /** Functions that only run elsewhere: they are not part of the plan. */
  readonly moved: readonly KubeObject[];
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
  readonly io: Io;
}

/** The source of a Function that runs from an image on this machine. */
const imageSource = "purlin-diff-image";

/** Functions run where they run now; those of source files and packages run here, in processes that end with the preview. */
export async function openDiffFunctions(options: DiffFunctionOptions): Promise<DiffFunctions> {
  const { cluster, certificates, io, functionsFrom } = options;
  await using opening = new AsyncDisposableStack();
  const isOwn = cluster.dataDirectory !== undefined;
  // On a cluster, annotations of Functions count only where the command line set them.
  const trust: DevelopmentTrust = { managers: isOwn ? [manifestManager, diffManager] : [diffManager] };
  const settings = { developmentFunctions: true, developmentTrust: trust };
  const moved = functionsFrom === "local" ? await activeRevisions(options) : [];
  const overrides = [...options.overrides, ...moved];
  for (const { name, kind, source } of overrides) if (kind === "target") await requireServing(name, source, io);
  const images = await prepareImages(overrides, { ...options, opening });
  const runsHere = images.size > 0 || (functionsFrom !== "live" && (await usesSources(options, trust)));
  const sources = runsHere ? await startSources(io, opening) : undefined;
  const security = certificates?.security ?? ownCertificates(cluster) ?? "plaintext";
  const opened = opening.move();
  return {
    settings,
    stages: overrideStage(overrides),
    overridden: options.overrides.map(({ name }) => name),
    moved: moved.map(({ name }) => ({ ...functionType, metadata: { name } })),
    open: (client) =>
      openPlanes(client, {
        client: cluster.client,
        settings,
        running: { security },
        local: sources && { security: sources.security, sources: withImages(sources, images) },
        isLocal: (object) => honoredDevelopmentOf(object, trust)?.kind === "source",
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Reports an address where nothing serves at once: the runner waits for a function to come up, as a control plane should. */
async function requireServing(name: string, source: string, { signal }: Io): Promise<void> {
  const options = { tls: undefined, timeoutMs: 5000, signal, advice: developmentAdvice };
  await probeTarget(parseTarget(source), options).catch((error: unknown) => {
    throw isUserError(error) ? new UserError(`--function ${name}: ${error.message}`, { cause: error }) : error;
  });
}

/** Runs source files, and images that were unpacked before. */
function withImages({ runtime, processes }: Sources, images: ReadonlyMap<string, FunctionSpec>): SourceRuntime {
  return {
    current: (name) => runtime.current(name),
    serve(name, path, signal) {
      const image = path === imageSource ? images.get(name) : undefined;
      return image === undefined ? runtime.serve(name, path, signal) : processes.run(image).served(signal);
    },
  };
}

/** The active revisions of Functions that nothing overrides. */
async function activeRevisions({ cluster, overrides, io }: DiffFunctionOptions): Promise<readonly FunctionOverride[]> {
  const { items } = await cluster.client.list(functionRevisionType, { signal: io.signal });
  return items.flatMap(({ metadata, ...revision }) => {
    const name = metadata.labels?.[packageLabel];
    const isActive = textAt(revision, ["spec", "desiredState"]) === "Active";
    if (name === undefined || !isActive || overrides.some((one) => one.name === name)) return [];
    return [{ name, kind: "revision" as const, source: metadata.name ?? "" }];
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
      if (current === undefined)
        throw new UserError(`--function ${name}: Function "${name}" not found: name a Function of the control plane`, {
          exitCode: 2,
        });
      const annotations =
        override.kind !== "target"
          ? { [source]: override.kind === "source" ? override.source : imageSource }
          : { [source]: "", [runtime]: "Development", [target]: override.source };
      await client.apply({ ...functionType, metadata: { name, annotations } } as KubeObject, {
        fieldManager: diffManager,
        force: true,
      });
    }
  };
  return [stage];
}
