// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { crds, isTrue, ownCrd, ownGroup, widgetGroup, withOwnWidgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { isServed, servedVersions } from "../harness/served-kinds.ts";
import type { Session } from "../harness/session.ts";
import { widgetCrd } from "../harness/widget-crd.ts";

const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const v2beta1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const threeClauses = { accept: `${v2},${v2beta1},application/json` };
const json = { accept: "application/json" };
const cacheHeaders = ["vary", "cache-control"];

/** Groups that every server has: those that other cases define come and go. */
const registration = "apiregistration.k8s.io";
const groups: ReadonlySet<string> = new Set([
  registration,
  widgetGroup,
  ...servedVersions.map((version) => (version.includes("/") ? (version.split("/")[0] ?? "") : "")),
]);

/** A discovery document without what the embedded server does not list. */
function servedPart(document: Loose): Loose {
  const items = document.items?.filter((item: Loose) => groups.has(item.metadata?.name ?? "")).map(servedGroup);
  return { ...document, items };
}

function servedGroup(item: Loose): Loose {
  const group = item.metadata?.name;
  if (group === registration) return { ...item, versions: item.versions.map((one: Loose) => one.version) };
  const version = (one: Loose): string => (group ? `${group}/${one.version}` : one.version);
  const resources = (one: Loose): Loose[] =>
    one.resources
      .filter((each: Loose) => isServed(version(one), each.resource))
      .map((each: Loose) => servedSubresources(version(one), each));
  const versions = item.versions.map((one: Loose) =>
    group === widgetGroup ? one : { ...one, resources: resources(one) },
  );
  return { ...item, versions };
}

function servedSubresources(version: string, resource: Loose): Loose {
  const subresources = resource.subresources?.filter((one: Loose) =>
    isServed(version, `${resource.resource}/${one.subresource}`),
  );
  return subresources === undefined
    ? resource
    : { ...resource, subresources: subresources.length > 0 ? subresources : undefined };
}

const servedList = (list: Loose): Loose => ({
  ...list,
  resources: list.resources?.filter((one: Loose) => isServed(list.groupVersion, one.name)),
});

const servedGroupList = (list: Loose): Loose => ({
  ...list,
  groups: list.groups?.filter((one: Loose) => groups.has(one.name)),
});

/** The reference publishes each version of a group by itself. */
async function discovered(s: Session, ...parts: readonly string[]): Promise<void> {
  for (const part of parts) await s.until(`/apis/${ownGroup(s)}${part}`, ({ code }) => code === 200);
}

