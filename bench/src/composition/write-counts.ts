// SPDX-License-Identifier: Apache-2.0
import { get } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { Access } from "../apiserver/access.ts";
import { total, type Usage } from "./usage.ts";

/** The writes a kube-apiserver has answered so far, such as `APPLY pairs/status`, as it counts them itself. */
export async function writeCounts(access: Access): Promise<Usage> {
  return parseWrites(await readText(access, "/metrics"));
}

const quietMs = 3_000;

/** The same once nothing has been written for a while: events are written after the changes that they report. */
export async function settledWrites(access: Access): Promise<Usage> {
  for (let before = await writeCounts(access); ; ) {
    await delay(quietMs);
    const now = await writeCounts(access);
    // The leader's Lease is renewed all the time.
    if (total(now, ...leases(now)) === total(before, ...leases(before))) return now;
    before = now;
  }
}

const leases = (counts: Usage): string[] => Object.keys(counts).filter((name) => name.endsWith(" leases"));

const writing = new Set(["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"]);

/** Reads the counts from metrics in the text format. */
export function parseWrites(metrics: string): Usage {
  const counts: Record<string, number> = {};
  for (const [, labels = "", value] of metrics.matchAll(/^apiserver_request_total\{([^}]*)\} (\S+)$/gm)) {
    const {
      verb = "",
      resource = "",
      subresource,
    } = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text])) as Record<
      string,
      string
    >;
    if (!writing.has(verb)) continue;
    const name = `${verb} ${resource}${subresource ? `/${subresource}` : ""}`;
    counts[name] = (counts[name] ?? 0) + Number(value);
  }
  return counts;
}

async function readText({ server, caPem, certPem, keyPem }: Access, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  get(`${server}${path}`, { ca: caPem, cert: certPem, key: keyPem }, (response) => {
    if (response.statusCode === 200) text(response).then(resolve, reject);
    else reject(new Error(`GET ${path} was answered with ${response.statusCode}`));
  }).once("error", reject);
  return promise;
}
