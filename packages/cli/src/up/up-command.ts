// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import { untilStopped } from "../apiserver/embedded-server.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { endedOperations, unfinishedOperations, unfinishedText } from "../operation/operation-state.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { announceReady, runControlPlane, type UpScene, untilEnded } from "./run-control-plane.ts";
import { unsettledLines } from "./status-snapshot.ts";
import { readUpOptions } from "./up-options.ts";
import { watchManifests } from "./watch-files.ts";

/** `purlin up [PATH…]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  return await runControlPlane(readUpOptions(input, io), io, { work });
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
