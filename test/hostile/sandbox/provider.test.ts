// SPDX-License-Identifier: Apache-2.0
// A hostile Provider, which has a network and credentials, looks for those of others, for files of the machine and for what listens on loopback.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createFunctionProcesses, findEgress, findSandbox, mountPoints } from "@purlin/function-process";

const support = await findSandbox();
assert.ok(support.isSupported, JSON.stringify(support));
const found = await findEgress(support);

const account = "/var/run/secrets/kubernetes.io/serviceaccount";
const directory = mkdtempSync(join(tmpdir(), "purlin-provider-"));
after(() => rmSync(directory, { recursive: true, force: true }));

function write(path: string, text: string): string {
  mkdirSync(join(directory, path, ".."), { recursive: true });
  writeFileSync(join(directory, path), text, { mode: 0o600 });
  return join(directory, path);
}

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

/** Listens, greets each connection, and returns the port. */
async function greet(at: string | number, text: string): Promise<number> {
  const server = createServer((socket) => void socket.on("error", () => {}).end(text));
  server.listen(typeof at === "number" ? { port: at, host: "127.0.0.1" } : { path: at });
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const secrets = {
  other: write("providers/other/serviceaccount/token", "hunter2"),
  kubeconfig: write("admin.kubeconfig", "hunter2"),
  certificate: write("functions/certificates/fn/tls.key", "hunter2"),
};

const program = (targets: unknown): string => `
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
const { paths, addresses } = ${JSON.stringify(targets)};
const attempt = (what) => { try { return String(what()); } catch (error) { return error.code ?? String(error); } };
const reach = (to) => new Promise((resolve) => {
  const socket = net.connect(to);
  socket.setTimeout(2000, () => { resolve("timeout"); socket.destroy(); });
  socket.once("data", (data) => { resolve(String(data)); socket.destroy(); });
  socket.once("error", (error) => resolve(error.code)).once("end", () => resolve("closed"));
});
const hex = fs.readFileSync("/proc/net/route", "utf8").split("\\n").map((line) => line.split("\\t")).find(([, to]) => to === "00000000")?.[2];
const gateway = hex && hex.match(/../g).reverse().map((byte) => parseInt(byte, 16)).join(".");
const own = Object.values(os.networkInterfaces()).flat().map(({ address }) => address);
const hosts = ["127.0.0.1", "::1", "0.0.0.0", "10.0.2.2", "10.0.2.3", gateway, ...own].filter(Boolean);
const reached = {};
for (const [name, to] of Object.entries(addresses)) {
  if (to.port === undefined) reached[name] = await reach(to);
  else for (const host of hosts) reached[name + " at " + host] = await reach({ ...to, host });
}
console.log(JSON.stringify({
  own: attempt(() => fs.readFileSync("${account}/token")),
  read: Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, attempt(() => fs.readFileSync(path))])),
  through: attempt(() => fs.readdirSync("/proc").filter((pid) => /^\\d+$/.test(pid))
    .map((pid) => attempt(() => fs.readdirSync("/proc/" + pid + "/root${directory}"))).join()),
  written: Object.fromEntries(["${account}/token", "/main.mjs", "/etc/hosts", "/etc/resolv.conf", "/tls/server/tls.key", "/proc/sys/kernel/core_pattern"]
    .map((path) => [path, attempt(() => fs.openSync(path, "r+"))])),
  status: fs.readFileSync("/proc/self/status", "utf8"),
  env: process.env,
  api: await Promise.all([6443, 443].map((port) => reach({ port, host: "127.0.0.1" }))),
  reached,
}));
setInterval(() => {}, 2 ** 30);
`;

interface Loot {
  readonly own: string;
  readonly read: Readonly<Record<string, string>>;
  readonly through: string;
  readonly written: Readonly<Record<string, string>>;
  readonly status: string;
  readonly env: Readonly<Record<string, string>>;
  readonly api: readonly string[];
  readonly reached: Readonly<Record<string, string>>;
}

async function runProvider(name: string, isPrivate: boolean): Promise<Loot> {
  const port = await greet(0, "the registry");
  const api = await greet(0, "the API server");
  const abstract = `\0purlin-${randomUUID()}`;
  const socket = join(directory, `${name}-other.sock`);
  for (const path of [abstract, socket]) await greet(path, "a socket");
  const addresses = { abstract: { path: abstract }, socket: { path: socket }, loopback: { port } };
  write(`${name}/image/main.mjs`, program({ paths: secrets, addresses }));
  write(`providers/${name}/serviceaccount/token`, "own token");
  const root = join(directory, name, "image");
  for (const mount of mountPoints) mkdirSync(join(root, mount), { recursive: true });
  const env = { PATH: "/usr/bin:/bin", SECRET_TOKEN: "hunter2" };
  await using processes = createFunctionProcesses({ directory: join(directory, name, "state"), env });
  assert.ok(support.isSupported);
  const running = processes.run({
    name,
    cwd: "/",
    program: {
      kind: "image",
      root,
      process: { entrypoint: ["node", "/main.mjs"], cmd: [], env: [], workingDir: "/", user: "" },
      env: {},
      needsNode: true,
      sandbox: support,
      socket: join(directory, `${name}.sock`),
      provider: {
        folders: { [account]: join(directory, "providers", name, "serviceaccount") },
        scratch: [],
        api: { host: "127.0.0.1", port: api },
        egress: isPrivate && found.isSupported ? found : undefined,
      },
    },
  });
  const deadline = Date.now() + 120_000;
  while (!running.logs().some((line) => line.startsWith("{")) && Date.now() < deadline) await delay(50);
  const line = running.logs().find((one) => one.startsWith("{"));
  return JSON.parse(line ?? assert.fail(running.logs().join("\n"))) as Loot;
}

function assertContained({ own, read, through, written, status, env }: Loot): void {
  assert.equal(own, "own token");
  for (const [name, text] of Object.entries(read)) assert.equal(text, "ENOENT", name);
  assert.doesNotMatch(through, /providers|kubeconfig/);
  for (const [path, text] of Object.entries(written)) assert.match(text, /^E(ROFS|ACCES|PERM|NOENT)$/, path);
  assert.match(status, /^Uid:\s2000\s2000\s2000\s2000$/m);
  assert.match(status, /^Seccomp:\s2$/m);
  for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\\s0+$`, "m"));
  assert.ok(!JSON.stringify(env).includes("hunter2"), "the environment of the control plane");
}

test("a Provider in the network of the machine finds no credentials but its own, and no files", async () => {
  const loot = await runProvider("shared", false);
  assertContained(loot);
  assert.equal(loot.reached["socket"], "ENOENT", "a socket in the data directory");
});

test("a Provider in a private network reaches the API server, and nothing else that listens on this machine", async (t) => {
  // Where pasta and slirp4netns are missing there is no private network, and --require-sandbox refuses Providers.
  if (!found.isSupported) {
    assert.equal(process.env["REQUIRE_SANDBOX"], undefined, found.reason);
    return t.skip(found.reason);
  }
  const loot = await runProvider("private", true);
  assertContained(loot);
  // The second port is for clients that know only the name of a Service; not every machine lets it be used.
  assert.equal(loot.api[0], "the API server");
  assert.ok(Object.keys(loot.reached).length >= 6, JSON.stringify(loot.reached));
  for (const [name, text] of Object.entries(loot.reached))
    assert.ok(!["the registry", "a socket"].includes(text), `${name}: ${text}`);
});
