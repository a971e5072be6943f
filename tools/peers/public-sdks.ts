// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { lockFolder } from "./lock-folder.ts";
import { npmPeer } from "./npm-peer.ts";
import type { Peer } from "./peer.ts";

/** The public Python SDK, at the version the documents name. */
export const pythonSdk: Peer = {
  name: "crossplane-function-sdk-python",
  version: "0.15.1",
  needs: [
    {
      program: "python3",
      args: ["--version"],
      remedy: "install Python 3.11 or newer (Debian: apt-get install python3)",
    },
    {
      program: "python3",
      args: ["-c", "import venv, ensurepip"],
      remedy: "install venv (Debian: apt-get install python3-venv)",
    },
  ],
  commands: (directory) => [
    { program: "python3", args: ["-m", "venv", directory] },
    {
      program: pythonOf(directory),
      args: pipArguments(lockFolder(pythonSdk.name, pythonSdk.version)),
    },
  ],
  proof: (directory) => ({
    program: pythonOf(directory),
    args: ["-c", `import crossplane.function.cli, importlib.metadata as m; print(m.version("${pythonSdk.name}"))`],
  }),
};

/** The public TypeScript SDK. */
export const typescriptSdk: Peer = npmPeer("@crossplane-org/function-sdk-typescript", "0.7.0");

/** For `python`: installs what a lock pins. No file without a known hash is installed, and no script of a package is run. */
export function pipArguments(lock: string, ...more: readonly string[]): string[] {
  const checked = ["--require-hashes", "--only-binary", ":all:", "-r", join(lock, "requirements.txt")];
  return ["-m", "pip", "install", "--quiet", ...checked, ...more];
}

/** The Python interpreter of an installed Python SDK. */
export function pythonOf(directory: string): string {
  return join(directory, "bin", "python");
}
