// SPDX-License-Identifier: Apache-2.0
import { readdirSync } from "node:fs";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { HealthChecks } from "../endpoints/health.ts";
import type { Catalog } from "../registry/registry.ts";
import { keyPrefix } from "../registry/resource-type.ts";
import type { ApiRequest, CompleteResponse } from "../request/api-request.ts";
import { textPayload } from "../request/payload.ts";
import type { Store } from "../store/store.ts";
import { computedFamily, type MetricFamily, metricsText } from "./metric-family.ts";

const startSeconds = Math.round((Date.now() / 1000 - process.uptime()) * 100) / 100;

const contentType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

interface ServerMetricsOptions {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly health: HealthChecks;
  readonly requests: readonly MetricFamily[];
  readonly version: JsonObject;
  /** Metrics of the other parts of the process, as text for Prometheus. */
  readonly others?: (() => Promise<string>) | undefined;
}

/** Answers `/metrics`, and `/metrics/slis` with what is well; undefined for other paths. */
export function metricsEndpoint(
  options: ServerMetricsOptions,
): (request: ApiRequest) => CompleteResponse | Promise<CompleteResponse> | undefined {
  const { requests, version, others } = options;
  const families = [...requests, ...processMetrics(), objectMetrics(options), buildInfo(version)];
  const health = healthMetrics(options.health);
  return ({ path }) => {
    if (path === "/metrics/slis") return answer(metricsText([health]));
    if (path !== "/metrics") return undefined;
    return others === undefined ? answer(metricsText(families)) : withOthers(metricsText(families), others);
  };
}

async function withOthers(own: string, others: () => Promise<string>): Promise<CompleteResponse> {
  return answer(`${own}${await others()}`);
}

function answer(text: string): CompleteResponse {
  return { kind: "complete", code: 200, payload: textPayload(text, contentType) };
}

function objectMetrics({ store, catalog }: ServerMetricsOptions): MetricFamily {
  const options = {
    name: "apiserver_resource_objects",
    help: "Number of stored objects by kind.",
    labels: ["group", "resource"],
  };
  return computedFamily(options, () =>
    catalog()
      .groups.flatMap(({ versions }) => versions.slice(0, 1).flatMap(({ resources }) => resources))
      .filter(({ verbs }) => verbs.includes("list"))
      .map(
        (type) =>
          [[type.group, type.resource], store.list({ prefix: keyPrefix(type, ""), limit: 0 }).remaining] as const,
      ),
  );
}

function buildInfo(version: JsonObject): MetricFamily {
  const pairs = {
    build_date: "buildDate",
    compiler: "compiler",
    git_commit: "gitCommit",
    git_tree_state: "gitTreeState",
    git_version: "gitVersion",
    go_version: "goVersion",
    major: "major",
    minor: "minor",
    platform: "platform",
  };
  const labels = Object.keys(pairs);
  const values = Object.values(pairs).map((name) => String(version[name] ?? ""));
  return computedFamily({ name: "kubernetes_build_info", help: "Build information; always 1.", labels }, () => [
    [values, 1],
  ]);
}

function healthMetrics(checks: HealthChecks): MetricFamily {
  const options = {
    name: "kubernetes_healthcheck",
    help: "Result of a health check: 1 if it passes, otherwise 0.",
    labels: ["name", "type"],
  };
  return computedFamily(options, () =>
    Object.entries(checks).flatMap(([type, all]) =>
      all.map(({ name, check }) => [[name, type], check() === undefined ? 1 : 0] as const),
    ),
  );
}

/** What Prometheus' own libraries tell of every process. */
function processMetrics(): readonly MetricFamily[] {
  return [
    one({ name: "process_cpu_seconds_total", help: "Seconds of CPU time used.", type: "counter" }, () => cpuSeconds()),
    one({ name: "process_resident_memory_bytes", help: "Bytes of memory in use." }, () => process.memoryUsage.rss()),
    one(
      { name: "process_start_time_seconds", help: "When the process began, in seconds since 1970." },
      () => startSeconds,
    ),
    computedFamily({ name: "process_open_fds", help: "Open file descriptors.", labels: [] }, openFiles),
  ];
}

function one(
  { name, help, type = "gauge" }: { readonly name: string; readonly help: string; readonly type?: "counter" | "gauge" },
  value: () => number,
): MetricFamily {
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
