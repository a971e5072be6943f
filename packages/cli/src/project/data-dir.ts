// SPDX-License-Identifier: Apache-2.0
import { dirname, join, resolve } from "node:path";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { findUp, readProjectFile } from "./project-file.ts";

/** The folder of a control plane, unless another is named. */
const defaultDataDir = ".purlin";

/** The folder that `purlin up` keeps its control plane in: --data-dir, $PURLIN_DATA_DIR, purlin.yaml, or .purlin here. */
export function ownDataDir(input: CommandInput, io: Io): string {
  return namedDataDir(input, io) ?? resolve(io.cwd, defaultDataDir);
}

/** The folder of the control plane that a command talks to: as for `purlin up`, and then the nearest .purlin of a parent. */
export function currentDataDir(input: CommandInput, io: Io): string {
  const named = namedDataDir(input, io);
  if (named !== undefined) return named;
  const kubeconfig = findUp(join(defaultDataDir, "kubeconfig"), io.cwd);
  return kubeconfig === undefined ? resolve(io.cwd, defaultDataDir) : dirname(kubeconfig);
}

function namedDataDir(input: CommandInput, io: Io): string | undefined {
  const named = textOption(input, "dataDir") ?? (io.env["PURLIN_DATA_DIR"] || undefined);
  return named === undefined ? readProjectFile(io).dataDir : resolve(io.cwd, named);
}

/** The Docker config with the token of the registry of `purlin up`, in its data directory. Its folder is good for $DOCKER_CONFIG. */
export function dockerConfigPath(directory: string): string {
  return join(directory, "docker", "config.json");
}
