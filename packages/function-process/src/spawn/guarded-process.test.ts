// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { isAlive, until } from "../../test/local-processes.ts";
import {
  cleanEnvironment,
  type GuardedProcess,
  type Program,
  spawnGuarded,
  withCompileCache,
} from "./guarded-process.ts";

const env = { PATH: "/usr/bin:/bin" };

function node(code: string, more: Partial<Program> = {}): GuardedProcess {
  return spawnGuarded(
    { command: process.execPath, args: ["-e", code], cwd: "/", env, ...more },
    { channel: more.command === undefined },
  );
}

const ends: Record<string, { readonly code: string; readonly how: string }> = {
  Well: { code: "", how: "exit code 0" },
  WithACode: { code: "process.exit(7)", how: "exit code 7" },
  BySignal: { code: "process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 1e6)", how: "SIGSEGV" },
  ByKill: { code: "process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 1e6)", how: "SIGKILL" },
};
for (const [name, { code, how }] of Object.entries(ends)) {
  test(`ended resolves to how the program ended: ${name}`, async () => assert.equal(await node(code).ended, how));
}

test("a missing command and a missing working directory are reported", async () => {
  const missing = node("", { command: "/nowhere/program" });
  assert.equal(await missing.ended, "exit code 127");
  assert.match(await node("", { cwd: "/nowhere" }).ended, /^it could not be started: .*ENOENT/);
});

test("output, messages and arguments reach the other side as they are", async () => {
  const args = [
    "-e",
    "process.send({ argv: process.argv.slice(1) }); console.log('out'); console.error('err')",
    "a b",
    "$x'\"",
  ];
  const { child, ended } = node("", { args });
  const [[message], out, err] = await Promise.all([
    once(child, "message"),
    text(child.stdout as never),
    text(child.stderr as never),
  ]);
  assert.deepEqual([message, out, err], [{ argv: ["a b", "$x'\""] }, "out\n", "err\n"]);
  assert.equal(await ended, "exit code 0");
});

test("a program that is stopped leaves nothing in its log that it did not write", async () => {
  const guarded = node("process.send('started'); setTimeout(() => {}, 1e6)");
  const written = Promise.all([text(guarded.child.stdout as never), text(guarded.child.stderr as never)]);
  await once(guarded.child, "message");
  await guarded.stop(10_000);
  assert.equal(await guarded.ended, "SIGTERM");
  assert.deepEqual(await written, ["", ""]);
});

test("all output has been read when ended resolves", async () => {
  const lines = 20_000;
  const { child, ended } = node("", { command: "/bin/sh", args: ["-c", `seq ${lines}; exit 7`] });
  let read = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    read += text;
  });
  assert.equal(await ended, "exit code 7");
  assert.ok(read.endsWith(`\n${lines}\n`), `the last that was read: ${read.slice(-20)}`);
});

test("ended resolves while a detached process keeps the output open", async () => {
  const args = ["-c", "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000"];
  const { child, ended, stop } = node("", { command: "/bin/sh", args });
  const [pid] = (await once(child.stdout?.setEncoding("utf8") as never, "data")) as [string];
  try {
    await stop(60_000);
    assert.equal(await ended, "SIGTERM");
    assert.ok(isAlive(Number(pid)), "it is still there");
    assert.ok(child.stdout?.destroyed && child.stderr?.destroyed, "but does not keep this process alive");
  } finally {
    process.kill(Number(pid), "SIGKILL");
  }
});

test("nothing of our environment is inherited", async () => {
  process.env["PURLIN_TEST_SECRET"] = "hunter2";
  const { child } = node("process.stdout.write(Object.keys(process.env).join())");
  const names = (await text(child.stdout as never)).split(",");
  delete process.env["PURLIN_TEST_SECRET"];
  // What a shell and Node set themselves.
  const own = new Set(["PATH", "PWD", "SHLVL", "_", "OLDPWD", "NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE"]);
  assert.deepEqual(
    names.filter((name) => !own.has(name)),
    [],
  );
});

test("stop lets a program finish and kills it after the grace period", async () => {
  const polite = node("process.on('SIGTERM', () => process.exit(3)); setInterval(() => {}, 1e6); process.send(1)");
  await once(polite.child, "message");
  await polite.stop(60_000);
  assert.equal(await polite.ended, "exit code 3");
  const stubborn = node("process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.send(1)");
  await once(stubborn.child, "message");
  await stubborn.stop(50);
  assert.equal(await stubborn.ended, "SIGKILL");
});

test("the guard does not shorten the grace period of a program", async () => {
  const code =
    "process.on('SIGTERM', () => setTimeout(() => process.exit(4), 2500)); setInterval(() => {}, 1e6); process.send(1)";
  const slow = node(code);
  await once(slow.child, "message");
  await slow.stop(60_000);
  assert.equal(await slow.ended, "exit code 4");
});

test("background processes of a program end with it", async () => {
  const code = `
    const { spawn } = require("node:child_process");
    const left = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
    process.send(left.pid, () => process.exit(0));`;
  const parent = node(code);
  const [pid] = (await once(parent.child, "message")) as [number];
  assert.equal(await parent.ended, "exit code 0");
  await until(() => !isAlive(pid));
});

const loops: Record<string, { readonly code: string; readonly why: string }> = {
  Idle: { code: "setInterval(() => {}, 1e6)", why: "it would live for ever" },
  Busy: { code: "for (;;);", why: "it cannot notice anything by itself" },
  Deaf: { code: "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)", why: "it ignores the polite word" },
};
for (const [name, { code, why }] of Object.entries(loops)) {
  test(`a program ends when the process that started it is killed: ${name}`, async () => {
    using folder = tempFolder();
    const pidFile = join(folder.path, "pid");
    const guarded = `require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); ${code}`;
    const source = new URL("./guarded-process.ts", import.meta.url).href;
    const program = { command: process.execPath, args: ["-e", guarded], cwd: "/", env };
    const parent = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `import { spawnGuarded } from "${source}"; spawnGuarded(${JSON.stringify(program)}, { channel: true });`,
      ],
      { stdio: "inherit" },
    );
    const pid = await untilPid(pidFile);
    parent.kill("SIGKILL");
    await once(parent, "exit");
    await until(() => !isAlive(pid));
    assert.ok(!isAlive(pid), why);
  });
}

async function untilPid(file: string): Promise<number> {
  let pid = 0;
  await until(() => {
    try {
      pid = Number(readFileSync(file, "utf8"));
    } catch {
      // Not yet.
    }
    return pid > 0;
  });
  return pid;
}

test("a function gets what a program needs and none of our secrets", () => {
  const env = {
    PATH: "/bin",
    LANG: "de_DE.UTF-8",
    LC_ALL: "C",
    TZ: "UTC",
    TMPDIR: undefined,
    HOME: "/root",
    NODE_OPTIONS: "--inspect",
    AWS_SECRET_ACCESS_KEY: "x",
    KUBECONFIG: "/x",
  };
  assert.deepEqual(cleanEnvironment(env), { PATH: "/bin", LANG: "de_DE.UTF-8", LC_ALL: "C", TZ: "UTC" });
});

test("a source file shares the compile cache of the control plane, if there is one", () => {
  const env = { PATH: "/bin" };
  assert.deepEqual(withCompileCache(env, "/home/me/.cache/purlin/compiled/v26.0.0-x64-0"), {
    PATH: "/bin",
    NODE_COMPILE_CACHE: "/home/me/.cache/purlin/compiled",
  });
  assert.deepEqual(withCompileCache(env, undefined), env);
});
