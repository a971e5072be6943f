// SPDX-License-Identifier: Apache-2.0

import { statSync, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { openLogFile } from "@purlin/function-process";
import { newLogger } from "@purlin/function-sdk";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { untilStopped } from "../apiserver/embedded-server.ts";
import { simulationNote } from "../apiserver/simulated-workloads.ts";
import type { Io } from "../io.ts";
import { skippedLine } from "../manifests/manifest.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import type { ObjectReference } from "../tree/composite-kinds.ts";
import { type CompositeWatch, watchComposites } from "../tree/watch-composites.ts";
import { textOf, UserError } from "../user-error.ts";
import { createFileApplier, type FileApplier } from "./apply-files.ts";
import { type EmbeddedPlane, startEmbeddedPlane } from "./embedded-plane.ts";
import { greeting, kubeconfigWarning, logPath, nextSteps, sandboxWarning } from "./greeting.ts";
import { inventoryPath, openInventory } from "./inventory.ts";
import { createTypesRefresher } from "./refresh-types.ts";
import { type AppliedObject, collectStatus, unsettledLines } from "./status-snapshot.ts";
import { createLiveView, createStatusWatcher, type LiveView, type StatusWatcher } from "./status-watcher.ts";
import { readUpOptions, type UpOptions } from "./up-options.ts";
import { type FileChanges, followFiles, watchFolder } from "./watch-files.ts";
import { type PackageWatch, watchPackages } from "./watch-packages.ts";

/** Editors write a file in several steps, and a branch changes many files; what happens within this time is one change. */
const settleMs = 150;

type Changed = (name: string | null, only: string | undefined) => void;

/** Folders with manifests that the user applies one after the other. */
const byHand: ReadonlySet<string> = new Set(["steps"]);
const logBytes = 4 * 1024 * 1024;

/** `purlin up [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const options = readUpOptions(input, io);
  using view = createLiveView(io);
  const style = createStyle(io.stdout, io.env);
  const onSkipped = (names: readonly string[]): void => view.say(style.faint(skippedLine(names)));
  const files = followFiles(options.paths, io, { except: byHand, onSkipped });
  // Mistakes in files are reported before anything is started.
  const changes = await files.read();
  const statusWatcher = createStatusWatcher();
  await using running = await start(options, { io, view, statusWatcher });
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
  const applier = createFileApplier({
    ...{ client: running.client, files, io, style },
    inventory: await openInventory(inventoryPath(options.directory), io.cwd),
    paths: options.paths,
    prune: options.prune === true,
    say: (text) => view.say(text),
  });
  statusWatcher.collect = () => {
    const awaited = [...applier.applied].flatMap((object) => seenBy(object, composites, packages));
    const { composites: all, pending } = composites;
    const source = { composites: all, pending, packages, find: (to: ObjectReference) => composites.find(to) };
    return collectStatus(source, running.processes.list(), awaited);
  };
  await Promise.all([composites.ready(io.signal), packages.ready(io.signal)]);
  using _showing = statusWatcher.subscribe((snapshot) => view.show(snapshot));
  const refreshTypes = createTypesRefresher({ paths: options.paths, io, style, say: (text) => view.say(text) });
  return await work({ options, changes, running, applier, refreshTypes, view, style, statusWatcher, io });
}

/** Where an applied object will be seen; nowhere for a kind that is not followed. */
function seenBy(object: KubeObject, composites: CompositeWatch, packages: PackageWatch): readonly AppliedObject[] {
  if (packages.has(object)) return [{ object, seen: packages.find }];
  if (!composites.has(object)) return [];
  return [{ object, seen: (one) => composites.find({ ...one, ...keyOf(one) }) }];
}

interface Scene {
  readonly options: UpOptions;
  /** The files as they were before anything was started. */
  readonly changes: FileChanges;
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
  { io, view, statusWatcher }: Pick<Scene, "io" | "view" | "statusWatcher">,
): Promise<EmbeddedPlane> {
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
  return startEmbeddedPlane(options, { io, log, warn, onFunctionChange: statusWatcher.changed });
}

async function work(scene: Scene): Promise<number> {
  const { options, changes, applier, refreshTypes, view, io, running, statusWatcher } = scene;
  const applied = await applier.apply(changes, options.paths);
  await refreshTypes();
  if (options.waitMs !== undefined) return applied ? await waitForAll(scene, options.waitMs) : 1;
  const applyAgain = oneAtATime(async () => {
    await applier.applyAgain();
    await refreshTypes();
  });
  using _watching = watchManifests(options.paths, io.cwd, applyAgain);
  // Saves before the files were watched.
  if (await applier.isStale()) applyAgain();
  if (applied) {
    void statusWatcher.settled(io.signal).then(
      () => view.say(allReady(scene)),
      () => {},
    );
  }
  const broken = running.plane.ended.then(() => undefined);
  await Promise.race([untilStopped(io), broken]).catch((error: unknown) => {
    throw new UserError(`the control plane stopped: ${textOf(error)}`, { cause: error });
  });
  statusWatcher.close();
  view.say("Stopping. Stored data is kept.");
  return 0;
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

/** Exit code 0 when all is ready in time, 1 with what is not. */
async function waitForAll({ statusWatcher, view, io, style }: Scene, waitMs: number): Promise<number> {
  try {
    await statusWatcher.settled(AbortSignal.any([io.signal, AbortSignal.timeout(waitMs)]));
    view.say(`${style.good("✓")} everything is ready`);
    return 0;
  } catch {
    io.signal.throwIfAborted();
    const lines = unsettledLines(statusWatcher.collect());
    io.stderr.write(`not ready after ${waitMs / 1000}s:\n${lines.map((line) => `  ${line}\n`).join("")}`);
    return 1;
  }
}

function allReady({ options, io, style, statusWatcher }: Scene): string {
  const what = statusWatcher.collect().forest.length === 0 ? "The control plane is ready." : "Everything is ready.";
  return `${style.good("✓")} ${style.strong(what)}\n\n${nextSteps(options.paths, io)}\n\n${style.faint("Press Ctrl-C to stop; stored data is kept.")}\n`;
}

/** Calls back when a manifest under one of the paths is saved, added or removed. Folders are watched with all below. */
export function watchManifests(paths: readonly string[], cwd: string, onChange: () => void): Disposable {
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
