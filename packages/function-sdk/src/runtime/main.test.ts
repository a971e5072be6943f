// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { status } from "@grpc/grpc-js";
import { decode, encode, RunFunctionRequest, RunFunctionResponse, runFunctionPaths } from "@purlin/function-protocol";
import {
  clientCertificate,
  hasCode,
  newAuthority,
  RawClient,
  serverCertificate,
  temporaryDirectory,
  writeCertificates,
} from "../../test/raw-client.ts";
import { newRequest } from "../testing/new-request.ts";

const script = fileURLToPath(new URL("../../test/main-function.ts", import.meta.url));

interface Program {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly stderr: Promise<string>;
  /** Resolves with the rest of the first line of standard output that starts with a word. */
  line(word: string): Promise<string>;
  exit(): Promise<[number | null, NodeJS.Signals | null]>;
}

function run(t: TestContext, args: readonly string[], env: Record<string, string> = {}): Program {
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [script, ...args], { env: { PATH, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    child,
    stderr: text(child.stderr),
    line: async (word) => {
      for (;;) {
        const { value, done } = await lines.next();
        assert.ok(!done, `the program ended without saying "${word}"`);
        if (value.startsWith(word)) return value.slice(word.length).trim();
      }
    },
    exit: () => exited,
  };
}

const plain = ["--insecure", "--address", "127.0.0.1:0", "--metrics-address", ""];

test("SIGTERM during a call: the call completes, new calls are refused, exit 0", async (t) => {
  const { child, line, exit } = run(t, plain);
  const address = await line("ready");
  const client = new RawClient(t, address);
  const inFlight = client.call(runFunctionPaths.v1, encode(RunFunctionRequest, newRequest({ tag: "t", input: {} })));
  await line("entered");
  child.kill("SIGTERM");
  // The listener is gone as soon as the signal is handled; until then a new call may still get through.
  const refused = async (): Promise<void> => {
    for (;;) await new RawClient(t, address).call(runFunctionPaths.v1, Buffer.alloc(0));
  };
  await assert.rejects(refused(), hasCode(status.UNAVAILABLE));
  child.stdin.write("go on\n");
  assert.equal(decode(RunFunctionResponse, await inFlight).meta?.tag, "t");
  assert.deepEqual(await exit(), [0, null], "also with a standard input that is still open");
});

test("SIGINT stops an idle function; a second signal does not wait for calls", async (t) => {
  const idle = run(t, plain);
  await idle.line("ready");
  idle.child.kill("SIGINT");
  assert.deepEqual(await idle.exit(), [0, null]);

  const busy = run(t, plain);
  const client = new RawClient(t, await busy.line("ready"));
  const cut = assert.rejects(
    client.call(runFunctionPaths.v1, encode(RunFunctionRequest, newRequest({ input: {} }))),
    hasCode(status.UNAVAILABLE),
  );
  await busy.line("entered");
  busy.child.kill("SIGTERM");
  busy.child.kill("SIGINT");
  await cut;
  assert.deepEqual(await busy.exit(), [0, null]);
});

test("the environment names the certificates, a flag overrides it", async (t) => {
  const authority = newAuthority();
  const directory = await temporaryDirectory(t);
  await writeCertificates(directory, authority, serverCertificate(authority));
  const identity = { authority, certificate: clientCertificate(authority) };
  const args = ["--address=localhost:0", "--metrics-address="];
  for (const [flags, env] of [
    [[], directory],
    [["--tls-certs-dir", directory], "/nonexistent"],
    [["--tls-server-certs-dir", directory], ""],
  ] as const) {
    const program = run(t, [...args, ...flags], { TLS_SERVER_CERTS_DIR: env });
    const port = (await program.line("ready")).split(":").at(-1);
    await new RawClient(t, `localhost:${port}`, identity).call(runFunctionPaths.v1, Buffer.alloc(0));
    program.child.kill("SIGKILL");
  }
  const wrong = run(t, [...args, "--tls-certs-dir", "/nonexistent"], { TLS_SERVER_CERTS_DIR: directory });
  assert.deepEqual(await wrong.exit(), [1, null]);
  assert.match(await wrong.stderr, /^main-function\.ts: cannot read \/nonexistent\/tls\.crt: .*\n$/);
});

test("no certificates and not insecure: one line and exit 1", async (t) => {
  const program = run(t, []);
  assert.deepEqual(await program.exit(), [1, null]);
  assert.match(await program.stderr, /^main-function\.ts: no TLS certificates: .*--insecure\n$/);
});

test("a wrong command line: what is wrong, the usage, exit 2", async (t) => {
  for (const [args, problem] of [
    [["--nonsense"], 'unknown flag "--nonsense"'],
    [["--ttl", "soon"], "--ttl: expected a duration"],
    [["--insecure", "--address", "nowhere"], 'cannot listen on "nowhere"'],
  ] as const) {
    const program = run(t, args);
    assert.deepEqual(await program.exit(), [2, null]);
    const stderr = await program.stderr;
    assert.ok(stderr.includes(problem), stderr);
    assert.match(stderr, /Usage: main-function\.ts \[flags\]/);
    assert.match(stderr, /--greeting TEXT +What to say \(env GREETING\)/);
  }
});

test("--help prints the usage and succeeds", async (t) => {
  const program = run(t, ["--help"]);
  assert.match(await text(program.child.stdout), /-d, --debug/);
  assert.deepEqual(await program.exit(), [0, null]);
});

test("an author's own flags are handed over before the function is served", async (t) => {
  const program = run(t, [...plain, "--greeting", "hi"]);
  assert.equal(await program.line("greeting"), "hi");
  await program.line("ready");
});
