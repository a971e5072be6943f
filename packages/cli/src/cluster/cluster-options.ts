// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../commands/command-spec.ts";

/** The folder of a control plane, unless told otherwise. */
export const defaultDataDir = ".purlin";

/** How a command finds the API server it talks to. */
export const clusterOptions: readonly OptionSpec[] = [
  {
    flags: "--data-dir <dir>",
    description: "the folder of the control plane that purlin up runs",
    default: defaultDataDir,
  },
  { flags: "--kubeconfig <file>", description: "another API server than that of purlin up" },
  { flags: "--context <name>", description: "another context of the kubeconfig than the current one" },
];
