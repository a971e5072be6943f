// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock } from "@purlin/base";
import { type ControlPlaneSettings, createFunctionPlane, defaultControlPlaneSettings } from "@purlin/control-plane";
import {
  type DevelopmentTrust,
  developmentAnnotations,
  honoredDevelopmentOf,
  type SourceRuntime,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { ApplyStage, PassFunctions } from "@purlin/preview";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { ClientCertificates } from "../function-call/client-certificates.ts";
import type { Io } from "../io.ts";
import { manifestManager } from "../manifests/apply-manifests.ts";
import { UserError } from "../user-error.ts";
import type { FunctionOverride } from "./diff-input.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;
/** The manager of annotations that the command line sets, which only a preview ever sees. */
const diffManager = "purlin-diff";

/** The functions of previews of one control plane. */
interface DiffFunctions extends AsyncDisposable {
  readonly settings: Partial<ControlPlaneSettings>;
  readonly open: (client: ControllerClient) => PassFunctions;
}

interface DiffFunctionOptions {
  readonly cluster: Cluster;
  readonly certificates: ClientCertificates | undefined;
  readonly overrides: readonly FunctionOverride[];
  /** Functions among the files. */
  readonly files: readonly KubeObject[];
  readonly io: Io;
}

/** Functions run where they run now; those of source files run here, in processes that end with the preview. */
export async function openDiffFunctions(options: DiffFunctionOptions): Promise<DiffFunctions> {
  const { cluster, certificates, io } = options;
  await using opening = new AsyncDisposableStack();
  const isOwn = cluster.dataDirectory !== undefined;
  // On a cluster, annotations of Functions count only where the command line set them.
  const trust: DevelopmentTrust = { managers: isOwn ? [manifestManager, diffManager] : [diffManager] };
  const settings = { developmentFunctions: true, developmentTrust: trust };
  const sources = (await usesSources(options, trust)) ? await startSources(io, opening) : undefined;
  const security = certificates?.security ?? ownCertificates(cluster) ?? "plaintext";
  const opened = opening.move();
  return {
    settings,
    open: (client) => openPlanes(client, { cluster, settings, trust, sources, security }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export interface Sources {
  readonly runtime: SourceRuntime;
  readonly security: TlsSource;
}

interface PlaneOptions {
  readonly cluster: Cluster;
  readonly settings: Partial<ControlPlaneSettings>;
  readonly trust: DevelopmentTrust;
  readonly sources: Sources | undefined;
  readonly security: TlsSource | "plaintext";
}

/** What runs here and what the control plane runs have authorities of their own, hence connections of their own. */
function openPlanes(client: ControllerClient, options: PlaneOptions): PassFunctions {
  const { cluster, trust, sources } = options;
  const shared = {
    client: cluster.client,
    settings: { ...defaultControlPlaneSettings, ...options.settings },
    clock: systemClock,
    log: silentLog,
  };
  const running = createFunctionPlane({ ...shared, functions: { security: options.security } }, client);
  const local =
    sources &&
    createFunctionPlane({ ...shared, functions: { security: sources.security, sources: sources.runtime } }, client);
  return {
    fetchers: running.fetchers,
    async runStep(reference, request, call) {
      const object = await client.get(functionType, { name: reference.functionName }, { signal: call.signal });
      const isSource = object !== undefined && honoredDevelopmentOf(object, trust)?.kind === "source";
      return (isSource && local !== undefined ? local : running).runStep(reference, request, call);
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
export async function startSources(io: Io, opening: AsyncDisposableStack): Promise<Sources> {
  const { createFunctionProcesses, createSourceRuntime } = await import("@purlin/function-process");
  const directory = await mkdtemp(join(tmpdir(), "purlin-diff-"));
  opening.defer(() => rm(directory, { recursive: true, force: true }));
  const processes = createFunctionProcesses({ directory, env: io.env });
  opening.defer(() => processes.close());
  return { runtime: createSourceRuntime(processes, { cwd: io.cwd }), security: processes.security };
}

/** The certificates that `purlin up` leaves for commands on this machine. */
function ownCertificates({ dataDirectory }: Cluster): TlsSource | undefined {
  const directory = dataDirectory === undefined ? undefined : join(dataDirectory, "function-client");
  return directory !== undefined && existsSync(directory) ? tlsFromDirectory(directory) : undefined;
}

/** Sets the sources of functions, in the preview alone. */
export function overrideStage(overrides: readonly FunctionOverride[]): readonly ApplyStage[] {
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
        override.kind === "source"
          ? { [source]: override.source }
          : { [source]: "", [runtime]: "Development", [target]: override.source };
      await client.apply({ ...functionType, metadata: { name, annotations } } as KubeObject, {
        fieldManager: diffManager,
        force: true,
      });
    }
  };
  return [stage];
}
