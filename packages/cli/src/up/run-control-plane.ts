// SPDX-License-Identifier: Apache-2.0
// A control plane from its start to its end, for the commands that run one: what it prints, and what it shows while it runs.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { explainAll, type ObjectRef } from "@purlin/explain";
import { type FunctionProcess, openLogFile, type SandboxSupport } from "@purlin/function-process";
import { newLogger } from "@purlin/function-sdk";
import { printJson } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { simulationNote } from "../apiserver/server-options.ts";
import { kubeconfigVariable } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import { harmlessLine } from "../harmless.ts";
import { terminalText } from "../help/help-text.ts";
import type { Io } from "../io.ts";
import { listed, type Manifest, skippedLine } from "../manifests/manifest.ts";
import { usualDataDir } from "../project/project-file.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { type CompositeWatch, watchComposites } from "../tree/watch-composites.ts";
import { asInput, textOf, UserError } from "../user-error.ts";
import { createFileApplier, type FileApplier, type Inventory, inventoryPath, openInventory } from "./apply-files.ts";
import { type EmbeddedPlane, startEmbeddedPlane } from "./embedded-plane.ts";
import { type AppliedObject, collectStatus, type PackageWatch, watchPackages } from "./status-snapshot.ts";
import {
  createLiveView,
  createStatusWatcher,
  type LiveView,
  type StatusWatcher,
  showCauses,
} from "./status-watcher.ts";
import type { UpOptions } from "./up-options.ts";
import { type FileChanges, type FollowedFiles, followFiles } from "./watch-files.ts";

/** Folders with manifests that the user applies one after the other. */
const byHand: ReadonlySet<string> = new Set(["steps"]);
const logBytes = 4 * 1024 * 1024;

/** What a command does with a control plane that runs. */
interface PlaneWork {
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

function allReady({ options, io, style, statusWatcher }: UpScene): string {
  const what = statusWatcher.collect().forest.length === 0 ? "The control plane is ready." : "Everything is ready.";
  return `${style.good("✓")} ${style.strong(what)}\n\n${nextSteps(options.paths, options.directory, io)}\n\n${style.faint("Press Ctrl-C to stop; stored data is kept.")}\n`;
}

/** A file beside manifests that says what to try once they are ready. */
const nextFile = "NEXT.md";

/** Where the control plane is and how to reach it. */
export function greeting(
  { url, kubeconfig }: { readonly url: string; readonly kubeconfig: string },
  style: Style,
  io: Io,
): string {
  const shown = shortest(io.cwd, kubeconfig);
  return `${style.good("✓")} control plane at ${style.strong(url)} ${style.faint(`(kubeconfig ${shown})`)}`;
}

/** Says that functions of packages see this machine; undefined where they do not. */
export function sandboxWarning(sandbox: SandboxSupport, style: Style): string | undefined {
  if (sandbox.isSupported) return undefined;
  const where = sandbox.network === undefined ? " they share this machine's network;" : "";
  const advice = "install bubblewrap to isolate them";
  return `${style.doubtful("!")} functions of packages run without a sandbox: ${sandbox.reason};${where} ${advice}`;
}

/** Says that other commands, which prefer $KUBECONFIG, will not reach this control plane; undefined where they will. */
export function kubeconfigWarning(kubeconfig: string, style: Style, io: Io): string | undefined {
  const [first] = kubeconfigVariable(io) ?? [];
  if (first === undefined || first === resolve(kubeconfig)) return undefined;
  const advice = `run "unset KUBECONFIG" there, or add --data-dir ${shortest(io.cwd, dirname(kubeconfig))}`;
  return `${style.doubtful("!")} $KUBECONFIG is set: other commands use it instead of this control plane; ${advice}`;
}

/**
 * What to do once everything is ready: what the manifests' authors suggest, else what is always possible. Commands of another terminal
 * have to be given a data directory that they do not find by themselves.
 */
export function nextSteps(paths: readonly string[], directory: string, io: Io): string {
  const place = shortest(io.cwd, directory);
  const advice = `These commands need the data directory: add --data-dir ${place}, or first run "export PURLIN_DATA_DIR=${place}".`;
  const steps = suggestedSteps(paths, place, io);
  return directory === usualDataDir(io) ? steps : `${steps}\n\n${advice}`;
}

function suggestedSteps(paths: readonly string[], place: string, io: Io): string {
  const files = paths.map((path) => resolve(io.cwd, path, nextFile)).filter((file) => existsSync(file));
  const textIn = (file: string): string =>
    readFileSync(file, "utf8").replaceAll(".purlin/kubeconfig", () => join(place, "kubeconfig"));
  if (files.length > 0) return files.map((file) => terminalText(textIn(file), io.stdout.columns)).join("\n\n");
  const purlin = commandName(io.env);
  return `From another terminal:

  ${purlin} trace            # show claims and composite resources
  ${purlin} apply FILE…      # apply more manifests
  ${purlin} get TYPE         # list objects, as kubectl get does`;
}

function shortest(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short.startsWith("..") ? path : short;
}

/** The path of the log of a control plane. */
export function logPath(directory: string): string {
  return join(directory, "purlin.log");
}

/** What refreshing types depends on. */
interface TypesRefresherDeps {
  /** The files and folders of the command line. */
  readonly paths: readonly string[];
  readonly io: Io;
  readonly style: Style;
  readonly say: (text: string) => void;
}

const folderName = "types";

/**
 * Makes the function that keeps generated types in step with the definitions of a project: those in the folder `types` of this folder
 * and of the folders of the command line. Where there is no such folder it does nothing. It never rejects.
 */
export function createTypesRefresher({ paths, io, style, say }: TypesRefresherDeps): () => Promise<void> {
  const folders = new Set(["", ...paths].map((path) => resolve(io.cwd, path, folderName)));
  const known = new Map<string, string>();
  const reported = new Map<string, string>();
  const refreshOne = async (folder: string): Promise<void> => {
    const { findProjectTypes, readDefinitions, writeProjectTypes } = await import("../types/project-types.ts");
    const project = await findProjectTypes(folder, io);
    if (project === undefined) return;
    const state = digestOf(await readDefinitions(project, io));
    if (known.get(folder) === state) return;
    const { written, removed } = await writeProjectTypes(project, io);
    known.set(folder, state);
    const changed = [...written, ...removed].map((file) => join(project.shown, file));
    if (changed.length > 0) say(`${style.good("✓")} refreshed ${listed(changed)}`);
  };
  return async () => {
    for (const folder of folders) {
      // The generator is loaded only where it is needed.
      if (!existsSync(join(folder, "meta"))) continue;
      try {
        await refreshOne(folder);
        reported.delete(folder);
      } catch (error) {
        const problem = harmlessLine(textOf(error));
        // The same mistake is reported once.
        if (io.signal.aborted || reported.get(folder) === problem) continue;
        reported.set(folder, problem);
        say(`${style.doubtful("!")} types not refreshed: ${problem}`);
      }
    }
  };
}

function digestOf(definitions: readonly Manifest[]): string {
  const hash = createHash("sha256");
  for (const { object } of definitions) hash.update(`${printJson(object)}\n`);
  return hash.digest("base64");
}
