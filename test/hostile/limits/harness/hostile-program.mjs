// SPDX-License-Identifier: Apache-2.0
// The entry point of hostile images: `hostile-program.mjs ATTACK TOKEN`. Each attack takes little, for a machine that others use as well,
// and ends by itself.
import { spawn } from "node:child_process";
import { mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const [attack, token] = process.argv.slice(2);
const mebibyte = 1024 * 1024;
const lifeMs = 70_000;

setTimeout(() => process.exit(0), lifeMs);

function later(task, ms = 20) {
  setInterval(task, ms);
}

/** Starts this program again with another attack; a command line with the token is how a test finds what is left. */
function again(name, options) {
  return spawn(process.execPath, [process.argv[1], name, token], { stdio: "ignore", ...options });
}

function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const kept = [];

function grow(mostMebibytes) {
  later(() => {
    if (kept.length * 10 < mostMebibytes) kept.push(Buffer.alloc(10 * mebibyte, 1));
  });
}

const callBytes = 56;

/** Starts a program that makes system calls by their numbers on x86-64, and returns how to make one. Its file 3 has zeros without end. */
function startCaller() {
  const stdio = ["pipe", "pipe", "ignore", openSync("/dev/zero")];
  const child = spawn(join(dirname(process.argv[1]), "calls"), [token], { stdio });
  const answers = child.stdout.iterator();
  return async (number, ...args) => {
    const record = Buffer.alloc(callBytes);
    for (const [at, value] of [number, ...args].entries()) record.writeBigInt64LE(BigInt(value), at * 8);
    child.stdin.write(record);
    const { value } = await answers.next();
    return value.readBigInt64LE();
  };
}

const calls = { read: 0, mmap: 9, shmget: 29, shmat: 30, shmdt: 67, prctl: 157, fallocate: 285, memfdCreate: 319 };

/** An address with a short text: where the program keeps the number of the call. */
const someText = 0x40_2000;

async function call(caller, name, ...args) {
  const answer = await caller(calls[name], ...args);
  if (answer < 0 && answer > -4096) console.log(`${name}: ${answer}`);
  return answer;
}

const attacks = {
  quiet() {},
  async sharedSegments() {
    const caller = startCaller();
    for (let at = 0; at < 20; at++) {
      const id = await call(caller, "shmget", 0, 16 * mebibyte, 0o1600);
      if (id < 0) return;
      const address = await call(caller, "shmat", id, 0, 0);
      await call(caller, "read", 3, address, 16 * mebibyte);
      await call(caller, "shmdt", address);
    }
  },
  async pageTables() {
    const caller = startCaller();
    const [mayRead, privateZerosAtOnce] = [1, 0xc022];
    // A mebibyte of tables each.
    for (let at = 0; at < 300; at++) await call(caller, "mmap", 0, 512 * mebibyte, mayRead, privateZerosAtOnce, -1, 0);
  },
  async hiddenFiles() {
    const caller = startCaller();
    const setDumpable = 4;
    await call(caller, "prctl", setDumpable, 0);
    for (let at = 0; at < 8; at++) {
      const file = await call(caller, "memfdCreate", someText, 0);
      await call(caller, "fallocate", file, 0, 0, 40 * mebibyte);
    }
  },
  memory: () => grow(400),
  memoryOfChildren() {
    for (let at = 0; at < 4; at++) again("memoryOfOne");
  },
  memoryOfOne: () => grow(90),
  processes() {
    for (let at = 0; at < 100; at++)
      spawn("/bin/sh", ["-c", "read line"], { stdio: ["pipe", "ignore", "ignore"] }).on("error", () => {});
  },
  forkBomb() {
    // Doubles six times.
    const bomb =
      'exec 9<&0; bomb() { [ "$1" -gt 5 ] || { bomb $(($1 + 1)) & bomb $(($1 + 1)) & }; read line <&9; }; bomb 0';
    spawn("/bin/sh", ["-c", bomb], { stdio: ["pipe", "ignore", "ignore"] }).on("error", () => {});
  },
  zombies() {
    for (let at = 0; at < 100; at++) spawn("/bin/sh", ["-c", ":"], { stdio: "ignore" }).on("error", () => {});
    // Children are waited for in the event loop, which does not come round.
    block(lifeMs);
  },
  cpu() {
    const end = Date.now() + 30_000;
    while (Date.now() < end);
  },
  cpuOfChildren() {
    shell(`while :; do (${busy}); done`);
  },
  cpuOfOrphans() {
    shell(`next() { ${busy}; [ "$1" -gt 500 ] || next $(($1 + 1)) & exit; }; next 0`);
  },
  files() {
    later(() => {
      try {
        for (let at = 0; at < 20; at++) kept.push(openSync("/dev/null"));
      } catch (error) {
        if (kept.at(-1) !== error.code) console.log(`cannot open: ${error.code}`);
        kept.push(error.code);
      }
    });
  },
  disk() {
    attempt(() => {
      for (let at = 0; at < 40; at++) writeFileSync(join(tmpdir(), `f${at}`), Buffer.alloc(mebibyte, 1));
    });
  },
  manyFiles() {
    let at = 0;
    later(() => {
      attempt(() => {
        mkdirSync(join(tmpdir(), `d${at}`));
        for (let file = 0; file < 50; file++)
          writeFileSync(join(tmpdir(), `d${at}`, `f${file}`), Buffer.alloc(8192, 1));
      });
      at++;
    });
  },
  deletedFile() {
    attempt(() => {
      const path = join(tmpdir(), "gone");
      const files = [0, 1].map((one) => openSync(`${path}${one}`, "w"));
      for (const one of [0, 1]) rmSync(`${path}${one}`);
      for (let at = 0; at < 12; at++) for (const file of files) writeSync(file, Buffer.alloc(mebibyte, 1));
    });
  },
  largeFile() {
    attempt(() => {
      const file = openSync(join(tmpdir(), "large"), "w");
      for (let at = 0; at < 40; at++) writeSync(file, Buffer.alloc(mebibyte, 1));
    });
  },
  logs: () => flood(`${"x".repeat(199)}\n`),
  logsWithoutLines: () => flood("x".repeat(200)),
  daemon() {
    again("stay", { detached: true }).unref();
  },
  daemonOfDaemon() {
    again("daemon", { detached: true }).unref();
  },
  daemonWithoutEnvironment() {
    again("daemonOfDaemon", { detached: true, env: {} }).unref();
  },
  daemonThatIgnores() {
    again("stayWhatever", { detached: true, env: {} }).unref();
  },
  daemonThatLeaves() {
    again("daemonWithoutEnvironment", { detached: true, env: {} }).unref();
    setTimeout(() => process.exit(3), 1_000);
  },
  stay() {},
  stayWhatever() {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR2"]) process.on(signal, () => {});
  },
};

/** Some hundredths of a second of work for a shell. */
const busy = "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done";

function shell(script) {
  spawn("/bin/sh", ["-c", script, token], { stdio: "ignore" }).on("error", () => {});
}

function attempt(task) {
  try {
    task();
  } catch (error) {
    console.log(`cannot write: ${error.code}`);
  }
}

/** A gigabyte, if it were taken. */
function flood(line) {
  const chunk = line.repeat(5_000);
  let left = 1000;
  const write = () => {
    if (left-- > 0) process.stdout.write(chunk, write);
  };
  write();
}

attacks[attack]();