export const discoveryCases: readonly Case[] = [
  scenario("aggregated discovery of groups", async (s) => {
    const compareHeaders = cacheHeaders;
    const first = await s.get("/apis", { headers: threeClauses, compareHeaders, part: servedPart });
    s.note("ETag", { quoted: /^"[0-9A-F]{128}"$/.test(String(first.headers.etag)) });
    await s.get("/apis", { headers: { accept: v2 }, compareHeaders, part: servedPart });
    await s.get("/apis", { headers: { accept: v2beta1 }, compareHeaders, part: (body) => body.kind ?? body });
    await s.get("/apis", {
      headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json" },
      part: (body) => body.kind,
    });
    await s.get("/apis", { headers: { accept: "*/*" }, compareHeaders, part: (body) => body.kind });
  }),

  scenario("aggregated discovery is not sent again", async (s) => {
    // Other cases add kinds all the time, so the tag is that of the core group, which no case changes.
    const compareHeaders = cacheHeaders;
    const first = await s.get("/api", { headers: threeClauses, part: () => undefined });
    const etag = String(first.headers.etag);
    await s.get("/api", { headers: { ...threeClauses, "if-none-match": etag }, compareHeaders });
    await s.get("/api", {
      headers: { ...threeClauses, "if-none-match": `W/${etag}` },
      part: (body) => body.kind ?? body,
    });
    await s.get("/api", { headers: { ...threeClauses, "if-none-match": '"stale"' }, part: (body) => body.kind });
    await s.get("/api", {
      headers: { ...threeClauses, "if-none-match": `"stale", ${etag}` },
      part: (body) => body.kind ?? body,
    });
  }),

  scenario("aggregated discovery of the core group", async (s) => {
    const { body } = await s.get("/api", { headers: threeClauses, compareHeaders: cacheHeaders, part: servedPart });
    const names = body.items[0].versions[0].resources.map((one: Loose) => one.resource);
    const wanted = ["namespaces", "configmaps", "secrets", "events", "serviceaccounts", "services"];
    s.note(
      "the core kinds are there",
      wanted.filter((name) => !names.includes(name)),
    );
  }),

  scenario("plain discovery", async (s) => {
    await s.get("/api", { headers: json, compareHeaders: cacheHeaders });
    await s.get("/apis", { headers: json, compareHeaders: cacheHeaders, part: servedGroupList });
    await s.get("/apis/", { headers: json, part: servedGroupList });
    for (const version of servedVersions) {
      const path = version.includes("/") ? `/apis/${version}` : `/api/${version}`;
      await s.get(path, { headers: json, compareHeaders: cacheHeaders, part: servedList });
    }
    for (const group of [...groups].filter((name) => name !== "")) {
      await s.get(`/apis/${group}`, { headers: json });
    }
    await s.get(`/apis/${widgetGroup}/v1`, { headers: json });
    await s.get(`/apis/${widgetGroup}/v1beta1`, { headers: json });
    await s.get("/apis/apps/v1", {
      headers: { accept: "application/yaml" },
      part: (body) => String(body).split("\n").slice(0, 3),
    });
    await s.post("/apis/apps/v1", {}, { part: (body) => body });
    await s.ask("DELETE", "/apis", undefined, { part: servedGroupList });
  }),

  scenario("every group and version of Kubernetes is served", async (s) => {
    const isKubernetes = ({ name }: Loose): boolean => !name.includes(".") || name.endsWith(".k8s.io");
    const versions = ({ name, versions: all }: Loose): Loose => [name, all.map((one: Loose) => one.version)];
    const part = (list: Loose): Loose => list.groups.filter(isKubernetes).map(versions);
    const { body } = await s.get("/apis", { headers: json, part });
    const found = body.groups
      .filter(isKubernetes)
      .flatMap((one: Loose) => one.versions.map((v: Loose) => v.groupVersion));
    const compared = new Set([...servedVersions, `${registration}/v1`]);
    s.note(
      "versions whose resources are not compared",
      found.filter((version: string) => !compared.has(version)),
    );
  }),

  scenario("unknown groups and versions", async (s) => {
    const compareHeaders = ["cache-control"];
    for (const path of [
      "/apis/nope.example.org/v1",
      "/apis/nope.example.org",
      "/apis/apps/v7",
      "/api/v2",
      "/apis/example.org/v7",
      "/nope",
      "/apis/apps/v1/nope",
      "/api/v1/nope",
      "/apis/example.org/v1/nope",
      "/apis/apps/v1/nope/with/too/many/parts",
    ]) {
      await s.get(path, { compareHeaders });
    }
    await s.post("/apis/nope.example.org/v1/things", {});
    await s.ask("TRACE", "/api/v1/namespaces");
    await s.ask("OPTIONS", "/api/v1/namespaces");
  }),

  scenario("a new kind is discovered at once", async (s) => {
    await s.post(crds, widgetCrd(ownGroup(s)), { quiet: true });
    await s.until(ownCrd(s), ({ body }) => isTrue(body, "Established"));
    await discovered(s, "", "/v1", "/v1beta1");
    await s.get(`/apis/${ownGroup(s)}/v1`);
    await s.get(`/apis/${ownGroup(s)}/v1beta1`);
    await s.get(`/apis/${ownGroup(s)}`);
    const own = (body: Loose): Loose => body.items.filter((item: Loose) => item.metadata.name === ownGroup(s));
    await s.until("/apis", ({ body }) => own(body)[0]?.versions.length === 2, { headers: threeClauses });
    await s.get("/apis", { headers: threeClauses, part: own });
  }),

  scenario("versions of a kind are discovered in their order", async (s) => {
    const names = [
      "v1",
      "v2beta1",
      "v10",
      "v2",
      "v11alpha2",
      "foo1",
      "v3beta1",
      "v12alpha1",
      "v11beta2",
      "foo10",
      "v2alpha10",
    ];
    await withOwnWidgets(s, (crd) => {
      const [version] = crd.spec.versions;
      crd.spec.versions = names.map((name, index) => ({
        ...version,
        name,
        storage: index === 0,
        served: name !== "v10",
      }));
    });
    await discovered(s, "");
    await s.get(`/apis/${ownGroup(s)}`);
    await s.get(`/apis/${ownGroup(s)}/v10`);
    await s.get(`/apis/${ownGroup(s)}/v10/widgets`);
  }),
];
