// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, inGroup, ownCrd, ownGroup, widget, widgets, withOwnWidgets } from "../harness/fixtures.ts";

export const readCases: readonly Case[] = [
  scenario("what is not there", async (s) => {
    await s.get(core(s, "configmaps", "missing"), { compareHeaders: ["cache-control"] });
    await s.get(widgets(s, "missing"));
    await s.get("/api/v1/namespaces/no-such-namespace");
    await s.get(inGroup(s, "apps/v1/deployments", "missing"));
    await s.get(`${widgets(s, "missing")}/status`);
    await s.get(`${widgets(s, "missing")}/scale`);
    await s.get(`${core(s, "configmaps", "missing")}/status`);
    await s.get(`${widgets(s, "missing")}/nope`);
    await s.ask("HEAD", core(s, "configmaps", "missing"));
    await s.patch(core(s, "configmaps", "missing"), "merge", {});
    await s.patch(widgets(s, "missing"), "json", []);
    await s.patch(inGroup(s, "apps/v1/deployments", "missing"), "strategic", {});
    await s.put(core(s, "configmaps", "missing"), configMap("missing"));
    await s.get(core(s, "configmaps", "Not_A_Name"));
    await s.get(core(s, "configmaps", "a%2Fb"));
  }),

  scenario("methods a path does not have", async (s) => {
    await s.put(core(s, "configmaps"), configMap("a"));
    await s.patch(core(s, "configmaps"), "merge", {});
    await s.post(core(s, "configmaps", "a"), configMap("a"));
    await s.put(widgets(s), widget("a"));
    await s.patch(widgets(s), "merge", {});
    await s.post(widgets(s, "a"), widget("a"));
    await s.post(`${widgets(s, "a")}/status`, widget("a"));
    await s.delete(`${widgets(s, "a")}/status`);
    await s.delete("/api/v1/configmaps");
    await s.delete("/apis/example.org/v1/widgets");
    await s.delete("/api/v1/namespaces");
    await s.ask("HEAD", core(s, "configmaps"));
    await s.get(`/api/v1/configmaps/a`);
    await s.get(`/apis/example.org/v1/widgets/a`);
  }),

  scenario("get at a version", async (s) => {
    const first = await s.post(core(s, "configmaps"), configMap("a"));
    await s.put(core(s, "configmaps", "a"), configMap("a", { a: "2" }), { quiet: true });
    // resourceVersion=0 may return any version: the cache of the reference may lag behind the change.
    await s.until(`${core(s, "configmaps", "a")}?resourceVersion=0`, ({ body }) => body.data?.a === "2");
    await s.get(`${core(s, "configmaps", "a")}?resourceVersion=0`);
    await s.get(`${core(s, "configmaps", "a")}?resourceVersion=${first.body.metadata.resourceVersion}`);
    await s.get(`${core(s, "configmaps", "a")}?resourceVersion=`);
    await s.get(`${core(s, "configmaps", "a")}?resourceVersion=abc`);
    await s.get(`${core(s, "configmaps", "a")}?resourceVersion=-1`);
    await s.get(`${core(s, "configmaps", "missing")}?resourceVersion=0`);
    await s.get(`${core(s, "configmaps")}?resourceVersion=abc`);
    await s.get(`${core(s, "configmaps")}?resourceVersion=-1`);
    await s.post(widgets(s), widget("a"), { quiet: true });
    await s.get(`${widgets(s, "a")}?resourceVersion=abc`);
    await s.until(`${widgets(s, "a")}?resourceVersion=0`, ({ code }) => code === 200);
    await s.get(`${widgets(s, "a")}?resourceVersion=0`);
    await s.get(`${widgets(s)}?resourceVersion=abc`);
    await s.get(`${core(s, "configmaps", "a")}?resourceVersionMatch=Exact&resourceVersion=1`);
  }),

  scenario("a version from the future", async (s) => {
    const { body } = await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    // Far enough that the other cases do not get there in the three seconds the server waits.
    const future = BigInt(body.metadata.resourceVersion) + 1_000_000n;
    const compareHeaders = ["retry-after"];
    const ask = async (path: string): Promise<void> => {
      const started = performance.now();
      await s.get(path, { compareHeaders });
      s.note("it waited for it", performance.now() - started > 2500);
    };
    await ask(`${core(s, "configmaps", "a")}?resourceVersion=${future}`);
    await ask(`${core(s, "configmaps")}?resourceVersion=${future}`);
    await ask(`${core(s, "configmaps")}?resourceVersion=${future}&resourceVersionMatch=NotOlderThan`);
    await ask(`${widgets(s)}?resourceVersion=${future}`);
  }),

  scenario("metadata only", async (s) => {
    const meta = (as: string, version = "v1"): { accept: string } => ({
      accept: `application/json;as=${as};g=meta.k8s.io;v=${version}`,
    });
    await s.post(
      core(s, "configmaps"),
      { ...configMap("a"), metadata: { name: "a", labels: { l: "1" } } },
      { quiet: true },
    );
    await s.post(widgets(s), widget("a", { size: 1 }, { labels: { l: "1" } }), { quiet: true });
    for (const path of [core(s, "configmaps"), widgets(s)]) {
      await s.get(`${path}/a`, { headers: meta("PartialObjectMetadata") });
      await s.get(`${path}/a`, { headers: meta("PartialObjectMetadata", "v1beta1") });
      await s.get(path, { headers: meta("PartialObjectMetadataList") });
      await s.get(path, { headers: meta("PartialObjectMetadataList", "v1beta1") });
      await s.get(`${path}?limit=1`, { headers: meta("PartialObjectMetadataList") });
      await s.get(path, { headers: meta("PartialObjectMetadata") });
      await s.get(`${path}/a`, { headers: meta("PartialObjectMetadataList") });
      await s.get(`${path}/a`, { headers: meta("PartialObjectMetadata", "v2") });
      await s.get(`${path}/missing`, { headers: meta("PartialObjectMetadata") });
    }
    await s.post(core(s, "configmaps"), configMap("b"), { headers: meta("PartialObjectMetadata") });
    await s.patch(
      core(s, "configmaps", "b"),
      "merge",
      { data: { b: "2" } },
      { headers: meta("PartialObjectMetadata") },
    );
    await s.delete(core(s, "configmaps", "b"), undefined, { headers: meta("PartialObjectMetadata") });
  }),

  scenario("pretty", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.post(widgets(s), widget("a", { free: { empty: {}, list: [], deep: [[1, { a: "<b>&" }]] } }), {
      quiet: true,
    });
    const layout = (text: string): string =>
      text.replaceAll(/"(uid|resourceVersion|creationTimestamp|time)": ?"[^"]*"/g, '"$1": "…"');
    const show = async (path: string, headers: Record<string, string>): Promise<void> => {
      const { text } = await s.get(path, { headers, quiet: true });
      s.note(`layout of ${path} for ${JSON.stringify(headers)}`, layout(text));
    };
    for (const path of [core(s, "configmaps", "a"), widgets(s, "a"), core(s, "configmaps"), widgets(s)]) {
      await show(`${path}?pretty=true`, {});
      await show(path, { "user-agent": "curl/8.0" });
      await show(`${path}?pretty=false`, { "user-agent": "curl/8.0" });
    }
    await show(`${core(s, "configmaps", "a")}?pretty=1`, {});
    await show(`${core(s, "configmaps", "a")}?pretty`, {});
    await show(core(s, "configmaps", "a"), { "user-agent": "Mozilla/5.0 (X11)" });
    await show(core(s, "configmaps", "a"), { "user-agent": "Wget/1.0" });
    await show(core(s, "configmaps", "missing"), { "user-agent": "curl/8.0" });
    await show(core(s, "configmaps", "a"), { "user-agent": "x" });
    await show(widgets(s, "a"), { "user-agent": "x" });
    await show(core(s, "configmaps"), { "user-agent": "x" });
  }),

  scenario("objects of a version that is not served", async (s) => {
    await withOwnWidgets(s, (crd) => {
      crd.spec.versions[1].served = false;
    });
    await s.get(`/apis/${ownGroup(s)}/v1beta1/namespaces/${s.namespace}/widgets`);
    await s.get(`/apis/${ownGroup(s)}/v1beta1`);
    await s.get(ownCrd(s), { part: (body) => body.status.storedVersions });
  }),
];
