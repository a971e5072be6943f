// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";

/** Checks that both servers make; the reference makes many more, of parts an embedded server does not have. */
const sharedChecks = [
  "ping",
  "etcd",
  "etcd-readiness",
  "informer-sync",
  "poststarthook/start-apiextensions-controllers",
  "poststarthook/crd-informer-synced",
  "poststarthook/start-system-namespaces-controller",
  "poststarthook/rbac/bootstrap-roles",
  "shutdown",
];

const sharedLines = (body: Loose): string[] =>
  String(body)
    .split("\n")
    .filter((row) => !row.startsWith("[") || sharedChecks.some((name) => row.slice(3).startsWith(`${name} `)));

/** Metrics that both servers have. */
const sharedMetrics = [
  "apiserver_current_inflight_requests",
  "apiserver_longrunning_requests",
  "apiserver_request_duration_seconds",
  "apiserver_request_total",
  "apiserver_resource_objects",
  "apiserver_response_sizes",
  "kubernetes_build_info",
  "process_cpu_seconds_total",
  "process_open_fds",
  "process_resident_memory_bytes",
  "process_start_time_seconds",
];

/** The type of a family and the labels of its samples, whose order has no meaning. */
function familyOf(text: string, name: string): object {
  const sample = text.split("\n").find((row) => new RegExp(`^${name}(_bucket)?[{ ]`).test(row)) ?? "";
  const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label);
  return { type: new RegExp(`^# TYPE ${name} (\\w+)$`, "m").exec(text)?.[1], labels: labels.sort() };
}

const documents = ["/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/apis/example.org/v1"];

export const pathCases: readonly Case[] = [
  scenario("health, check by check", async (s) => {
    for (const endpoint of ["livez", "readyz", "healthz"]) {
      await s.get(`/${endpoint}?verbose`, { part: sharedLines });
      for (const check of [...sharedChecks, "nope", "", "ping/"]) await s.get(`/${endpoint}/${check}`);
      await s.get(`/${endpoint}/etcd?verbose`);
      await s.get(`/${endpoint}?verbose=false&exclude=etcd&exclude=ping`, { part: sharedLines });
      await s.get(`/${endpoint}?verbose&exclude=nope&exclude=other`, { part: sharedLines });
      await s.get(`/${endpoint}?exclude=nope`);
      for (const method of ["POST", "HEAD", "DELETE"]) await s.ask(method, `/${endpoint}`);
    }
  }),

  scenario("metrics", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    const watch = await s.watch(`${core(s, "configmaps")}?watch=true`);
    await s.get(core(s, "configmaps", "a"), { quiet: true });
    const { text } = await s.get("/metrics", { part: () => undefined });
    watch.close();
    for (const name of sharedMetrics) s.note(name, familyOf(text, name));
    const counted = text.split("\n").filter((row) => row.startsWith("apiserver_request_total{"));
    const own = counted.filter((row) => row.includes('resource="configmaps"') && row.includes('code="201"'));
    s.note("a request that was counted", own.length > 0);
    await s.get("/metrics", { as: { certPem: undefined, keyPem: undefined }, part: (body) => body.message });
    await s.get("/metrics/slis", { part: (body) => familyOf(String(body), "kubernetes_healthcheck") });
    await s.get("/metrics/");
  }),

  scenario("methods and forms of paths", async (s) => {
    const kind = (body: Loose): Loose => body.kind ?? typeof body;
    for (const path of documents) {
      for (const method of ["POST", "HEAD", "DELETE", "PUT"]) await s.ask(method, path, undefined, { part: kind });
      for (const accept of ["text/html", "application/*", "application/yaml;q=0.5, text/html"]) {
        await s.get(path, {
          headers: { accept },
          title: `GET ${path} accepting ${accept}`,
          part: (body) => body.message ?? kind(body),
        });
      }
    }
    const layout = await s.get("/version", { quiet: true });
    s.note("the version is for people", /^\{\n {2}"major": "1",\n.*\n\}$/s.test(layout.text));
  }),

  scenario("what resources produce", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    const headers = { accept: "text/html" };
    for (const path of [core(s, "configmaps"), core(s, "configmaps", "a"), widgets(s), widgets(s, "a")]) {
      await s.get(path, { headers });
      await s.get(path, { headers: { accept: "application/*" }, part: (body) => body.kind });
      await s.delete(path, undefined, { headers });
    }
    await s.post(core(s, "configmaps"), configMap("b"), { headers });
    await s.put(core(s, "configmaps", "a"), configMap("a"), { headers });
    await s.patch(
      core(s, "configmaps", "a"),
      "merge",
      {},
      { headers: { ...headers, "content-type": "application/merge-patch+json" } },
    );
    await s.patch(core(s, "configmaps", "a"), "merge", {}, { headers: { ...headers, "content-type": "text/plain" } });
    await s.get(`${core(s, "configmaps")}?watch=true&timeoutSeconds=1`, { headers });
  }),
];
