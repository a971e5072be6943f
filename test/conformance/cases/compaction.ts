// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core, ownWidget, ownWidgets, widgets, withOwnWidgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import type { Session } from "../harness/session.ts";

const alone = { alone: true };

async function withConfigMaps(s: Session, names: readonly string[]): Promise<void> {
  for (const name of names) await s.post(core(s, "configmaps"), configMap(name), { quiet: true });
}

/** Forgets the past, and waits until the collection has noticed. */
async function forget(s: Session, collection: string, version: string): Promise<void> {
  await s.server.compact();
  const exact = `${collection}?resourceVersion=${version}&resourceVersionMatch=Exact`;
  await s.until(exact, ({ code }) => code === 410);
}

const names = (list: Loose): Loose => list.items?.map((item: Loose) => item.metadata.name) ?? list;

export const compactionCases: readonly Case[] = [
  scenario(
    "pages of a version that is forgotten",
    async (s) => {
      const path = core(s, "configmaps");
      await withConfigMaps(s, ["a", "b", "c", "d"]);
      const { body } = await s.get(`${path}?limit=2`, { part: names });
      await withConfigMaps(s, ["b-later", "e"]);
      await s.delete(core(s, "configmaps", "c"), undefined, { quiet: true });
      await forget(s, path, body.metadata.resourceVersion);
      const expired = await s.get(`${path}?limit=2&continue=${body.metadata.continue}`);
      const next = await s.get(`${path}?limit=2&continue=${expired.body.metadata.continue}`, {
        part: ({ metadata, ...list }) => ({ names: names(list), remaining: metadata.remainingItemCount }),
      });
      await s.get(`${path}?limit=2&continue=${next.body.metadata.continue}`, { part: names });
      await s.get(`${path}?limit=2`, { part: names });
    },
    alone,
  ),

  scenario(
    "lists of a version that is forgotten",
    async (s) => {
      const path = core(s, "configmaps");
      await withConfigMaps(s, ["a"]);
      const { body } = await s.get(path, { quiet: true });
      const version = body.metadata.resourceVersion;
      await withConfigMaps(s, ["b"]);
      await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=Exact`, { part: names });
      await forget(s, path, version);
      await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=Exact`);
      await s.get(`${path}?resourceVersion=${version}&limit=1`);
      await s.get(`${path}?resourceVersion=${version}`, { part: names });
      await s.get(`${path}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`, { part: names });
      await s.get(`${core(s, "configmaps", "a")}?resourceVersion=${version}`, {
        part: ({ metadata }) => metadata.name,
      });
    },
    alone,
  ),

  scenario(
    "a watch from a version that is forgotten",
    async (s) => {
      const { body } = await s.get(widgets(s), { quiet: true });
      const version = body.metadata.resourceVersion;
      // The memory of a new kind starts after this version.
      await withOwnWidgets(s);
      await s.post(ownWidgets(s), ownWidget(s, "a"), { quiet: true });
      await s.server.compact();
      const watch = await s.watch(`${ownWidgets(s)}?watch=true&resourceVersion=${version}`);
      await watch.next();
      await watch.next();
      const bookmarks = await s.watch(`${ownWidgets(s)}?watch=true&resourceVersion=1&allowWatchBookmarks=true`);
      await bookmarks.next();
      await bookmarks.next();
      const metadata = await s.watch(`${ownWidgets(s)}?watch=true&resourceVersion=${version}`, {
        headers: { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
        title: "metadata from a forgotten version",
      });
      await metadata.next();
      await metadata.next();
      const initial = await s.watch(
        `${ownWidgets(s)}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=${version}`,
      );
      await initial.next();
      await initial.next();
    },
    alone,
  ),
];
