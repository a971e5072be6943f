// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import { writeOutput } from "./output-file.ts";

const ioIn = (folder: TempFolder): TestIo => new TestIo({ cwd: folder.path });
const large = "line\n".repeat(400_000);

function makeFifo(path: string): void {
  execFileSync("mkfifo", [path]);
}

/** What another program reads from a pipe. */
function readerOf(path: string): Promise<string> {
  return text(spawn("cat", [path], { stdio: ["ignore", "pipe", "inherit"] }).stdout);
}

test("a new file is this user's alone, and a file that exists is replaced", async () => {
  using folder = tempFolder({ old: "old" });
  const io = ioIn(folder);
  for (const name of ["new", "old"]) {
    assert.equal(await writeOutput(name, "text", { io }), io.stdout);
    assert.equal(readFileSync(join(folder.path, name), "utf8"), "text");
    assert.equal(statSync(join(folder.path, name)).mode & 0o777, 0o600);
  }
  assert.deepEqual(readdirSync(folder.path).toSorted(), ["new", "old"]);
});

test("an error of the content that has a code, but none of the system, is not one of the output", async () => {
  using folder = tempFolder();
  const broken = Object.assign(new Error("blob sha256:00 not found"), { code: "NOT_FOUND" });
  const written = writeOutput("new", () => Promise.reject(broken), { io: ioIn(folder) });
  await assert.rejects(written, (error) => error === broken);
  assert.deepEqual(readdirSync(folder.path), []);
});

test("a write that fails keeps the existing file, and leaves no other", async () => {
  using folder = tempFolder({ old: "old" });
  const fail = (): Promise<void> => Promise.reject(new Error("no more"));
  await assert.rejects(writeOutput("old", fail, { io: ioIn(folder) }), /^Error: no more$/);
  assert.deepEqual([readFileSync(join(folder.path, "old"), "utf8"), readdirSync(folder.path)], ["old", ["old"]]);
});

test("a system error of the content is not one of the file", async () => {
  using folder = tempFolder();
  const options = { io: ioIn(folder) };
  const missing = async (): Promise<void> => void (await readFile(join(folder.path, "layer")));
  await assert.rejects(writeOutput("new", missing, options), /cannot make the content: ENOENT: .*layer/);
  const full = (stream: Writable): Promise<void> => pipeline(["text"], stream);
  if (process.platform === "linux") {
    await assert.rejects(writeOutput("/dev/full", full, options), /cannot write \/dev\/full: .*(no space|ENOSPC)/i);
  }
});

test("the target of a symbolic link is written, and the link stays", async () => {
  using folder = tempFolder({ "real/old": "old" });
  symlinkSync("real", join(folder.path, "folder"));
  symlinkSync("../real/old", join(folder.path, "real/link"));
  symlinkSync("folder/link", join(folder.path, "first"));
  await writeOutput("first", "text", { io: ioIn(folder) });
  assert.equal(readFileSync(join(folder.path, "real/old"), "utf8"), "text");
  symlinkSync("real/new", join(folder.path, "dangling"));
  await writeOutput("dangling", "text", { io: ioIn(folder) });
  assert.equal(readFileSync(join(folder.path, "real/new"), "utf8"), "text");
  assert.deepEqual(
    ["first", "dangling"].map((name) => readlinkSync(join(folder.path, name))),
    ["folder/link", "real/new"],
  );
});

test("a pipe gets the bytes, and the report goes to stderr", async () => {
  using folder = tempFolder();
  const io = ioIn(folder);
  const path = join(folder.path, "pipe");
  makeFifo(path);
  symlinkSync("pipe", join(folder.path, "link"));
  for (const name of ["pipe", "link"]) {
    const reading = readerOf(path);
    assert.equal(await writeWhenRead(name, io), io.stderr);
    assert.ok((await reading) === large);
    assert.ok(lstatSync(path).isFIFO());
  }
});

