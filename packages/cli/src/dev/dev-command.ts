// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FunctionProcess } from "@purlin/function-process";
import { untilStopped } from "../apiserver/embedded-server.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, readTimeout, textOption } from "../options/command-spec.ts";
import { type KeyActions, keysOf, onKeys, quitKeys } from "../terminal/screen.ts";
import { announceReady, runControlPlane, type UpScene, untilEnded } from "../up/run-control-plane.ts";
import { readUpOptions, type UpOptions } from "../up/up-options.ts";
import { watchManifests } from "../up/watch-files.ts";
import { textOf, UserError } from "../user-error.ts";
import { type ApplyPolicy, createDevLoop, type DevLoop, keyHelp } from "./dev-loop.ts";
import { openDevPreview } from "./dev-preview.ts";

/** `purlin dev [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const policy = readPolicy(textOption(input, "apply") ?? "ask");
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? "30s");
  await using closing = new AsyncDisposableStack();
  const options = { ...readUpOptions(input, io), ...(isSet(input, "fresh") && (await freshDirectory(closing))) };
  let onSourceSave = (process: FunctionProcess): void => process.reload();
  return await runControlPlane(options, io, {
    onSourceSave: (process) => onSourceSave(process),
    async work(scene) {
      const setSaveHandler = (handler: (process: FunctionProcess) => void): void => {
        onSourceSave = handler;
      };
      return await develop(scene, { policy, timeoutMs, hasTests: isSet(input, "test"), setSaveHandler });
    },
  });
}

function readPolicy(text: string): ApplyPolicy {
  if (text === "ask" || text === "on-save") return text;
  throw new UserError(`--apply ${text}: expected ask or on-save`, { exitCode: 2 });
}

async function freshDirectory(closing: AsyncDisposableStack): Promise<Pick<UpOptions, "directory">> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-dev-"));
  closing.defer(() => rm(directory, { recursive: true, force: true }));
  return { directory };
}

interface DevOptions {
  readonly policy: ApplyPolicy;
  /** The time limit of one preview. */
  readonly timeoutMs: number;
  readonly hasTests: boolean;
  readonly setSaveHandler: (handler: (process: FunctionProcess) => void) => void;
}

async function develop(scene: UpScene, dev: DevOptions): Promise<number> {
  const { policy, timeoutMs, hasTests, setSaveHandler } = dev;
  const { options, changes, files, inventory, applier, io, view } = scene;
  // A control plane that has nothing of these files has nothing that a save could change.
  const isFirst = inventory.missingFrom([], options.paths).length === 0;
  if (isFirst && (await applier.apply(changes, options.paths)) === 0) announceReady(scene);
  if (isFirst) await scene.refreshTypes();
  await using preview = openDevPreview(scene, timeoutMs);
  const keys = keysOf(io);
  const runTests = hasTests ? (signal: AbortSignal) => testText(options.paths, { ...io, signal }) : undefined;
  const loop = createDevLoop({ scene, preview, policy, isTerminal: keys !== undefined, runTests });
  setSaveHandler((process) => {
    // Nothing is lost by starting the saved version of a function that does not serve.
    if (process.state.phase === "serving") loop.functionSaved(process.name);
    else process.reload();
  });
  using _watching = watchManifests(options.paths, io.cwd, { onChange: () => loop.saved(), settleMs: 0 });
  const quit = Promise.withResolvers<void>();
  using _keys =
    keys &&
    onKeys(
      keys,
      keyActions(loop, scene, () => quit.resolve()),
    );
  if (keys !== undefined) view.say(`Saves are previewed before they are applied. Keys: ${keyHelp}`);
  if (hasTests || !isFirst || (await files.isStale())) loop.saved();
  try {
    await untilEnded(scene, Promise.race([untilStopped(io), quit.promise]));
    return loop.exitCode;
  } finally {
    loop.close();
  }
}

function keyActions(loop: DevLoop, scene: UpScene, quit: () => void): KeyActions {
  return {
    y: () => loop.apply(),
    n: () => loop.hold(),
    d: () => loop.details(),
    r: () => loop.saved(),
    e: async () => scene.view.say(await explainText(scene)),
    q: quit,
    ...quitKeys(quit),
  };
}

/** What another command prints. */
async function printed(io: Io, command: (io: Io) => Promise<number | undefined>): Promise<string> {
  const texts: string[] = [];
  const sink = {
    ...io.stdout,
    isTTY: false,
    columns: io.stdout.columns,
    write: (text: string) => void texts.push(text),
  };
  try {
    await command({ ...io, stdout: sink, stderr: sink });
  } catch (error) {
    texts.push(`error: ${textOf(error)}\n`);
  }
  return texts.join("").trim();
}

async function testText(paths: readonly string[], io: Io): Promise<string> {
  const { run: runTests } = await import("../test-command/test-command.ts");
  const options = { reporter: "dot", passWithNoTests: true };
  return `tests: ${await printed(io, (own) => runTests({ args: paths, options }, own))}`;
}

async function explainText({ options, io }: UpScene): Promise<string> {
  const { run: explain } = await import("../explain/explain-command.ts");
  return await printed(io, (own) => explain({ args: [], options: { dataDir: options.directory } }, own));
}
