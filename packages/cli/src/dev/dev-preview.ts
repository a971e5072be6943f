// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  createSourceRuntime,
  type FunctionProcess,
  type FunctionProcesses,
  type FunctionSpec,
  sourceSpec,
} from "@purlin/function-process";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { createDirectTransport, createKubeClient, guardTransport } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Assumptions, type Plan, type PreviewOptions, preview } from "@purlin/preview";
import { openPlanes, type Sources, startSources } from "../diff/diff-functions.ts";
import { applyStages } from "../manifests/apply-manifests.ts";
import { readProjectFile } from "../project/project-file.ts";
import type { InventoryEntry } from "../up/apply-files.ts";
import { operator } from "../up/embedded-plane.ts";
import type { UpScene } from "../up/run-control-plane.ts";
import { functionType, upTrust } from "../up/source-functions.ts";
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

/** What a save would do. */
interface DevPlan extends Plan {
  /** False when the time limit passed before everything was computed. */
  readonly isFinished: boolean;
}

/** Previews saves on the control plane of this process. */
export interface DevPreview extends AsyncDisposable {
  /** A source file of a Function was saved: the next preview starts its new version. */
  saved(functionName: string): void;
  /** What a save would do; with assumptions, also once composed resources are ready. */
  plan(save: Save, assume: Assumptions | undefined, signal: AbortSignal): Promise<DevPlan>;
  /** Whether the source file of a Function is as it was when the last preview started it. */
  isPreviewed(functionName: string): Promise<boolean>;
  /** Stops the processes of source files that only previews used. */
  applied(functions: readonly string[]): Promise<void>;
}

const parallel = 8;
const maxRounds = 20;

const deadlineAdvice = "correct it and save again, or raise --timeout";

/**
 * The running versions of functions compute what would happen anyway; saved versions run beside them until they are applied. A function
 * that does not respond ends a preview after a time limit.
 */
export function openDevPreview({ running, io }: UpScene, timeoutMs: number): DevPreview {
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
  /** The source files that the last preview started, and their text. */
  const started = new Map<string, { readonly file: string; readonly text: string }>();
  // The correction of a running version that hangs is previewed without it.
  let isRunningStuck = false;
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
        if (path === undefined) stale.delete(name);
        if (path === undefined || !stale.has(name)) continue;
        const file = resolve(running.sources.cwd, path);
        // Before it starts: of a save in between, another preview is made rather than none.
        started.set(name, { file, text: await readText(file) });
        await startVersion(sources.processes, sourceSpec(name, path, running.sources), signal);
        // Only now: a version that does not start, or whose start a newer save cancels, is started again by the next preview.
        stale.delete(name);
      }
      const isLocal = (object: KubeObject): boolean => {
        const path = sourcePath(object);
        const name = object.metadata.name ?? "";
        return path !== undefined && (functions.includes(name) || paths.get(name) !== path);
      };
      const shared = { client, settings, running: live };
      const local = { security: sources.security, sources: sources.runtime };
      const deadline = AbortSignal.timeout(timeoutMs);
      const options: PreviewOptions = {
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
        baseline: !isRunningStuck,
        projection: { status: false, owners: false },
        ignores: () => false,
        parallel,
        maxRounds,
        signal,
        deadline,
        deadlineAdvice,
      };
      const marked = (plan: Plan, limit: AbortSignal): DevPlan => ({
        ...plan,
        warnings: isRunningStuck ? [...plan.warnings, stuckWarning] : plan.warnings,
        isFinished: !limit.aborted,
      });
      try {
        return marked(await preview(options), deadline);
      } catch (error) {
        if (signal.aborted || !(error instanceof Error && error.cause === deadline.reason)) throw error;
        isRunningStuck = true;
        const again = AbortSignal.timeout(timeoutMs);
        return marked(await preview({ ...options, baseline: false, deadline: again }), again);
      }
    },
    async isPreviewed(name) {
      const version = started.get(name);
      if (stale.has(name)) return false;
      return version === undefined || version.text === (await readText(version.file));
    },
    async applied(functions) {
      isRunningStuck = false;
      if (starting === undefined) return;
      const { processes } = await starting;
      await Promise.all(functions.map((name) => processes.stop(name)));
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const stuckWarning = "a running function does not respond: the plan also has what would happen without this save";

/** The text of a source file; empty for one that cannot be read. */
function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}

/** Starts the saved version of a function and waits until it serves. Rejects with why it does not. */
async function startVersion(processes: FunctionProcesses, spec: FunctionSpec, signal: AbortSignal): Promise<void> {
  const isKnown = processes.get(spec.name) !== undefined;
  const process = processes.run(spec);
  // One that was stopped a moment ago may still be there, with the version before.
  if (isKnown || process.state.phase !== "starting") await reloaded(process, processes, signal);
  else await process.settled();
  signal.throwIfAborted();
  const { state } = process;
  if (state.phase !== "starting" && state.problem !== undefined)
    throw new UserError(`Function ${spec.name}: ${state.problem}`);
}

/** Starts a version again, and resolves when another one serves or does not start. */
async function reloaded(process: FunctionProcess, processes: FunctionProcesses, signal: AbortSignal): Promise<void> {
  const before = process.current?.version;
  const { promise, resolve } = Promise.withResolvers<void>();
  const isDone = ({ state, current }: FunctionProcess): boolean =>
    state.phase === "failed" || (state.phase === "serving" && (state.problem ?? current?.version) !== before);
  const stop = processes.onChange((changed) => changed === process && isDone(changed) && resolve());
  signal.addEventListener("abort", () => resolve(), { once: true });
  process.reload();
  await promise.finally(stop);
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
