// SPDX-License-Identifier: Apache-2.0
import { type Case, line } from "../harness/case.ts";
import { configMap, core, widgets } from "../harness/fixtures.ts";

const nobody = { certPem: undefined, keyPem: undefined, token: undefined };

export const basicsCases: readonly Case[] = [
  line(1, "health without credentials", async (s) => {
    for (const path of ["/readyz", "/livez", "/healthz"]) {
      await s.get(path, { as: nobody, compareHeaders: ["cache-control", "x-content-type-options"] });
    }
    await s.get("/healthz/ping", { as: nobody });
    await s.get("/readyz/nosuchcheck", { as: nobody });
    await s.ask("HEAD", "/healthz", undefined, { as: nobody });
    await s.post("/healthz", {}, { as: nobody });
    const passed = (body: string): string | undefined => body.split("\n").at(-2);
    await s.get("/livez?verbose", { part: passed });
    await s.get("/readyz?verbose=true", { part: passed });
    await s.get("/healthz?exclude=ping", { part: (body) => body });
  }),

  line(2, "version", async (s) => {
    const shape = (body: Record<string, string>): object => ({
      keys: Object.keys(body).sort(),
      types: [...new Set(Object.values(body).map((value) => typeof value))],
      major: body["major"],
      minor: body["minor"],
      gitVersion: /^v1\.36\.\d+/.test(body["gitVersion"] ?? ""),
    });
    await s.get("/version", { part: shape });
    await s.get("/version?timeout=5s", { part: shape });
    await s.get("/version", { as: nobody, part: shape });
  }),

  line(3, "bad and missing credentials", async (s) => {
    await s.get("/api/v1/namespaces", {
      as: { ...nobody, token: "nope" },
      compareHeaders: ["www-authenticate", "cache-control"],
    });
    await s.get("/api/v1/namespaces", { as: nobody, compareHeaders: ["cache-control", "x-content-type-options"] });
    await s.get("/api/v1/namespaces/default", { as: nobody });
    await s.get(core(s, "configmaps"), { as: nobody });
    await s.post(core(s, "configmaps"), configMap("a"), { as: nobody });
    await s.delete(core(s, "configmaps", "a"), undefined, { as: nobody });
    await s.patch(`${widgets(s, "a", "v1")}/status`, "merge", {}, { as: nobody });
    await s.get(`${widgets(s)}?watch=true`, { as: nobody });
    await s.delete(widgets(s), undefined, { as: nobody });
    await s.get("/apis", { as: nobody });
    await s.get("/openapi/v3", { as: nobody });
    await s.get("/healthz", { as: { ...nobody, token: "nope" } });
    await s.get("/nope", { as: nobody });
  }),
];
