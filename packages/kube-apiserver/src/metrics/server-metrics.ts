// SPDX-License-Identifier: Apache-2.0
import { existsSync, readdirSync } from "node:fs";
import type { JsonObject } from "@purlin/kube-objects/json";
import { Counter, Gauge, Registry } from "prom-client";
import type { HealthChecks } from "../endpoints/health.ts";
import { type Catalog, keyPrefix } from "../registry/registry.ts";
import { type ApiRequest, type CompleteResponse, textPayload } from "../request/api-request.ts";
import type { Store } from "../store/store.ts";

const startSeconds = Math.round((Date.now() / 1000 - process.uptime()) * 100) / 100;

const contentType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

interface ServerMetricsOptions {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly health: HealthChecks;
  /** The metrics of requests; those of the server are added. */
  readonly registry: Registry;
  readonly version: JsonObject;
  /** Metrics of the other parts of the process, as text for Prometheus. */
  readonly others?: (() => Promise<string>) | undefined;
}

/** Answers `/metrics`, and `/metrics/slis` with what is well; undefined for other paths. */
export function metricsEndpoint(
  options: ServerMetricsOptions,
): (request: ApiRequest) => Promise<CompleteResponse> | undefined {
  const { registry, others } = options;
  addProcessMetrics(registry);
  addObjectMetrics(options);
  addBuildInfo(options);
  const health = healthMetrics(options.health);
  return ({ path }) => {
    if (path === "/metrics/slis") return health.metrics().then(answer);
    if (path !== "/metrics") return undefined;
    return Promise.all([registry.metrics(), others?.() ?? ""]).then((texts) => answer(texts.join("")));
  };
}

function answer(text: string): CompleteResponse {
  return { kind: "complete", code: 200, payload: textPayload(text, contentType) };
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

interface Description {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

/** Adds a gauge that is computed on each scrape. */
function addGauge(registry: Registry, description: Description, samples: () => Iterable<Sample>): void {
  const gauge = new Gauge({
    ...description,
    labelNames: [...(description.labelNames ?? [])],
    registers: [],
    collect() {
      this.reset();
      for (const [labels, value] of samples()) this.set({ ...labels }, value);
    },
  });
  registry.registerMetric(gauge);
}

function addObjectMetrics({ store, catalog, registry }: ServerMetricsOptions): void {
  const description = {
    name: "apiserver_resource_objects",
    help: "Number of stored objects by kind.",
    labelNames: ["group", "resource"],
  };
  addGauge(registry, description, () =>
    catalog()
      .groups.flatMap(({ versions }) => versions.slice(0, 1).flatMap(({ resources }) => resources))
      .filter(({ verbs }) => verbs.includes("list"))
      .map((type) => {
        const { group, resource } = type;
        return [{ group, resource }, store.list({ prefix: keyPrefix(type, ""), limit: 0 }).remaining];
      }),
  );
}

function addBuildInfo({ version, registry }: ServerMetricsOptions): void {
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
  const labels = Object.fromEntries(
    Object.entries(pairs).map(([label, name]) => [label, String(version[name] ?? "")] as const),
  );
  const description = { name: "kubernetes_build_info", help: "Build information; always 1." };
  addGauge(registry, { ...description, labelNames: Object.keys(pairs) }, () => [[labels, 1]]);
}

function healthMetrics(checks: HealthChecks): Registry {
  const registry = new Registry();
  const description = {
    name: "kubernetes_healthcheck",
    help: "Result of a health check: 1 if it passes, otherwise 0.",
    labelNames: ["name", "type"],
  };
  addGauge(registry, description, () =>
    Object.entries(checks).flatMap(([type, all]) =>
      all.map(({ name, check }): Sample => [{ name, type }, check() === undefined ? 1 : 0]),
    ),
  );
  return registry;
}

/** The process metrics that Prometheus' client libraries have. */
function addProcessMetrics(registry: Registry): void {
  const cpu = new Counter({
    name: "process_cpu_seconds_total",
    help: "Seconds of CPU time used.",
    registers: [],
    collect() {
      this.reset();
      this.inc(cpuSeconds());
    },
  });
  registry.registerMetric(cpu);
  const add = (name: string, help: string, value: () => number): void =>
    addGauge(registry, { name, help }, () => [[{}, value()]]);
  add("process_resident_memory_bytes", "Bytes of memory in use.", () => process.memoryUsage.rss());
  add("process_start_time_seconds", "When the process began, in seconds since 1970.", () => startSeconds);
  if (existsSync(openFiles)) add("process_open_fds", "Open file descriptors.", () => readdirSync(openFiles).length);
}

/** Only Linux has it. */
const openFiles = "/proc/self/fd";

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
