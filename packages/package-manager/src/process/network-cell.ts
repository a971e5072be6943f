// SPDX-License-Identifier: Apache-2.0
import type { Writable } from "node:stream";
import { connectorProgram } from "../sandbox/connector-program.ts";
import { cellArguments } from "../sandbox/sandbox-arguments.ts";
import { type GuardedProcess, spawnGuarded } from "./guarded-process.ts";
import { defaultPath } from "./image-process.ts";

/** A private network with a connector in it, for one function. */
export interface NetworkCell {
  readonly process: GuardedProcess;
  /** Starts the function, by a command as a shell reads it. Once. */
  start(command: string): void;
}

/** Functions listen here unless they are told otherwise, and some cannot be told. */
const defaultPort = "9443";

/** Opens a cell. It ends with its function, and with this process. */
export function openCell(sandbox: string): NetworkCell {
  const args = cellArguments({ node: process.execPath, program: connectorProgram, port: defaultPort });
  const program = { command: sandbox, args, cwd: "/", env: { PATH: defaultPath } };
  const guarded = spawnGuarded(program, { channel: true, inlet: true });
  const inlet = guarded.child.stdio?.[4] as Writable | null | undefined;
  // A cell that ended before it was told anything says so by its end.
  inlet?.on("error", () => {});
  return { process: guarded, start: (command) => void inlet?.end(command) };
}
