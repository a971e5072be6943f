// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, inGroup, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const names = (list: Loose): Loose => list.items?.map((item: Loose) => item.metadata.name) ?? list;

async function withConfigMaps(s: Session, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await s.post(
      core(s, "configmaps"),
      { metadata: { name: `cm-${n}`, labels: { odd: String(n % 2 === 1) } } },
      { quiet: true },
    );
  }
}

const paging = ({ metadata }: Loose): Loose => ({ ...metadata, resourceVersion: undefined });

/** What a token holds: clients must not look, but a token of the reference's form can be read by its tools. */
function tokenShape(token: string): Loose {
  const { rv, ...rest } = JSON.parse(Buffer.from(token, "base64url").toString());
  return { ...rest, rv: typeof rv, padded: token.includes("=") };
}

export const listCases: readonly Case[] = [
  scenario("the shape of lists", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.post(core(s, "configmaps"), configMap("b"), { quiet: true });
    await s.post(widgets(s), widget("a"), { quiet: true });
    const list = await s.get(core(s, "configmaps"), { compareHeaders: ["cache-control"] });
    const newest = Math.max(...list.body.items.map((item: Loose) => Number(item.metadata.resourceVersion)));
    s.note("the list is not older than its items", Number(list.body.metadata.resourceVersion) >= newest);
    await s.get(widgets(s));
    await s.get(widgets(s, "", "v1beta1"));
    await s.get(inGroup(s, "apps/v1/deployments"));
    await s.get(inGroup(s, "coordination.k8s.io/v1/leases"));
  }),

  scenario("empty lists", async (s) => {
    for (const path of [
      core(s, "configmaps"),
      core(s, "secrets"),
      core(s, "services"),
      core(s, "events"),
      core(s, "endpoints"),
      core(s, "pods"),
      widgets(s),
    ])
      await s.get(path);
    for (const path of [
      "apps/v1/replicasets",
      "apps/v1/statefulsets",
      "apps/v1/daemonsets",
      "batch/v1/jobs",
      "batch/v1/cronjobs",
      "events.k8s.io/v1/events",
      "rbac.authorization.k8s.io/v1/roles",
      "rbac.authorization.k8s.io/v1/rolebindings",
      "discovery.k8s.io/v1/endpointslices",
    ]) {
      await s.get(inGroup(s, path));
    }
    await s.get(`${core(s, "configmaps")}?limit=5`);
    await s.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations");
    await s.get("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations");
  }),

  scenario("lists of all namespaces are in byte order", async (s) => {
    const spaces = ["-b", "", "-a0", "-a-"].map((suffix) =>
      `${s.namespace.slice(0, 30)}x${suffix}`.replace(/-$/, "-z"),
    );
    for (const name of spaces) await s.post("/api/v1/namespaces", { metadata: { name } }, { quiet: true });
    const all = ["a", "a-", "a.b", "a0", "aa", "b", "0", "a-b", "a1", "a10", "a2"].filter(
      (name) => !name.endsWith("-"),
    );
    for (const namespace of spaces) {
      const there = { namespace } as Session;
      for (const name of all.toReversed()) {
        await s.post(
          core(there, "configmaps"),
          { metadata: { name, labels: { case: "byte-order" } } },
          { quiet: true },
        );
        await s.post(widgets(there), widget(name, {}, { labels: { case: "byte-order" } }), { quiet: true });
      }
    }
    const keys = (list: Loose): Loose =>
      list.items.map((item: Loose) => `${item.metadata.namespace}/${item.metadata.name}`);
    await s.get("/api/v1/configmaps?labelSelector=case%3Dbyte-order", { part: keys });
    await s.get("/apis/example.org/v1/widgets?labelSelector=case%3Dbyte-order", { part: keys });
    await s.get("/apis/example.org/v1/widgets?labelSelector=case%3Dbyte-order&limit=7", { part: keys });
    await s.get("/api/v1/configmaps?labelSelector=case%3Dbyte-order&limit=13", { part: keys });
  }),

  scenario("pages", async (s) => {
    await withConfigMaps(s, 5);
    const path = core(s, "configmaps");
    const first = await s.get(`${path}?limit=2`);
    s.note("the token", tokenShape(first.body.metadata.continue));
    await s.post(path, configMap("cm-2-later"), { quiet: true });
    await s.delete(core(s, "configmaps", "cm-5"), undefined, { quiet: true });
    await s.patch(core(s, "configmaps", "cm-4"), "merge", { data: { changed: "yes" } }, { quiet: true });
    const second = await s.get(`${path}?limit=2&continue=${first.body.metadata.continue}`);
    s.note("the token", tokenShape(second.body.metadata.continue));
    const last = await s.get(`${path}?limit=2&continue=${second.body.metadata.continue}`);
    s.note(
      "all pages are of one version",
      new Set([first, second, last].map(({ body }) => body.metadata.resourceVersion)).size,
    );
    await s.get(`${path}?continue=${first.body.metadata.continue}`);
    await s.get(`${path}?limit=2`, { part: names });
    await s.get(`${path}?limit=5`, { part: paging });
    await s.get(`${path}?limit=100`, { part: paging });
    await s.get(`${path}?limit=0`, { part: paging });
  }),

  scenario("pages of custom objects and of all namespaces", async (s) => {
    for (let n = 1; n <= 4; n += 1)
      await s.post(widgets(s), widget(`w-${n}`, { size: n }, { labels: { page: "yes" } }), { quiet: true });
    const first = await s.get(`${widgets(s)}?limit=3`);
    await s.get(`${widgets(s)}?limit=3&continue=${first.body.metadata.continue}`);
    const across = await s.get("/apis/example.org/v1/widgets?limit=3&labelSelector=page");
    s.note("the token", tokenShape(across.body.metadata.continue));
    await s.get(`/apis/example.org/v1/widgets?limit=3&labelSelector=page&continue=${across.body.metadata.continue}`);
    const other = await s.get(`${widgets(s, "", "v1beta1")}?limit=1`, { part: (body) => body.items });
    await s.get(`${widgets(s)}?limit=1&continue=${other.body.metadata.continue}`, { part: (body) => body.items });
  }),

  scenario("pages with selectors", async (s) => {
    await withConfigMaps(s, 6);
    const path = `${core(s, "configmaps")}?labelSelector=odd%3Dtrue&limit=2`;
    const first = await s.get(path);
    await s.get(`${path}&continue=${first.body.metadata.continue}`);
    await s.get(`${core(s, "configmaps")}?fieldSelector=metadata.name%21%3Dcm-1&limit=2`);
    await s.get(`${core(s, "configmaps")}?fieldSelector=metadata.name%3Dcm-4&limit=1`);
    await s.get(`${core(s, "configmaps")}?labelSelector=none&limit=2`);
  }),

  scenario("the limit is ignored at version zero", async (s) => {
    await withConfigMaps(s, 3);
    // resourceVersion=0 may return any version: the cache of the reference may lag behind the last changes.
    const isThere = (wanted: readonly string[]) => (answer: { readonly body: Loose }) =>
      wanted.every((name) => answer.body.items?.some((item: Loose) => item.metadata.name === name));
    await s.until(`${core(s, "configmaps")}?resourceVersion=0`, isThere(["cm-1", "cm-2", "cm-3"]));
    await s.get(`${core(s, "configmaps")}?limit=1&resourceVersion=0`);
    await s.get(`${core(s, "configmaps")}?limit=1&resourceVersion=0&resourceVersionMatch=NotOlderThan`);
    await s.post(widgets(s), widget("a"), { quiet: true });
    await s.post(widgets(s), widget("b"), { quiet: true });
    await s.until(`${widgets(s)}?resourceVersion=0`, isThere(["a", "b"]));
    await s.get(`${widgets(s)}?limit=1&resourceVersion=0`);
  }),

  scenario("tokens that do not continue anything", async (s) => {
    await withConfigMaps(s, 3);
    const path = core(s, "configmaps");
    const { body } = await s.get(`${path}?limit=1`, { quiet: true });
    const token = body.metadata.continue;
    const made = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    await s.get(`${path}?limit=1&continue=${token}&resourceVersion=${body.metadata.resourceVersion}`);
    await s.get(`${path}?limit=1&continue=${token}&resourceVersion=0`);
    await s.get(`${path}?limit=1&continue=nonsense`, { title: "garbage" });
    await s.get(`${path}?limit=1&continue=%25%25`, { title: "not base64" });
    await s.get(`${path}?limit=1&continue=${made({})}`, { title: "empty token" });
    await s.get(`${path}?limit=1&continue=${made({ v: "meta.k8s.io/v2", rv: 1, start: "a\u0000" })}`, {
      title: "other version",
    });
    await s.get(`${path}?limit=1&continue=${made({ v: "meta.k8s.io/v1", rv: 0, start: "a\u0000" })}`, {
      title: "version zero",
    });
    await s.get(`${path}?limit=1&continue=${made({ v: "meta.k8s.io/v1", rv: -1, start: "" })}`, { title: "no start" });
    await s.get(`${path}?limit=1&continue=${made({ v: "meta.k8s.io/v1", rv: -1, start: "../x" })}`, {
      title: "start above",
    });
    await s.get(`${path}?continue=${made({ v: "meta.k8s.io/v1", rv: -1, start: "cm-1\u0000" })}`, {
      title: "from now on",
      part: names,
    });
  }),

  scenario("tokens of other types and times", async (s) => {
    await withConfigMaps(s, 3);
    const path = core(s, "configmaps");
    const ask = async (text: string): Promise<void> => {
      const token = Buffer.from(text).toString("base64url");
      await s.get(`${path}?limit=1&continue=${token}`, { title: text, part: (body) => body.message ?? names(body) });
    };
    for (const text of ["[1]", "5", '"x"', "null", '{"v":5}', '{"v":"x","rv":1.5}', '{"rv":"x","start":5}']) {
      await ask(text);
    }
    for (const version of ["1.0", "1e3", '"5"', "true", "null", "-2", "9223372036854775808", "99999999999"]) {
      await ask(`{"v":"meta.k8s.io/v1","rv":${version},"start":"cm-0\\u0000"}`);
    }
    for (const start of ["5", "{}", "null"]) await ask(`{"v":"meta.k8s.io/v1","rv":-1,"start":${start}}`);
  }),

  scenario("versions and numbers out of bounds", async (s) => {
    await withConfigMaps(s, 1);
    const path = core(s, "configmaps");
    const part = (body: Loose): Loose => body.message ?? body.kind;
    for (const version of ["9007199254740993", "18446744073709551615", "18446744073709551616", "-1", "007"]) {
      const metadata = { name: "cm-0", resourceVersion: version };
      await s.get(`${path}?resourceVersion=${version}`, { part });
      await s.get(`${path}/cm-0?resourceVersion=${version}`, { part });
      await s.put(`${path}/cm-0`, { apiVersion: "v1", kind: "ConfigMap", metadata }, { part, title: version });
    }
    for (const query of ["limit=", "limit=-1", "limit=1.5", "limit=9223372036854775808", "timeoutSeconds="]) {
      await s.get(`${path}?${query}`, { part });
    }
    await s.delete(`${path}/cm-0?gracePeriodSeconds=`, undefined, { part });
  }),

  scenario("lists of a version", async (s) => {
    const path = core(s, "configmaps");
    await withConfigMaps(s, 2);
    const { body } = await s.get(path, { quiet: true });
    const version = body.metadata.resourceVersion;
    await s.post(path, configMap("later"), { quiet: true });
    await s.patch(core(s, "configmaps", "cm-1"), "merge", { data: { changed: "yes" } }, { quiet: true });
    await s.delete(core(s, "configmaps", "cm-2"), undefined, { quiet: true });
    await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=Exact`);
    await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=Exact&labelSelector=odd%3Dfalse`);
    await s.get(`${path}?resourceVersion=${version}&limit=1`);
    await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`);
    await s.get(`${path}?resourceVersion=${version}`);
    await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan&limit=1`, {
      part: (list) => [names(list), list.metadata.remainingItemCount],
    });
  }),

  scenario("combinations a list does not have", async (s) => {
    const path = core(s, "configmaps");
    for (const query of [
      "resourceVersion=0&resourceVersionMatch=Exact",
      "resourceVersionMatch=Exact",
      "resourceVersionMatch=NotOlderThan",
      "resourceVersion=1&resourceVersionMatch=Nope",
      "resourceVersionMatch=Nope",
      "continue=abc&resourceVersionMatch=Exact&resourceVersion=5",
      "continue=abc&resourceVersionMatch=NotOlderThan",
      "sendInitialEvents=true",
      "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0",
    ]) {
      await s.get(`${path}?${query}`);
      await s.get(`${widgets(s)}?${query}`);
    }
  }),

  scenario("options that cannot be read", async (s) => {
    for (const query of [
      "limit=x",
      "timeoutSeconds=x",
      "watch=x",
      "allowWatchBookmarks=x",
      "sendInitialEvents=x",
      "unknown=x",
      "limit=-5",
      "limit=99999999999999999999",
      "resourceVersion=01",
    ]) {
      const path = `${core(s, "configmaps")}?${query}`;
      if (query === "watch=x") (await s.watch(`${path}&timeoutSeconds=1`)).close();
      else await s.get(path);
    }
    await s.post(`${core(s, "configmaps")}?dryRun=All&dryRun=All`, configMap("a"));
    await s.post(`${core(s, "configmaps")}?dryRun=`, configMap("b"));
    await s.post(`${core(s, "configmaps")}?fieldValidation=Nope`, configMap("c"));
    await s.post(`${widgets(s)}?fieldValidation=Nope`, widget("c"));
    await s.delete(`${core(s, "configmaps", "a")}?gracePeriodSeconds=x`);
    await s.delete(`${core(s, "configmaps", "a")}?orphanDependents=x`);
  }),
];
