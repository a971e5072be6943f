// SPDX-License-Identifier: Apache-2.0
import type { Log } from "@purlin/base";
import type { ApiServer, Authorization } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { startWorkloadSimulator } from "@purlin/workload-simulator";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { simulatorUser } from "./controller-roles.ts";

/** Whether workloads are simulated, or only stored. */
export type WorkloadMode = "simulate" | "off";

/** What the banner says about simulated workloads. */
export const simulationNote = "workloads are simulated: Pods get a status, but no container runs";

/** Reads `--workloads`. */
export function readWorkloads(input: CommandInput, unset: WorkloadMode): WorkloadMode {
  const mode = textOption(input, "workloads") ?? unset;
  if (mode === "simulate" || mode === "off") return mode;
  throw new UserError(`--workloads ${mode}: expected simulate or off`, { exitCode: 2 });
}

/** Simulates the workloads of an embedded server until it is disposed of. */
export async function simulateWorkloads(
  server: ApiServer,
  log: Log,
  authorization: Authorization = "rbac",
): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const client = createKubeClient(
    createDirectTransport(server.handle, simulatorUser(authorization), "kube-controller-manager"),
  );
  starting.defer(() => client.close());
  starting.use(await startWorkloadSimulator({ client, log }));
  const closing = starting.move();
  return { [Symbol.asyncDispose]: () => closing.disposeAsync() };
}
