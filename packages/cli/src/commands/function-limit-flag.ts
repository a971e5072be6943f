// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "./command-spec.ts";

/** How much a function may answer, for every command that runs a control plane. Apart from its reading, so that help stays quick. */
export const functionLimit: OptionSpec = {
  flags: "--function-limit <name=number>",
  description: "how much a function may answer, such as resources=20000",
  repeatable: true,
};
