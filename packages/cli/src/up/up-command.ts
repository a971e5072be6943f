// SPDX-License-Identifier: Apache-2.0

import { statSync, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { explainAll, type ObjectRef } from "@purlin/explain";
import { type FunctionProcess, openLogFile } from "@purlin/function-process";
import { newLogger } from "@purlin/function-sdk";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { untilStopped } from "../apiserver/embedded-server.ts";
import { simulationNote } from "../apiserver/server-options.ts";
import type { Io } from "../io.ts";
import { skippedLine } from "../manifests/manifest.ts";
import { endedOperations, unfinishedOperations, unfinishedText } from "../operation/operation-state.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { type CompositeWatch, watchComposites } from "../tree/watch-composites.ts";
import { asInput, textOf, UserError } from "../user-error.ts";
import { createFileApplier, type FileApplier, type Inventory, inventoryPath, openInventory } from "./apply-files.ts";
import { type EmbeddedPlane, startEmbeddedPlane } from "./embedded-plane.ts";
import { greeting, kubeconfigWarning, logPath, nextSteps, sandboxWarning } from "./greeting.ts";
import { createTypesRefresher } from "./refresh-types.ts";
import {
  type AppliedObject,
  collectStatus,
  type PackageWatch,
  unsettledLines,
  watchPackages,
} from "./status-snapshot.ts";
import {
  createLiveView,
  createStatusWatcher,
  type LiveView,
  type StatusWatcher,
  showCauses,
} from "./status-watcher.ts";
import { readUpOptions, type UpOptions } from "./up-options.ts";
import { type FileChanges, type FollowedFiles, followFiles, watchFolder } from "./watch-files.ts";

/** Editors write a file in several steps, and a branch changes many files; what happens within this time is one change. */
const usualSettleMs = 150;

type Changed = (name: string | null, only: string | undefined) => void;

/** Folders with manifests that the user applies one after the other. */
const byHand: ReadonlySet<string> = new Set(["steps"]);
const logBytes = 4 * 1024 * 1024;

/** `purlin up [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  return await runControlPlane(readUpOptions(input, io), io, { work });
}

/** What a command does with a control plane that runs. */
export interface PlaneWork {
  /** Runs until the control plane is to be stopped. Resolves to the exit code. */
  readonly work: (scene: UpScene) => Promise<number>;
  /** Called for a save of a function's source; the new version starts by itself unless given. */
  readonly onSourceSave?: ((process: FunctionProcess) => void) | undefined;
}

/** Starts a control plane, shows its status, and stops it when the work is done. */
export async function runControlPlane(
  options: UpOptions,
  io: Io,
  { work: workWith, onSourceSave }: PlaneWork,
): Promise<number> {
  using view = createLiveView(io);
  const style = createStyle(io.stdout, io.env);
  const onSkipped = (names: readonly string[]): void => view.say(style.faint(skippedLine(names)));
  const files = followFiles(options.paths, io, { except: byHand, onSkipped });
  // Mistakes in files are reported before anything is started.
  const changes = await asInput(() => files.read());
  const statusWatcher = createStatusWatcher();
  await using running = await start(options, { io, view, statusWatcher, onSourceSave });
  view.say(greeting(running.embedded, style, io));
  view.say(`${style.good("✓")} registry at ${style.strong(running.registry.address)}`);
  if (options.workloads === "simulate") view.say(`${style.good("✓")} ${simulationNote}`);
  const warnings = [
    sandboxWarning(running.packages.sandbox, style),
    options.waitMs === undefined ? kubeconfigWarning(running.embedded.kubeconfig, style, io) : undefined,
  ];
  for (const warning of warnings) if (warning !== undefined) view.say(warning);
  await using composites = watchComposites(running.informers, statusWatcher.changed);
  await using packages = watchPackages(running.informers, statusWatcher.changed);
  const inventory = await openInventory(inventoryPath(options.directory), io.cwd);
  const applier = createFileApplier({
    ...{ client: running.client, files, inventory, io, style },
    paths: options.paths,
    prune: options.prune === true,
    say: (text) => view.say(text),
  });
  statusWatcher.collect = () => {
    const awaited = [...applier.applied].flatMap((object) => seenBy(object, composites, packages));
    const { composites: all, pending } = composites;
    const source = { composites: all, pending, packages, find: (to: ObjectRef) => composites.find(to) };
    return collectStatus(source, running.processes.list(), awaited);
  };
  await Promise.all([composites.ready(io.signal), packages.ready(io.signal)]);
  using _showing = statusWatcher.subscribe((snapshot) => view.show(snapshot));
  using _explaining = showCauses(statusWatcher, view, async () => {
    const { explanations } = await explainAll({ client: running.client, signal: io.signal });
    return explanations;
  });
  const refreshTypes = createTypesRefresher({ paths: options.paths, io, style, say: (text) => view.say(text) });
  const scene = { options, changes, files, inventory, running, applier, refreshTypes, view, style, statusWatcher, io };
  return await workWith(scene);
}

/** Where an applied object will be seen; nowhere for a kind that is not followed. */
function seenBy(object: KubeObject, composites: CompositeWatch, packages: PackageWatch): readonly AppliedObject[] {
  if (packages.has(object)) return [{ object, seen: packages.find }];
  if (!composites.has(object)) return [];
  return [{ object, seen: (one) => composites.find({ ...one, ...keyOf(one) }) }];
}

/** A control plane that runs, with the files that are applied to it. */
export interface UpScene {
  readonly options: UpOptions;
  /** The files as they were before anything was started. */
  readonly changes: FileChanges;
  readonly files: FollowedFiles;
  readonly inventory: Inventory;
  readonly running: EmbeddedPlane;
  readonly applier: FileApplier;
  /** Brings generated types in step with the definitions. */
  readonly refreshTypes: () => Promise<void>;
  readonly view: LiveView;
  readonly style: Style;
  readonly statusWatcher: StatusWatcher;
  readonly io: Io;
}

function start(
  options: UpOptions,
  scene: Pick<UpScene, "io" | "view" | "statusWatcher"> & Pick<PlaneWork, "onSourceSave">,
): Promise<EmbeddedPlane> {
  const { io, view, statusWatcher, onSourceSave } = scene;
  let file: ReturnType<typeof openLogFile> | undefined;
  const write = (line: string): void => {
    // Made only now: the folder belongs to another control plane until it is taken.
    file ??= openLogFile(logPath(options.directory), logBytes);
    file.add(line);
    if (!options.debug) return;
    // Lines between those that are drawn would stay on the screen.
    if (io.stderr.isTTY && io.stdout.isTTY) view.say(line.trimEnd());
    else io.stderr.write(line);
  };
  const warn = (text: string): void => view.say(text);
  const log = newLogger({ debug: options.debug, write });
  return startEmbeddedPlane(options, { io, log, warn, onFunctionChange: statusWatcher.changed, onSourceSave });
}

async function work(scene: UpScene): Promise<number> {
  const { options, changes, applier, refreshTypes, io } = scene;
  const exitCode = await applier.apply(changes, options.paths);
  await refreshTypes();
  if (options.waitMs !== undefined) return exitCode === 0 ? await waitForAll(scene, options.waitMs) : exitCode;
  const applyAgain = oneAtATime(async () => {
    await applier.applyAgain();
    await refreshTypes();
  });
  using _watching = watchManifests(options.paths, io.cwd, { onChange: applyAgain });
  // Saves before the files were watched.
  if (await applier.isStale()) applyAgain();
  if (exitCode === 0) announceReady(scene);
  await untilEnded(scene, untilStopped(io));
  return 0;
}

/** Says once that everything is ready, and what to try next. */
export function announceReady(scene: UpScene): void {
  const { statusWatcher, view, io } = scene;
  void statusWatcher.settled(io.signal).then(
    () => view.say(allReady(scene)),
    () => {},
  );
}

/** Waits until the command is to stop. Rejects when the control plane stops by itself. */
export async function untilEnded({ running, statusWatcher, view }: UpScene, stopped: Promise<unknown>): Promise<void> {
  const broken = running.plane.ended.then(() => undefined);
  await Promise.race([stopped, broken]).catch((error: unknown) => {
    throw new UserError(`the control plane stopped: ${textOf(error)}`, { cause: error });
  });
  statusWatcher.close();
  view.say("Stopping. Stored data is kept.");
}

/** A change that comes while the last one is being applied is handled afterwards, once. */
function oneAtATime(task: () => Promise<void>): () => void {
  let running = false;
  let again = false;
  const start = async (): Promise<void> => {
    running = true;
    do {
      again = false;
      await task();
    } while (again);
    running = false;
  };
  return () => {
    if (running) again = true;
    else void start();
  };
}

/** Exit code 0 when all is ready and all Operations have succeeded in time, 1 with what is not or has failed. */
async function waitForAll(scene: UpScene, waitMs: number): Promise<number> {
  const { statusWatcher, view, io, style, running, applier } = scene;
  const fail = (what: string, lines: readonly string[]): number => {
    io.stderr.write(`${what}:\n${lines.map((line) => `  ${line}\n`).join("")}`);
    return 1;
  };
  const timeout = AbortSignal.timeout(waitMs);
  try {
    const signal = AbortSignal.any([io.signal, timeout]);
    await statusWatcher.settled(signal);
    const failed = await endedOperations(running.client, [...applier.applied], signal);
    if (failed.length > 0) return fail("failed", failed.map(operationLine));
    view.say(`${style.good("✓")} everything is ready`);
    return 0;
  } catch (error) {
    io.signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    const operations = await unfinishedOperations(running.client, [...applier.applied], io.signal);
    const lines = [...unsettledLines(statusWatcher.collect()), ...operations.map(operationLine)];
    return fail(`not ready after ${waitMs / 1000}s`, lines);
  }
}

function operationLine(operation: KubeObject): string {
  return harmlessLine(`Operation ${operation.metadata.name ?? ""}: ${unfinishedText(operation)}`);
}

function allReady({ options, io, style, statusWatcher }: UpScene): string {
  const what = statusWatcher.collect().forest.length === 0 ? "The control plane is ready." : "Everything is ready.";
  return `${style.good("✓")} ${style.strong(what)}\n\n${nextSteps(options.paths, io)}\n\n${style.faint("Press Ctrl-C to stop; stored data is kept.")}\n`;
}

/** Calls back when a manifest under one of the paths is saved, added or removed. Folders are watched with all below. */
export function watchManifests(
  paths: readonly string[],
  cwd: string,
  { onChange, settleMs = usualSettleMs }: { readonly onChange: () => void; readonly settleMs?: number },
): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const changed = (name: string | null, only: string | undefined): void => {
    const matters = only === undefined ? /\.ya?ml$|(^|\/)\.purlinignore$/.test(name ?? "") : name === only;
    if (!matters || (name ?? "").includes("node_modules")) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, settleMs);
  };
  const watchers = paths.map((path) => watchPath(resolve(cwd, path), changed));
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher?.[Symbol.dispose]();
    },
  };
}

function watchPath(path: string, changed: Changed): Disposable | undefined {
  try {
    if (statSync(path).isDirectory()) return watchFolder(path, (name) => changed(name, undefined));
    // A file is watched through its folder, because many editors write a new one and move it over the old one.
    const watcher = watch(dirname(path), (_, name) => changed(name, basename(path)));
    watcher.on("error", () => watcher.close());
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    // Gone since it was read, or more folders than the system watches: saves are not noticed, nothing else is lost.
    return undefined;
  }
}
