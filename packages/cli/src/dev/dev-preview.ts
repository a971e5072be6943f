// SPDX-License-Identifier: Apache-2.0
import { createSourceRuntime, type FunctionProcesses, type FunctionSpec, sourceSpec } from "@purlin/function-process";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { createDirectTransport, createKubeClient, guardTransport } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Assumptions, type Plan, preview } from "@purlin/preview";
import { openPlanes, type Sources, startSources } from "../diff/diff-functions.ts";
import { applyStages } from "../manifests/apply-manifests.ts";
import { readProjectFile } from "../project/project-file.ts";
import type { InventoryEntry } from "../up/apply-files.ts";
import { operator } from "../up/embedded-plane.ts";
import { functionType, upTrust } from "../up/source-functions.ts";
import type { UpScene } from "../up/up-command.ts";
import type { FileChanges } from "../up/watch-files.ts";
import { UserError } from "../user-error.ts";

/** Everything that was saved and not applied yet. */
export interface Save {
  readonly changes: FileChanges;
  /** The Functions of which a source file was saved. */
  readonly functions: readonly string[];
  /** Objects that were removed from the files and would be deleted. */
  readonly removed: readonly InventoryEntry[];
}

/** Previews saves on the control plane of this process. */
export interface DevPreview extends AsyncDisposable {
  /** A source file of a Function was saved: the next preview starts its new version. */
  saved(functionName: string): void;
  /** What a save would do; with assumptions, also once composed resources are ready. */
  plan(save: Save, assume: Assumptions | undefined, signal: AbortSignal): Promise<Plan>;
  /** Stops the processes of source files that only previews used. */
  applied(functions: readonly string[]): Promise<void>;
}

const parallel = 8;
const maxRounds = 20;

/** The running versions of functions compute what would happen anyway; saved versions run beside them until they are applied. */
export function openDevPreview({ running, io }: UpScene): DevPreview {
  const closing = new AsyncDisposableStack();
  const transport = guardTransport(createDirectTransport(running.embedded.server.handle, operator));
  const client = createKubeClient(transport);
  closing.defer(() => client.close());
  const settings = { developmentFunctions: true, developmentTrust: upTrust };
  const live = {
    security: running.processes.security,
    sources: createSourceRuntime(running.processes, running.sources),
  };
  const namespace = readProjectFile(io).namespace ?? "default";
  const stale = new Set<string>();
  let starting: Promise<Sources> | undefined;
  const startSaved = (): Promise<Sources> => {
    // A save is previewed as a whole, so its functions do not start on their own.
    starting ??= startSources(io, closing, { within: running.sources.within, onSave: () => {} });
    return starting;
  };
  return {
    saved: (name) => void stale.add(name),
    async plan({ changes, functions, removed }, assume, signal) {
      const paths = await livePaths(client, signal);
      const sources = await startSaved();
      for (const name of functions) {
        const path = paths.get(name);
        if (path === undefined || !stale.delete(name)) continue;
        await startVersion(sources.processes, sourceSpec(name, path, running.sources), signal);
      }
      const isLocal = (object: KubeObject): boolean => {
        const path = sourcePath(object);
        const name = object.metadata.name ?? "";
        return path !== undefined && (functions.includes(name) || paths.get(name) !== path);
      };
      const shared = { client, settings, running: live };
      const local = { security: sources.security, sources: sources.runtime };
      return preview({
        client,
        changes: {
          stages: applyStages(changes.changed).map((stage) => stage.map(({ object }) => object)),
          deletes: removed,
          applyAs: { mode: "auto" },
          namespace,
        },
        functionStages: [],
        functions: (overlay) => openPlanes(overlay, { ...shared, local, isLocal }),
        baselineFunctions: (overlay) => openPlanes(overlay, { ...shared, local: undefined, isLocal: () => false }),
        roots: { functions, only: [], namespace },
        settings,
        assume,
        baseline: true,
        projection: { status: false, owners: false },
        ignores: () => false,
        parallel,
        maxRounds,
        signal,
      });
    },
    async applied(functions) {
      if (starting === undefined) return;
      const { processes } = await starting;
      await Promise.all(functions.map((name) => processes.stop(name)));
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Starts the saved version of a function and waits until it serves. Rejects with why it does not. */
async function startVersion(processes: FunctionProcesses, spec: FunctionSpec, signal: AbortSignal): Promise<void> {
  const isKnown = processes.get(spec.name) !== undefined;
  const process = processes.run(spec);
  if (isKnown) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = processes.onChange((changed) => changed === process && resolve());
    signal.addEventListener("abort", () => resolve(), { once: true });
    process.reload();
    await promise.finally(stop);
    signal.throwIfAborted();
  } else await process.settled();
  const { state } = process;
  if (state.phase !== "starting" && state.problem !== undefined)
    throw new UserError(`Function ${spec.name}: ${state.problem}`);
}

/** The source files of Functions as they are stored. */
async function livePaths(
  client: ReturnType<typeof createKubeClient>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | undefined>> {
  const { items } = await client.list(functionType, { signal });
  return new Map(items.map((object) => [object.metadata.name ?? "", sourcePath(object)]));
}

function sourcePath(object: KubeObject): string | undefined {
  const development = honoredDevelopmentOf(object, upTrust);
  return development?.kind === "source" ? development.path : undefined;
}
