// SPDX-License-Identifier: Apache-2.0
// Providers in a sandbox that bring no Node of their own, as the provider kit packages them.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { sandboxOf } from "../../test/local-processes.ts";
import { mountPoints } from "../sandbox/sandbox-arguments.ts";
import { createFunctionProcesses } from "./function-processes.ts";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Prints what it sees, and waits. */
const program = `
import { readFileSync, writeFileSync } from "node:fs";
writeFileSync("/scratch/file", "x");
const seen = ["/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "${account}/token"].map((path) => readFileSync(path, "utf8"));
console.log(JSON.stringify(seen));
setInterval(() => {}, 2 ** 30);
`;

test("several Providers on Purlin's Node start at once in one unpacked image, with their own names and credentials", async (t) => {
  const sandbox = await sandboxOf(t);
  if (sandbox === undefined) return;
  using folder = tempFolder({ "root/main.mjs": program });
  const root = join(folder.path, "root");
  for (const mount of mountPoints) mkdirSync(join(root, mount), { recursive: true });
  const env = { PATH: "/usr/bin:/bin" };
  await using processes = createFunctionProcesses({ directory: join(folder.path, "state"), env });
  const running = ["a", "b", "c"].map((name) => {
    folder.write(`credentials/${name}/token`, `token of ${name}`);
    return processes.run({
      name,
      cwd: "/",
      program: {
        kind: "image",
        root,
        process: { entrypoint: ["node", "/main.mjs"], cmd: [], env: [], workingDir: "/", user: "" },
        env: {},
        needsNode: true,
        sandbox,
        socket: join(folder.path, `${name}.sock`),
        provider: {
          folders: { [account]: join(folder.path, "credentials", name) },
          scratch: ["/scratch"],
          api: { host: "127.0.0.1", port: 1 },
          egress: undefined,
        },
      },
    });
  });
  for (const one of running) {
    const deadline = Date.now() + 60_000;
    while (one.logs().length === 0 && Date.now() < deadline) await delay(20);
    const [line = ""] = one.logs();
    assert.match(line, /^\[/, one.logs().join("\n"));
    const [hosts = "", , users = "", token = ""] = JSON.parse(line) as string[];
    assert.match(hosts, /^127\.0\.0\.1 localhost provider/);
    assert.match(users, /^function:x:2000/);
    assert.equal(token, `token of ${one.name}`);
  }
});

test("a volume of a runtime config is mounted in the image only: bubblewrap would create folders anywhere", async (t) => {
  const sandbox = await sandboxOf(t);
  if (sandbox === undefined) return;
  using folder = tempFolder({ "root/main.mjs": program, "volume/file": "x" });
  const root = join(folder.path, "root");
  for (const mount of mountPoints) mkdirSync(join(root, mount), { recursive: true });
  const env = { PATH: "/usr/bin:/bin" };
  await using processes = createFunctionProcesses({ directory: join(folder.path, "state"), env });
  const attacks = [
    ["scratch", (outside: string) => ({ folders: {}, scratch: [`/../oldroot${outside}`] })],
    ["relative", (outside: string) => ({ folders: {}, scratch: [`../oldroot${outside}`] })],
    ["below", (outside: string) => ({ folders: {}, scratch: [`/scratch/../../oldroot${outside}`] })],
    [
      "volume",
      (outside: string) => ({ folders: { [`/../oldroot${outside}`]: join(folder.path, "volume") }, scratch: [] }),
    ],
  ] as const;
  for (const [name, places] of attacks) {
    for (const needsNode of [true, false]) {
      const outside = join(folder.path, `outside-${name}-${needsNode}`);
      const one = processes.run({
        name: `${name}-${needsNode}`,
        cwd: "/",
        program: {
          kind: "image",
          root,
          process: { entrypoint: ["node", "/main.mjs"], cmd: [], env: [], workingDir: "/", user: "" },
          env: {},
          needsNode,
          sandbox,
          socket: join(folder.path, `${name}-${needsNode}.sock`),
          provider: { ...places(outside), api: { host: "127.0.0.1", port: 1 }, egress: undefined },
        },
      });
      await assert.rejects(one.served(), /outside of the image/, name);
      assert.equal(existsSync(outside), false, outside);
    }
  }
});
