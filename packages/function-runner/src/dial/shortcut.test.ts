// SPDX-License-Identifier: Apache-2.0
// Unix sockets to which there is a shorter way than through them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  authority,
  serveFunction,
  serverCredentials,
  temporaryDirectory,
  writeClientFiles,
} from "../../test/function-server.ts";
import { call, dial, rejectsSoon, request, targetAt } from "../../test/runs.ts";
import { tlsFromDirectory } from "./channel-credentials.ts";

/** A socket that accepts connections and never answers, and the bytes that were sent to it. */
async function door(t: TestContext): Promise<{ readonly path: string; readonly said: string[] }> {
  const path = join(temporaryDirectory(t), "door");
  const said: string[] = [];
  const server = createServer(
    (socket) => void socket.on("data", (bytes) => said.push(String(bytes))).on("error", () => {}),
  );
  server.listen(path);
  await once(server, "listening");
  t.after(() => server.close());
  return { path, said };
}

test("the shortcut is used, with the certificates of the endpoint, and the endpoint gets no connection", async (t) => {
  const ca = authority();
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, ca);
  await using fn = await serveFunction({ credentials: serverCredentials(ca, { dnsNames: ["localhost"] }) });
  const { path, said } = await door(t);
  const asked: string[] = [];
  const open = async (at: string): Promise<Socket> => {
    asked.push(at);
    const socket = connect(fn.port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const runner = dial(t, { security: { ...tlsFromDirectory(directory), open } });
  for (let run = 0; run < 3; run++) await runner.run(targetAt(`unix:${path}`), request(), call());
  assert.deepEqual([fn.calls.length, asked, said], [3, [path], []], "one connection for all");
});

test("a direct connection that is closed is reported, and retried", async (t) => {
  const ca = authority();
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, ca);
  const { path } = await door(t);
  let tries = 0;
  const open = (): Promise<Socket> => {
    tries++;
    return Promise.reject(new Error("it does not listen"));
  };
  const runner = dial(t, { security: { ...tlsFromDirectory(directory), open } });
  await rejectsSoon((call) => runner.run(targetAt(`unix:${path}`), request(), call), {
    status: "DeadlineExceeded",
    message: /before its deadline: .*it does not listen/,
  });
  assert.ok(tries > 1);
});

test("without one, or to another kind of endpoint, the door is taken", async (t) => {
  const ca = authority();
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, ca);
  await using fn = await serveFunction({ credentials: serverCredentials(ca, { dnsNames: ["localhost"] }) });
  const runner = dial(t, { security: { ...tlsFromDirectory(directory), open: () => undefined } });
  await runner.run(targetAt(`localhost:${fn.port}`), request(), call());
  assert.equal(fn.calls.length, 1);
});