/** Writes as soon as a program has opened the pipe. */
async function writeWhenRead(path: string, io: TestIo): Promise<unknown> {
  for (;;) {
    try {
      return await writeOutput(path, large, { io });
    } catch (error) {
      if (!/no program reads/.test(String(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

test("what cannot be written is refused with what to do, and stays as it is", async () => {
  using folder = tempFolder({ file: "" });
  const at = (name: string): string => join(folder.path, name);
  mkdirSync(at("folder"));
  makeFifo(at("pipe"));
  symlinkSync("loop", at("loop"));
  symlinkSync("none/below", at("lost"));
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(at("socket"), resolve));
  const before = readdirSync(folder.path);
  const refused: Record<string, string> = {
    folder: "it is a folder: specify a file in it",
    socket: "it is a socket: specify a file",
    pipe: "no program reads from this named pipe (FIFO): start one first",
    loop: "too many levels of symbolic links: the link refers to itself",
    lost: "its folder does not exist: create it",
    "none/file": "its folder does not exist: create it",
    "file/below": "a part of the path is a file, not a folder: check the path",
  };
  try {
    for (const [name, why] of Object.entries(refused)) {
      const message = `cannot write ${name}: ${why}`;
      await assert.rejects(writeOutput(name, "text", { io: ioIn(folder), exitCode: 2 }), { message, exitCode: 2 });
    }
    assert.ok(lstatSync(at("socket")).isSocket());
    assert.deepEqual(readdirSync(folder.path), before);
  } finally {
    server.close();
  }
});

test("links and pipes of another user are refused", { skip: process.getuid?.() !== 0 && "needs root" }, async () => {
  using folder = tempFolder({ "1000/file": "old" });
  makeFifo(join(folder.path, "pipe"));
  chownSync(join(folder.path, "pipe"), 1000, 1000);
  execFileSync("ln", ["-s", "1000/file", join(folder.path, "link")]);
  execFileSync("chown", ["-h", "1000", join(folder.path, "link")]);
  const write = (name: string): Promise<unknown> => writeOutput(name, "text", { io: ioIn(folder) });
  await assert.rejects(write("pipe"), /it is a named pipe \(FIFO\) of another user: specify another file$/);
  await assert.rejects(write("link"), /it is a symbolic link of another user: specify another file$/);
  assert.equal(readFileSync(join(folder.path, "1000/file"), "utf8"), "old");
});

/** Runs a program that writes its arguments to the paths it was given, in a shell that redirects its output. */
function inShell(redirect: string, folder: TempFolder): string {
  const program = `import { writeOutput } from ${JSON.stringify(new URL("output-file.ts", import.meta.url).href)};
    const io = { cwd: process.cwd(), stdout: process.stdout, stderr: process.stderr };
    for (const path of process.argv.slice(1)) await writeOutput(path, "text of " + process.argv.length + "\\n", { io });
    console.log("the end");`;
  const node = [process.execPath, "--input-type=module", "--eval", program, "--"];
  return execFileSync("bash", ["-c", `"$@" ${redirect}`, "bash", ...node], { cwd: folder.path, encoding: "utf8" });
}

test("/dev/stdout and what a shell passes for >(command) get the bytes", () => {
  using folder = tempFolder({ log: "before\n" });
  const at = (name: string): string => readFileSync(join(folder.path, name), "utf8");
  assert.equal(inShell("/dev/stdout", folder), "text of 2\nthe end\n");
  assert.equal(inShell("/dev/stdout | cat", folder), "text of 2\nthe end\n");
  assert.equal(inShell("/dev/stdout >> log", folder), "");
  assert.equal(at("log"), "before\ntext of 2\nthe end\n");
  assert.equal(inShell("/dev/fd/3 3>> log", folder), "the end\n");
  assert.equal(at("log"), "before\ntext of 2\nthe end\ntext of 2\n");
  writeFileSync(join(folder.path, "log"), "");
  assert.equal(inShell(">(cat > other; echo done)  | cat", folder).includes("the end"), true);
  assert.equal(at("other"), "text of 2\n");
});
