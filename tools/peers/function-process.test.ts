// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { type FunctionCommand, startFunction } from "./function-process.ts";

/** A program that listens on the given address and then runs `script`. */
const listener = (script = ""): FunctionCommand => ({
  program: process.execPath,
  args: (address) => [
    "-e",
    `net.createServer().listen(process.argv[1].split(":")[1], "127.0.0.1"); ${script}`,
    address,
  ],
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a function is there when it is started and gone when it is stopped", async () => {
  const running = await startFunction(listener());
  const socket = connect(running.port, "127.0.0.1");
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.destroy();
  assert.ok(isAlive(running.pid));
  assert.deepEqual(await running.stop(), { code: null, signal: "SIGTERM" });
  assert.ok(!isAlive(running.pid));
});

test("disposing of a function stops it, also when the test fails", async () => {
  let pid = 0;
  const failing = async (): Promise<void> => {
    await using running = await startFunction(listener());
    pid = running.pid;
    throw new Error("boom");
  };
  await assert.rejects(failing, /boom/);
  assert.ok(!isAlive(pid));
});

test("stop returns how the function ended, also when called again", async () => {
  const running = await startFunction(listener(`process.on("SIGTERM", () => process.exit(3))`));
  assert.deepEqual(await running.stop(), { code: 3, signal: null });
  assert.deepEqual(await running.stop(), { code: 3, signal: null });
});

test("a function that will not stop is killed", async () => {
  const running = await startFunction(listener(`process.on("SIGTERM", () => {})`));
  assert.deepEqual(await running.stop(100), { code: null, signal: "SIGKILL" });
});

test("a function that ends before it listens fails with what it printed", async () => {
  const command = { program: process.execPath, args: () => ["-e", `console.error("no such flag"); process.exit(2)`] };
  await assert.rejects(startFunction(command), /it ended \(2\) before it listened\nno such flag/);
});

test("a program that does not exist fails with its name", async () => {
  await assert.rejects(
    startFunction({ program: "no-such-program-here", args: () => [] }),
    /no-such-program-here.*ENOENT/,
  );
});
