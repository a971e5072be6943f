// SPDX-License-Identifier: Apache-2.0
import { type KubeClient, keyOf, startInformer } from "@purlin/kube-client";
import type { Access } from "../apiserver/access.ts";
import { Http2Client } from "../apiserver/http2-client.ts";
import { collection, isReady, pair } from "./manifests.ts";

const writers = 16;
const patienceMs = 5 * 60_000;

/** A user who makes composite resources and waits for them. */
export interface Requester extends AsyncDisposable {
  /** Makes so many and gives the seconds from the first request to the moment all were seen Ready. */
  untilReady(prefix: string, count: number): Promise<number>;
}

/** Connects, and follows all composite resources from now on. */
export async function startRequester(access: Access, users: KubeClient): Promise<Requester> {
  const clients = Array.from({ length: writers }, () => new Http2Client(access));
  const waiting = new Set<string>();
  let done: () => void = () => {};
  // An informer, not a watch: kube-apiserver ends watches of a kind soon after its CRD has changed.
  const informer = startInformer(users, pair(""), { namespace: "default" });
  await informer.synced();
  informer.subscribe(({ object }) => {
    if (waiting.size > 0 && isReady(object) && waiting.delete(keyOf(object).name) && waiting.size === 0) done();
  });
  await Promise.all(clients.map((client) => client.request("GET", "/version")));
  return {
    async untilReady(prefix, count) {
      const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
      for (const name of names) waiting.add(name);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      done = resolve;
      const late = (): void => reject(new Error(`${waiting.size} of ${count} never were Ready: ${[...waiting][0]}`));
      const limit = setTimeout(late, patienceMs);
      const started = performance.now();
      await Promise.all([create(clients, names), promise]).finally(() => clearTimeout(limit));
      return (performance.now() - started) / 1000;
    },
    async [Symbol.asyncDispose]() {
      await informer.stop();
      for (const client of clients) client.close();
    },
  };
}

async function create(clients: readonly Http2Client[], names: readonly string[]): Promise<void> {
  let next = 0;
  const work = async (client: Http2Client): Promise<void> => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) {
      const { code } = await client.request("POST", collection, Buffer.from(JSON.stringify(pair(name))));
      if (code !== 201) throw new Error(`creating ${name} was answered with ${code}`);
    }
  };
  await Promise.all(clients.map(work));
}
