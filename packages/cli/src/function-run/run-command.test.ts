// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { create, RequestMeta, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner, type DiallingRunner, type FunctionTarget } from "@purlin/function-runner";
import { spawnPurlin } from "../../test/spawn-purlin.ts";
import { runInProcess } from "../../test/test-io.ts";

/** A function that answers with a word, and on a request tagged "slow" only once a file named "go" is there. */
const source = (word: string): string => `
import { existsSync } from "node:fs";
import { type FunctionHandler, response } from "@purlin/function-sdk";
import { mark } from "./lib/mark.ts";
const fn: FunctionHandler = async (req, ctx) => {
  const go = new URL("./go", import.meta.url);
  while (req.meta?.tag === "slow" && !existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 5));
  const rsp = ctx.to(req);
  response.normal(rsp, "${word}" + mark);
  return rsp;
};
export default fn;
`;

function project(files: Readonly<Record<string, string>>): TempFolder {
  const folder = tempFolder({
    "package.json": '{"type":"module"}',
    "lib/mark.ts": 'export const mark: string = "!";',
    ...files,
  });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

function call(runner: DiallingRunner, endpoint: string, tag: string): Promise<string | undefined> {
  const target: FunctionTarget = { functionName: "f", revisionName: "f", packageRef: "", endpoint, revision: 0 };
  const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag }) });
  return runner.run(target, request, { deadline: Date.now() + 60_000 }).then(({ results }) => results[0]?.message);
}

test("a function is served, reloaded, kept when the new version is broken, and drained", async () => {
  using folder = project({ "fn.ts": source("one") });
  const runner = createDiallingRunner({ security: "plaintext" });
  await using purlin = spawnPurlin(["function", "run", "fn.ts", "--insecure", "--address", "localhost:0"], {
    cwd: folder.path,
  });
  const [, endpoint = ""] = await purlin.next("stdout", /Serving fn\.ts on (localhost:\d+) \(plaintext\)/);
  await purlin.next(
    "stdout",
    new RegExp(`purlin function call --target ${endpoint} --insecure --request REQUEST\\.yaml`),
  );
  assert.equal(await call(runner, endpoint, "a"), "one!");

  const slow = call(runner, endpoint, "slow");
  folder.write("fn.ts", source("two"));
  await purlin.next("stdout", /Reloaded fn\.ts in \d+ ms/);
  const second = createDiallingRunner({ security: "plaintext" });
  assert.equal(await call(second, endpoint, "b"), "two!", "new connections reach the new version on the same port");
  folder.write("go", "");
  assert.equal(await slow, "one!", "a call in flight is finished by the version that took it");

  folder.write("fn.ts", source("three").replace("const fn:", "const fn: = ;"));
  await purlin.next("stderr", /error: fn\.ts:5:\d+: .*\nThe last working version keeps serving\./);
  assert.equal(await call(second, endpoint, "c"), "two!");

  folder.write("fn.ts", source("three"));
  await purlin.next("stdout", /Reloaded/);
  folder.write("lib/mark.ts", 'export const mark: string = "?";');
  // Files that are imported count. A save may be seen twice, so one more reload proves nothing: call until the response is new.
  for (let word: string | undefined = ""; word !== "three?"; ) {
    await purlin.next("stdout", /Reloaded/);
    const fresh = createDiallingRunner({ security: "plaintext" });
    word = await call(fresh, endpoint, "d");
    fresh.close();
  }
  for (const open of [runner, second]) open.close();
  assert.equal(await purlin.stop(), 0);
});

test("a file that serves by itself is served with the same flags, and one that dies is started by the next save", async () => {
  const main = (body: string): string => `import { main } from "@purlin/function-sdk";
import fn from "./fn.ts";
${body}
await main(fn);
`;
  using folder = project({ "fn.ts": source("one"), "main.ts": main("throw new Error('not yet');") });
  await using purlin = spawnPurlin(["function", "run", "main.ts", "--insecure", "--address", "localhost:0"], {
    cwd: folder.path,
  });
  await purlin.next("stderr", /error: main\.ts:3:7: not yet\nSave the file to retry\./);
  folder.write("main.ts", main(""));
  const [, endpoint = ""] = await purlin.next("stdout", /Serving main\.ts on (localhost:\d+)/);
  const runner = createDiallingRunner({ security: "plaintext" });
  assert.equal(await call(runner, endpoint, "a"), "one!");
  runner.close();
  // It dies on request: a timer of its own could end it before it serves.
  const dying = `const stop = new URL("./stop", import.meta.url);
setInterval(() => existsSync(stop) && process.exit(7), 5);`;
  folder.write("main.ts", `import { existsSync } from "node:fs";\n${main(dying)}`);
  await purlin.next("stdout", /Reloaded/);
  folder.write("stop", "");
  await purlin.next("stderr", /error: the function ended by itself \(exit code 7\)\nSave the file to retry\./);
  folder.write("main.ts", main("// fixed"));
  await purlin.next("stdout", /Reloaded/);
});

test("a file without a function is named, with what it exports, and waits to be saved", async () => {
  using folder = project({ "fn.ts": "export const compose = 1;" });
  const args = ["function", "run", "fn.ts", "--insecure", "--address", "localhost:0"];
  await using purlin = spawnPurlin(args, { cwd: folder.path });
  await purlin.next("stderr", /^error: fn\.ts: the file exports compose: export .*\nSave the file to retry\./m);
  folder.write("fn.ts", source("one"));
  await purlin.next("stdout", /Serving fn\.ts on localhost:\d+/);
});

