// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findSandbox, type StartFailure, tryImage } from "@purlin/function-process";
import { type BuiltImage, type Platform, platformOfNode, platformText } from "@purlin/oci";
import { commandName } from "../command-name.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import type { Workspace } from "./xpkg-workspace.ts";

/** A function that was built. */
export interface BuiltFunction {
  readonly workspace: Workspace;
  readonly image: BuiltImage;
  readonly name: string;
  readonly platform: Platform;
  /** It brings no program of a platform, and runs on Purlin's own Node. */
  readonly needsNode: boolean;
}

const startMs = 30_000;

/** Starts a function once, and says what came of it. One that does not start is an error. */
export async function tryFunction(built: BuiltFunction, io: Io): Promise<string> {
  const here = platformOfNode(process);
  const { platform, needsNode, name, image, workspace } = built;
  if (!needsNode && (platform.os !== here.os || platform.architecture !== here.architecture)) {
    return `no: this machine is ${platformText(here)}`;
  }
  const directory = await mkdtemp(join(tmpdir(), "purlin-try-"));
  try {
    const sandbox = await findSandbox();
    const failure = await tryImage({ store: workspace.store, image, name, directory, env: io.env, sandbox, startMs });
    if (failure !== undefined) throw refusal(name, failure, io);
    return sandbox.isSupported ? "yes, it answers" : `yes, it answers, without a sandbox: ${sandbox.reason}`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function refusal(name: string, { problem, lines }: StartFailure, io: Io): UserError {
  const wrote = lines.length === 0 ? "" : `\nit wrote:\n${lines.map((line) => `  ${line}`).join("\n")}`;
  const advice = `correct it, or build it without starting it: ${commandName(io.env)} xpkg build --skip-start`;
  return new UserError(`${name} does not start: ${problem}: ${advice}${wrote}`);
}
