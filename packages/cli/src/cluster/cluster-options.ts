// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../commands/command-spec.ts";

/** The control plane that a command is about. */
export const dataDirOption: OptionSpec = {
  flags: "--data-dir <dir>",
  description:
    "the folder of the control plane that purlin up runs ($PURLIN_DATA_DIR, purlin.yaml, or .purlin here or in a parent)",
};

/** How a command finds the API server it talks to. */
export const clusterOptions: readonly OptionSpec[] = [
  dataDirOption,
  { flags: "--kubeconfig <file>", description: "use another API server than that of purlin up ($KUBECONFIG)" },
  { flags: "--context <name>", description: "the context of the kubeconfig, instead of the current one" },
];