test("of many saves in a row the last one counts", async () => {
  using folder = project({ "fn.ts": source("one") });
  const args = ["function", "run", "fn.ts", "--insecure", "--address", "localhost:0"];
  await using purlin = spawnPurlin(args, { cwd: folder.path });
  const [, endpoint = ""] = await purlin.next("stdout", /Serving fn\.ts on (localhost:\d+)/);
  for (const word of ["two", "three", "four"]) folder.write("fn.ts", source(word));
  let answer: string | undefined;
  do {
    await purlin.next("stdout", /Reloaded/);
    const runner = createDiallingRunner({ security: "plaintext" });
    answer = await call(runner, endpoint, "a");
    runner.close();
  } while (answer !== "four!");
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("an old version that is slow to stop takes no new connections", async () => {
  const withPid = source("one").replace('"one" + mark', "String(process.pid)");
  using folder = project({ "fn.ts": withPid });
  const args = ["function", "run", "fn.ts", "--insecure", "--address", "localhost:0"];
  await using purlin = spawnPurlin(args, { cwd: folder.path });
  const [, endpoint = ""] = await purlin.next("stdout", /Serving fn\.ts on (localhost:\d+)/);
  const ask = async (): Promise<string | undefined> => {
    const runner = createDiallingRunner({ security: "plaintext" });
    return await call(runner, endpoint, "a").finally(() => runner.close());
  };
  const old = Number(await ask());
  process.kill(old, "SIGSTOP");
  try {
    folder.write("fn.ts", source("two"));
    await purlin.next("stdout", /Reloaded/);
    for (let at = 0; at < 3; at += 1) assert.equal(await ask(), "two!");
  } finally {
    // On a slow machine it has been killed by now, as a version that does not stop in time is.
    if (isRunning(old)) process.kill(old, "SIGCONT");
  }
});

test("a socket with a path is an address too", async () => {
  using folder = project({ "fn.ts": source("one"), "request.yaml": "meta: {tag: a}" });
  const args = ["function", "run", "fn.ts", "--insecure", "--network", "unix", "--address", "socket"];
  await using purlin = spawnPurlin(args, { cwd: folder.path });
  const [, command = ""] = await purlin.next("stdout", /^ {2}(?:npx )?purlin (.*)$/m);
  assert.equal(command, "function call --target unix:socket --insecure --request request.yaml");
  // The target is relative to the folder the command is run in, which in a test is another one.
  const words = command.replace("unix:", `unix:${folder.path}/`).split(" ");
  const { exitCode, stdout, stderr } = await runInProcess(words, { cwd: folder.path });
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /message: one!/);
});

test("what is not the code's fault ends the command with one line", async (t) => {
  using folder = project({ "fn.ts": source("one") });
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const cases: Record<string, { readonly args: readonly string[]; readonly exitCode: number; readonly says: RegExp }> =
    {
      AddressInUse: {
        args: ["fn.ts", "--insecure", "--address", `127.0.0.1:${port}`],
        exitCode: 1,
        says: new RegExp(`^error: cannot listen on 127\\.0\\.0\\.1:${port}: .*EADDRINUSE.*\n$`),
      },
      NoCertificates: {
        args: ["fn.ts", "--tls-certs-dir", "nope", "--address", "localhost:0"],
        exitCode: 1,
        says: /^error: cannot read nope\/(tls|ca)\.(crt|key): .*\n$/,
      },
      BadFlag: {
        args: ["fn.ts", "--insecure", "--ttl", "soon"],
        exitCode: 1,
        says: /^error: --ttl: expected a duration such as 90s or 1m30s, not "soon"\n$/,
      },
    };
  for (const [name, { args, exitCode, says }] of Object.entries(cases)) {
    await t.test(name, async () => {
      await using purlin = spawnPurlin(["function", "run", ...args], { cwd: folder.path });
      const [text] = await purlin.next("stderr", /^.*\n/);
      assert.match(text, says);
      await once(purlin.child, "close");
      assert.equal(purlin.child.exitCode, exitCode);
    });
  }
});

test("a function is started once where its address is taken", async (t) => {
  using folder = project({ "fn.ts": `console.log("it starts");\n${source("one")}` });
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const args = ["function", "run", "fn.ts", "--insecure", "--address", `127.0.0.1:${port}`];
  await using purlin = spawnPurlin(args, { cwd: folder.path });
  let shown = "";
  purlin.child.stdout?.on("data", (text: string) => {
    shown += text;
  });
  await once(purlin.child, "close");
  assert.equal(shown, "it starts\n");
});

const refused: Record<string, { readonly args: readonly string[]; readonly exitCode: number; readonly says: string }> =
  {
    NoFile: {
      args: ["nope.ts", "--insecure"],
      exitCode: 1,
      says: "cannot run nope.ts: no such file: check the path",
    },
    Folder: {
      args: ["lib", "--insecure"],
      exitCode: 1,
      says: "cannot run lib: not a regular file: specify the file that exports the function",
    },
    NoProgram: {
      args: ["request.yaml", "--insecure"],
      exitCode: 1,
      says: "cannot run request.yaml: not a TypeScript or JavaScript file: specify the file that exports the function",
    },
    NoCredentials: {
      args: ["fn.ts"],
      exitCode: 2,
      says: 'specify how to serve: --insecure for plaintext on this machine, or --tls-certs-dir DIR for mutual TLS ("purlin function certs DIR" creates one)',
    },
  };
for (const [name, { args, exitCode, says }] of Object.entries(refused)) {
  test(`nothing is started: ${name}`, async () => {
    using folder = tempFolder({ "fn.ts": "", "lib/x.ts": "", "request.yaml": "" });
    const outcome = await runInProcess(["function", "run", ...args], { cwd: folder.path });
    assert.deepEqual(outcome, { exitCode, stdout: "", stderr: `error: ${says}\n` });
  });
}
