// SPDX-License-Identifier: Apache-2.0
// A hostile function tries every way out of its sandbox that it knows, and reports which of them worked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findSandbox } from "@purlin/function-process";
import { callCases } from "./forbidden-calls.ts";
import { encodeCalls, entries, rawCallProgram } from "./raw-calls.ts";
import { runHostile } from "./sandboxed-function.ts";

const support = await findSandbox();
// A machine without a sandbox has nothing to escape from; configurations.test.ts proves the messages for that.
assert.ok(support.isSupported, JSON.stringify(support));

test(`${callCases.length} system calls, made by number`, async () => {
  assert.ok(callCases.length >= 120);
  const { found } = await runHostile(
    {
      body: `
        const made = spawnSync("/function/calls", { input: fs.readFileSync("/function/calls.bin") });
        const foreign = spawnSync("/function/foreign", { input: fs.readFileSync("/function/foreign.bin") });
        const returned = Array.from({ length: made.stdout.length / 8 }, (_, at) => Number(made.stdout.readBigInt64LE(at * 8)));
        return { returned, signal: made.signal, status: made.status, foreign: foreign.signal, wrote: foreign.stdout.length };`,
      programs: {
        "function/calls": rawCallProgram(),
        "function/calls.bin": encodeCalls(callCases),
        "function/foreign": rawCallProgram(entries.foreign),
        // getpid, by the number that it has for 32-bit programs.
        "function/foreign.bin": encodeCalls([{ number: 20, args: [] }]),
      },
    },
    support,
  );
  const returned = found["returned"] as readonly number[];
  assert.equal(returned.length, callCases.length, JSON.stringify(found));
  for (const [index, { name, returns }] of callCases.entries()) {
    const got = returned[index] ?? Number.NaN;
    if (returns === true) assert.ok(got >= 0, `${name}: ${got}, but programs need it`);
    else assert.equal(got, returns, name);
  }
  assert.match(String(found["foreign"]), /^SIG(SYS|SEGV)$/, "calls of 32-bit programs end the process");
  assert.equal(found["wrote"], 0);
});

test("what a function finds out about this machine", async () => {
  const { found, places } = await runHostile(
    {
      body: `
        const read = (path) => attempt(() => fs.readFileSync(path, "utf8"));
        const walk = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap((one) => {
          const path = (folder === "/" ? "" : folder) + "/" + one.name;
          if (["/proc", "/dev", "/function"].includes(path)) return [];
          return one.isDirectory() ? walk(path) : [path];
        });
        return {
          files: walk("/"),
          descriptors: fs.readdirSync("/proc/1/fd").map((fd) => attempt(() => fs.readlinkSync("/proc/1/fd/" + fd))),
          status: read("/proc/self/status"),
          known: [process.env, process.argv, process.execPath, process.cwd(), read("/proc/1/cmdline"), read("/proc/1/environ"),
            read("/proc/self/cmdline"), os.hostname(), os.homedir(), os.userInfo()],
          interfaces: Object.keys(os.networkInterfaces()),
          localhost: await new Promise((resolve) => {
            const server = net.createServer().listen(0, "localhost", () => { resolve("listens"); server.close(); });
            server.on("error", (error) => resolve(error.code));
          }),
        };`,
    },
    support,
  );
  const files = found["files"] as readonly string[];
  const known = /^\/(lib|lib64|usr|nix|purlin|tls|tmp|etc)\//;
  assert.deepEqual(
    files.filter((path) => !known.test(path)),
    [],
  );
  assert.ok(files.length < 60, `${files.length} files: ${files.join()}`);
  assert.deepEqual(files.filter((path) => path.startsWith("/etc/")).sort(), [
    "/etc/group",
    "/etc/hosts",
    "/etc/passwd",
  ]);
  for (const place of places) assert.ok(!JSON.stringify(found["known"]).includes(place), `it knows ${place}`);
  assert.ok(!JSON.stringify(found["known"]).includes("hunter2"), "the environment of the control plane");
  const status = String(found["status"]);
  assert.match(status, /^Uid:\s2000\s2000\s2000\s2000$/m);
  assert.match(status, /^NoNewPrivs:\s1$/m);
  assert.match(status, /^Seccomp:\s2$/m);
  for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\\s0+$`, "m"));
  for (const target of found["descriptors"] as readonly string[]) {
    assert.match(target, /^(\/dev\/null|socket:\[\d+\]|pipe:\[\d+\]|anon_inode:\[eventfd\])$/);
  }
  assert.deepEqual(found["interfaces"], ["lo"]);
  assert.equal(found["localhost"], "listens");
});
