// SPDX-License-Identifier: Apache-2.0
import { type ClientHttp2Session, connect } from "node:http2";
import { type Case, scenario } from "../harness/case.ts";
import { configMap, core } from "../harness/fixtures.ts";
import type { Session } from "../harness/session.ts";

const count = 300;

/** Opens one watch as a stream of a shared connection; resolves with the first line it receives. */
function watchOn(
  client: ClientHttp2Session,
  path: string,
): { readonly open: Promise<number>; readonly first: Promise<string> } {
  const stream = client.request({ ":path": path, accept: "application/json" });
  const open = Promise.withResolvers<number>();
  const first = Promise.withResolvers<string>();
  stream.setEncoding("utf8");
  stream.on("response", (headers) => open.resolve(Number(headers[":status"])));
  let received = "";
  stream.on("data", (chunk: string) => {
    received += chunk;
    if (received.includes("\n")) first.resolve(received);
  });
  for (const { reject } of [open, first]) stream.on("error", reject);
  return { open: open.promise, first: first.promise };
}

async function connected(s: Session): Promise<ClientHttp2Session> {
  const { server, caPem, certPem, keyPem } = s.server.target;
  const client = connect(server, { ca: caPem, cert: certPem, key: keyPem });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.on("remoteSettings", () => resolve());
  client.on("error", reject);
  await promise;
  return client;
}

export const manyWatchesCases: readonly Case[] = [
  scenario("three hundred watches of one connection", async (s) => {
    const client = await connected(s);
    try {
      const room = client.remoteSettings.maxConcurrentStreams ?? 0;
      s.note("one connection carries hundreds of streams", room >= 100);
      const { body } = await s.get(core(s, "configmaps"), { quiet: true });
      const path = `${core(s, "configmaps")}?watch=true&resourceVersion=${body.metadata.resourceVersion}`;
      const watches = Array.from({ length: Math.min(count, room) }, () => watchOn(client, path));
      const codes = await Promise.all(watches.map(({ open }) => open));
      s.note("all are open", [...new Set(codes)]);
      await s.post(core(s, "configmaps"), configMap("a"), { quiet: true });
      const events = await Promise.all(watches.map(({ first }) => first));
      s.note("all have seen the same", new Set(events).size);
    } finally {
      client.destroy();
    }
  }),
];
