// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Case, scenario } from "../harness/case.ts";
import {
  configMap,
  core,
  inGroup,
  ownCrd,
  ownWidget,
  ownWidgets,
  widget,
  widgets,
  withOwnWidgets,
} from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session, Watch } from "../harness/session.ts";

async function versionOf(s: Session, collection: string): Promise<string> {
  // A kind whose definition has just changed is not served for a moment.
  const { metadata } = await s.until(collection, ({ code }) => code === 200);
  return metadata.resourceVersion;
}

async function watchFromNow(s: Session, collection: string, more = ""): Promise<Watch> {
  return s.watch(`${collection}?watch=true&resourceVersion=${await versionOf(s, collection)}${more}`);
}

/** Events have come in the order of their versions. */
function noteOrder(s: Session, events: readonly Loose[]): void {
  const versions = events.map((event) => BigInt(event.object.metadata.resourceVersion));
  s.note(
    "versions increase",
    versions.every((version, index) => index === 0 || version > (versions[index - 1] ?? 0n)),
  );
}

const listen = "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=true";

export const watchCases: readonly Case[] = [
  scenario("what happens to objects", async (s) => {
    for (const [collection, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const watch = await watchFromNow(s, collection);
      await s.post(collection, object, { quiet: true });
      await s.patch(`${collection}/a`, "merge", { metadata: { labels: { changed: "yes" } } }, { quiet: true });
      await s.patch(`${collection}/a`, "merge", {}, { quiet: true });
      await s.delete(`${collection}/a`, undefined, { quiet: true });
      await s.post(collection, object, { quiet: true });
      const events = [await watch.next(), await watch.next(), await watch.next(), await watch.next()];
      noteOrder(s, events);
      watch.close();
    }
  }),

  scenario("a watch starts after the version given", async (s) => {
    const collection = core(s, "configmaps");
    const first = await s.post(collection, configMap("a"), { quiet: true });
    await s.post(collection, configMap("b"), { quiet: true });
    await s.delete(`${collection}/a`, undefined, { quiet: true });
    const watch = await s.watch(`${collection}?watch=true&resourceVersion=${first.body.metadata.resourceVersion}`);
    await watch.next();
    await watch.next();
    const one = await s.watch(
      `${collection}?watch=1&resourceVersion=${first.body.metadata.resourceVersion}&timeoutSeconds=2`,
    );
    await one.next();
    await one.next();
    await one.next();
    await s.get(`${collection}?watch=true&resourceVersion=abc`);
    await s.get(`${collection}?watch=0&limit=1`, { part: (body) => body.kind });
    await s.get(`${collection}?watch=false&limit=1`, { part: (body) => body.kind });
  }),

  scenario("updates that end a deletion", async (s) => {
    await s.post(widgets(s), widget("a", {}, { finalizers: ["example.org/wait"] }), { quiet: true });
    const watch = await watchFromNow(s, widgets(s));
    await s.delete(widgets(s, "a"), undefined, { quiet: true });
    await s.patch(widgets(s, "a"), "merge", { metadata: { finalizers: null }, spec: { size: 7 } }, { quiet: true });
    await s.post(widgets(s), widget("b"), { quiet: true });
    const events = [await watch.next(), await watch.next(), await watch.next()];
    noteOrder(s, events);
  }),

  scenario("objects that enter and leave a selection", async (s) => {
    for (const [collection, object] of [
      [core(s, "configmaps"), configMap("a")],
      [widgets(s), widget("a")],
    ] as const) {
      const watch = await watchFromNow(s, collection, "&labelSelector=in%3Dyes");
      const label = (value: string | null, data: object = {}): Promise<unknown> =>
        s.patch(`${collection}/a`, "merge", { metadata: { labels: { in: value } }, ...data }, { quiet: true });
      await s.post(collection, object, { quiet: true });
      await label("yes");
      await label("yes", { metadata: { labels: { in: "yes", more: "yes" } } });
      await label("no", { metadata: { labels: { in: "no" }, annotations: { with: "other changes" } } });
      await label("maybe");
      await label("yes");
      await label(null);
      await label("yes");
      await s.delete(`${collection}/a`, undefined, { quiet: true });
      const events: Loose[] = [];
      for (let n = 0; n < 7; n += 1) events.push(await watch.next());
      noteOrder(s, events);
      watch.close();
    }
  }),

  scenario("objects that enter and leave a selection by field", async (s) => {
    const watch = await watchFromNow(s, widgets(s), "&fieldSelector=spec.color%3Dblue");
    await s.post(widgets(s), widget("a"), { quiet: true });
    await s.patch(widgets(s, "a"), "merge", { spec: { color: "blue" } }, { quiet: true });
    await s.patch(widgets(s, "a"), "merge", { spec: { color: "green" } }, { quiet: true });
    await watch.next();
    await watch.next();
  }),

  scenario("a watch of everything that is there", async (s) => {
    for (const [collection, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
    ] as const) {
      await s.post(collection, make("b"), { quiet: true });
      await s.post(collection, make("a"), { quiet: true });
      for (const version of ["", "&resourceVersion=0"]) {
        const watch = await s.watch(`${collection}?watch=true${version}`);
        const events = [await watch.peek(), await watch.peek()];
        // The reference sends these in no defined order.
        s.note(
          "what is there",
          events.toSorted((a, b) => a.object.metadata.name.localeCompare(b.object.metadata.name)),
        );
        await s.patch(
          `${collection}/a`,
          "merge",
          { metadata: { labels: { n: version.length > 0 ? "1" : "2" } } },
          { quiet: true },
        );
        await watch.next();
        watch.close();
      }
    }
  }),

  scenario("initial events, a bookmark, then what happens", async (s) => {
    for (const [collection, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
      [inGroup(s, "apps/v1/deployments"), undefined],
      [core(s, "secrets"), undefined],
    ] as const) {
      if (make) {
        await s.post(collection, make("b"), { quiet: true });
        await s.post(collection, make("a"), { quiet: true });
      }
      const watch = await s.watch(`${collection}?${listen}`);
      const events: Loose[] = [];
      if (make) events.push(await watch.next(), await watch.next());
      const bookmark = await watch.next();
      const newest = Math.max(0, ...events.map((event) => Number(event.object.metadata.resourceVersion)));
      s.note("the bookmark is not older than the objects", Number(bookmark.object.metadata.resourceVersion) >= newest);
      if (make) {
        await s.delete(`${collection}/a`, undefined, { quiet: true });
        await watch.next();
      }
      watch.close();
    }
  }),

  scenario("initial events of a version", async (s) => {
    const { body } = await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.post(core(s, "configmaps"), configMap("b"), { quiet: true });
    const watch = await s.watch(`${core(s, "configmaps")}?${listen}&resourceVersion=${body.metadata.resourceVersion}`);
    await watch.next();
    await watch.next();
    await watch.next();
    const selected = await s.watch(`${core(s, "configmaps")}?${listen}&fieldSelector=metadata.name%3Db`);
    await selected.next();
    await selected.next();
    const zero = await s.watch(`${core(s, "configmaps")}?${listen}&resourceVersion=0&labelSelector=none`);
    await zero.next();
    const silent = await s.watch(
      `${core(s, "configmaps")}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=true&timeoutSeconds=2`,
    );
    await silent.next();
    await silent.next();
    await silent.next();
  }),

  scenario("initial events of a version from the future", async (s) => {
    const version = BigInt(await versionOf(s, core(s, "configmaps"))) + 1_000_000n;
    const watch = await s.watch(`${core(s, "configmaps")}?${listen}&resourceVersion=${version}`);
    await watch.next();
    await watch.next();
  }),

  scenario("combinations a watch does not have", async (s) => {
    for (const query of [
      "sendInitialEvents=true",
      "sendInitialEvents=true&allowWatchBookmarks=true",
      "resourceVersionMatch=NotOlderThan",
      "resourceVersionMatch=NotOlderThan&resourceVersion=5",
      "resourceVersionMatch=Exact&resourceVersion=5",
      "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5",
      "sendInitialEvents=true&resourceVersionMatch=Nope",
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc",
      "sendInitialEvents=false",
      "continue=abc",
    ]) {
      for (const collection of [core(s, "configmaps"), widgets(s)]) {
        const watch = await s.watch(`${collection}?watch=true&timeoutSeconds=1&${query}`);
        await watch.next();
        watch.close();
      }
    }
  }),

  scenario("no initial events", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    for (const version of ["", "&resourceVersion=0", "&resourceVersion="]) {
      const watch = await s.watch(
        `${core(s, "configmaps")}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan${version}`,
      );
      await s.patch(
        core(s, "configmaps", "a"),
        "merge",
        { metadata: { labels: { n: String(version.length) } } },
        { quiet: true },
      );
      await watch.next();
      watch.close();
    }
  }),

  scenario("watches of metadata and of tables", async (s) => {
    const transforms = {
      metadata: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      table: "application/json;as=Table;g=meta.k8s.io;v=v1",
    };
    for (const [collection, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
    ] as const) {
      await s.post(collection, make("a"), { quiet: true });
      for (const [name, accept] of Object.entries(transforms)) {
        const watch = await s.watch(`${collection}?${listen}`, {
          headers: { accept },
          title: `${collection} as ${name}`,
        });
        await watch.next();
        await watch.next();
        await s.patch(`${collection}/a`, "merge", { metadata: { labels: { n: name } } }, { quiet: true });
        await watch.next();
        watch.close();
      }
      const bare = await s.watch(`${collection}?watch=true&resourceVersion=0&includeObject=None`, {
        headers: { accept: transforms.table },
        title: `${collection} as a table without objects`,
      });
      await bare.next();
      bare.close();
    }
    const list = await s.watch(`${core(s, "configmaps")}?watch=true&timeoutSeconds=1`, {
      headers: { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" },
      title: "a watch as a list",
    });
    await list.next();
    const yaml = await s.watch(`${core(s, "configmaps")}?watch=true&timeoutSeconds=1&resourceVersion=0`, {
      headers: { accept: "application/yaml" },
      title: "a watch as YAML",
    });
    yaml.close();
  }),

  scenario("bookmarks before the end", async (s) => {
    for (const [collection, make] of [
      [core(s, "configmaps"), configMap],
      [widgets(s), widget],
    ] as const) {
      await s.post(collection, make("a"), { quiet: true });
      const version = await versionOf(s, collection);
      const started = performance.now();
      const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=${version}`;
      const one = `${collection}?${query}&fieldSelector=metadata.name%3Da`;
      const watch = await s.watch(one, { everyBookmark: true });
      // The reference has no bookmark to give unless something of the kind has happened since.
      await s.post(collection, make("b"), { quiet: true });
      await watch.next();
      // How late it may be is the machine's affair: that it is the first to come says that it came before the end.
      s.note("not at the beginning", performance.now() - started > 1500);
      // The reference may send a second one a moment later.
      for (let event = await watch.peek(); event !== undefined; event = await watch.peek()) {
        if (event.type !== "BOOKMARK") s.note("not a bookmark", event);
      }
      s.note("it did not end before its time", performance.now() - started > 4500);
    }
  }),

  scenario("no bookmarks unless asked for", async (s) => {
    const watch = await watchFromNow(s, core(s, "configmaps"), "&timeoutSeconds=4");
    await watch.next();
  }),

  scenario("a watch of one name", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.post(core(s, "configmaps"), configMap("b"), { quiet: true });
    const watch = await s.watch(
      `${core(s, "configmaps")}?watch=true&fieldSelector=metadata.name%3Da&resourceVersion=0`,
    );
    await watch.next();
    await s.patch(core(s, "configmaps", "b"), "merge", { data: { b: "2" } }, { quiet: true });
    await s.patch(core(s, "configmaps", "a"), "merge", { data: { a: "2" } }, { quiet: true });
    await watch.next();
    await s.delete(core(s, "configmaps", "a"), undefined, { quiet: true });
    await watch.next();
    // The name in the path is a watch only on paper.
    await s.get(`${core(s, "configmaps", "b")}?watch=true`, { part: (body) => body.kind ?? body });
    await s.get(`/api/v1/watch/namespaces/${s.namespace}/nope`);
  }),

  scenario("the deprecated paths of watches", async (s) => {
    await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
    await s.post(core(s, "configmaps"), configMap("b"), { quiet: true });
    const version = await versionOf(s, core(s, "configmaps"));
    const all = await s.watch(`/api/v1/watch/namespaces/${s.namespace}/configmaps?resourceVersion=${version}`);
    const one = await s.watch(`/api/v1/watch/namespaces/${s.namespace}/configmaps/a?resourceVersion=${version}`);
    const own = `fieldSelector=metadata.name%3Da&resourceVersion=${version}&watch=false`;
    const same = await s.watch(`/api/v1/watch/namespaces/${s.namespace}/configmaps/a?${own}`);
    await s.patch(core(s, "configmaps", "b"), "merge", { data: { b: "2" } }, { quiet: true });
    await s.patch(core(s, "configmaps", "a"), "merge", { data: { a: "2" } }, { quiet: true });
    await all.next();
    await all.next();
    await one.next();
    await same.next();
    const itself = await s.watch(`/api/v1/watch/namespaces/${s.namespace}?resourceVersion=0`);
    await itself.next();
    const table = await s.watch(`/api/v1/watch/namespaces/${s.namespace}/configmaps/a?resourceVersion=0`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    await table.next();
    const across = `/api/v1/watch/configmaps?fieldSelector=metadata.namespace%3D${s.namespace}&resourceVersion=${version}`;
    const everywhere = await s.watch(across);
    await everywhere.next();
    for (const path of [
      "",
      "/",
      "/configmaps/a",
      `/namespaces/${s.namespace}/configmaps/a?fieldSelector=metadata.name%3Db`,
      `/namespaces/${s.namespace}/configmaps/a/status`,
      `/namespaces/${s.namespace}/namespaces`,
      `/namespaces/${s.namespace}/configmaps?resourceVersion=abc`,
      `/namespaces/${s.namespace}/serviceaccounts/default/token`,
    ]) {
      await s.get(`/api/v1/watch${path}`);
    }
    await s.get("/apis/authorization.k8s.io/v1/watch/subjectaccessreviews");
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "HEAD"]) {
      await s.ask(method, `/api/v1/watch/namespaces/${s.namespace}/configmaps`);
      await s.ask(method, `/api/v1/watch/namespaces/${s.namespace}/configmaps/a`);
    }
  }),

  scenario("the deprecated paths of watches of custom objects", async (s) => {
    await s.post(widgets(s), widget("a"), { quiet: true });
    await s.post(widgets(s), widget("b"), { quiet: true });
    const version = await versionOf(s, widgets(s));
    const root = "/apis/example.org/v1/watch";
    const all = await s.watch(`${root}/namespaces/${s.namespace}/widgets?resourceVersion=${version}`);
    const one = await s.watch(`${root}/namespaces/${s.namespace}/widgets/b?resourceVersion=${version}`);
    const across = await s.watch(`${root}/widgets/b?resourceVersion=${version}`);
    await s.patch(widgets(s, "a"), "merge", { spec: { size: 7 } }, { quiet: true });
    await s.patch(widgets(s, "b"), "merge", { spec: { size: 8 } }, { quiet: true });
    await all.next();
    await all.next();
    await one.next();
    await across.next();
    for (const path of [
      "",
      "/nope",
      `/namespaces/${s.namespace}/widgets/a/status`,
      `/namespaces/${s.namespace}/widgets/a/nope`,
      `/namespaces/${s.namespace}/widgets/a?fieldSelector=metadata.name%3Db`,
    ]) {
      await s.get(`${root}${path}`);
    }
  }),

  scenario(
    "a watch that is idle for two minutes",
    async (s) => {
      const watch = await watchFromNow(s, core(s, "configmaps"));
      await delay(121_000);
      await s.post(core(s, "configmaps"), configMap("late"), { quiet: true });
      await watch.next();
    },
    { waits: true },
  ),

  scenario("a kind that goes while it is watched", async (s) => {
    await withOwnWidgets(s);
    await s.post(ownWidgets(s), ownWidget(s, "a"), { quiet: true });
    const watch = await watchFromNow(s, ownWidgets(s));
    await s.delete(ownCrd(s), undefined, { quiet: true });
    await watch.next();
    await watch.next();
    await s.until(ownWidgets(s), ({ code }) => code === 404);
    await s.get(`${ownWidgets(s)}?watch=true`);
    await s.get(`${ownWidgets(s)}?${listen}`);
  }),

  scenario("a schema that changes while it is watched", async (s) => {
    await withOwnWidgets(s);
    await s.post(ownWidgets(s), ownWidget(s, "a"), { quiet: true });
    const watch = await watchFromNow(s, ownWidgets(s));
    const crd = await s.get(ownCrd(s), { quiet: true });
    crd.body.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.extra = { type: "string" };
    await s.put(ownCrd(s), crd.body, { part: (body) => body.metadata?.generation ?? body });
    await watch.next();
    const again = await watchFromNow(s, ownWidgets(s));
    await s.patch(ownWidgets(s, "a"), "merge", { spec: { extra: "new" } }, { quiet: true });
    await again.next();
  }),
];
