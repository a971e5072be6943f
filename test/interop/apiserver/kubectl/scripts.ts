// SPDX-License-Identifier: Apache-2.0
import { apply } from "./apply.ts";
import { cluster } from "./cluster.ts";
import { customResources } from "./custom-resources.ts";
import { deletion } from "./deletion.ts";
import { objects } from "./objects.ts";
import { serverSideApply } from "./server-side-apply.ts";
import type { Script } from "./step.ts";
import { waiting } from "./waiting.ts";
import { watching } from "./watching.ts";
import { workloads } from "./workloads.ts";

/** Everything we have kubectl do, in the order of a first day with a cluster. */
export const scripts: readonly Script[] = [
  cluster,
  objects,
  apply,
  serverSideApply,
  workloads,
  waiting,
  watching,
  deletion,
  customResources,
];
