// SPDX-License-Identifier: Apache-2.0
import { type KubeClient, startInformer } from "@purlin/kube-client";
import { keyOf } from "@purlin/kube-objects/object";
import type { Access } from "../apiserver/access.ts";
import { Http2Client } from "../apiserver/http2-client.ts";
import { collection, isReady, pair } from "./manifests.ts";

const writers = 16;
const patienceMs = 5 * 60_000;

/** A user who makes composite resources and waits for them. */
export interface Requester extends AsyncDisposable {
  /** Makes this many and gives the seconds from the first request to the moment all were seen Ready. */
  untilReady(prefix: string, count: number): Promise<number>;
  /** Deletes those of a prefix again and waits until they are gone. */
  remove(prefix: string, count: number): Promise<void>;
}

/** Connects, and follows all composite resources from now on. */
export async function startRequester(access: Access, users: KubeClient): Promise<Requester> {
  const clients = Array.from({ length: writers }, () => new Http2Client(access));
  const ready = createCountdown();
  const gone = createCountdown();
  // An informer, not a watch: kube-apiserver ends watches of a kind soon after its CRD has changed.
  const informer = startInformer(users, pair(""), { namespace: "default" });
  await informer.synced();
  informer.subscribe(({ type, object }) => {
    if (type === "deleted") gone.seen(keyOf(object).name);
    else if (isReady(object)) ready.seen(keyOf(object).name);
  });
  await Promise.all(clients.map((client) => client.request("GET", "/version")));
  return {
    async untilReady(prefix, count) {
      const names = namesOf(prefix, count);
      const started = performance.now();
      await Promise.all([ready.all(names, "became Ready"), each(clients, names, create)]);
      return (performance.now() - started) / 1000;
    },
    async remove(prefix, count) {
      const names = namesOf(prefix, count);
      await Promise.all([gone.all(names, "were deleted"), each(clients, names, remove)]);
    },
    async [Symbol.asyncDispose]() {
      await informer.stop();
      for (const client of clients) client.close();
    },
  };
}

const namesOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

interface Countdown {
  /** Resolves once every name was seen. */
  all(names: readonly string[], what: string): Promise<void>;
  seen(name: string): void;
}

function createCountdown(): Countdown {
  const waiting = new Set<string>();
  let done: () => void = () => {};
  return {
    all(names, what) {
      for (const name of names) waiting.add(name);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      done = resolve;
      const late = (): void =>
        reject(new Error(`${names.length - waiting.size} of ${names.length} ${what}: ${[...waiting][0]} did not`));
      const limit = setTimeout(late, patienceMs);
      return promise.finally(() => clearTimeout(limit));
    },
    seen(name) {
      if (waiting.delete(name) && waiting.size === 0) done();
    },
  };
}

/** Every client works on one name after the other. */
async function each(
  clients: readonly Http2Client[],
  names: readonly string[],
  request: (client: Http2Client, name: string) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (client: Http2Client): Promise<void> => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) await request(client, name);
  };
  await Promise.all(clients.map(work));
}

async function create(client: Http2Client, name: string): Promise<void> {
  const { code } = await client.request("POST", collection, Buffer.from(JSON.stringify(pair(name))));
  if (code !== 201) throw new Error(`creating ${name} was answered with ${code}`);
}

async function remove(client: Http2Client, name: string): Promise<void> {
  const { code } = await client.request("DELETE", `${collection}/${name}`);
  if (code !== 200 && code !== 202) throw new Error(`deleting ${name} was answered with ${code}`);
}
