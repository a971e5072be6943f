// SPDX-License-Identifier: Apache-2.0
// Clients of the Kubernetes API that other people wrote, and that our API server must serve unchanged.
import { join } from "node:path";
import { lockFolder } from "./lock-folder.ts";
import { npmPeer } from "./npm-peer.ts";
import type { Need, Peer } from "./peer.ts";
import { pipArguments } from "./public-sdks.ts";
import { sourceDigest } from "./source-digest.ts";

const go: Need = {
  program: "go",
  args: ["version"],
  remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
};

/** Helm, the package manager. It brings a newer client-go than the release of Kubernetes we follow. */
export const helm: Peer = {
  name: "helm",
  version: "4.3.1",
  needs: [go],
  commands: (directory) => [
    {
      program: "nice",
      args: ["-n", "15", "go", "install", "-p", "1", `helm.sh/helm/v4/cmd/helm@v${helm.version}`],
      env: { GOBIN: directory },
    },
  ],
  // A binary made by `go install` does not know its own version; Go does.
  proof: (directory) => ({ program: "go", args: ["version", "-m", join(directory, "helm")] }),
};

const controllerSources = join(import.meta.dirname, "..", "..", "test", "interop", "apiserver", "go-controller");

/** A controller on controller-runtime, the library most controllers are written with. */
export const goController: Peer = {
  // Its sources are part of the name: after a change of them, the old program is another peer.
  name: `controller-runtime-${sourceDigest(controllerSources)}`,
  version: "0.24.1",
  needs: [go],
  commands: (directory) => [
    {
      program: "nice",
      args: ["-n", "15", "go", "build", "-p", "1", "-ldflags", "-s -w", "-o", goControllerIn(directory), "."],
      directory: controllerSources,
      // It is also the program of a package, whose image has no libraries.
      env: { CGO_ENABLED: "0" },
    },
  ],
  proof: (directory) => ({ program: "go", args: ["version", "-m", goControllerIn(directory)] }),
};

/** The official Python client. */
export const pythonClient: Peer = {
  name: "kubernetes-python",
  version: "36.0.3",
  needs: [
    {
      program: "python3",
      args: ["-c", "import venv, ensurepip"],
      remedy: "install Python 3.11 or newer with venv (Debian: apt-get install python3 python3-venv)",
    },
  ],
  commands: (directory) => [
    { program: "python3", args: ["-m", "venv", directory] },
    {
      program: join(directory, "bin", "python"),
      args: pipArguments(lockFolder(pythonClient.name, pythonClient.version)),
    },
  ],
  proof: (directory) => ({
    program: join(directory, "bin", "python"),
    args: ["-c", "import kubernetes.dynamic, kubernetes; print(kubernetes.__version__)"],
  }),
};

/** The official JavaScript client. */
export const javascriptClient: Peer = npmPeer("@kubernetes/client-node", "2.0.1");

/** All of them. */
export const kubeClients: readonly Peer[] = [helm, goController, pythonClient, javascriptClient];

/** The program of an installed controller. */
export function goControllerIn(directory: string): string {
  return join(directory, "controller");
}
