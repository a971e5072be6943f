// SPDX-License-Identifier: Apache-2.0
// Another user of the machine wants to read or replace packages of the registry of purlin up, or takes its port while it does not run.
import assert from "node:assert/strict";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type PurlinProcess, spawnPurlin } from "../../../packages/cli/test/spawn-purlin.ts";
import { type OtherUser, otherUser, sharedFolder } from "./harness/other-user.ts";

const folder = sharedFolder();
const data = join(folder.path, ".purlin");
const config = join(data, "docker", "config.json");
let other: OtherUser;
let running: PurlinProcess;

const purlin = (...args: string[]): PurlinProcess => spawnPurlin(args, { cwd: folder.path });
const up = (...more: string[]): PurlinProcess => purlin("up", "manifests", ...more);
const portOf = (file: string): number => Number(readFileSync(join(data, file), "utf8"));
const tokenIn = (text: string): string => {
  const { auths } = JSON.parse(text) as { auths: Record<string, { auth: string }> };
  return (
    Buffer.from(Object.values(auths)[0]?.auth ?? "", "base64")
      .toString()
      .split(":")[1] ?? ""
  );
};

before(async () => {
  other = await otherUser();
  mkdirSync(join(folder.path, "manifests"));
  writeFileSync(join(folder.path, "manifests", "function.ts"), "export default () => {};\n");
  const metadata = '{name: fn, annotations: {purlin.dev/source: "function.ts"}}';
  writeFileSync(
    join(folder.path, "manifests", "function.yaml"),
    `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: ${metadata}\nspec: {package: example.org/acme/fn:v1}\n`,
  );
  running = up("--port", "0", "--registry-port", "0");
  await running.next("stdout", /registry at 127\.0\.0\.1:\d+/);
});
after(async () => {
  await other[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

describe("while it runs", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const requests: readonly (readonly [method: string, path: string])[] = [
    ["GET", "/v2/"],
    ["GET", "/v2/_catalog"],
    ["GET", "/v2/acme/fn/tags/list"],
    ["GET", "/v2/acme/fn/manifests/v1"],
    ["HEAD", "/v2/acme/fn/manifests/v1"],
    ["PUT", "/v2/acme/fn/manifests/v1"],
    ["DELETE", "/v2/acme/fn/manifests/v1"],
    ["GET", `/v2/acme/fn/blobs/${digest}`],
    ["POST", "/v2/acme/fn/blobs/uploads/"],
    ["POST", `/v2/acme/fn/blobs/uploads/?mount=${digest}&from=acme/other`],
    ["PUT", `/v2/acme/fn/blobs/uploads/00000000-0000-0000-0000-000000000000?digest=${digest}`],
    ["GET", "/v2/../v2/_catalog"],
    ["GET", "//v2/_catalog"],
  ];
  const guesses: Record<string, string | undefined> = {
    nothing: undefined,
    "an empty password": `Basic ${Buffer.from("purlin:").toString("base64")}`,
    "a guess": `Basic ${Buffer.from("purlin:purlin").toString("base64")}`,
    "an empty bearer token": "Bearer ",
  };
  for (const [method, path] of requests) {
    for (const [what, authorization] of Object.entries(guesses)) {
      test(`${method} ${path} of another user with ${what} is refused`, async () => {
        const url = `http://127.0.0.1:${portOf("registry/port")}${path}`;
        const outcome = await other.attempt({ kind: "request", url, method, ...(authorization && { authorization }) });
        assert.match(String((outcome as { value?: unknown }).value), /^401 /, JSON.stringify(outcome));
      });
    }
  }

  test("the token is in no log, no command line and no environment", async () => {
    const token = tokenIn(readFileSync(config, "utf8"));
    assert.ok(token.length > 40);
    await running.next("stdout", /is ready\./);
    const processes = globSync("/proc/[0-9]*/{cmdline,environ}").flatMap((file) => textOf(file));
    assert.ok(processes.length > 10);
    assert.deepEqual(
      processes.filter((text) => text.includes(token)),
      [],
    );
    assert.ok(!readFileSync(join(data, "purlin.log"), "utf8").includes(token));
  });

  test("it is gone at the end", async () => {
    await running.stop();
    assert.equal(existsSync(config), false);
  });
});

/** Processes come and go. */
function textOf(file: string): string[] {
  try {
    return [readFileSync(file, "latin1")];
  } catch {
    return [];
  }
}

async function received(): Promise<string[]> {
  return ((await other.attempt({ kind: "received" })) as { value: string[] }).value;
}

for (const [what, file, flag] of [
  ["the registry", "registry/port", "--registry-port"],
  ["the API server", "port", "--port"],
] as const) {
  test(`a port of ${what} that another user has taken is an error, and no request is sent`, async () => {
    const port = portOf(file);
    assert.deepEqual(await other.attempt({ kind: "listen", port }), { value: port });
    try {
      const refused = up();
      const message = `error: port ${port}, which ${what} used before, is in use by another program: stop that program, or choose another`;
      const [line] = await refused.next("stderr", /error: .*\n/);
      await refused.stop();
      assert.ok(line.startsWith(message) && line.includes(flag), line);
      assert.deepEqual(await received(), []);
    } finally {
      await other.attempt({ kind: "hangUp" });
    }
  });
}

test("the token of a registry that does not run is not sent to the process that took its port", async () => {
  const port = portOf("registry/port");
  const token = "left-behind-by-kill-9";
  const auth = Buffer.from(`purlin:${token}`).toString("base64");
  writeFileSync(config, JSON.stringify({ auths: { [`127.0.0.1:${port}`]: { auth } } }), { mode: 0o600 });
  await other.attempt({ kind: "listen", port });
  try {
    const inspecting = purlin("xpkg", "inspect", `127.0.0.1:${port}/acme/fn:v1`);
    await inspecting.next("stderr", /requires a user name and password/);
    await inspecting.stop();
    const said = await received();
    assert.ok(said.length > 0, "it was asked, as any registry");
    for (const text of said) assert.ok(!text.includes(token) && !text.includes(auth), text);
  } finally {
    await other.attempt({ kind: "hangUp" });
  }
});

test("packages are not requested from the process that took the port of a registry that moved", async () => {
  const port = portOf("registry/port");
  const reference = `127.0.0.1:${port}/acme/fn:v1`;
  await other.attempt({ kind: "listen", port });
  try {
    writeFileSync(
      join(folder.path, "manifests", "old.yaml"),
      `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: old}\nspec: {package: "${reference}"}\n`,
    );
    const moved = up("--registry-port", "0");
    await moved.next(
      "stdout",
      /the registry is now at 127\.0\.0\.1:\d+; packages named by the old address must be changed/,
    );
    await moved.next("stdout", new RegExp(`moved from 127\\.0\\.0\\.1:${port} to`));
    await moved.stop();
    assert.deepEqual(await received(), []);
  } finally {
    await other.attempt({ kind: "hangUp" });
  }
});
