// SPDX-License-Identifier: Apache-2.0
import { join, relative } from "node:path";
import { type FunctionLog, functionLogFolder, listFunctionLogs } from "@purlin/function-process";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** Whose logs are wanted. */
export interface WantedLogs {
  /** The folder of the control plane, absolute. */
  readonly dataDir: string;
  readonly functionName: string;
  /** All revisions without it. */
  readonly revision: string | undefined;
}

/** The logs that are wanted, those written last coming last. */
export async function wantedLogs({ dataDir, functionName, revision }: WantedLogs): Promise<readonly FunctionLog[]> {
  const all = await listFunctionLogs(join(dataDir, "functions", functionLogFolder));
  const own = all.filter((log) => log.functionName === functionName);
  return revision === undefined ? own : own.filter((log) => log.revision === revision);
}

/** Says why there are no logs, and which there are. */
export async function explainNoLogs(wanted: WantedLogs, io: Io): Promise<never> {
  const { dataDir, functionName, revision } = wanted;
  const folder = relative(io.cwd, dataDir) || ".";
  const revisions = await wantedLogs({ ...wanted, revision: undefined });
  if (revision !== undefined && revisions.length > 0) {
    const names = listed(revisions.map((log) => log.revision));
    throw new UserError(`revision "${revision}" of function "${functionName}" has not run here; these have: ${names}`);
  }
  const all = await listFunctionLogs(join(dataDir, "functions", functionLogFolder));
  if (all.length === 0) {
    const advice = "start a control plane with purlin up, or name its folder with --data-dir";
    throw new UserError(`no function has run in ${folder}: ${advice}; on a cluster use kubectl logs`);
  }
  const names = listed(all.map((log) => log.functionName));
  throw new UserError(`function "${functionName}" has not run in ${folder}; these have: ${names}`);
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(", ");
}
