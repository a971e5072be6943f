// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, widgets } from "../harness/fixtures.ts";

const anonymous = { certPem: undefined, keyPem: undefined, token: undefined };

export const basicsCases: readonly Case[] = [
  scenario("health without credentials", async (s) => {
    for (const path of ["/readyz", "/livez", "/healthz"]) {
      await s.get(path, { as: anonymous, compareHeaders: ["cache-control", "x-content-type-options"] });
    }
    await s.get("/healthz/ping", { as: anonymous });
    await s.get("/readyz/nosuchcheck", { as: anonymous });
    await s.ask("HEAD", "/healthz", undefined, { as: anonymous });
    await s.post("/healthz", {}, { as: anonymous });
    const passed = (body: string): string | undefined => body.split("\n").at(-2);
    await s.get("/livez?verbose", { part: passed });
    await s.get("/readyz?verbose=true", { part: passed });
    await s.get("/healthz?exclude=ping", { part: (body) => body });
  }),

  scenario("version", async (s) => {
    const shape = (body: Record<string, string>): object => ({
      keys: Object.keys(body).sort(),
      types: [...new Set(Object.values(body).map((value) => typeof value))],
      major: body["major"],
      minor: body["minor"],
      gitVersion: /^v1\.36\.\d+/.test(body["gitVersion"] ?? ""),
    });
    await s.get("/version", { part: shape });
    await s.get("/version?timeout=5s", { part: shape });
    await s.get("/version", { as: anonymous, part: shape });
  }),

  scenario("bad and missing credentials", async (s) => {
    await s.get("/api/v1/namespaces", {
      as: { ...anonymous, token: "nope" },
      compareHeaders: ["www-authenticate", "cache-control"],
    });
    await s.get("/api/v1/namespaces", { as: anonymous, compareHeaders: ["cache-control", "x-content-type-options"] });
    await s.get("/api/v1/namespaces/default", { as: anonymous });
    await s.get(core(s, "configmaps"), { as: anonymous });
    await s.post(core(s, "configmaps"), configMap("a"), { as: anonymous });
    await s.delete(core(s, "configmaps", "a"), undefined, { as: anonymous });
    await s.patch(`${widgets(s, "a", "v1")}/status`, "merge", {}, { as: anonymous });
    await s.get(`${widgets(s)}?watch=true`, { as: anonymous });
    await s.delete(widgets(s), undefined, { as: anonymous });
    await s.get("/apis", { as: anonymous });
    await s.get("/openapi/v3", { as: anonymous });
    await s.get("/healthz", { as: { ...anonymous, token: "nope" } });
    await s.get("/nope", { as: anonymous });
  }),
];
