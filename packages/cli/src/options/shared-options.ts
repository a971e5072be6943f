// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "./command-spec.ts";

/** The control plane that a command is about. */
export const dataDirOption: OptionSpec = {
  flags: "--data-dir <dir>",
  description: "data directory of purlin up ($PURLIN_DATA_DIR, purlin.yaml, or .purlin here or in a parent)",
};

/** How a command finds the API server it talks to. */
export const clusterOptions: readonly OptionSpec[] = [
  dataDirOption,
  { flags: "--kubeconfig <file>", description: "kubeconfig of another API server ($KUBECONFIG)" },
  { flags: "--context <name>", description: "kubeconfig context (the current context)" },
];

/** How much a function may answer, for every command that runs a control plane. Apart from its reading, so that help stays quick. */
export const functionLimit: OptionSpec = {
  flags: "--function-limit <name=number>",
  description: "limit of a function's response, such as resources=20000",
  repeatable: true,
};

export const selectorOption: OptionSpec = {
  flags: "-l, --selector <labels>",
  description: "label selector, such as app=shop,tier!=test or 'tier in (a,b)'",
};

/** Fields that recorded runs do not contain, for every command that records runs. */
export const redactOption: OptionSpec = {
  flags: "--redact <path>",
  description:
    "hide a field in recorded runs, such as spec.license or context['example.org/token']; repeatable; secrets are always hidden",
  repeatable: true,
};

/** The format of commands that print text for people, or a document for programs. */
export const dataOption: OptionSpec = {
  flags: "-o, --output <format>",
  description: "text, json or yaml",
  default: "text",
};
