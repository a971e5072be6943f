// SPDX-License-Identifier: Apache-2.0
import { readdirSync } from "node:fs";
import { computedFamily, type MetricFamily } from "./metric-family.ts";

/** What Prometheus' own libraries tell of every process. */
export function processMetrics(): readonly MetricFamily[] {
  return [
    one("process_cpu_seconds_total", "Seconds of CPU time used.", () => cpuSeconds(), "counter"),
    one("process_resident_memory_bytes", "Bytes of memory in use.", () => process.memoryUsage.rss()),
    one("process_start_time_seconds", "When the process began, in seconds since 1970.", () => startSeconds),
    computedFamily({ name: "process_open_fds", help: "Open file descriptors.", labels: [] }, openFiles),
  ];
}

const startSeconds = Math.round((Date.now() / 1000 - process.uptime()) * 100) / 100;

function one(name: string, help: string, value: () => number, type: "counter" | "gauge" = "gauge"): MetricFamily {
  return computedFamily({ name, help, labels: [], type }, () => [[[], value()]]);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Only Linux says so. */
function openFiles(): (readonly [readonly string[], number])[] {
  try {
    return [[[], readdirSync("/proc/self/fd").length]];
  } catch {
    return [];
  }
}
