// SPDX-License-Identifier: Apache-2.0
import type { Http2Client } from "./http2-client.ts";
import type { WatchJob } from "./jobs.ts";
import { collections, objectOf } from "./objects.ts";

/** Longer than any pause of a collector: a watch this late has lost the event. */
const patienceMs = 30_000;

/**
 * Writes at a steady rate, whether or not earlier writes were answered, so that both contenders get the same load, and measures
 * each from the moment it is sent to its watch event.
 */
export async function timesToEvent(
  { writer, watcher }: { readonly writer: Http2Client; readonly watcher: Http2Client },
  { kind, prefix, count, perSecond }: WatchJob,
): Promise<number[]> {
  const sent = new Map<string, number>();
  const times: number[] = [];
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  const wanted = new RegExp(`"name":"(${prefix}-\\d+)"`);
  const watch = await watcher.watch(
    `${collections[kind]}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
    (line) => {
      const started = sent.get(wanted.exec(line)?.[1] ?? "");
      if (started !== undefined) times.push(performance.now() - started);
      if (times.length === count) resolve();
    },
  );
  for (let i = 0; i < count; i++) {
    const name = `${prefix}-${i}`;
    const body = Buffer.from(JSON.stringify(objectOf(kind, name)));
    await nextTurn((1000 / perSecond) * (0.5 + Math.random()));
    sent.set(name, performance.now());
    // What it is answered is not the question; one that fails is never seen.
    writer.request("POST", collections[kind], body).catch(() => {});
  }
  const late = setTimeout(resolve, patienceMs);
  await complete;
  clearTimeout(late);
  watch.close();
  if (times.length < count) throw new Error(`${count - times.length} of ${count} writes were never seen by the watch`);
  return times;
}

const nextTurn = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
