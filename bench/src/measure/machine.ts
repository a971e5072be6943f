// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";

/** Where figures were measured. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  /** Over the last minute, before the first measurement. Much above 0 means that others were at work. */
  readonly load: number;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

/**
 * Confines this process and all it will start to two cores, so that figures of small and large machines compare. Returns
 * what was done, for the report.
 */
export function useTwoCores(): string {
  if (availableParallelism() <= 2) return "the machine's own two cores";
  const { status } = spawnSync("taskset", ["-apc", "0,1", String(process.pid)], { stdio: "ignore" });
  return status === 0
    ? "cores 0 and 1 (taskset)"
    : "all cores: taskset is missing, so figures of calls are not comparable";
}
