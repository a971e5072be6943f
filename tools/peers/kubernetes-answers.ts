// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { kubernetes } from "./kubernetes.ts";
import { lockFolder } from "./lock-folder.ts";
import type { Peer } from "./peer.ts";
import { sourceDigest } from "./source-digest.ts";

const sources = join(import.meta.dirname, "..", "record", "go");

/** A program of ours around the libraries of the Kubernetes release of {@link kubernetes}: the recorder asks it. */
export const kubernetesAnswers: Peer = {
  name: `kubernetes-answers-${sourceDigest(sources)}`,
  // The libraries of Kubernetes 1.36.3 are released as 0.36.3.
  version: `0.${kubernetes.version.slice(2)}`,
  needs: kubernetes.needs,
  commands: (directory) => {
    const module = join(directory, "module");
    const released = lockFolder(kubernetes.name, kubernetes.version);
    return [
      { program: "cp", args: ["-r", sources, module] },
      { program: "cp", args: [join(released, "go.mod"), join(released, "go.sum"), module] },
      {
        program: "nice",
        args: ["-n", "10", "go", "build", "-mod=readonly", "-p", "2", "-o", answersIn(directory), "."],
        directory: module,
      },
    ];
  },
  proof: (directory) => ({ program: "go", args: ["version", "-m", answersIn(directory)] }),
};

/** The installed program. */
export function answersIn(directory: string): string {
  return join(directory, "answers");
}
