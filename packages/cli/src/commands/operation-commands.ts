// SPDX-License-Identifier: Apache-2.0

import type { CommandSpec } from "../options/command-spec.ts";
import { clusterOptions } from "../options/shared-options.ts";
import { renderFlags } from "../render/render-flags.ts";

/** The flags of `render` that are about composite resources. */
const compositeFlags = ["--include-full-xr", "--observed-resources", "--xrd"];

/** The commands about operations. */
export const operationCommands: readonly CommandSpec[] = [
  {
    name: "operation render",
    summary: "preview what an Operation applies, without a cluster",
    arguments: [
      { name: "<operation>", description: "Operation, CronOperation or WatchOperation" },
      { name: "[functions]", description: "Functions of the pipeline (those in the same file)" },
    ],
    options: [
      { flags: "-o, --include-full-operation", description: "include the spec of the Operation" },
      {
        flags: "-w, --watched-resource <path>",
        description: "object that triggers a WatchOperation",
        repeatable: true,
      },
      ...renderFlags.filter(({ flags }) => !compositeFlags.some((flag) => flags.includes(flag))),
    ],
    load: () => import("../operation/render-command.ts"),
  },
  {
    name: "operation run",
    summary: "run an Operation now and show its result; exit 1 when it fails",
    arguments: [
      { name: "<operation>", description: "Operation, or a CronOperation or WatchOperation for its template" },
    ],
    options: [
      { flags: "--timeout <duration>", description: "how long to wait for the end", default: "5m" },
      ...clusterOptions,
    ],
    load: () => import("../operation/run-command.ts"),
  },
];
