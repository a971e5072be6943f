// SPDX-License-Identifier: Apache-2.0
// One user whose requests all take long, and others who want something short meanwhile: as with priority and fairness, the work of one
// user waits for that of others only as long as a turn takes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { after, test } from "node:test";
import { send, type Target } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { sendJson } from "./attacked-kind.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const core = "/api/v1/namespaces/default";
const requestsInFlight = 400;
/** CPU time, in ms, that the server may use while it answers one short request: a few turns of the event loop of others. */
const mostMs = 400;

/** A ServiceAccount that may do everything, as its client. */
async function account(name: string): Promise<Target> {
  const subjects = [{ kind: "ServiceAccount", name, namespace: "default" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" };
  for (const [path, body] of [
    [`${core}/serviceaccounts`, { metadata: { name } }],
    ["/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { metadata: { name }, subjects, roleRef }],
  ] as const) {
    const { code, text } = await sendJson(server.target, ["POST", path], body);
    assert.equal(code, 201, text);
  }
  const { body } = await sendJson(server.target, ["POST", `${core}/serviceaccounts/${name}/token`], {});
  const { token } = (body as { readonly status: { readonly token: string } }).status;
  return { server: server.target.server, caPem: server.target.caPem, token };
}

/** CPU time, in ms, that the server has used. */
function cpuMs(): number {
  const stat = readFileSync(`/proc/${server.process.child.pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

/** Requests the path all the time, with as many requests in flight as one user may have. */
function flood(session: ClientHttp2Session, path: string, { token = "" }: Target): { readonly stop: () => void } {
  let isOver = false;
  const request = (): void => {
    if (isOver) return;
    const headers = { ":path": path, accept: "application/yaml", authorization: `Bearer ${token}` };
    const stream = session.request(headers);
    stream.on("error", () => {});
    stream.on("close", request);
    stream.resume();
  };
  for (let i = 0; i < requestsInFlight; i += 1) request();
  return {
    stop: () => {
      isOver = true;
      session.destroy();
    },
  };
}

async function openSession({ server: url, caPem }: Target): Promise<ClientHttp2Session> {
  const session = connect(url, { ca: caPem });
  session.on("error", () => {});
  await new Promise((resolve, reject) => session.once("remoteSettings", resolve).once("error", reject));
  return session;
}

test("short requests of others do not wait for the long ones of one user", async () => {
  const [mallory, jane] = [await account("mallory"), await account("jane")];
  const data = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`key-${i}`, "value"]));
  for (const [name, of] of [
    ["large", data],
    ["small", { a: "b" }],
  ] as const) {
    const { code, text } = await sendJson(jane, ["POST", `${core}/configmaps`], { metadata: { name }, data: of });
    assert.equal(code, 201, text.slice(0, 300));
  }
  const probe = { server: server.target.server, caPem: server.target.caPem };
  const small = `${core}/configmaps/small`;
  const short: Record<string, () => Promise<{ readonly code: number }>> = {
    "/livez": () => send(probe, { method: "GET", path: "/livez" }),
    "a read": () => send(jane, { method: "GET", path: small }),
    "a change": () =>
      sendJson(jane, ["PATCH", small], { data: { at: String(performance.now()) } }, "application/merge-patch+json"),
    "a read by the operator": () => send(server.target, { method: "GET", path: small }),
  };
  await server.during("400 long requests", async () => {
    const { stop } = flood(await openSession(mallory), `${core}/configmaps/large`, mallory);
    try {
      for (let i = 0; i < 3; i++) await short["/livez"]?.();
      for (const [name, request] of Object.entries(short)) {
        const before = cpuMs();
        for (let i = 0; i < 5; i++) assert.equal((await request()).code, 200);
        const each = (cpuMs() - before) / 5;
        assert.ok(each <= mostMs, `${name}: the server did ${each} ms of other work before it answered`);
      }
    } finally {
      stop();
    }
  });
});

test("memory stayed below the figure stated", () => {
  server.requireBoundedMemory();
});
